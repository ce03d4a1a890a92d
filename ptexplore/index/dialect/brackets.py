"""The brackets of one text, paired however they are nested: what closes what, where a statement begins."""

from __future__ import annotations

import re
from bisect import bisect_left

from ptexplore.index.lazy import lazy

_MARK = re.compile(r"[(){}\[\];]")
_BRACKET = re.compile(r"[(){}\[\]]")
_ARGUMENT = re.compile(r"[({\[,]")
_OPENING = {")": "(", "}": "{", "]": "["}


class Brackets:
    """Of a text whose comments and literals are blanked. A bracket with a wrong one inside closes nowhere.

    What closes a bracket is looked for from there on, with all between noted on the way: of a long file most is never
    asked for. All brackets are paired when a statement's begin is.
    """

    def __init__(self, bare: str) -> None:
        self.bare = bare
        self._pairs: dict[int, int] = {}  # both ways

    @lazy
    def _marks(self) -> list[int]:
        """Where every bracket and semicolon stands, the brackets paired."""
        marks: list[int] = []
        stack: list[int] = []
        pairs, bare = self._pairs, self.bare
        for match in _MARK.finditer(bare):
            at, sign = match.start(), match[0]
            marks.append(at)
            if sign in "({[":
                stack.append(at)
            elif sign != ";" and stack:
                if bare[stack[-1]] != _OPENING[sign]:
                    stack.clear()
                    continue
                opening = stack.pop()
                pairs[opening] = at
                pairs[at] = opening
        return marks

    def closing(self, opening: int) -> int:
        """The offset of the bracket that closes the one at `opening`; -1 where none does."""
        found = self._pairs.get(opening)
        if found is None and "_marks" not in self.__dict__:
            found = self._look(opening)
        return -1 if found is None or found < opening else found

    def _look(self, start: int) -> int | None:
        bare, pairs = self.bare, self._pairs
        stack: list[int] = []
        for match in _BRACKET.finditer(bare, start):
            at, sign = match.start(), match[0]
            if sign in "({[":
                stack.append(at)
                continue
            if not stack or bare[stack[-1]] != _OPENING[sign]:
                break
            opening = stack.pop()
            pairs[opening] = at
            pairs[at] = opening
            if not stack:
                return at
        pairs.update(dict.fromkeys(stack, -1))
        return None

    def statement(self, at: int, floor: int = 0) -> int:
        """Where the statement begins in which `at` stands; `floor` where it begins before that."""
        marks = self._marks
        index = bisect_left(marks, at) - 1
        while index >= 0:
            mark = marks[index]
            if mark < floor:
                return floor
            if self.bare[mark] not in ")]":
                return mark + 1
            opening = self._pairs.get(mark, -1)
            if opening < 0:
                return mark + 1
            index = bisect_left(marks, opening) - 1
        return floor

    def arguments(self, start: int, stop: int, limit: int = 0) -> list[tuple[int, int]]:
        """The spans between two offsets, cut at commas outside brackets (angle brackets are none), white space off.

        With `limit`, at most that many: the last one holds the rest.
        """
        found: list[tuple[int, int]] = []
        begin = at = start
        while len(found) != limit - 1:
            match = _ARGUMENT.search(self.bare, at, stop)
            if match is None:
                break
            at = match.end()
            if match[0] == ",":
                found.append((begin, match.start()))
                begin = at
            else:
                closing = self.closing(match.start())
                at = closing + 1 if 0 <= closing < stop else at
        return [self._trimmed(*one) for one in (*found, (begin, stop))]

    def _trimmed(self, start: int, stop: int) -> tuple[int, int]:
        while start < stop and self.bare[start].isspace():
            start += 1
        while stop > start and self.bare[stop - 1].isspace():
            stop -= 1
        return start, stop
