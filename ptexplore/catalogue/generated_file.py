"""One generated C++ file as the index's extractors read it: its text, its symbols, its rows of the dialect."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter

from ptexplore.model.symbols import Dialect, Symbol

_line = attrgetter("line")
_CLASSES = ("class", "struct")


class GeneratedFile:
    """What `index.cpp` and `index.dialect` say of one file, by name and by line."""

    def __init__(self, path: str, text: str, symbols: Sequence[Symbol], dialect: Sequence[Dialect]) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.dialect = dialect
        self.functions = [one for one in symbols if one.kind == "function" and one.role == "definition"]
        self._symbols = symbols

    @cached_property
    def _by_name(self) -> dict[str, list[Symbol]]:
        """The functions and classes that the file defines, by the last part of their name."""
        found: dict[str, list[Symbol]] = defaultdict(list)
        for one in self._symbols:
            if one.role == "definition" and (one.kind == "function" or one.kind in _CLASSES):
                found[one.name].append(one)
        return found

    @cached_property
    def _namespaces(self) -> list[Symbol]:
        """Every namespace; of those that begin in one line, the first written stands last."""
        last_first = [symbol for symbol in reversed(self._symbols) if symbol.kind == "namespace"]
        return sorted(last_first, key=_line)

    def functions_named(self, name: str) -> list[Symbol]:
        """Every function of that name, whatever its scope."""
        return [one for one in self._by_name.get(name, ()) if one.kind == "function"]

    def namespace_at(self, line: int) -> str:
        """The namespaces around a line; anonymous ones leave no trace, as in PyTorch's own messages."""
        for at in range(bisect_right(self._namespaces, line, key=_line) - 1, -1, -1):
            if line <= self._namespaces[at].end_line:
                return self._namespaces[at].qualified
        return ""

    def function(self, name: str, scope: str) -> list[Symbol]:
        """The functions that `name`, written in a scope, can mean."""
        return self._meant(name, scope, ("function",))

    def classes(self, name: str, scope: str) -> list[Symbol]:
        """The classes that `name`, written in a scope, can mean."""
        return self._meant(name, scope, _CLASSES)

    def _meant(self, name: str, scope: str, kinds: tuple[str, ...]) -> list[Symbol]:
        """Those of the innermost scope that defines any, as the compiler looks names up."""
        named = [one for one in self._by_name.get(name.rsplit("::", 1)[-1], ()) if one.kind in kinds]
        around = scope.split("::") if scope else []
        for depth in range(len(around), -1, -1):
            wanted = "::".join([*around[:depth], name])
            found = [one for one in named if one.qualified == wanted]
            if found:
                return found
        return []

    def head(self, symbol: Symbol) -> str:
        """The text of a definition from its begin to its opening brace."""
        return self._text(symbol.begin, symbol).partition("{")[0]

    def body(self, symbol: Symbol) -> str:
        """The text of a definition between its braces."""
        return self._text(symbol.line, symbol).partition("{")[2].rpartition("}")[0]

    def _text(self, first: int, symbol: Symbol) -> str:
        return "\n".join(self.lines[first - 1 : symbol.end_line])
