"""Saved sessions: records as JSON text and back. A saved one is data that nobody vouches for."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.trace import TRAIL_FORMAT, Observation, Session

MAX_OBSERVATIONS = 2_000_000
MAX_BYTES = 512 * 1024 * 1024  # of a whole document, unpacked
MAX_DEPTH = 24  # lists and objects within one another, in one observation
WRITE_ONE = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'

Record = TypeVar("Record")
Check = Callable[[Any], bool]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _is_count_or_none(value: Any) -> bool:
    return value is None or _is_count(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_set(value: Any) -> bool:
    return isinstance(value, dict) and _is_count(value.get("raw"))


def _are_arguments(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(a, dict) and _is_text(a.get("name")) for a in value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


def _are_functions(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(function, list) and len(function) == 4 and all(map(_is_text, function)) for function in value
    )


def _are_registers(value: Any) -> bool:
    return isinstance(value, dict) and all(_are_counts(given) and len(given) == 3 for given in value.values())


def _is_tree(data: dict[str, Any]) -> bool:
    """Whether the lists of "calls" are of one length, name functions that there are, and nest."""
    depths, count = data["depth"], len(data["functions"])
    if {len(data[name]) for name in ("function", "begin", "end")} != {len(depths)}:
        return False
    deeper = zip([-1, *depths], depths, strict=False)
    nested = all(depth <= before + 1 for before, depth in deeper)
    timed = all(begin <= end for begin, end in zip(data["begin"], data["end"], strict=True))
    return nested and timed and all(function < count for function in data["function"])


# What each kind of observation must have; others and further keys are let through: a format only ever grows.
REQUIRED: Mapping[str, Mapping[str, Check]] = {
    "event": {
        "event": _is_count, "parent": _is_count_or_none, "type": _is_text, "thread": _is_count, "phase": _is_text,
    },
    "call": {
        "call": _is_count, "source": _is_text, "syntax": _is_text, "callable": _is_object, "arguments": _are_arguments,
        "tls_include": _is_set, "tls_exclude": _is_set,
    },
    "graph": {"id": _is_count, "name": _is_text, "next": lambda v: isinstance(v, list) and all(map(_is_count, v))},
    "table": {"op": _is_text, "dump": _is_text, "table": _is_text},
    "output": {"text": _is_text},
    "cut": {"text": _is_text},
    "calls": {
        "part": _is_text, "instructions": _is_count, "functions": _are_functions, "function": _are_counts,
        "depth": _are_counts, "begin": _are_counts, "end": _are_counts, "tail": _are_counts,
        "registers": _are_registers, "closed": _is_object,
    },
    "nondeterministic": {"text": _is_text},
    "perturbed": {"text": _is_text},
}  # fmt: skip

# What an event must have besides, by its type.
EVENTS: Mapping[str, Mapping[str, Check]] = {
    "op": {"name": _is_text},
    "node": {"name": _is_text},
    "engine": {"name": _is_text},
    "user": {"name": _is_text},
    "frame": {"file": _is_text, "line": _is_count, "function": _is_text},
    "builtin": {"table": _is_text, "method": _is_text, "tls_include": _is_count, "tls_exclude": _is_count},
    "call": {"call": _is_count},
}


@dataclass(frozen=True, slots=True)
class _Head:
    """What every saved trace begins with, whatever its format."""

    format: int


def to_json(record: Any) -> str:
    """A record of model/trace.py as JSON text in ASCII. What is not Unicode becomes a question mark."""
    import msgspec

    try:
        text = msgspec.json.encode(record).decode()
    except UnicodeEncodeError:  # a file name that the system could not decode
        text = json.dumps(msgspec.to_builtins(record), ensure_ascii=False).encode("utf-8", "replace").decode()
    return re.sub(r"[^\x00-\x7f]+", lambda match: json.dumps(match[0])[1:-1], text)


def from_json(data: bytes, kind: type[Record], name: str) -> Record:
    """JSON text as a record: no value is coerced, and keys that the record lacks are passed over.

    `name` is the file's, for messages. Raises PtexploreError (USAGE) for what is no JSON, and where a value is missing
    or of the wrong kind.
    """
    import msgspec

    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise refused(name, str(error)[:200]) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise refused(name, f"not whole JSON: {str(error)[:100]}") from error


def from_document(document: Any, kind: type[Record], name: str) -> Record:
    """Plain JSON data as a record, in the same way."""
    import msgspec

    try:
        return msgspec.convert(document, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise refused(name, str(error)[:200]) from error


def unpacked(data: bytes, name: str) -> bytes:
    """A saved trace's text, packed (`survey` packs its traces) or not. Raises PtexploreError if it is too long."""
    if data.startswith(b"\x1f\x8b"):
        try:
            data = zlib.decompressobj(31).decompress(data, MAX_BYTES + 1)
        except zlib.error as error:
            raise refused(name, f"it cannot be unpacked: {error}") from error
    if len(data) > MAX_BYTES:
        raise refused(name, f"it is longer than {MAX_BYTES} bytes")
    return data


def format_of(data: bytes, name: str) -> int:
    """The format of a saved trace's text.

    Raises PtexploreError: exit code USAGE where it is not one of ours, MISSING where a newer ptexplore wrote it.
    """
    return _known_format(from_json(data, _Head, name).format, name)


def _known_format(number: int, name: str) -> int:
    if number < 1:
        raise refused(name, "it has no format number")
    if number > TRAIL_FORMAT:
        message = f"{name} is of format {str(number)[:20]}, and this ptexplore knows formats up to {TRAIL_FORMAT}"
        hint = "pip install --upgrade ptexplore"
        raise PtexploreError(message, "it was saved by a newer ptexplore", hint, MISSING)
    return number


def portable(session: Session) -> Session:
    """The session without the folders of the machine it was made on."""
    folder = os.path.dirname(session.torch.torch_dir).rstrip("/")
    observations = tuple(replace(o, data=_portable(o.data, folder)) for o in session.observations)
    return replace(session, torch=replace(session.torch, torch_dir=""), observations=observations)


def checked(session: Session, name: str) -> Session:
    """A session as it was read, if every observation has what its kind must have. Nothing in it is executed.

    Raises PtexploreError: exit code USAGE where it is not one of ours, MISSING where a newer ptexplore wrote it.
    """
    _known_format(session.format, name)  # format 1 had the same keys
    if len(session.observations) > MAX_OBSERVATIONS:
        raise refused(name, "the session has too many observations")
    for observation in session.observations:
        _check(observation, name)
    if len({o.id for o in session.observations}) != len(session.observations):
        raise refused(name, "two of the session's observations have one id")
    return replace(session, format=TRAIL_FORMAT, torch=replace(session.torch, torch_dir=""))


def _check(observation: Observation, name: str) -> None:
    """Raise PtexploreError where an observation lacks what its kind must have."""
    data = observation.data
    required = dict(REQUIRED.get(observation.kind, {}))
    if observation.kind == "event" and _is_text(data.get("type")):
        required |= EVENTS.get(data["type"], {})
    wrong = [key for key, is_right in required.items() if not is_right(data.get(key))]
    if not _is_count(observation.id) or wrong:
        what = f"`{wrong[0]}` of observation {str(observation.id)[:20]}" if wrong else "an observation's id"
        raise refused(name, f"{what} is missing or of the wrong kind")
    if observation.kind == "calls" and not _is_tree(data):
        raise refused(name, f"the calls of observation {observation.id} are no tree")
    if _depth(data) > MAX_DEPTH:
        raise refused(name, f"observation {observation.id} nests deeper than any real one")


def _depth(value: Any) -> int:
    """How many lists and objects are within one another, counted no further than the limit."""
    depth, level = 0, [value]
    while depth <= MAX_DEPTH and (level := [v for v in level if isinstance(v, (dict, list))]):
        depth += 1
        level = [item for v in level for item in (v.values() if isinstance(v, dict) else v)]
    return depth


def _portable(data: dict[str, Any], folder: str) -> dict[str, Any]:
    """Paths as they are below site-packages; of a file elsewhere the name alone."""
    changed: dict[str, Any] = {}
    if folder and _is_text(data.get("dump")):
        changed = {key: data[key].replace(f"{folder}/", "") for key in ("dump", "table") if _is_text(data.get(key))}
    if _is_text(data.get("file")):
        changed["file"] = _relative(data["file"], folder)
    target = data.get("callable")
    if isinstance(target, dict) and _is_text(target.get("file")):
        changed["callable"] = {**target, "file": _relative(target["file"], folder)}
    return {**data, **changed} if changed else data


def _relative(path: str, folder: str) -> str:
    if folder and path.startswith(f"{folder}/"):
        return path.removeprefix(f"{folder}/")
    return os.path.basename(path) if os.path.isabs(path) else path


def refused(name: str, why: str) -> PtexploreError:
    """The error for a file that is not a saved trace."""
    return PtexploreError(f"{name} is no saved trace", why, WRITE_ONE, USAGE)
