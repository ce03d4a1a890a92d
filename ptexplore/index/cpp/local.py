"""Classes inside of bodies: their member functions, in the scope of the function that the body belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ptexplore.cpp.scopes import CodeRanges
from ptexplore.cpp.text import Text
from ptexplore.index.cpp.cuts import Cuts
from ptexplore.index.cpp.syntax import OpenScope, matches
from ptexplore.index.cpp.tree import Reader

_LOCAL_CLASSES = tuple(
    re.compile(word + r"\s*(?:\s[A-Za-z_]\w*\s*(?:final\s*)?(?::[^;{}()]*)?)?\{[^}]") for word in ("struct", "class")
)

Body = tuple[int, int]  # where it begins and ends, its braces left out


def with_classes(view: str, code: CodeRanges) -> list[Body]:
    """The bodies that hold a class of their own."""
    found = [one.start() for word in _LOCAL_CLASSES for one in word.finditer(view)]
    if not any(map(code.holds, found)):
        return []
    return [(start, end) for start, end in code.bodies if any(start <= at < end for at in found)]


def add_local(text: Text, reader: Reader, view: str, bodies: Iterable[tuple[Body, OpenScope]]) -> None:
    """The member functions of classes inside of bodies, and what these classes inherit.

    Each body is parsed by itself: what the parser does not understand in one then costs no other its scope.
    """
    for (start, end), frame in bodies:
        cuts = Cuts([(0, start - 1), (end + 1, len(view))])
        short = cuts.left(view)
        local = reader_of(text, short, cuts.whole, view)
        local.read(matches(short.encode("ascii"))[0], (frame._replace(kind="code"),))
        for symbol, offset in zip(local.symbols, local.offsets, strict=True):
            if symbol.kind == "function":
                reader.symbols.append(symbol)
                reader.offsets.append(offset)
        reader.inherited += local.inherited


def reader_of(text: Text, short: str, whole: Callable[[int], int], shown: str) -> Reader:
    """A reader of what is left of a text, whose offsets `whole` gives; signatures are as `shown` has them."""
    reader = Reader(text.path, short, text.line, text.guards)
    reader.shown = lambda start, end: shown[whole(start) : whole(end - 1) + 1]
    reader.whole = whole
    return reader
