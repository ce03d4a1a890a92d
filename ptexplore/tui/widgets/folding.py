"""Finds the screen rows of each line of a file, if lines that are too long continue in the row below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

INSET = 2  # columns by which a continued line is indented


class Folding:
    """The lines of a file, in rows of `room` columns. If `room` is None, a line is one row of any length.

    Lines count from 1; rows, columns and parts of a line count from 0. `rows` is the number of rows.
    """

    def __init__(self, lines: Sequence[str], room: int | None) -> None:
        self._lines = lines
        self._cuts = {} if room is None else {
            number: _cuts(line, room) for number, line in enumerate(lines, 1) if len(line) > room
        }  # fmt: skip
        # The first row of each line. If no line is folded, it is simply the line.
        parts = (len(self._cuts.get(number, ())) + 1 for number in range(1, len(lines) + 1)) if self._cuts else ()
        self._first = [0, *accumulate(parts)]
        self.rows = self._first[-1] if self._cuts else len(lines)

    def first(self, line: int) -> int:
        """Returns the first row of a line."""
        return self._first[line - 1] if self._cuts else line - 1

    def count(self, line: int) -> int:
        """Returns how many rows a line takes."""
        return len(self._cuts.get(line, ())) + 1

    def at(self, row: int) -> tuple[int, int]:
        """Returns the line in a row, and its part there. Below all rows, it is the line after the last."""
        if not self._cuts:
            return row + 1, 0
        line = bisect_right(self._first, row)
        return line, row - self._first[min(line, len(self._first)) - 1]

    def part(self, line: int, column: int) -> int:
        """Returns the part of a line that has a column."""
        return bisect_right(self._cuts.get(line, ()), column)

    def span(self, line: int, part: int) -> tuple[int, int]:
        """Returns the columns of a part; the end is exclusive."""
        cuts = (0, *self._cuts.get(line, ()), len(self._lines[line - 1]))
        return cuts[part], cuts[part + 1]


def _cuts(line: str, room: int) -> list[int]:
    """Returns the columns where a line continues in the next row: after a space in the row's second half, if any."""
    cuts: list[int] = []
    begin, width = 0, room
    while len(line) - begin > width:
        space = line.rfind(" ", begin + width // 2, begin + width)
        begin = space + 1 if space >= 0 else begin + width
        cuts.append(begin)
        width = max(room - INSET, 1)
    return cuts
