"""The types of what the probe says, as a module of typed dictionaries: made from the records of ptexplore/model.

The probe imports nothing of ours, so that the types are written out for it: a field with a default is a key that may
be left out, a tuple is any sequence, a reason is what `probe/reasons.py` makes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from inspect import getdoc
from pathlib import Path
from textwrap import wrap
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields as fields_of

from ptexplore.model.codes import OneOf
from ptexplore.model.messages import BESIDES, MADE_BY_PARENT, MESSAGES, SENT, WHOLE_RECORDS
from ptexplore.model.observed import KINDS, Recorded, Remark
from ptexplore.model.reasons import Reason

HEAD = '''\
"""What the probe says, as types: made by scripts/probe-messages, not by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, overload

from .reasons import Said
'''
SEEN = '''\
def seen(recorder: str, kind: str, data: Any) -> SentObservationData:
    """An observation of one kind, as a message has it."""
    return {"recorder": recorder, "kind": kind, "data": data}
'''
WIDTH = 110  # of a docstring


def module(root: Path) -> str:
    """The text of probe/messages.py, as `ruff format` has it with the settings of the checkout `root`."""
    ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", "messages.py", "-"]
    return subprocess.run(ruff, input=_text(), capture_output=True, text=True, check=True, cwd=root).stdout


def _text() -> str:
    sources = list(_sources())
    parts = [
        HEAD,
        *(_typed_dictionary(source) for source in sources),
        *_overloads(),
        SEEN,
    ]
    return "\n\n".join(parts)


def _kinds() -> Mapping[str, type]:
    """The kinds of observations that a probe sends, with what their data are."""
    return {kind: record for kind, record in (KINDS | SENT).items() if kind not in MADE_BY_PARENT}


def _sources() -> Iterator[type]:
    """Every record and typed dictionary of what is said, those that others hold first."""
    done: dict[type, None] = {}

    def visit(source: type) -> Iterator[type]:
        if source in done:
            return
        done[source] = None
        for hint in _keys(source).values():
            for held in _held(hint[0]):
                yield from visit(held)
        yield source

    for source in (*_kinds().values(), *MESSAGES):
        yield from visit(source)


def _held(hint: Any) -> Iterator[type]:
    hint = _read_as(hint)
    if _is_reason(hint):
        return
    if _is_source(hint):
        yield hint
    for part in get_args(hint):
        yield from _held(part)


def _is_source(hint: Any) -> bool:
    return isinstance(hint, type) and (issubclass(hint, Struct) or is_dataclass(hint) or is_typeddict(hint))


def _is_reason(hint: Any) -> bool:
    return isinstance(hint, OneOf) or (isinstance(hint, type) and issubclass(hint, Reason))


def _keys(source: type) -> dict[str, tuple[Any, bool]]:
    """The keys of what is sent: the type of each, and whether it is always there."""
    hints = get_type_hints(source, include_extras=True)
    if issubclass(source, Struct):
        keys = {
            field.encode_name: (hints[field.name], field.default is NODEFAULT and field.default_factory is NODEFAULT)
            for field in fields_of(source)
            if not (field.name == "observation" and issubclass(source, Recorded))
        }
    elif is_dataclass(source):
        keys = {
            field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
            for field in fields(source)
        }
    else:
        required = source.__required_keys__  # type: ignore[attr-defined]
        keys = {name: (hint, name in required) for name, hint in hints.items()}
    if source in BESIDES:
        keys |= _keys(BESIDES[source])
    return (keys | _keys(WHOLE_RECORDS[source])) if source in WHOLE_RECORDS else keys


def _read_as(hint: Any) -> Any:
    """Of plain data the record that they are read as; of a number with a limit the number."""
    if get_origin(hint) is not Annotated:
        return hint
    plain, *beside = get_args(hint)
    return next((record for record in beside if _is_source(record) or _is_reason(record)), plain)


def _typed_dictionary(source: type) -> str:
    """One record as a typed dictionary; the keys that may be left out are those of one that it is derived from."""
    name, keys = _name(source), _keys(source)
    needed = [f"    {key}: {_written(hint)}" for key, (hint, is_needed) in keys.items() if is_needed]
    further = [f"    {key}: {_written(hint)}" for key, (hint, is_needed) in keys.items() if not is_needed]
    about = _docstring((getdoc(source) or "").partition("\n\n")[0])
    if not further:
        return "\n".join([f"class {name}(TypedDict):", about, *needed, ""])
    parts = f"{source.__name__}Parts"
    optional = [f"class {parts}(TypedDict, total=False):", _docstring(f"What may be left out of {name}."), *further, ""]
    return "\n".join([*optional, "", f"class {name}({parts}):", about, *needed, ""])


def _docstring(text: str) -> str:
    first, *more = wrap(text, WIDTH)
    end = ["    "] if more else []
    return f'    """{chr(10).join([first, *(f"    {line}" for line in more), *end])}"""\n'


def _overloads() -> Iterator[str]:
    """`seen`, by kind. A remark may have any kind, so that a recorder that only remarks on something needs no type."""
    by_type: dict[type, list[str]] = {}
    for kind, record in _kinds().items():
        by_type.setdefault(record, []).append(kind)
    by_type[Remark] = by_type.pop(Remark)  # the last: what is before it has one kind
    for record, kinds in by_type.items():
        given = f"recorder: str, kind: {_literal(kinds) if record is not Remark else 'str'}, data: {_name(record)}"
        yield f"@overload\ndef seen({given}) -> SentObservationData: ..."


def _name(source: type) -> str:
    return f"{source.__name__}Data"


def _literal(values: Sequence[Any]) -> str:
    return f"Literal[{', '.join(chr(34) + v + chr(34) if isinstance(v, str) else repr(v) for v in values)}]"


def _written(hint: Any) -> str:
    """A type as the probe writes it."""
    hint = _read_as(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if _is_reason(hint):
        return "Said"
    if _is_source(hint):
        return _name(hint)
    if hint in (Any, NoneType):
        return "Any" if hint is Any else "None"
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(_written(part) for part in arguments))
    if origin is frozenset or (origin is tuple and arguments[-1] is Ellipsis):
        return f"Sequence[{_written(arguments[0])}]"
    if origin is None:
        return str(hint.__name__)
    names = {tuple: "tuple", list: "list", dict: "dict"}
    outer = names.get(origin) or ("Mapping" if issubclass(origin, Mapping) else "Sequence")
    return f"{outer}[{', '.join(map(_written, arguments))}]"
