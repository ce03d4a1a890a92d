"""The operators closest to a name that is none of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable


def nearest(name: str, bases: list[str], overloads: Callable[[str], list[str]], count: int) -> list[str]:
    """Full names of overloads where `name` has an operator right but not its overload; else operators.

    `bases` are all operators' names without namespace and overload; `overloads(base)` gives a base's full names.
    A Python prefix ("F.", "nn.functional.") is passed over.
    """
    first, _, overload = name.rsplit("::", 1)[-1].partition(".")
    asked = first if first in bases or not overload else overload.rsplit(".", 1)[-1]
    found: list[str] = []
    for close in difflib.get_close_matches(asked, bases, count, 0.6):
        names = overloads(close)
        names = [one for one in names if one.startswith("aten::")] or names
        operator = names[0].partition(".")[0]
        if close == first and overload:
            found += difflib.get_close_matches(f"{operator}.{overload}", names, 3, 0.0)
        else:
            found.append(operator)
    return found[:count]
