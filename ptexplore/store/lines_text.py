"""Thousands of names in one text, looked through case aside: at the beginning of a name, or anywhere in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}


def lowered(text: str) -> str:
    """Small letters for ASCII's capitals: lower() changes the length of a few others, and offsets must keep."""
    return text.translate(_LOWER)


class LinesText:
    """Names between line ends, sorted by their code points, each there once; a line end stands before and after."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts: dict[str, tuple[int, int]] = {}

    @cached_property
    def lower(self) -> str:
        """The same text in small letters; offsets mean the same in both."""
        return lowered(self.text)

    def part(self, letter: str) -> tuple[int, int]:
        """Where the names lie that begin with this letter, as sorted they do in one piece: from a line end to one."""
        known = self._parts.get(letter)
        if known is None:
            first, last = self.text.find(f"\n{letter}"), self.text.rfind(f"\n{letter}")
            known = (first, self.text.index("\n", last + 1) + 1) if first != -1 else (0, 0)
            self._parts[letter] = known
        return known

    def parts(self, letter: str) -> Iterator[tuple[int, int]]:
        """The same for a letter, large or small, in the order of the names."""
        for one in sorted({letter, letter.lower(), letter.upper() if letter.isascii() else letter}):
            begin, end = self.part(one)
            if begin < end:
                yield begin, end

    def beginning(self, start: str) -> Iterator[str]:
        """Names that begin so; `start` in small letters."""
        wanted = re.compile(rf"\n{re.escape(start)}[^\n]*")
        for begin, end in self.parts(start[0]):
            for match in wanted.finditer(self.lower, begin, end):
                yield self.text[match.start() + 1 : match.end()]

    def has(self, name: str) -> bool:
        """Whether this very name is there."""
        return self.text.find(f"\n{name}\n", *self.part(name[0])) != -1

    def called(self, name: str) -> Iterator[str]:
        """Names that are this one but for case; `name` in small letters."""
        for begin, end in self.parts(name[0]):
            at = self.lower.find(f"\n{name}\n", begin, end)
            while at != -1:
                yield self.text[at + 1 : at + 1 + len(name)]
                at = self.lower.find(f"\n{name}\n", at + 1, end)

    def holding(self, fragment: str) -> Iterator[str]:
        """Names that hold this; `fragment` in small letters."""
        at = self.lower.find(fragment)
        while at != -1:
            end = self.text.index("\n", at)
            yield self.text[self.text.rfind("\n", 0, at) + 1 : end]
            at = self.lower.find(fragment, end)
