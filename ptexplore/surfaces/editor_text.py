"""An editor's text beside the text that was indexed: which lines are equal, and columns in the editor's own units.

The index knows the text on disk. An open file may be edited. A line has a place only if it is unchanged: a changed or
new line has none. Editors end lines as the Language Server Protocol says: at a line feed, a carriage return, or both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\n|\r")
_MOST = 3_000  # lines between the first and the last change; of more, no line is placed

_FEWEST = 5  # equal lines between two changes that count: a single `}` is equal to many others


def editor_lines(text: str) -> list[str]:
    """Returns the lines of a text as an editor counts them, without their ends."""
    return _LINE_END.split(text)


class EqualLines:
    """The lines that two texts share, in order. Lines count from 0.

    Equal lines at the beginning and at the end are paired directly; the lines between them by `difflib`.
    """

    def __init__(self, edited: Sequence[str], disk: Sequence[str]) -> None:
        first, shorter = 0, min(len(edited), len(disk))
        while first < shorter and edited[first] == disk[first]:
            first += 1
        last = 0
        while last < shorter - first and edited[-1 - last] == disk[-1 - last]:
            last += 1
        blocks = [(0, 0, first)]
        inner, other = edited[first : len(edited) - last], disk[first : len(disk) - last]
        if max(len(inner), len(other)) <= _MOST:
            matching = SequenceMatcher(None, inner, other, autojunk=False).get_matching_blocks()
            blocks += [(first + block.a, first + block.b, block.size) for block in matching if block.size >= _FEWEST]
        blocks.append((len(edited) - last, len(disk) - last, last))
        self._in_editor = [block for block in blocks if block[2]]
        self._on_disk = [(disk, edited, size) for edited, disk, size in self._in_editor]
        self.is_whole = first == len(edited) == len(disk)

    def on_disk(self, line: int) -> int | None:
        """Returns the line on disk of a line in the editor, or None if it was changed."""
        return _paired(line, self._in_editor)

    def in_editor(self, line: int) -> int | None:
        """Returns the line in the editor of a line on disk, or None if the editor has no such line."""
        return _paired(line, self._on_disk)


def _paired(line: int, blocks: Sequence[tuple[int, int, int]]) -> int | None:
    at = bisect_right(blocks, line, key=lambda block: block[0]) - 1
    if at < 0:
        return None
    begin, other, size = blocks[at]
    return other + line - begin if line < begin + size else None


def units(text: str, encoding: Encoding) -> int:
    """Returns the length of a text in an editor's units."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text) + sum(letter > "\uffff" for letter in text)
    return len(text.encode("utf-8", "surrogatepass"))


def column(line: str, character: int, encoding: Encoding) -> int:
    """Returns the column, in characters, of a place that an editor names in its units.

    A place inside a character is the character's beginning. A place behind the end of the line is its end.
    """
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    counted = 0
    for number, letter in enumerate(line):
        counted += units(letter, encoding)
        if counted > character:
            return number
    return len(line)
