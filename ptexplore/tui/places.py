"""Where a reader is and was: places to go back and forward to, and the last ones, kept in the user's data folder."""

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
TRAIL = -1  # that of a place that is the tree of what ran last
CARD = -2  # that of a place that is an operator's card
HOME = -3  # that of a place that is the screen with what to read next
_HISTORY = 500  # places to go back to
FORMAT = 1
_RECENT = 30  # places that are kept
_LARGEST = 1024 * 1024  # bytes
_LONGEST = 1000  # characters of a path or name


@dataclass(frozen=True)
class Place:
    """Where a reader is, or was: a line (1-based) and a column (0-based) of a file of a tree.

    A folder's page is a place, too: `path` is then the folder ("": all of the tree), and `line` is FOLDER. So is what a
    place was opened from: the tree of what ran (`line` is TRAIL), an operator's card (CARD, `path` is its name), the
    screen with what to read next (HOME).

    The rest says how it was looked at, and makes no other place: `top` is the first line on the screen, of a page or
    card the option that was chosen (0: not known); `whole`, whether a page or card listed all it has.
    """

    tree: str
    path: str
    line: int = 1
    column: int = 0
    top: int = field(default=0, compare=False)
    whole: bool = field(default=False, compare=False)


class History:
    """The places left behind, and those gone back from, as in a browser."""

    def __init__(self) -> None:
        self._behind: deque[Place] = deque(maxlen=_HISTORY)
        self._ahead: deque[Place] = deque(maxlen=_HISTORY)

    def leave(self, place: Place) -> None:
        """The reader goes somewhere new from this place: what was ahead is no more."""
        if self._behind and self._behind[-1] == place:
            self._behind.pop()  # how it was looked at last is what counts
        self._behind.append(place)
        self._ahead.clear()

    @property
    def depth(self) -> int:
        """How many places there are to go back to."""
        return len(self._behind)

    def back(self, current: Place) -> Place | None:
        """The place before; None where this is the first."""
        return self._step(self._behind, self._ahead, current)

    def forward(self, current: Place) -> Place | None:
        """The place that was last gone back from."""
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
    """A line of a file of a tree, and the symbol that it is in, "" where it is in none."""

    tree: str
    path: str
    line: int
    symbol: str = ""


def load_recent() -> list[Recent]:
    """The last places, the newest first; none where nothing is kept, or what is kept cannot be read."""
    try:
        return _known_recent()
    except OSError:
        return []


def _known_recent() -> list[Recent]:
    """The same. Raises OSError where the file is there and cannot be read."""
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
    """Remember a place in front of the others; of one function, or one file without, the last line alone.

    The file is read anew first: another terminal may have written. Raises OSError.
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
