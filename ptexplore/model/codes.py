"""Codes and verbs: tags made from class names, the base class of reasons, and walks through nested codes."""

import re
from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct

Code = TypeVar("Code", bound=Struct)


def code_of(name: str) -> str:
    """Returns the code for a class name: `highest-key` for HighestKey."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def every(kind: type[Code]) -> Iterator[type[Code]]:
    """Yields all subclasses of a class, each before its own subclasses."""
    for derived in kind.__subclasses__():
        yield derived
        yield from every(derived)


def with_held(record: Code, kind: type[Code]) -> Iterator[Code]:
    """Yields a record and the records of one kind in its fields, recursively."""
    yield record
    for name in record.__struct_fields__:
        held = getattr(record, name)
        for inner in held if isinstance(held, tuple) else (held,):
            if isinstance(inner, kind):
                yield from with_held(inner, kind)


class Reason(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="code", tag=code_of):
    """Why something is concluded."""

    text: str = ""  # the sentence, set when JSON is written; empty after reading


class Said(Reason, frozen=True):
    """A sentence without a code, from a saved trace of a format that had no codes."""

    sentence: str


def within(reason: Reason) -> Iterator[Reason]:
    """Yields a reason and all reasons inside it."""
    return with_held(reason, Reason)
