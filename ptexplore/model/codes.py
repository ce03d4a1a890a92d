"""Codes and verbs: their names follow from their classes, what a reason is, and what a record holds of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct

Code = TypeVar("Code", bound=Struct)


def code_of(name: str) -> str:
    """The code of a class: `highest-key` of HighestKey."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def every(kind: type[Code]) -> Iterator[type[Code]]:
    """The classes that are derived from one."""
    for derived in kind.__subclasses__():
        yield derived
        yield from every(derived)


def with_held(record: Code, kind: type[Code]) -> Iterator[Code]:
    """A record with those of that kind that its fields hold, and that these hold."""
    yield record
    for name in record.__struct_fields__:
        held = getattr(record, name)
        for inner in held if isinstance(held, tuple) else (held,):
            if isinstance(inner, kind):
                yield from with_held(inner, kind)


class Reason(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="code", tag=code_of):
    """Why something is concluded."""

    text: str = ""  # the sentence, where it was written as JSON; what is read back has none


class Said(Reason, frozen=True):
    """A sentence: of a saved trace whose reasons had no codes."""

    sentence: str


def within(reason: Reason) -> Iterator[Reason]:
    """A reason with all that it follows from."""
    return with_held(reason, Reason)
