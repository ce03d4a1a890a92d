"""Read the index of one tree's source text: symbols, references and PyTorch's dialect, by name and by place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from ptexplore.model.symbols import Dialect, IndexedFile, Ref, Symbol, SymbolKind
from ptexplore.store.index import rows as packed
from ptexplore.store.index.opening import StaleIndex
from ptexplore.store.index.search import IndexSearch

__all__ = ["IndexStore", "Known", "StaleIndex"]

_FILE = "SELECT path, language, layer, sha, size, lines, extractor FROM file"


class Known(NamedTuple):
    """A file as it was when it was read; `stamp` is its mtime_ns, 0 where that is not to be relied on."""

    sha: str
    size: int
    stamp: int
    layer: str


def _alike(symbol: Symbol) -> tuple[bool, object, object]:
    """What two definitions of one name have in common where neither tells which of them is meant."""
    return symbol.path.endswith(".pyi"), symbol.parameters, symbol.scope


class IndexStore(IndexSearch):
    """An open index. Every method raises StaleIndex when the file turns out to be damaged.

    `rows` finds what a query asks for; it is for this package alone.
    """

    _alike: tuple[str, Counter[object]] = ("", Counter())  # the name that was asked for last, and what bears it

    # --- files ---

    def files(self) -> list[IndexedFile]:
        """Every file, by path."""
        return [IndexedFile(*row) for row in self.rows(f"{_FILE} ORDER BY path")]

    def file(self, path: str) -> IndexedFile | None:
        """The file of that canonical path."""
        rows = self.rows(f"{_FILE} WHERE path = ?", path)
        return IndexedFile(*rows[0]) if rows else None

    def files_below(self, folder: str) -> list[IndexedFile]:
        """Every file below that folder ("": every file), by path."""
        if not folder:
            return self.files()
        query = f"{_FILE} WHERE path > ? AND path < ? ORDER BY path"
        return [IndexedFile(*row) for row in self.rows(query, f"{folder}/", f"{folder}0")]

    def has_folder(self, path: str) -> bool:
        """Whether some file lies below that canonical path."""
        return bool(self.rows("SELECT 1 FROM file WHERE path > ? AND path < ? LIMIT 1", f"{path}/", f"{path}0"))

    def known(self) -> dict[str, Known]:
        """What a refresh compares each file with, by path."""
        return {path: Known(*rest) for path, *rest in self.rows("SELECT path, sha, size, stamp, layer FROM file")}

    def problems(self) -> list[tuple[str, list[str]]]:
        """Files with what could not be followed in them, by path."""
        rows = self.rows("SELECT path, problems FROM file WHERE problems IS NOT NULL ORDER BY path")
        return [(path, json.loads(problems)) for path, problems in rows]

    # --- symbols ---

    def definitions(self, qualified: str) -> list[Symbol]:
        """Definitions of exactly that qualified name ("at::native::add_kernel")."""
        return [symbol for symbol in self._qualified(qualified) if symbol.role == "definition"]

    def definitions_alike(self, symbol: Symbol) -> int:
        """How many definitions have the symbol's qualified name, parameters and scope, in stub files or in others."""
        name, counted = self._alike
        if name != symbol.qualified:  # of one name one asks after another
            counted = Counter(map(_alike, self.definitions(symbol.qualified)))
            self._alike = (symbol.qualified, counted)
        return counted[_alike(symbol)]

    def declarations(self, qualified: str) -> list[Symbol]:
        """Declarations of exactly that qualified name."""
        return [symbol for symbol in self._qualified(qualified) if symbol.role == "declaration"]

    def _qualified(self, qualified: str) -> list[Symbol]:
        symbols: list[Symbol] = []
        for container, name in _splits(qualified):
            known = packed.text_id(container) if container else None
            symbols += self._symbols("s.name = ? AND s.container IS ?", name, known)
        kept_whole = packed.text_id(f"{qualified}\n")  # of the few whose qualified name does not end in their name
        if self.rows("SELECT 1 FROM text WHERE id = ?", kept_whole):
            symbols += self._symbols("s.container = ?", kept_whole)
        return symbols

    def kinds_of(self, qualified: str) -> set[str]:
        """What bears exactly that qualified name, by kind: cheap also for a namespace, which thousands of rows open."""
        kinds: set[str] = set()
        for container, name in _splits(qualified):
            known = packed.text_id(container) if container else None
            rows = self.rows("SELECT DISTINCT kind FROM symbol WHERE name = ? AND container IS ?", name, known)
            kinds.update(packed.SYMBOL_KINDS[kind] for (kind,) in rows)
        return kinds

    def kinds_named(self, name: str) -> set[str]:
        """What has that last part, by kind: as cheap."""
        rows = self.rows("SELECT DISTINCT kind FROM symbol WHERE name = ?", name)
        return {packed.SYMBOL_KINDS[kind] for (kind,) in rows}

    def symbols_named(self, name: str) -> list[Symbol]:
        """Definitions and declarations whose last part is `name`."""
        return self._symbols("s.name = ?", name)

    def symbols_ending(self, suffix: str) -> list[Symbol]:
        """Symbols whose qualified name is `suffix` or ends in "::" (or ".") and `suffix`."""
        symbols: list[Symbol] = []
        for container, name in _splits(suffix):
            if not container:
                symbols += self._symbols("s.name = ?", name)
                continue
            tails = [container, f"::{container}", f".{container}"]
            query = "s.name = ? AND (c.text = ? OR substr(c.text, ?) = ? OR substr(c.text, ?) = ?)"
            ends = [value for tail in tails[1:] for value in (-len(tail), tail)]
            symbols += self._symbols(query, name, container, *ends)
        return symbols

    def outline(self, path: str) -> list[Symbol]:
        """Every symbol of one file, by line."""
        return sorted(self._symbols_of(path, ""), key=lambda symbol: (symbol.line, symbol.begin, -symbol.end_line))

    def enclosing(self, path: str, line: int, kinds: Sequence[SymbolKind] | None = None) -> Symbol | None:
        """The innermost definition whose extent holds `line`, of some kinds only where given; None where none does."""
        where = "AND s.flags & 1 = 0 AND s.line - s.begin <= ? AND s.line + s.end_line >= ?"
        if kinds is not None:
            where += f" AND s.kind IN ({', '.join(str(packed.SYMBOL_KINDS.index(kind)) for kind in kinds)})"
        symbols = self._symbols_of(path, where, line, line)
        return min(symbols, key=lambda symbol: (symbol.end_line - symbol.begin, -symbol.line), default=None)

    def _symbols_of(self, path: str, where: str, *values: object) -> list[Symbol]:
        span = self._span(path)
        return self._symbols(f"s.id BETWEEN ? AND ? {where}", *span, *values) if span else []

    def every_symbol(self) -> Iterator[Symbol]:
        """Every symbol of every file; a file's own are together."""
        return map(packed.symbol, self.rows(packed.SYMBOL))

    def _span(self, path: str) -> tuple[int, int] | None:
        rows = self.rows("SELECT id FROM file WHERE path = ?", path)
        return packed.span(rows[0][0]) if rows else None

    def _symbols(self, where: str, *values: object) -> list[Symbol]:
        symbols = [packed.symbol(row) for row in self.rows(f"{packed.SYMBOL} WHERE {where}", *values)]
        return sorted(symbols, key=lambda symbol: (symbol.path, symbol.line, symbol.qualified))

    # --- references ---

    def refs(self, name: str, kinds: Sequence[str] | None = None, limit: int | None = None) -> list[Ref]:
        """Uses of the last part `name`, by path and line; of some kinds only, and the first `limit`, where given."""
        query = f"{packed.REF} WHERE r.name = ?"
        if kinds is not None:
            query += f" AND r.kind IN ({', '.join(map(str, packed.ref_codes(kinds)))})"
        uses = packed.refs(self.rows(query, name))
        uses.sort(key=lambda use: (use.path, use.line, use.text))
        return uses[:limit]

    def refs_in(self, path: str) -> list[Ref]:
        """Every use in one file, by line."""
        span = self._span(path)
        uses = packed.refs(self.rows(f"{packed.REF} WHERE r.id BETWEEN ? AND ?", *span)) if span else []
        return sorted(uses, key=lambda use: (use.line, use.name, use.text))

    # --- the dialect ---

    def dialect(self, name: str, kinds: Sequence[str] | None = None) -> list[Dialect]:
        """Rows of that name; of some kinds only where given."""
        where = "d.name = ?"
        if kinds is not None:
            where += f" AND d.kind IN ({', '.join(map(str, packed.dialect_codes(kinds)))})"
        return self._dialect(where, name)

    def dialect_targeting(self, target_last: str) -> list[Dialect]:
        """Rows whose target is that name or ends in it ("at::native::add_kernel" for "add_kernel")."""
        return self._dialect("d.last = ?", target_last)

    def dialect_in(self, path: str, line: int | None = None) -> list[Dialect]:
        """Rows of a file; where `line` is given those of that line, and those inside the block that begins there."""
        span = self._span(path)
        if span is None:
            return []
        if line is None:
            return self._dialect("d.id BETWEEN ? AND ?", *span)
        return self._dialect("d.id BETWEEN ? AND ? AND (d.line = ? OR d.block = ?)", *span, line, line)

    def every_dialect(self, kinds: Sequence[str]) -> list[Dialect]:
        """Every row of these kinds, by path and line."""
        return self._dialect(f"d.kind IN ({', '.join(map(str, packed.dialect_codes(kinds)))})")

    def _dialect(self, where: str, *values: object) -> list[Dialect]:
        records = [packed.dialect(row) for row in self.rows(f"{packed.DIALECT} WHERE {where} ORDER BY d.id", *values)]
        return sorted(records, key=lambda record: (record.path, record.line))

    # --- the rest ---

    @cached_property
    def _tally(self) -> Counter[str]:
        return Counter(json.loads(self.meta("tally") or "{}"))

    def counts(self) -> dict[str, int]:
        """Numbers of "files", "lines", "bytes", "symbols", "refs", "dialect", and by kind ("symbol function")."""
        files, lines, size = self.rows("SELECT count(*), coalesce(sum(lines), 0), coalesce(sum(size), 0) FROM file")[0]
        counts = {"files": files, "lines": lines, "bytes": size}
        for kind, total in (("symbol", "symbols"), ("ref", "refs"), ("dialect", "dialect")):
            counts[total] = sum(n for key, n in self._tally.items() if key.startswith(f"{kind} "))
        return counts | dict(sorted(self._tally.items()))


def _splits(qualified: str) -> Iterator[tuple[str, str]]:
    """Every way to part a qualified name into what is before the name, with its separator, and the name."""
    yield "", qualified
    for separator in ("::", "."):
        at = qualified.find(separator)
        while at != -1:
            end = at + len(separator)
            if end < len(qualified):
                yield qualified[:end], qualified[end:]
            at = qualified.find(separator, end)
