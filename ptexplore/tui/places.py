"""The reader's places: the history for back and forward, and the last places, kept in the user's data folder."""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ptexplore.locations import recent_file
from ptexplore.safe_text import clean_json
from ptexplore.writing import changing, keep_whole, kept_bytes

FOLDER = 0  # the line of a place that is a folder
TRACE = -1  # of a place that is the tree of the last trace
CARD = -2  # of a place that is an operator's card
HOME = -3  # of a place that is the home screen
_HISTORY = 500  # places to go back to
FORMAT = 1
_RECENT = 30  # places that are kept
_LARGEST = 1024 * 1024  # bytes
_LONGEST = 1000  # characters of a path or name


@dataclass(frozen=True)
class Place:
    """A place of the reader: a line (from 1) and a column (from 0) of a file in a tree.

    A folder's page is a place, too: then `path` is the folder ("" for the whole tree), and `line` is FOLDER. Other
    places are the tree of the last trace (`line` is TRACE), an operator's card (CARD, `path` is its name), and the home
    screen (HOME).

    The other fields say how the place was shown; they make no difference between places. `top` is the first line on the
    screen, or the chosen option of a page or card (0: unknown). `whole` says that a page or card listed everything.
    """

    tree: str
    path: str
    line: int = 1
    column: int = 0
    top: int = field(default=0, compare=False)
    whole: bool = field(default=False, compare=False)


class History:
    """The places to go back to and forward to, as in a browser."""

    def __init__(self) -> None:
        self._behind: deque[Place] = deque(maxlen=_HISTORY)
        self._ahead: deque[Place] = deque(maxlen=_HISTORY)

    def leave(self, place: Place) -> None:
        """Record that the reader goes from this place to a new one. The places ahead are dropped."""
        if self._behind and self._behind[-1] == place:
            self._behind.pop()  # the last way it was shown counts
        self._behind.append(place)
        self._ahead.clear()

    @property
    def depth(self) -> int:
        """The number of places to go back to."""
        return len(self._behind)

    def back(self, current: Place) -> Place | None:
        """Returns the place before, or None if this is the first."""
        return self._step(self._behind, self._ahead, current)

    def forward(self, current: Place) -> Place | None:
        """Returns the place that the reader last went back from."""
        return self._step(self._ahead, self._behind, current)

    @staticmethod
    def _step(source: deque[Place], target: deque[Place], current: Place) -> Place | None:
        while source:
            place = source.pop()
            if place != current:
                target.append(current)
                return place
        return None


@dataclass(frozen=True, slots=True)
class Recent:
    """A line of a file in a tree, and the symbol that it is in, or ""."""

    tree: str
    path: str
    line: int
    symbol: str = ""


def load_recent() -> list[Recent]:
    """Returns the last places, the newest first; none if there is no file, or if it cannot be read."""
    try:
        return _known_recent()
    except OSError:
        return []


def _known_recent() -> list[Recent]:
    """The same, but raises OSError if the file exists and cannot be read."""
    kept = kept_bytes(recent_file(), _LARGEST) or b""
    try:
        data: Any = json.loads(clean_json(kept)) if len(kept) <= _LARGEST else None
    except (ValueError, RecursionError):
        return []
    rows = data.get("places") if isinstance(data, dict) and data.get("format") == FORMAT else None
    places = [_recent(row) for row in rows[:_RECENT]] if isinstance(rows, list) else []
    return [place for place in places if place is not None]


def _recent(row: Any) -> Recent | None:
    if not isinstance(row, dict):
        return None
    tree, path, line, symbol = (row.get(name) for name in ("tree", "path", "line", "symbol"))
    texts = all(isinstance(text, str) and len(text) <= _LONGEST for text in (tree, path, symbol))
    if not texts or not isinstance(line, int) or isinstance(line, bool) or line < 1 or not tree or not path:
        return None
    return Recent(str(tree), str(path), line, str(symbol))


def keep_recent(place: Recent) -> None:
    """Put a place before the other recent ones. Each function, or file, keeps only its last line.

    The file is read again first: another terminal may have written it. Raises OSError.
    """
    with changing(recent_file()):
        _keep_recent(recent_file(), place)


def _keep_recent(file: Path, place: Recent) -> None:
    known = _known_recent()
    if not known and file.exists():
        with contextlib.suppress(OSError):
            os.replace(file, file.with_name(f"{file.name}.damaged"))
    same = (place.tree, place.path, place.symbol)
    others = [other for other in known if (other.tree, other.path, other.symbol) != same]
    data = {"format": FORMAT, "places": [asdict(row) for row in [place, *others][:_RECENT]]}
    keep_whole(file, json.dumps(data, indent=1))
