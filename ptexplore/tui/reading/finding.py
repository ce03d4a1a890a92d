"""What is searched for in one file: a plain text, capitals counting only where it has some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptexplore.tui.reading.files import OpenFile


@dataclass
class FileSearch:
    """The text searched for; nothing is found while it is empty."""

    text: str = ""

    def _lines(self, file: OpenFile, number: int) -> str:
        line = file.raw[number - 1]
        return line if self._exact else line.lower()

    @property
    def _exact(self) -> bool:
        return any(letter.isupper() for letter in self.text)

    def on_line(self, file: OpenFile, number: int) -> Iterator[tuple[int, int]]:
        """The columns where it is on a line."""
        if not self.text:
            return
        line = self._lines(file, number)
        at = line.find(self.text)
        while at != -1:
            yield at, at + len(self.text)
            at = line.find(self.text, at + len(self.text))

    def beside(self, file: OpenFile, line: int, column: int, step: int) -> tuple[int, int] | None:
        """The next place after (1) or before (-1) another, round the end of the file; None where there is none."""
        if not self.text:
            return None
        count = len(file.raw)
        for distance in range(count + 1):
            number = (line - 1 + step * distance) % count + 1
            found = [begin for begin, _end in self.on_line(file, number)][::step]
            if distance == 0:
                found = [begin for begin in found if (begin > column if step > 0 else begin < column)]
            if found:
                return number, found[0]
        return None

    def count(self, file: OpenFile) -> int:
        """How often it is in the file."""
        text = file.text if self._exact else file.text.lower()
        return text.count(self.text) if self.text else 0
