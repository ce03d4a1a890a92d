"""Where a reader was last, kept in the user's data folder; a damaged file counts as none, and is put aside."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ptexplore.locations import recent_file
from ptexplore.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1
MOST = 30
_LARGEST = 1024 * 1024  # bytes
_LONGEST = 1000  # characters of a path or name


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
        if recent_file().stat().st_size > _LARGEST:
            return []
        data: Any = json.loads(recent_file().read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    rows = data.get("places") if isinstance(data, dict) and data.get("format") == FORMAT else None
    found = [_place(row) for row in rows[:MOST]] if isinstance(rows, list) else []
    return [one for one in found if one is not None]


def _place(row: Any) -> Recent | None:
    if not isinstance(row, dict):
        return None
    tree, path, line, symbol = (row.get(name) for name in ("tree", "path", "line", "symbol"))
    texts = all(isinstance(one, str) and len(one) <= _LONGEST for one in (tree, path, symbol))
    if not texts or not isinstance(line, int) or isinstance(line, bool) or line < 1 or not tree or not path:
        return None
    return Recent(str(tree), str(path), line, str(symbol))


def with_place(known: Sequence[Recent], place: Recent) -> list[Recent]:
    """The places with one more in front; of one function, or one file without, the last line alone."""
    what = (place.tree, place.path, place.symbol)
    return [place, *(one for one in known if (one.tree, one.path, one.symbol) != what)][:MOST]


def keep(place: Recent) -> None:
    """Remember a place. Read anew first: another terminal may have written. Raises OSError."""
    file = recent_file()
    known = load_recent()
    if not known and file.exists():
        with contextlib.suppress(OSError):
            os.replace(file, file.with_name(f"{file.name}.damaged"))
    data = {"format": FORMAT, "places": [asdict(one) for one in with_place(known, place)]}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(data, indent=1))
