"""A reader's progress: stops read and visited, labs run, in the user's data folder. A damaged file is moved aside."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ptexplore.annotations.names import ID, STOP
from ptexplore.annotations.records import Tour
from ptexplore.locations import progress_file
from ptexplore.writing import changing, keep_whole, kept_bytes

FORMAT = 1
_LARGEST = 4 * 1024 * 1024  # bytes

ReadState = Literal["read", "visited", "new"]


@dataclass
class ReadingProgress:
    """Stops that were read or visited ("tour#stop"), and labs that passed ("tour#stop/lab").

    A stop is visited when it has been shown. It is read when its lab was predicted, its question was answered, or the
    reader marked it. `last` is the present stop of each tour. `trouble` says why earlier progress is missing.
    """

    done: set[str] = field(default_factory=set)
    visited: set[str] = field(default_factory=set)
    labs: set[str] = field(default_factory=set)
    last: dict[str, str] = field(default_factory=dict)
    trouble: str = ""

    def of(self, tour: Tour) -> int:
        """Returns how many of the tour's stops were read. Stops that no longer exist do not count."""
        return sum(tour.name_of(stop) in self.done for stop in tour.stops)

    def visited_of(self, tour: Tour) -> int:
        """Returns how many of the tour's stops were shown or read."""
        return sum(self.state(tour.name_of(stop)) != "new" for stop in tour.stops)

    def state(self, name: str) -> ReadState:
        """Returns the state of the stop of that name."""
        return "read" if name in self.done else "visited" if name in self.visited else "new"


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """A step of a reader, as far as it is stored. "" means that this did not happen.

    `read`, `unread` and `visited` are stops ("tour#stop"), `lab` is a lab that passed. `last` is a tour and its present
    stop. `ended` is a tour that was read to its end: it does not continue from there.
    """

    read: str = ""
    unread: str = ""
    visited: str = ""
    lab: str = ""
    last: tuple[str, str] | None = None
    ended: str = ""


def load_progress() -> ReadingProgress:
    """Returns the stored progress. If the file cannot be read or is damaged, it is empty and says why.

    A damaged file is moved aside before a new one is written.
    """
    file = progress_file()
    try:
        return _known_progress(file)
    except OSError as error:
        return ReadingProgress(trouble=f"{file} cannot be read: {error.strerror or error}")


def _known_progress(file: Path) -> ReadingProgress:
    """Returns the stored progress. Raises OSError if the file exists and cannot be read."""
    kept = kept_bytes(file, _LARGEST)
    if kept is None:
        return ReadingProgress()
    if len(kept) > _LARGEST:
        return ReadingProgress(trouble=f"{file} has more than {_LARGEST:,} bytes")
    try:
        data: Any = json.loads(kept)
    except (ValueError, RecursionError):
        return ReadingProgress(trouble=f"{file} is not complete JSON")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return ReadingProgress(trouble=f"{file} does not have format {FORMAT}")
    last = data.get("last")
    left_at = last.items() if isinstance(last, dict) else ()
    return ReadingProgress(
        _stops(data.get("done")),
        _stops(data.get("visited")),
        {lab for lab in _texts(data.get("labs")) if STOP.fullmatch(lab.partition("/")[0])},
        {tour: stop for tour, stop in left_at if ID.fullmatch(tour) and isinstance(stop, str) and ID.fullmatch(stop)},
    )


def _stops(value: Any) -> set[str]:
    return {stop for stop in _texts(value) if STOP.fullmatch(stop)}


def _texts(value: Any) -> Iterable[str]:
    return (text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def remember(step: ReadingStep) -> None:
    """Adds a reader's step to the stored progress. Raises OSError.

    The file is read again first: another terminal may have written it.
    """
    with changing(progress_file()):
        _remember(progress_file(), step)


def _remember(file: Path, step: ReadingStep) -> None:
    known = _known_progress(file)
    if known.trouble:
        with contextlib.suppress(FileNotFoundError):
            os.replace(file, file.with_name(f"{file.name}.damaged"))
    known.done = (known.done | {step.read}) - {"", step.unread}
    known.visited = (known.visited | {step.visited}) - {""}
    known.labs = (known.labs | {step.lab}) - {""}
    known.last |= dict([step.last]) if step.last else {}
    known.last.pop(step.ended, None)
    data = {"format": FORMAT, "done": sorted(known.done), "visited": sorted(known.visited),
            "labs": sorted(known.labs), "last": known.last}  # fmt: skip
    keep_whole(file, json.dumps(data, indent=1))
