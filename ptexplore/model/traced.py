"""What can be traced, and what a trace of each has: whoever shows a trace asks this, and not how it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

TracedName = Literal["expression", "script", "block"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One kind of thing that can be traced."""

    name: TracedName
    each_call: bool  # every call that ran is a hop, in order; else one hop shows all calls that went the same way
    in_files: bool  # your code is in files, so that an error has a line of yours
    asked_again: bool  # it runs once more only if you ask for it, as it may do something outside


TRACED: Mapping[TracedName, Traced] = {
    traced.name: traced
    for traced in (
        Traced(name="expression", each_call=True, in_files=False, asked_again=False),
        Traced(name="script", each_call=False, in_files=True, asked_again=True),
        Traced(name="block", each_call=False, in_files=True, asked_again=True),
    )
}
