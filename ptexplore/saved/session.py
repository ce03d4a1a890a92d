"""What recorders saw, as it is saved and read back: without the folders of a machine, and checked."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from msgspec import structs

from ptexplore.model.observed import Observation, Plain, SteppedCalls
from ptexplore.model.trace import TRAIL_FORMAT, Session
from ptexplore.saved.document import MAX_DEPTH, known_format, refused

MAX_OBSERVATIONS = 2_000_000


def portable(session: Session) -> Session:
    """The session without the folders of the machine it was made on, and without the program, which its Trail has."""
    folder = os.path.dirname(session.torch.torch_dir).rstrip("/")
    observations = tuple(_portable(observation, folder) for observation in session.observations)
    return replace(session, torch=replace(session.torch, torch_dir=""), observations=observations, program=None)


def checked(session: Session, name: str) -> Session:
    """A session as it was read, if every observation has what its kind must have. Nothing in it is executed.

    Raises PtexploreError: exit code USAGE where it is not one of ours, MISSING where a newer ptexplore wrote it.
    """
    known_format(session.format, name)  # format 1 had the same keys
    if len(session.observations) > MAX_OBSERVATIONS:
        raise refused(name, "the session has too many observations")
    for observation in session.observations:
        _check(observation, name)
    if len({o.id for o in session.observations}) != len(session.observations):
        raise refused(name, "two of the session's observations have one id")
    return replace(session, format=TRAIL_FORMAT, torch=replace(session.torch, torch_dir=""))


def _check(observation: Observation, name: str) -> None:
    """Raise PtexploreError where an observation is not as its kind must be."""
    import msgspec

    if _depth(observation.plain) > MAX_DEPTH:
        raise refused(name, f"observation {observation.id} nests deeper than any real one")
    try:
        record = observation.data
    except msgspec.ValidationError as error:
        why = f"a value of observation {str(observation.id)[:20]} is missing or of the wrong kind: {str(error)[:100]}"
        raise refused(name, why) from error
    if isinstance(record, SteppedCalls) and not _is_tree(record):
        raise refused(name, f"the calls of observation {observation.id} are no tree")


def _depth(data: Plain) -> int:
    """How many lists and objects are within one another, counted no further than the limit."""
    depth = 0
    level: list[Any] = [data]
    while level and depth <= MAX_DEPTH:
        depth += 1
        values = (container.values() if isinstance(container, dict) else container for container in level)
        level = [value for held in values for value in held if isinstance(value, (dict, list))]
    return depth


def _portable(observation: Observation, folder: str) -> Observation:
    """Paths as they are below site-packages; of a file elsewhere the name alone."""
    kind, data = observation.kind, observation.plain
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
    return structs.replace(observation, plain={**data, **paths})


def _relative(path: str, folder: str) -> str:
    if folder and path.startswith(f"{folder}/"):
        return path.removeprefix(f"{folder}/")
    return os.path.basename(path) if os.path.isabs(path) else path


def _is_tree(calls: SteppedCalls) -> bool:
    """Whether the lists are of one length, name functions that there are, and nest."""
    depths, count = calls.depth, len(calls.functions)
    if {len(calls.function), len(calls.begin), len(calls.end)} != {len(depths)}:
        return False
    deeper = zip((-1, *depths), depths, strict=False)
    nested = all(depth <= before + 1 for before, depth in deeper)
    timed = all(begin <= end for begin, end in zip(calls.begin, calls.end, strict=True))
    return nested and timed and all(function < count for function in calls.function)
