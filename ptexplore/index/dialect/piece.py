"""A stretch of C++ to read the dialect from: a file, or what one macro invocation of it expands to, with true lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ptexplore.index.cpp.text import Text
from ptexplore.index.dialect.expand import Lookup, TooLong, expand
from ptexplore.symbols import Dialect, DialectKind

LONGEST = 300  # characters of Dialect.text
_STRING = re.compile(r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
_DIRECTIVE_START = re.compile(r"[ \t]*#")


@dataclass(frozen=True)
class Piece:
    """`text` is the file's, or that of an expansion; then `at` is the first and last line of the invocation.

    `macro` is the name of that invocation's macro as the file writes it. `names` gives what macros mean at an offset.
    """

    text: Text
    names: Callable[[int], Lookup]
    at: tuple[int, int] | None = None
    macro: str | None = None
    guards: tuple[str, ...] = ()

    def lines(self, start: int, stop: int) -> tuple[int, int]:
        """First and last line, in the file, of what stands between two offsets."""
        return self.at or (self.text.line(start), self.text.line(stop))

    def row(self, kind: DialectKind, span: tuple[int, int], name: str, said: str, **more: object) -> Dialect:
        """A row of this piece; `said` becomes its text."""
        line, end = self.lines(*span)
        guards = self.guards if self.at else self.text.guards(line)
        return Dialect(self.text.path, line, end, kind, name, text=one_line(said), guards=guards, **more)  # type: ignore[arg-type]

    def expanded(self, start: int, stop: int, macro: str) -> Piece | None:
        """What the invocation between two offsets expands to; None where nothing comes of it."""
        source = self.text.code[start:stop]
        lookup = self.names(start)
        try:
            code = expand(source, lookup)
        except TooLong:
            return None
        if code == source:
            return None
        at = self.lines(start, stop - 1)
        guards = self.guards if self.at else self.text.guards(at[0])
        return Piece(Text(self.text.path, code), lambda _: lookup, at, self.macro or macro, guards)

    def directive(self, offset: int) -> bool:
        """Whether the offset stands in a preprocessor directive (a `#define`'s body, for one)."""
        raw = self.text.bare
        start = raw.rfind("\n", 0, offset) + 1
        while start > 1 and raw[start - 2] == "\\":
            start = raw.rfind("\n", 0, start - 1) + 1
        return _DIRECTIVE_START.match(raw, start, offset) is not None

    def calls(
        self, pattern: re.Pattern[str], start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[re.Match[str], int]]:
        """Every match, outside directives, of a pattern that ends in an opening parenthesis; with where that closes."""
        bare = self.text.bare
        for match in pattern.finditer(bare, start, len(bare) if stop is None else stop):
            if not self.directive(match.start()):
                closing = self.text.closing(match.end() - 1)
                if closing >= 0:
                    yield match, closing


def one_line(text: str) -> str:
    """White space as single spaces, at most LONGEST characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= LONGEST else joined[: LONGEST - 1] + "…"


def split(text: Text, start: int, stop: int, limit: int = 0) -> list[tuple[int, int]]:
    """The arguments between two offsets, cut at commas outside brackets (angle brackets are none), as trimmed spans.

    With `limit`, at most that many: the last one holds the rest.
    """
    bare = text.bare
    found = []
    depth, begin = 0, start
    for match in re.finditer(r"[(){}\[\],]", bare[start:stop]):
        sign, at = match[0], start + match.start()
        if sign in "({[":
            depth += 1
        elif sign in ")}]":
            depth -= 1
        elif depth == 0:
            found.append((begin, at))
            begin = at + 1
            if limit and len(found) == limit - 1:
                break
    found.append((begin, stop))
    return [_trimmed(text.code, *one) for one in found]


def _trimmed(code: str, start: int, stop: int) -> tuple[int, int]:
    while start < stop and code[start].isspace():
        start += 1
    while stop > start and code[stop - 1].isspace():
        stop -= 1
    return start, stop


def literal(code: str) -> str | None:
    """All string literals of an expression joined, as the compiler joins neighbours; None where there is none."""
    found = [match[2] if match[2] is not None else match[3] for match in _STRING.finditer(code)]
    return "".join(found) if found else None
