"""Finds the condition that a place in a function depends on: the innermost `if`, `case` or `? :` around it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptexplore.cpp.brackets import closing_of
from ptexplore.cpp.text import blank

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_HEAD = re.compile(r"(?:(if)\b(?:\s*constexpr\b)?|(?:for|while|(switch))\b)\s*(?=\()|(?:(else)|do|try)\b")
_LABEL = re.compile(r"(?:case\b[^;{}?]*?|default\s*)(?<!:):(?!:)")
_CHOICE = re.compile(r"[(\[{?]")
_OPENING = re.compile(r"[(\[{;}]")


def condition_around(bare: str, offset: int) -> int | None:
    """Returns where the innermost condition around an offset begins.

    None if there is none, or the text is not understood.

    `bare` is the text of a function without comments and literals. An `else` depends on its `if`.
    """
    code = DIRECTIVE.sub(lambda directive: blank(directive[0]), bare)
    body = code.find("{")
    if not 0 <= body < offset:
        return None
    reader = _Reader(code, offset)
    reader.block(body, None)
    return reader.condition if reader.met else None


@dataclass
class _Reader:
    """Reads statements up to the one at `offset`. Then `condition` is the condition that the statement depends on."""

    code: str
    offset: int
    met: bool = False
    condition: int | None = None

    def block(self, opening: int, condition: int | None) -> int:
        """Reads a block and returns the offset behind it. Each `case` is a condition for the statements after it."""
        at = self._blanks(opening + 1)
        while at < len(self.code) and self.code[at] != "}" and not self.met:
            label = _LABEL.match(self.code, at)
            if label is not None:
                condition = at
            at = self._blanks(label.end() if label is not None else self.statement(at, condition))
        return at + 1

    def statement(self, at: int, condition: int | None) -> int:
        """Reads one statement, including nested ones."""
        at = self._blanks(at)
        if self.code.startswith("{", at):
            return self.block(at, condition)
        head = _HEAD.match(self.code, at)
        if head is None:
            return self._plain(at, condition)
        if not self.code.startswith("(", head.end()):
            return self.statement(head.end(), condition)
        closing = closing_of(self.code, head.end())
        if closing < 0:
            return len(self.code)
        if self.offset <= closing:
            return self._plain(head.end(), condition)
        end = self.statement(closing + 1, at if head[1] else condition)
        following = self._blanks(end)
        other = _HEAD.match(self.code, following) if head[1] and not self.met else None
        return self.statement(other.end(), at) if other is not None and other[3] else end

    def _plain(self, at: int, condition: int | None) -> int:
        """Reads up to the semicolon. Braces before it are bodies of lambdas, or values."""
        begin = at
        while (mark := _OPENING.search(self.code, at)) is not None and not self.met:
            if mark[0] in ";}":
                self._meet(begin, mark.start(), condition)
                return mark.end() if mark[0] == ";" else mark.start()
            closing = closing_of(self.code, mark.start())
            if closing < 0:
                return len(self.code)
            if mark.start() < self.offset < closing:
                chosen = self._chosen(begin, mark.start(), condition)
                if mark[0] == "{":
                    self.block(mark.start(), chosen)
                else:
                    self._plain(mark.start() + 1, chosen)
                self._meet(begin, closing, chosen)
                return closing
            at = closing + 1
        self._meet(begin, len(self.code), condition)
        return len(self.code)

    def _meet(self, begin: int, end: int, condition: int | None) -> None:
        if not self.met and begin <= self.offset <= end:
            self.met, self.condition = True, self._chosen(begin, self.offset, condition)

    def _chosen(self, begin: int, end: int, condition: int | None) -> int | None:
        """Returns `begin` if there is a `?` between two offsets, outside brackets; else the condition around."""
        at = begin
        while (mark := _CHOICE.search(self.code, at, end)) is not None:
            if mark[0] == "?":
                return begin
            closing = closing_of(self.code, mark.start())
            if closing < 0:
                break
            at = closing + 1
        return condition

    def _blanks(self, at: int) -> int:
        while at < len(self.code) and self.code[at].isspace():
            at += 1
        return at
