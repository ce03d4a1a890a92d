"""How Symbol and Dialect records become short JSON rows of an atlas and come back.

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


class Encoder:
    """Fills the sections of one atlas; rows must come in a fixed order for the same bytes to come out."""

    def __init__(self, files: Mapping[str, int]) -> None:
        """`files`: every path of the tree and how many lines it has."""
        self._path = {path: number for number, path in enumerate(sorted(files))}

    def symbols(self, rows: Iterable[Symbol]) -> dict[str, dict[str, Any]]:
        """Sections "outline" (by path) and "symbols" (`key` of the name to path and row in it)."""
        places: dict[str, list[list[Any]]] = defaultdict(list)
        names: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            if row.kind != "namespace":
                names[key(row.qualified)].extend((self._path[row.path], len(places[row.path])))
            places[row.path].append(_symbol(row))
        return {"outline": dict(places), "symbols": dict(names)}

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
            places[row.path].append(_dialect(row))
        return {"dialect": dict(places), "dialect-names": dict(names), "dialect-targets": dict(targets)}


def _symbol(row: Symbol) -> list[Any]:
    if last_part(row.qualified) != row.name:
        raise ValueError(f"{row.path}:{row.line}: {row.qualified!r} does not end in its last part {row.name!r}")
    prefix = row.qualified[: len(row.qualified) - len(row.name)]
    flags = _TEMPLATE * row.template | _STATIC * row.static | _MACRO * (row.extractor == "macro")
    return _trim([
        row.name, prefix, SYMBOLS.index(row.kind), row.line, row.end_line - row.line, row.line - row.begin,
        0 if row.parameters is None else row.parameters, flags,
        0 if row.scope == prefix[:-2] else row.scope, row.guards or 0, row.macro or 0,
    ])  # fmt: skip


def symbol(path: str, row: list[Any]) -> Symbol:
    """The definition in a file that `row` tells of; its signature is ""."""
    name, prefix, kind, line, span, lead, types, flags, scope, guards, macro = row + [0] * (11 - len(row))
    return Symbol(
        path, name, prefix + name, SYMBOLS[kind],  # type: ignore[arg-type]
        line, line + span, line - lead, scope=prefix[:-2] if scope == 0 else scope,
        parameters=None if types == 0 else tuple(types), guards=tuple(guards or ()), macro=macro or None,
        template=bool(flags & _TEMPLATE), static=bool(flags & _STATIC),
        extractor="macro" if flags & _MACRO else "tree-sitter",
    )  # fmt: skip


def _dialect(row: Dialect) -> list[Any]:
    context = None if row.kind in _TYPED else row.context
    return _trim([
        DIALECT.index(row.kind), row.name, row.line, row.end_line - row.line,
        0 if row.block is None else row.line - row.block + 1,
        row.macro or 0, row.target or 0, context or 0, row.guards or 0,
    ])  # fmt: skip


def dialect(path: str, row: list[Any]) -> Dialect:
    """The dialect row of a file that `row` tells of; its text is ""."""
    kind, name, line, span, block, macro, target, context, guards = row + [0] * (9 - len(row))
    return Dialect(
        path, line, line + span, DIALECT[kind], name,  # type: ignore[arg-type]
        context=context or None, target=target or None, block=line - block + 1 if block else None,
        macro=macro or "", guards=tuple(guards or ()),
    )  # fmt: skip


def _trim(row: list[Any]) -> list[Any]:
    while row and row[-1] == 0:
        row.pop()
    return row
