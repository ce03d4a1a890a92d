"""Brackets: closing brackets, beginnings of statements, braces around code; lists split at commas."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache

from ptexplore.lazy import lazy

_MARK = re.compile(r"[(){}\[\];]")
_BRACKET = re.compile(r"[(){}\[\]]")
_ARGUMENT = re.compile(r"[({\[,]")
_OPENING = {")": "(", "}": "{", "]": "["}
_CLOSING = {"(": ")", "<": ">", "{": "}", "[": "]"}
_BLANKS = re.compile(r"\s*")
_BRACES = re.compile(r"[{}]")
_ANY_BRACKET = re.compile(r"[(){}\[\]<>]")
_BRACKET_OR_SIGN = re.compile(r"[(){}\[\]<>,=]")  # the characters that matter for splitting a list


class Brackets:
    """The brackets of a text whose comments and literals are blank. A bracket around a mismatched one does not close.

    A closing bracket is searched from its opening one, and all pairs on the way are stored: most of a long file is
    never needed. All brackets are paired when the beginning of a statement is needed.
    """

    def __init__(self, bare: str) -> None:
        self.bare = bare
        self._pairs: dict[int, int] = {}  # in both directions

    @lazy
    def _marks(self) -> list[int]:
        """The offsets of all brackets and semicolons. Computing them pairs the brackets."""
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
        """Returns the offset of the bracket that closes the one at `opening`, or -1."""
        closing = self._pairs.get(opening)
        if closing is None and "_marks" not in self.__dict__:
            closing = self._look(opening)
        return -1 if closing is None or closing < opening else closing

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

    def behind_blanks(self, at: int) -> int:
        """Returns the offset of the next character that is not blank, or the end of the text."""
        return _BLANKS.match(self.bare, at).end()  # type: ignore[union-attr]

    def scope_end(self, start: int) -> int:
        """Returns the offset of the brace that closes the scope around `start`, or the end of the text."""
        depth = 0
        for match in _BRACES.finditer(self.bare, start):
            depth += 1 if match[0] == "{" else -1
            if depth < 0:
                return match.start()
        return len(self.bare)

    def statement(self, at: int, floor: int = 0) -> int:
        """Returns the beginning of the statement at `at`, but never less than `floor`."""
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
        """Returns the spans between two offsets, split at commas outside brackets and trimmed.

        Angle brackets do not count.

        With `limit`, there are at most so many spans: the last one has the rest.
        """
        spans: list[tuple[int, int]] = []
        begin = at = start
        while len(spans) != limit - 1:
            match = _ARGUMENT.search(self.bare, at, stop)
            if match is None:
                break
            at = match.end()
            if match[0] == ",":
                spans.append((begin, match.start()))
                begin = at
            else:
                closing = self.closing(match.start())
                at = closing + 1 if 0 <= closing < stop else at
        return [self._trimmed(*span) for span in (*spans, (begin, stop))]

    def _trimmed(self, start: int, stop: int) -> tuple[int, int]:
        while start < stop and self.bare[start].isspace():
            start += 1
        while stop > start and self.bare[stop - 1].isspace():
            stop -= 1
        return start, stop


def closing_of(text: str, opening: int) -> int:
    """Returns the offset of the bracket that closes the one at `opening`, or -1. Angle brackets count."""
    stack: list[str] = []
    at = opening
    while at < len(text):
        sign = text[at]
        if sign == '"':
            at = text.find('"', at + 1)
            if at < 0:
                return -1
        elif sign in "({[" or (sign == "<" and (not stack or stack[-1] in (">", ")"))):
            stack.append(_CLOSING[sign])
        elif sign == ">" and text[at - 1] == "-":
            pass
        elif sign in ")}]>":
            while stack and stack[-1] == ">" and sign != ">":  # this `<` was a comparison
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
    """Splits a list at its outermost commas, or at another sign. Angle brackets count."""
    if _ANY_BRACKET.search(listed) is None:
        return listed.split(sign)
    pieces: list[str] = []
    depth = start = 0
    for match in _BRACKET_OR_SIGN.finditer(listed):
        at, char = match.start(), match[0]
        if char in _CLOSING:
            depth += 1
        elif char in ")]}" or (char == ">" and listed[at - 1 : at] not in ("-", "=")):
            depth -= 1
        elif char == sign and depth <= 0:
            pieces.append(listed[start:at])
            start = at + 1
    return [*pieces, listed[start:]]


_NAMESPACE = re.compile(r'\bnamespace\b[^()=]*$|\bextern\s*"[^"]*"\s*$')
_CLASS = re.compile(r"\b(?:class|struct|union)\b[^()=]*$")
_ENUM = re.compile(r"\benum\b[^()=;]*$")
_ANGLES = re.compile(r"<[^<>]*>")


class CodeRanges:
    """The outermost braces around code, as opposed to braces around declarations."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._enums: set[int] = set()
        self._ends: list[int] = []
        last = open_ = 0
        while match := _BRACES.search(text, last):
            at = match.start()
            head = text[max(text.rfind(";", last, at) + 1, last) : at]
            last = at + 1
            if text[at] == "}":
                open_ -= 1
                continue
            if is_scope(head):
                open_ += 1
                continue
            self._starts.append(at)
            if "enum" in head and _ENUM.search(head):
                self._enums.add(at)
            last = closing(text, at)
            if last < 0:
                break
            self._ends.append(last)
        self.balanced = last >= 0 and open_ == 0
        self._ends += [len(text)] * (len(self._starts) - len(self._ends))

    @property
    def bodies(self) -> list[tuple[int, int]]:
        """The inner spans of all ranges, enumerations excepted."""
        both = zip(self._starts, self._ends, strict=True)
        return [(start + 1, end - 1) for start, end in both if start not in self._enums and end - start > 2]

    def holds(self, offset: int) -> bool:
        """Whether `offset` is in code."""
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at]

    def enumerates(self, offset: int) -> bool:
        """Whether `offset` is between the braces of an enumeration."""
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at] and self._starts[at] in self._enums


def closing(text: str, opening: int) -> int:
    """Returns the offset behind the brace that closes the one at `opening`, or -1. It jumps between closing braces."""
    depth, at = 1, opening + 1
    while depth:
        end = text.find("}", at)
        if end < 0:
            return -1
        depth += text.count("{", at, end) - 1
        at = end + 1
    return at


def is_scope(head: str) -> bool:
    """Whether the text before a `{` opens a namespace, a language linkage or a class."""
    if ("namespace" in head or "extern" in head) and _NAMESPACE.search(head):
        return True
    if not ("class" in head or "struct" in head or "union" in head):
        return False
    shorter = _ANGLES.sub(" ", head)
    while shorter != head:
        head, shorter = shorter, _ANGLES.sub(" ", shorter)
    return _CLASS.search(head) is not None and re.search(r"\benum\b", head) is None


@lru_cache(maxsize=4096)
def without_bodies(text: str) -> str:
    """Empties the function bodies of a text if its braces balance: only the declarations are needed."""
    if "{" not in text:
        return text
    code = CodeRanges(text)
    if not code.balanced:
        return text
    return without_spans(text, code.bodies)


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Removes `spans` from a text. They are sorted and do not overlap."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join(kept) + text[at:]
