"""One file on the screen: its text with colours and symbols, its notes and warnings, and a search in it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ptexplore.lookup.trees import IndexedTree, changed, spot
from ptexplore.source.permalink import permalink_of
from ptexplore.view.search.show import CHANGED
from ptexplore.view.source_file import SourceFile

if TYPE_CHECKING:
    from ptexplore.tui.library import Library

NOTELESS = "no note in this file: ctrl+p, then ? and words, finds other notes"
UNREAD = "the notes are still being read: try again in a moment"


class OpenFile(SourceFile):
    """A file of a tree with its notes. `notices` are warnings for the reader."""

    def __init__(self, library: Library, indexed: IndexedTree, path: str) -> None:
        super().__init__(indexed, path)
        self._library = library
        text = indexed.tree.read(path)
        ref = spot(indexed, path, None).ref
        self.layer = text.layer if text is not None else ref.layer
        self.precision = ref.precision

    # --- notes ---

    @property
    def notes(self) -> dict[int, int]:
        """The number of stops at each line; empty before the notes are read."""
        return self._notes if self._library.marked else {}

    @cached_property
    def _notes(self) -> dict[int, int]:
        return Counter(mark.line for mark in self._library.marks(self.indexed.tree.info.name, self.path))

    @property
    def stops(self) -> str:
        """A text on the stops in this file: how many, and on which lines; "" if there is none."""
        lines = [f"{line}" for line in sorted(self.notes)]
        some = ", ".join(lines[:3]) + ", …" * (len(lines) > 3)
        count = sum(self.notes.values())
        where = f"line{'s' * (len(lines) > 1)} {some}"
        return f"n: next of {count} stop{'s' * (count > 1)} in this file (● on {where}) · " if count else ""

    @property
    def noteless(self) -> str:
        """The text for a file without known notes."""
        return NOTELESS if self._library.marked else UNREAD

    # --- warnings ---

    @cached_property
    def notices(self) -> list[str]:
        """Warnings about the file as a whole."""
        if not self.there:
            label = self.indexed.tree.info.label
            return [f"{self.path} is in the index of {label}, but its text is not there"]
        return [CHANGED] if changed(self.indexed, self.path) else []

    @property
    def standing(self) -> str:
        """A few words on the tree, the layer, and the version if the installed torch is another one."""
        info = self.indexed.tree.info
        text = f"{info.label} · {self.layer or 'unknown layer'}"
        torch = self._library.torch
        if info.relation == "version-skew" and torch:
            return f"{text} · the installed torch is {torch}"
        return f"{text} · {self.precision}" if self.precision in ("ambiguous", "unknown", "version-skew") else text

    def permalink(self, line: int) -> tuple[str | None, str]:
        """Returns the public address of a line, with a remark; or None and the reason."""
        return permalink_of(self.indexed.tree, self.indexed.checkout, self.path, line)


@dataclass
class FileSearch:
    """A plain text to find in a file. Case counts if the text has capitals. An empty text finds nothing."""

    text: str = ""

    @property
    def _pattern(self) -> re.Pattern[str]:
        exact = any(letter.isupper() for letter in self.text)
        return re.compile(re.escape(self.text), 0 if exact else re.IGNORECASE)

    def on_line(self, file: OpenFile, number: int) -> list[tuple[int, int]]:
        """Returns the columns of the matches on a line."""
        return [match.span() for match in self._pattern.finditer(file.raw[number - 1])] if self.text else []

    def beside(self, file: OpenFile, line: int, column: int, step: int) -> tuple[int, int] | None:
        """Returns the next (1) or previous (-1) match; the search wraps around. None if there is none."""
        if not self.text or not file.raw:
            return None
        count = len(file.raw)
        for distance in range(count + 1):
            number = (line - 1 + step * distance) % count + 1
            columns = [begin for begin, _end in self.on_line(file, number)][::step]
            if distance == 0:
                columns = [begin for begin in columns if (begin > column if step > 0 else begin < column)]
            if columns:
                return number, columns[0]
        return None

    def count(self, file: OpenFile) -> int:
        """Returns the number of matches in the file."""
        return len(self._pattern.findall(file.text)) if self.text else 0
