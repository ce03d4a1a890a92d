"""Sessions as JSON documents and back; a saved one is data nobody vouches for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.model import FORMAT, Observation, Session

MAX_OBSERVATIONS = 2_000_000
MAX_TEXT = 512 * 1024 * 1024  # characters of a whole document
MAX_DEPTH = 24  # lists and objects within one another, in one observation
WRITE_ONE = 'ptexplore trace "torch.add(a, b)" --save FILE writes one'

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
        isinstance(one, list) and len(one) == 4 and all(map(_is_text, one)) for one in value
    )


def _are_registers(value: Any) -> bool:
    return isinstance(value, dict) and all(_are_counts(one) and len(one) == 3 for one in value.values())


def _is_tree(data: dict[str, Any]) -> bool:
    """Whether the lists of "calls" are of one length, name functions that there are, and nest."""
    depths, count = data["depth"], len(data["functions"])
    if {len(data[name]) for name in ("function", "begin", "end")} != {len(depths)}:
        return False
    deeper = zip([-1, *depths], depths, strict=False)
    nested = all(depth <= before + 1 for before, depth in deeper)
    timed = all(begin <= end for begin, end in zip(data["begin"], data["end"], strict=True))
    return nested and timed and all(one < count for one in data["function"])


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


def session_to_document(session: Session) -> dict[str, Any]:
    """A session as plain JSON data, without the folders of the machine it was made on."""
    folder = os.path.dirname(str(session.torch.get("torch_dir") or "")).rstrip("/")
    return {
        "format": session.format,
        "expression": session.expression,
        "torch": {k: v for k, v in session.torch.items() if k != "torch_dir"},
        "bound": list(session.bound),
        "options": dict(session.options),
        "captured": session.captured,
        "result": session.result,
        "observations": [{**asdict(o), "data": _portable(o.data, folder)} for o in session.observations],
    }


def session_to_json(session: Session) -> str:
    """A session as JSON text."""
    return json.dumps(session_to_document(session))


def session_from_json(text: str | bytes, name: str) -> Session:
    """Read JSON text back; `name` is the file's, for messages. Raises as `session_from_document` does."""
    if len(text) > MAX_TEXT:
        raise _refused(name, f"it is longer than {MAX_TEXT} characters")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused(name, f"not whole JSON: {str(error)[:100]}") from error
    return session_from_document(data, name)


def session_from_document(data: Any, name: str) -> Session:
    """Read a session back from a document, or from the part of one that holds it. Nothing in it is executed.

    Raises PtexploreError: exit code USAGE where it is not one of ours, MISSING where a newer ptexplore wrote it.
    """
    if not isinstance(data, dict):
        raise _refused(name, "a session is an object")
    _check_format(data.get("format"), name)
    parts = {"expression": str, "torch": dict, "bound": list, "options": dict, "captured": dict, "result": dict}
    for part, kind in parts.items():
        if not isinstance(data.get(part), kind) or _depth(data[part]) > MAX_DEPTH:
            raise _refused(name, f"the session's `{part}` is missing or of the wrong kind")
    if not all(
        isinstance(b, dict) and _is_text(b.get("name")) and _is_text(b.get("description")) for b in data["bound"]
    ):
        raise _refused(name, "a bound name has no name or no description")
    observations = data.get("observations")
    if not isinstance(observations, list) or len(observations) > MAX_OBSERVATIONS:
        raise _refused(name, "the session's observations are missing or too many")
    read = tuple(_observation(o, name) for o in observations)
    if len({o.id for o in read}) != len(read):
        raise _refused(name, "two of the session's observations have one id")
    return Session(
        expression=data["expression"],
        torch=data["torch"],
        bound=tuple(data["bound"]),
        options=data["options"],
        captured=data["captured"],
        result=data["result"],
        observations=read,
    )


def _check_format(number: Any, name: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise _refused(name, "the session has no format number")
    if number > FORMAT:
        message = f"{name} is of format {str(number)[:20]}, and this ptexplore knows formats up to {FORMAT}"
        hint = "pip install --upgrade ptexplore"
        raise PtexploreError(message, "a newer ptexplore saved it", hint, MISSING)


def _observation(data: Any, name: str) -> Observation:
    kinds = {"id": int, "recorder": str, "kind": str, "data": dict}
    if not isinstance(data, dict) or not all(isinstance(data.get(k), t) for k, t in kinds.items()):
        raise _refused(name, "an observation is not one of ours")
    found = Observation(data["id"], data["recorder"], data["kind"], data["data"])
    required = dict(REQUIRED.get(found.kind, {}))
    if found.kind == "event" and _is_text(found.data.get("type")):
        required |= EVENTS.get(found.data["type"], {})
    wrong = [key for key, is_right in required.items() if not is_right(found.data.get(key))]
    if not _is_count(found.id) or wrong:
        what = f"`{wrong[0]}` of observation {str(found.id)[:20]}" if wrong else "an observation's id"
        raise _refused(name, f"{what} is missing or of the wrong kind")
    if found.kind == "calls" and not _is_tree(found.data):
        raise _refused(name, f"the calls of observation {found.id} are no tree")
    if _depth(found.data) > MAX_DEPTH:
        raise _refused(name, f"observation {found.id} nests deeper than any real one")
    return found


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


def _refused(name: str, why: str) -> PtexploreError:
    return PtexploreError(f"{name} is no saved trace", why, WRITE_ONE, USAGE)
