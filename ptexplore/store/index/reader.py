"""Reads the index of one tree's source text: symbols, references and PyTorch's dialect, by name and by place."""

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
    """The state of a file when it was read. `stamp` is its mtime_ns, or 0 if the time is not reliable."""

    sha: str
    size: int
    stamp: int
    layer: str


def _alike(symbol: Symbol) -> tuple[bool, object, object]:
    """Returns the properties of a definition.

    If two definitions of one name have equal properties, both may be meant.
    """
    return symbol.path.endswith(".pyi"), symbol.parameters, symbol.scope


class IndexStore(IndexSearch):
    """An open index. Every method raises StaleIndex if the file turns out to be damaged.

    `rows` runs a query; it is only for this package.
    """

    # a cache: the name of the last call of `definitions_alike`, and the counts of its definitions
    _alike: tuple[str, Counter[object]] = ("", Counter())

    # --- files ---

    def files(self) -> list[IndexedFile]:
        """Returns every file, sorted by path."""
        return [IndexedFile(*row) for row in self.rows(f"{_FILE} ORDER BY path")]

    def file(self, path: str) -> IndexedFile | None:
        """Returns the file with this canonical path, or None."""
        rows = self.rows(f"{_FILE} WHERE path = ?", path)
        return IndexedFile(*rows[0]) if rows else None

    def files_below(self, folder: str) -> list[IndexedFile]:
        """Returns every file below a folder ("": every file), sorted by path."""
        if not folder:
            return self.files()
        query = f"{_FILE} WHERE path > ? AND path < ? ORDER BY path"
        return [IndexedFile(*row) for row in self.rows(query, f"{folder}/", f"{folder}0")]

    def has_folder(self, path: str) -> bool:
        """Whether the folder with this canonical path contains a file."""
        return bool(self.rows("SELECT 1 FROM file WHERE path > ? AND path < ? LIMIT 1", f"{path}/", f"{path}0"))

    def known(self) -> dict[str, Known]:
        """Returns a dict: path -> the state that a refresh compares the file with."""
        return {path: Known(*rest) for path, *rest in self.rows("SELECT path, sha, size, stamp, layer FROM file")}

    def problems(self) -> list[tuple[str, list[str]]]:
        """Returns each file that could not be read completely, with the problems, sorted by path."""
        rows = self.rows("SELECT path, problems FROM file WHERE problems IS NOT NULL ORDER BY path")
        return [(path, json.loads(problems)) for path, problems in rows]

    # --- symbols ---

    def definitions(self, qualified: str) -> list[Symbol]:
        """Returns the definitions of exactly this qualified name ("at::native::add_kernel")."""
        return [symbol for symbol in self._qualified(qualified) if symbol.role == "definition"]

    def definitions_alike(self, symbol: Symbol) -> int:
        """Counts the definitions with the same qualified name, parameters and scope.

        Stub files (.pyi) are counted apart.
        """
        name, counted = self._alike
        if name != symbol.qualified:  # callers ask about definitions of the same name in a row
            counted = Counter(map(_alike, self.definitions(symbol.qualified)))
            self._alike = (symbol.qualified, counted)
        return counted[_alike(symbol)]

    def declarations(self, qualified: str) -> list[Symbol]:
        """Returns the declarations of exactly this qualified name."""
        return [symbol for symbol in self._qualified(qualified) if symbol.role == "declaration"]

    def _qualified(self, qualified: str) -> list[Symbol]:
        symbols: list[Symbol] = []
        for container, name in _splits(qualified):
            known = packed.text_id(container) if container else None
            symbols += self._symbols("s.name = ? AND s.container IS ?", name, known)
        # the few symbols whose qualified name does not end with their name
        kept_whole = packed.text_id(f"{qualified}\n")
        if self.rows("SELECT 1 FROM text WHERE id = ?", kept_whole):
            symbols += self._symbols("s.container = ?", kept_whole)
        return symbols

    def kinds_of(self, qualified: str) -> set[str]:
        """Returns the kinds of the symbols with exactly this qualified name.

        It is cheap even for a namespace, which thousands of rows open.
        """
        kinds: set[str] = set()
        for container, name in _splits(qualified):
            known = packed.text_id(container) if container else None
            rows = self.rows("SELECT DISTINCT kind FROM symbol WHERE name = ? AND container IS ?", name, known)
            kinds.update(packed.SYMBOL_KINDS[kind] for (kind,) in rows)
        return kinds

    def kinds_named(self, name: str) -> set[str]:
        """Returns the kinds of the symbols whose last part is `name`. It is as cheap as `kinds_of`."""
        rows = self.rows("SELECT DISTINCT kind FROM symbol WHERE name = ?", name)
        return {packed.SYMBOL_KINDS[kind] for (kind,) in rows}

    def symbols_named(self, name: str) -> list[Symbol]:
        """Returns definitions and declarations whose last part is `name`."""
        return self._symbols("s.name = ?", name)

    def symbols_ending(self, suffix: str) -> list[Symbol]:
        """Returns symbols whose qualified name is `suffix`, or ends with "::" (or ".") and `suffix`."""
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
        """Returns every symbol of one file, sorted by line."""
        return sorted(self._symbols_of(path, ""), key=lambda symbol: (symbol.line, symbol.begin, -symbol.end_line))

    def enclosing(self, path: str, line: int, kinds: Sequence[SymbolKind] | None = None) -> Symbol | None:
        """Returns the innermost definition around `line`, or None. `kinds` limits the search to these kinds."""
        where = "AND s.flags & 1 = 0 AND s.line - s.begin <= ? AND s.line + s.end_line >= ?"
        if kinds is not None:
            where += f" AND s.kind IN ({', '.join(str(packed.SYMBOL_KINDS.index(kind)) for kind in kinds)})"
        symbols = self._symbols_of(path, where, line, line)
        return min(symbols, key=lambda symbol: (symbol.end_line - symbol.begin, -symbol.line), default=None)

    def _symbols_of(self, path: str, where: str, *values: object) -> list[Symbol]:
        span = self._span(path)
        return self._symbols(f"s.id BETWEEN ? AND ? {where}", *span, *values) if span else []

    def every_symbol(self) -> Iterator[Symbol]:
        """Yields every symbol of every file. The symbols of a file come together."""
        return map(packed.symbol, self.rows(packed.SYMBOL))

    def _span(self, path: str) -> tuple[int, int] | None:
        rows = self.rows("SELECT id FROM file WHERE path = ?", path)
        return packed.span(rows[0][0]) if rows else None

    def _symbols(self, where: str, *values: object) -> list[Symbol]:
        symbols = [packed.symbol(row) for row in self.rows(f"{packed.SYMBOL} WHERE {where}", *values)]
        return sorted(symbols, key=lambda symbol: (symbol.path, symbol.line, symbol.qualified))

    # --- references ---

    def refs(self, name: str, kinds: Sequence[str] | None = None, limit: int | None = None) -> list[Ref]:
        """Returns uses of the last part `name`, sorted by path and line.

        `kinds` selects kinds of uses. `limit` keeps only the first uses.
        """
        query = f"{packed.REF} WHERE r.name = ?"
        if kinds is not None:
            query += f" AND r.kind IN ({', '.join(map(str, packed.ref_codes(kinds)))})"
        uses = packed.refs(self.rows(query, name))
        uses.sort(key=lambda use: (use.path, use.line, use.text))
        return uses[:limit]

    def refs_in(self, path: str) -> list[Ref]:
        """Returns every use in one file, sorted by line."""
        span = self._span(path)
        uses = packed.refs(self.rows(f"{packed.REF} WHERE r.id BETWEEN ? AND ?", *span)) if span else []
        return sorted(uses, key=lambda use: (use.line, use.name, use.text))

    # --- the dialect ---

    def dialect(self, name: str, kinds: Sequence[str] | None = None) -> list[Dialect]:
        """Returns the dialect rows with this name. `kinds` selects some kinds."""
        where = "d.name = ?"
        if kinds is not None:
            where += f" AND d.kind IN ({', '.join(map(str, packed.dialect_codes(kinds)))})"
        return self._dialect(where, name)

    def dialect_targeting(self, target_last: str) -> list[Dialect]:
        """Returns the dialect rows whose target is this name or ends with it:

        "at::native::add_kernel" for "add_kernel".
        """
        return self._dialect("d.last = ?", target_last)

    def dialect_in(self, path: str, line: int | None = None) -> list[Dialect]:
        """Returns the dialect rows of a file.

        `line` selects the rows of this line and of the block that begins there.
        """
        span = self._span(path)
        if span is None:
            return []
        if line is None:
            return self._dialect("d.id BETWEEN ? AND ?", *span)
        return self._dialect("d.id BETWEEN ? AND ? AND (d.line = ? OR d.block = ?)", *span, line, line)

    def every_dialect(self, kinds: Sequence[str]) -> list[Dialect]:
        """Returns every dialect row of these kinds, sorted by path and line."""
        return self._dialect(f"d.kind IN ({', '.join(map(str, packed.dialect_codes(kinds)))})")

    def _dialect(self, where: str, *values: object) -> list[Dialect]:
        records = [packed.dialect(row) for row in self.rows(f"{packed.DIALECT} WHERE {where} ORDER BY d.id", *values)]
        return sorted(records, key=lambda record: (record.path, record.line))

    # --- the rest ---

    @cached_property
    def _tally(self) -> Counter[str]:
        return Counter(json.loads(self.meta("tally") or "{}"))

    def counts(self) -> dict[str, int]:
        """Counts "files", "lines", "bytes", "symbols", "refs", "dialect", and rows by kind ("symbol function")."""
        files, lines, size = self.rows("SELECT count(*), coalesce(sum(lines), 0), coalesce(sum(size), 0) FROM file")[0]
        counts = {"files": files, "lines": lines, "bytes": size}
        for kind, total in (("symbol", "symbols"), ("ref", "refs"), ("dialect", "dialect")):
            counts[total] = sum(n for key, n in self._tally.items() if key.startswith(f"{kind} "))
        return counts | dict(sorted(self._tally.items()))


def _splits(qualified: str) -> Iterator[tuple[str, str]]:
    """Yields every split of a qualified name into the container, with its separator, and the name."""
    yield "", qualified
    for separator in ("::", "."):
        at = qualified.find(separator)
        while at != -1:
            end = at + len(separator)
            if end < len(qualified):
                yield qualified[:end], qualified[end:]
            at = qualified.find(separator, end)
