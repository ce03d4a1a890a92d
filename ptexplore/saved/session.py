"""Saving and reading the observations of recorders: without the folders of a machine, and checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from msgspec import ValidationError, structs

from ptexplore.model.observed import Observation, Plain, SavedObservation, SteppedCalls
from ptexplore.model.reasons import Reason
from ptexplore.model.trace import TRACE_FORMAT, SavedSession, Session, SessionFacts
from ptexplore.saved.changed import facts_with, observation_with
from ptexplore.saved.document import MAX_DEPTH, known_format, refused

MAX_OBSERVATIONS = 2_000_000
FACTS = tuple(known.name for known in fields(SessionFacts))


def portable(session: Session) -> SavedSession:
    """Returns the session without the folders of its machine, and without the program, which is in its Trace."""
    folder = os.path.dirname(session.torch.torch_dir).rstrip("/")
    observations = tuple(_portable(observation.as_saved(), folder) for observation in session.observations)
    facts = {name: getattr(session, name) for name in FACTS}
    facts |= {"torch": replace(session.torch, torch_dir=""), "program": None}
    return SavedSession(**facts, observations=observations)


def checked(session: SavedSession, change: Callable[[Reason], Reason], name: str) -> Session:
    """Returns a session that was read, if every observation fits its kind. Nothing in it is executed.

    `change` is applied to each of its reasons.

    Raises PtexploreError: exit code USAGE if it is not a session of ptexplore, MISSING if a newer ptexplore wrote it.
    """
    known_format(session.format, name)  # format 1 had the same keys
    if len(session.observations) > MAX_OBSERVATIONS:
        raise refused(name, "the session has too many observations")
    observations = tuple(_checked(observation, change, name) for observation in session.observations)
    if len({o.id for o in observations}) != len(observations):
        raise refused(name, "two observations of the session have the same id")
    facts = {fact: getattr(session, fact) for fact in FACTS}
    facts |= {"format": TRACE_FORMAT, "torch": replace(session.torch, torch_dir="")}
    return facts_with(Session(**facts, observations=observations), change)


def _checked(saved: SavedObservation, change: Callable[[Reason], Reason], name: str) -> Observation:
    """Returns an observation that was read. Raises PtexploreError if it does not fit its kind."""
    if _depth(saved.data) > MAX_DEPTH:
        raise refused(name, f"observation {saved.id} nests too deep")
    try:
        seen = observation_with(saved, change).as_seen()
    except ValidationError as error:
        why = f"a value of observation {str(saved.id)[:20]} is missing or has the wrong type: {str(error)[:100]}"
        raise refused(name, why) from error
    if isinstance(seen.data, SteppedCalls) and not _is_tree(seen.data):
        raise refused(name, f"the calls of observation {saved.id} are not a tree")
    return seen


def _depth(data: Plain) -> int:
    """Returns how deep lists and objects are nested, counted up to the limit."""
    depth = 0
    level: list[Any] = [data]
    while level and depth <= MAX_DEPTH:
        depth += 1
        values = (container.values() if isinstance(container, dict) else container for container in level)
        level = [value for held in values for value in held if isinstance(value, (dict, list))]
    return depth


def _portable(observation: SavedObservation, folder: str) -> SavedObservation:
    """Returns an observation with paths relative to site-packages. For a file elsewhere, only the name is kept."""
    kind, data = observation.kind, observation.data
    if kind == "table" and folder:
        paths = {key: data[key].replace(f"{folder}/", "") for key in ("dump", "table")}
    elif kind == "event" and data.get("file"):
        paths = {"file": _relative(data["file"], folder)}
    elif kind == "calls" and data.get("codes"):
        codes = data["codes"].items()
        paths = {"codes": {number: {**code, "file": _relative(code["file"], folder)} for number, code in codes}}
    elif kind == "raised" and data.get("frames"):
        paths = {"frames": [{**frame, "file": _relative(frame["file"], folder)} for frame in data["frames"]]}
    elif kind == "call" and data["callable"].get("file"):
        paths = {"callable": {**data["callable"], "file": _relative(data["callable"]["file"], folder)}}
    else:
        return observation
    return structs.replace(observation, data={**data, **paths})


def _relative(path: str, folder: str) -> str:
    if folder and path.startswith(f"{folder}/"):
        return path.removeprefix(f"{folder}/")
    return os.path.basename(path) if os.path.isabs(path) else path


def _is_tree(calls: SteppedCalls) -> bool:
    """Whether the lists have the same length, refer to existing functions, and nest."""
    depths, count = calls.depth, len(calls.functions)
    if {len(calls.function), len(calls.begin), len(calls.end)} != {len(depths)}:
        return False
    deeper = zip((-1, *depths), depths, strict=False)
    nested = all(depth <= before + 1 for before, depth in deeper)
    timed = all(begin <= end for begin, end in zip(calls.begin, calls.end, strict=True))
    return nested and timed and all(function < count for function in calls.function)
