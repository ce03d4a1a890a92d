"""How Symbol and Dialect records become short JSON rows of an atlas and come back; what repeats stands in tables.

Kept of a symbol: all but its signature as written. Kept of a dialect row: all but `text`, and `context` only where it
is a name (a key, an architecture, a table), not a C++ type. So an atlas holds names, places and types, no source text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ptexplore.symbols import Dialect, Symbol

# Kinds that an atlas keeps, definitions only. Namespaces are in a file's outline, and no name to look up.
SYMBOLS = ("function", "class", "struct", "union", "enum", "namespace")
# native_functions.yaml and derivatives.yaml are left out: every wheel holds its own.
DIALECT = (
    "library", "def", "impl", "stub-declare", "stub-define", "stub-register", "structured-impl", "structured-meta",
    "method", "pybind", "flag",
)  # fmt: skip
_TYPED = ("stub-declare", "flag")  # whose context is a C++ type
_TEMPLATE, _STATIC, _MACRO = 1, 2, 4
_OPERATOR = re.compile(r"(?:^|::)(operator(?:\W.*|\s.*)?)$", re.DOTALL)


def last_part(qualified: str) -> str:
    """The last part of a qualified name: "add" of "at::native::add", "operator<<" of "c10::operator<<"."""
    found = _OPERATOR.search(qualified)
    if found:
        return found[1]
    depth = 0
    for at in range(len(qualified) - 1, 0, -1):
        depth += {">": 1, ")": 1, "<": -1, "(": -1}.get(qualified[at], 0)
        if depth <= 0 and qualified[at - 1 : at + 1] == "::":
            return qualified[at + 1 :]
    return qualified


def key(qualified: str) -> str:
    """What a qualified name is filed under: its last part first, so that equal ones stand together."""
    last = last_part(qualified)
    return f"{last}\t{qualified[: len(qualified) - len(last)]}"


class Table:
    """Values by number, each once, in the order they first came."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """The number of a (hashable) value."""
        if value not in self._numbers:
            self._numbers[value] = len(self.values)
            self.values.append(value)
        return self._numbers[value]

    def optional(self, value: Any) -> int:
        """0 for nothing, else one more than the number."""
        return 0 if not value else self.number(value) + 1


class Encoder:
    """Fills the sections of one atlas; rows must come in a fixed order for the same bytes to come out."""

    def __init__(self, files: Mapping[str, int]) -> None:
        """`files`: every path of the tree and how many lines it has."""
        self._files = [[path, files[path]] for path in sorted(files)]
        self._path = {path: number for number, (path, _) in enumerate(self._files)}
        self._scopes, self._types, self._lists, self._guards, self._words = (Table() for _ in range(5))

    def symbols(self, rows: Iterable[Symbol]) -> dict[str, dict[str, Any]]:
        """Sections "outline" (by path) and "symbols" (`key` of the name to path and row in it)."""
        places: dict[str, list[list[Any]]] = defaultdict(list)
        names: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            if row.kind != "namespace":
                names[key(row.qualified)].extend((self._path[row.path], len(places[row.path])))
            places[row.path].append(self._symbol(row))
        return {"outline": dict(places), "symbols": dict(names)}

    def _symbol(self, row: Symbol) -> list[Any]:
        if last_part(row.qualified) != row.name:
            raise ValueError(f"{row.path}:{row.line}: {row.qualified!r} does not end in its last part {row.name!r}")
        flags = _TEMPLATE * row.template | _STATIC * row.static | _MACRO * (row.extractor == "macro")
        types = None if row.parameters is None else tuple(self._types.number(one) for one in row.parameters)
        return _trim([
            row.name, self._scopes.number(_scopes(row.qualified[: len(row.qualified) - len(row.name)], row.scope)),
            SYMBOLS.index(row.kind), row.line, row.end_line - row.line, row.line - row.begin,
            0 if types is None else self._lists.number(types) + 1,
            flags, self._guards.optional(row.guards), self._words.optional(row.macro),
        ])  # fmt: skip

    def dialect(self, rows: Iterable[Dialect]) -> dict[str, dict[str, Any]]:
        """Sections "dialect" (by path), "dialect-names" and "dialect-targets" (to path and row in it)."""
        places: dict[str, list[list[Any]]] = defaultdict(list)
        names: dict[str, list[int]] = defaultdict(list)
        targets: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            where = (self._path[row.path], len(places[row.path]))
            names[row.name].extend(where)
            if row.target:
                targets[last_part(row.target)].extend(where)
            places[row.path].append(self._dialect(row))
        return {"dialect": dict(places), "dialect-names": dict(names), "dialect-targets": dict(targets)}

    def _dialect(self, row: Dialect) -> list[Any]:
        context = None if row.kind in _TYPED else row.context
        return _trim([
            DIALECT.index(row.kind), row.name, row.line, row.end_line - row.line,
            0 if row.block is None else row.line - row.block + 1,
            row.target or 0, self._words.optional(context), self._words.optional(row.macro),
            self._guards.optional(row.guards),
        ])  # fmt: skip

    def tables(self) -> dict[str, Any]:
        """The lists that the rows refer to; last, when all rows are in."""
        return {
            "files": self._files,
            "scopes": self._scopes.values,
            "types": self._types.values,
            "lists": self._lists.values,
            "guards": self._guards.values,
            "words": self._words.values,
        }


def _scopes(prefix: str, scope: str) -> tuple[str, ...]:
    """What stands before the last part of a qualified name, and the scope where it says more."""
    return (prefix,) if scope + "::" * bool(scope) == prefix else (prefix, scope)


def _trim(row: list[Any]) -> list[Any]:
    while row and row[-1] == 0:
        row.pop()
    return row


class Decoder:
    """Rows back to records."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        """`tables` as Encoder.tables() gave them."""
        self.files: dict[str, int] = dict(tables["files"])
        self.paths = list(self.files)
        self._tables = tables

    def symbol(self, path: str, row: list[Any]) -> Symbol:
        """The definition in a file that `row` tells of; its signature is ""."""
        name, scope, kind, line, span, lead, types, flags, guards, macro = row + [0] * (10 - len(row))
        prefix, *around = self._tables["scopes"][scope]
        parameters = None if not types else tuple(self._tables["types"][t] for t in self._tables["lists"][types - 1])
        return Symbol(
            path, name, prefix + name, SYMBOLS[kind],  # type: ignore[arg-type]
            line, line + span, line - lead, scope=around[0] if around else prefix[:-2], parameters=parameters,
            guards=tuple(self._optional("guards", guards) or ()), macro=self._optional("words", macro),
            template=bool(flags & _TEMPLATE), static=bool(flags & _STATIC),
            extractor="macro" if flags & _MACRO else "tree-sitter",
        )  # fmt: skip

    def dialect(self, path: str, row: list[Any]) -> Dialect:
        """The dialect row of a file that `row` tells of; its text is ""."""
        kind, name, line, span, block, target, context, macro, guards = row + [0] * (9 - len(row))
        return Dialect(
            path, line, line + span, DIALECT[kind], name,  # type: ignore[arg-type]
            context=self._optional("words", context), target=target or None,
            block=line - block + 1 if block else None, macro=self._optional("words", macro) or "",
            guards=tuple(self._optional("guards", guards) or ()),
        )  # fmt: skip

    def _optional(self, table: str, number: int) -> Any:
        return self._tables[table][number - 1] if number else None
