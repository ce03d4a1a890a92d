"""Which rows of the screen the lines of a file take, where a line that is too long goes on in the row below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

INSET = 2  # columns by which what goes on is set in


class Folding:
    """The lines of a file in rows of `room` columns; None: as long as they are, a row each.

    Lines count from 1, rows, columns and the parts of a line from 0. `rows` is how many there are.
    """

    def __init__(self, lines: Sequence[str], room: int | None) -> None:
        self._lines = lines
        self._cuts = {} if room is None else {
            number: _cuts(line, room) for number, line in enumerate(lines, 1) if len(line) > room
        }  # fmt: skip
        # The first row of each line; without a line that goes on, that is known anyhow.
        parts = (len(self._cuts.get(number, ())) + 1 for number in range(1, len(lines) + 1)) if self._cuts else ()
        self._first = [0, *accumulate(parts)]
        self.rows = self._first[-1] if self._cuts else len(lines)

    def first(self, line: int) -> int:
        """The first row of a line."""
        return self._first[line - 1] if self._cuts else line - 1

    def count(self, line: int) -> int:
        """How many rows a line takes."""
        return len(self._cuts.get(line, ())) + 1

    def at(self, row: int) -> tuple[int, int]:
        """The line that stands in a row, and which part of it; the line after the last one below all rows."""
        if not self._cuts:
            return row + 1, 0
        line = bisect_right(self._first, row)
        return line, row - self._first[min(line, len(self._first)) - 1]

    def part(self, line: int, column: int) -> int:
        """The part of a line in which a column stands."""
        return bisect_right(self._cuts.get(line, ()), column)

    def span(self, line: int, part: int) -> tuple[int, int]:
        """The columns of a part, the last exclusive."""
        cuts = (0, *self._cuts.get(line, ()), len(self._lines[line - 1]))
        return cuts[part], cuts[part + 1]


def _cuts(line: str, room: int) -> list[int]:
    """The columns at which a line goes on in the next row: after a space, where the row's second half has one."""
    cuts: list[int] = []
    begin, width = 0, room
    while len(line) - begin > width:
        space = line.rfind(" ", begin + width // 2, begin + width)
        begin = space + 1 if space >= 0 else begin + width
        cuts.append(begin)
        width = max(room - INSET, 1)
    return cuts
