"""Codes and verbs: tags made from class names, the base class of reasons, and walks through nested codes."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, overload

import msgspec
from msgspec import Struct

Code = TypeVar("Code", bound=Struct)
Read = TypeVar("Read")


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


class UnknownCode(Reason, frozen=True):
    """A reason with a code that this version does not know: a newer ptexplore wrote it."""

    name: str
    arguments: str = ""  # as JSON


class OneOf(type):
    """The type of a field that holds a record with a code: one of `bases` or derived from them, but not of `without`.

    msgspec reads a union of classes, too, but looks at all of them first: with hundreds of codes that takes 0.06 s in
    every command that reads a trace. A code's own class is looked at when the first record with that code is read.
    """

    bases: tuple[type[Struct], ...]
    without: tuple[type[Struct], ...]

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.bases)

    @cache  # noqa: B019  (a class lives as long as the process)
    def by_code(cls) -> Mapping[object, type[Struct]]:
        """Returns the classes by their codes."""
        kinds = (kind for base in cls.bases for kind in (base, *every(base)) if kind not in cls.without)
        return {kind.__struct_config__.tag: kind for kind in kinds}


def decoded(kind: Any, data: Any) -> Any:
    """msgspec's `dec_hook` for fields with a type of `OneOf`. Raises ValueError for data without a code."""
    if not isinstance(kind, OneOf):
        raise NotImplementedError
    if isinstance(data, kind.bases):
        return data
    code = data.get("code") if isinstance(data, dict) else None
    known = kind.by_code().get(code) if isinstance(code, str) else None
    if not isinstance(code, str):
        raise ValueError(f"Invalid value {str(data)[:60]!r}: it has no code")
    if known is None:
        arguments = {name: value for name, value in data.items() if name not in ("code", "text")}
        return UnknownCode(name=code, arguments=msgspec.json.encode(arguments).decode() if arguments else "")
    return convert(data, known)


@overload
def convert(data: Any, kind: type[Read], *, str_keys: bool = ..., from_attributes: bool = ...) -> Read: ...


@overload
def convert(data: Any, kind: Any, *, str_keys: bool = ..., from_attributes: bool = ...) -> Any: ...


def convert(data: Any, kind: Any, *, str_keys: bool = False, from_attributes: bool = False) -> Any:
    """Does the same as msgspec.convert, for records that hold reasons. Raises msgspec.ValidationError."""
    return msgspec.convert(data, kind, str_keys=str_keys, from_attributes=from_attributes, dec_hook=decoded)


def within(reason: Reason) -> Iterator[Reason]:
    """Yields a reason and all reasons inside it."""
    return with_held(reason, Reason)
