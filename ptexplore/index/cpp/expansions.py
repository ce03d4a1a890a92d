"""What a file's macro invocations declare: their expansions, parsed together, each read in the scopes around it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from ptexplore.index.cpp.cuts import between
from ptexplore.index.cpp.grammar import rewrite
from ptexplore.index.cpp.invocations import Made
from ptexplore.index.cpp.prepare import Prepared
from ptexplore.index.cpp.syntax import Match, OpenScope, matches
from ptexplore.index.cpp.tree import Reader
from ptexplore.model.symbols import Symbol

_NAME_ARGUMENT = re.compile(r"(?:^|,)\s*(?:\w+\s*::\s*)*([A-Za-z_]\w+)\s*(?=,|$)")


class ExpandedSymbols(NamedTuple):
    """The symbols that one invocation declares; its last function, where all its expansions agree on that."""

    symbols: list[Symbol]
    function: Symbol | None


def declared(
    prepared: Prepared, made: Sequence[Made], framed: dict[int, tuple[OpenScope, ...]]
) -> list[ExpandedSymbols]:
    """What each invocation declares, given the scopes around the statements that they begin."""
    pieces = [_Piece(one, text, framed[one.begin]) for one in made for text in one.texts]
    readers = iter(_readers(prepared, pieces))
    return [_placed(prepared, one, [next(readers) for _ in one.texts]) for one in made]


class _Piece(NamedTuple):
    """One expansion of one invocation, and the scopes that it stands in."""

    made: Made
    text: str
    frames: tuple[OpenScope, ...]

    @property
    def source(self) -> str:
        """The text to parse: members and enumerators need their class or enumeration around them."""
        kind = self.frames[-1].kind
        return f"{kind} z{{{self.text}}};\n" if kind in ("class", "enum") else f"{self.text}\n"


def _readers(prepared: Prepared, pieces: Sequence[_Piece]) -> list[Reader]:
    """A reader of each expansion. An expansion that the parser does not understand hides none of its neighbours."""
    if not pieces:
        return []
    path = prepared.text.path
    sources = [piece.source for piece in pieces]
    written = "".join(sources)
    parsed = rewrite(path, written)
    found, failed = matches(parsed.encode("ascii", "replace"))
    if failed and len(pieces) > 1:
        half = len(pieces) // 2
        return _readers(prepared, pieces[:half]) + _readers(prepared, pieces[half:])
    starts = [0, *accumulate(map(len, sources))][:-1]
    return [
        _reader(prepared, piece, written, parsed, part, start)
        for piece, part, start in zip(pieces, _parted(found, starts), starts, strict=True)
    ]


def _parted(found: Sequence[Match], starts: Sequence[int]) -> list[list[Match]]:
    """The matches in each stretch of a text, given where the stretches begin."""
    parts: list[list[Match]] = [[] for _ in starts]
    for match in found:
        parts[bisect_right(starts, match.start) - 1].append(match)
    return parts


def _reader(prepared: Prepared, piece: _Piece, written: str, parsed: str, found: Sequence[Match], start: int) -> Reader:
    """A reader of one expansion, which begins at `start` of a parsed text."""
    line = prepared.text.line(piece.made.use.start)
    guards = prepared.text.guards(line)
    reader = Reader(prepared.text.path, parsed, lambda _: line, lambda _: guards)
    reader.shown = between(written)
    kind = piece.frames[-1].kind
    if kind in ("class", "enum"):  # the one put around it
        found = [match for match in found if match.start > start]
    reader.read(found, piece.frames)
    return reader


def _placed(prepared: Prepared, made: Made, readers: Sequence[Reader]) -> ExpandedSymbols:
    """What the expansions of one invocation declare, at the lines of the invocation."""
    text = prepared.text
    use = made.use
    line = text.line(use.start)
    last = text.line(use.arguments[1] if use.arguments else use.end)
    symbols: dict[tuple[object, ...], Symbol] = {}
    functions: dict[str | None, Symbol | None] = {}
    for reader in readers:
        function = next((symbol for symbol in reversed(reader.symbols) if symbol.kind == "function"), None)
        functions[function and function.qualified] = function
        for symbol in reader.symbols:
            key = (symbol.qualified, symbol.kind, symbol.parameters, symbol.role)
            if key not in symbols:
                named = _line_of(prepared, made, symbol.name, line)
                symbols[key] = symbol._replace(
                    macro=use.name, extractor="macro", line=named, begin=min(text.line(made.begin), named),
                    end_line=max(last, named),
                )  # fmt: skip
    return ExpandedSymbols(list(symbols.values()), next(iter(functions.values())) if len(functions) == 1 else None)


def _line_of(prepared: Prepared, made: Made, name: str, line: int) -> int:
    """The line of the longest argument that the name is made with; the invocation's where none is.

    Only an argument that is a name itself counts, and where it stands in the made one as a whole: "add" in "add_stub",
    not the "at" of some lambda in "Generate".
    """
    arguments = made.use.arguments
    if arguments is None or "\n" not in prepared.text.raw[slice(*arguments)]:
        return line
    best: tuple[int, int] | None = None
    for match in _NAME_ARGUMENT.finditer(prepared.text.bare[slice(*arguments)]):
        word = match[1]
        longer = best is None or len(word) > best[0]
        if longer and word in name and _stands_in(word, name):
            best = (len(word), arguments[0] + match.start(1))
    return prepared.text.line(best[1]) if best else line


def _stands_in(word: str, name: str) -> bool:
    """Whether a name holds a word that is neither begun by a letter or digit before it nor goes on behind it."""
    at = name.find(word)
    while at >= 0:
        before, after = name[at - 1 : at] if at else "", name[at + len(word) : at + len(word) + 1]
        begins = not (before.isascii() and before.isalnum())
        if begins and not (after.isascii() and (after.islower() or after.isdigit())):
            return True
        at = name.find(word, at + 1)
    return False
