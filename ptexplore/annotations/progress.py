"""What a reader has read and run, by stable ids, in the user's data folder; a damaged file is put aside, not lost."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ptexplore.annotations.blocks import ID, STOP
from ptexplore.annotations.records import Tour
from ptexplore.locations import progress_file
from ptexplore.writing import keep_whole

FORMAT = 1
_LARGEST = 4 * 1024 * 1024  # bytes


@dataclass
class ReadingProgress:
    """Stops that were read ("tour#stop"), labs that passed ("tour#stop/lab"), and where each tour was left.

    `trouble` says why what was kept before is not here.
    """

    done: set[str] = field(default_factory=set)
    labs: set[str] = field(default_factory=set)
    last: dict[str, str] = field(default_factory=dict)
    trouble: str = ""

    def of(self, tour: Tour) -> int:
        """How many of the tour's stops were read; stops that are not there any more do not count."""
        return sum(tour.name_of(stop) in self.done for stop in tour.stops)


def load_progress() -> ReadingProgress:
    """What was kept. A file that cannot be read gives none, and says so; it is moved aside before one is written."""
    file = progress_file()
    try:
        if file.stat().st_size > _LARGEST:
            return ReadingProgress(trouble=f"{file} is larger than {_LARGEST:,} bytes")
        data: Any = json.loads(file.read_bytes())
    except FileNotFoundError:
        return ReadingProgress()
    except OSError as error:
        return ReadingProgress(trouble=f"{file} cannot be read: {error.strerror or error}")
    except (ValueError, RecursionError):
        return ReadingProgress(trouble=f"{file} is no whole JSON")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return ReadingProgress(trouble=f"{file} is not of format {FORMAT}")
    last = data.get("last")
    left_at = last.items() if isinstance(last, dict) else ()
    return ReadingProgress(
        {stop for stop in _texts(data.get("done")) if STOP.fullmatch(stop)},
        {lab for lab in _texts(data.get("labs")) if STOP.fullmatch(lab.partition("/")[0])},
        {tour: stop for tour, stop in left_at if ID.fullmatch(tour) and isinstance(stop, str) and ID.fullmatch(stop)},
    )


def _texts(value: Any) -> Iterable[str]:
    return (text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def remember(*, done: str | None = None, lab: str | None = None, last: tuple[str, str] | None = None) -> None:
    """Add to what is kept: a stop that was read, a lab that passed, the stop at which a tour is. Raises OSError.

    Read anew first: another terminal may have written since.
    """
    file, known = progress_file(), load_progress()
    if known.trouble:
        with contextlib.suppress(FileNotFoundError):
            os.replace(file, file.with_name(f"{file.name}.damaged"))
    known.done |= {done} if done else set()
    known.labs |= {lab} if lab else set()
    known.last |= dict([last]) if last else {}
    data = {"format": FORMAT, "done": sorted(known.done), "labs": sorted(known.labs), "last": known.last}
    keep_whole(file, json.dumps(data, indent=1))
