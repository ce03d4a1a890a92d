"""Saved sessions: records as JSON text and back. A saved one is data that nobody vouches for."""

from __future__ import annotations

import json
import os
import re
import zlib
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeVar

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model.trace import TRAIL_FORMAT, Observation, Session

MAX_OBSERVATIONS = 2_000_000
MAX_BYTES = 512 * 1024 * 1024  # of a whole document, unpacked
MAX_DEPTH = 24  # lists and objects within one another, in one observation
WRITE_ONE = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'

Record = TypeVar("Record")


@cache
def _required() -> dict[str, Any]:
    """What each kind of observation must have, and an event besides by its type.

    Others and further keys are let through: a format only ever grows.
    """
    from msgspec import Meta, defstruct

    count = Annotated[int, Meta(ge=0)]
    bits = defstruct("bits", [("raw", count)])
    kinds: dict[str, dict[str, Any]] = {
        "event": {"event": count, "parent": count | None, "type": str, "thread": count, "phase": str},
        "event op": {"name": str},
        "event node": {"name": str},
        "event engine": {"name": str},
        "event user": {"name": str},
        "event frame": {"file": str, "line": count, "function": str},
        "event builtin": {"table": str, "method": str, "tls_include": count, "tls_exclude": count},
        "event call": {"call": count},
        "call": {
            "call": count, "source": str, "syntax": str, "callable": dict,
            "arguments": list[defstruct("argument", [("name", str)])],  # type: ignore[misc]
            "tls_include": bits, "tls_exclude": bits,
        },
        "graph": {"id": count, "name": str, "next": list[count]},
        "table": {"op": str, "dump": str, "table": str},
        "output": {"text": str},
        "cut": {"text": str},
        "calls": {
            "part": str, "instructions": count, "functions": list[tuple[str, str, str, str]], "function": list[count],
            "depth": list[count], "begin": list[count], "end": list[count], "tail": list[count],
            "registers": dict[str, tuple[count, count, count]], "closed": dict,
        },
        "nondeterministic": {"text": str},
        "perturbed": {"text": str},
    }  # fmt: skip
    return {kind: defstruct("data", list(fields.items())) for kind, fields in kinds.items()}


def _is_tree(data: dict[str, Any]) -> bool:
    """Whether the lists of "calls" are of one length, name functions that there are, and nest."""
    depths, count = data["depth"], len(data["functions"])
    if {len(data[name]) for name in ("function", "begin", "end")} != {len(depths)}:
        return False
    deeper = zip([-1, *depths], depths, strict=False)
    nested = all(depth <= before + 1 for before, depth in deeper)
    timed = all(begin <= end for begin, end in zip(data["begin"], data["end"], strict=True))
    return nested and timed and all(function < count for function in data["function"])


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
    import msgspec

    data, required = observation.data, _required()
    try:
        for kind in (observation.kind, f"{observation.kind} {data.get('type')}"):
            if kind in required:
                msgspec.convert(data, required[kind])
    except msgspec.ValidationError as error:
        why = f"a value of observation {str(observation.id)[:20]} is missing or of the wrong kind: {str(error)[:100]}"
        raise refused(name, why) from error
    if observation.id < 0:
        raise refused(name, "an observation's id is missing or of the wrong kind")
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
    if folder and isinstance(data.get("dump"), str):
        changed = {
            key: data[key].replace(f"{folder}/", "") for key in ("dump", "table") if isinstance(data.get(key), str)
        }
    if isinstance(data.get("file"), str):
        changed["file"] = _relative(data["file"], folder)
    target = data.get("callable")
    if isinstance(target, dict) and isinstance(target.get("file"), str):
        changed["callable"] = {**target, "file": _relative(target["file"], folder)}
    return {**data, **changed} if changed else data


def _relative(path: str, folder: str) -> str:
    if folder and path.startswith(f"{folder}/"):
        return path.removeprefix(f"{folder}/")
    return os.path.basename(path) if os.path.isabs(path) else path


def refused(name: str, why: str) -> PtexploreError:
    """The error for a file that is not a saved trace."""
    return PtexploreError(f"{name} is no saved trace", why, WRITE_ONE, USAGE)
