"""Brackets: what closes what in a text, where a statement begins; lists taken apart where angle brackets count too."""

from __future__ import annotations

import re
from bisect import bisect_left

from ptexplore.lazy import lazy

_MARK = re.compile(r"[(){}\[\];]")
_BRACKET = re.compile(r"[(){}\[\]]")
_ARGUMENT = re.compile(r"[({\[,]")
_OPENING = {")": "(", "}": "{", "]": "["}
_CLOSING = {"(": ")", "<": ">", "{": "}", "[": "]"}
_BRACES = re.compile(r"[{}]")


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

    def scope_end(self, start: int) -> int:
        """Where the braces close that `start` stands in; the end of the text where it stands in none."""
        depth = 0
        for match in _BRACES.finditer(self.bare, start):
            depth += 1 if match[0] == "{" else -1
            if depth < 0:
                return match.start()
        return len(self.bare)

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


def closing_of(said: str, opening: int) -> int:
    """The offset of the bracket that closes the one at `opening`, angle brackets counted; -1 where none does."""
    stack: list[str] = []
    at = opening
    while at < len(said):
        sign = said[at]
        if sign == '"':
            at = said.find('"', at + 1)
            if at < 0:
                return -1
        elif sign in "({[" or (sign == "<" and (not stack or stack[-1] in (">", ")"))):
            stack.append(_CLOSING[sign])
        elif sign == ">" and said[at - 1] == "-":
            pass
        elif sign in ")}]>":
            while stack and stack[-1] == ">" and sign != ">":  # a `<` that was a comparison
                stack.pop()
            if stack and stack[-1] == sign:
                stack.pop()
            elif sign != ">":
                return -1
            if not stack:
                return at
        at += 1
    return -1


def split(listed: str, sign: str = ",") -> list[str]:
    """A list taken apart at its outermost commas (or another sign); angle brackets count."""
    if sign not in listed:
        return [listed]
    found: list[str] = []
    depth = start = 0
    for at, char in enumerate(listed):
        if char in _CLOSING:
            depth += 1
        elif char in ")]}>" and not (char == ">" and listed[at - 1 : at] in ("-", "=")):
            depth -= 1
        elif char == sign and depth <= 0:
            found.append(listed[start:at])
            start = at + 1
    found.append(listed[start:])
    return found
