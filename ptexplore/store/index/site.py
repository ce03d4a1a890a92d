"""The queries for a site of the source, over a whole tree: definitions by name, uses by file."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ptexplore.store.index.rows import (
    DECLARATION,
    REF_KINDS,
    STATIC,
    SYMBOL_KINDS,
    TEMPLATE,
    TEST,
    VIRTUAL,
    span,
    unpack_lines,
)

if TYPE_CHECKING:
    from ptexplore.store.index.reader import IndexStore

_SYMBOLS = """SELECT s.id >> 20, s.name, c.text, s.kind, s.line, s.begin, s.end_line, s.flags, s.signature
    FROM symbol s LEFT JOIN text c ON c.id = s.container"""
_REF = "r.name, r.kind, r.text, t.text, r.lines FROM ref r LEFT JOIN text t ON t.id = r.target"


class SiteDefinition(NamedTuple):
    """A symbol of a file. `file` is its number in `files`; `container` ends with its separator ("at::native::")."""

    file: int
    name: str
    container: str
    kind: str
    line: int
    begin: int
    end_line: int
    declared: bool  # only declared there
    static: bool
    test: bool
    signature: str
    virtual: bool = False  # its own declaration says `virtual`
    template: bool = False

    @property
    def qualified(self) -> str:
        return self.container + self.name


class SiteUse(NamedTuple):
    """All uses of one spelling in a file. `text` is the spelling.

    `target` is the definition that a semantic reader found for it.
    """

    name: str
    kind: str
    text: str
    target: str | None
    lines: list[int]


def files(store: IndexStore) -> dict[int, str]:
    """Returns the path of each file by its number."""
    return dict(store.rows("SELECT id, path FROM file ORDER BY path"))


def definitions(store: IndexStore) -> list[SiteDefinition]:
    """Returns every symbol of a tree, namespaces included, sorted by file and line."""
    return _definitions(store.rows(f"{_SYMBOLS} ORDER BY s.id"))


def named(store: IndexStore, name: str) -> list[SiteDefinition]:
    """Returns the symbols whose last part is `name`, in the order of `definitions`."""
    return _definitions(store.rows(f"{_SYMBOLS} WHERE s.name = ? ORDER BY s.id", name))


def of_file(store: IndexStore, file: int) -> list[SiteDefinition]:
    """Returns the symbols of one file, in the order of `definitions`."""
    return _definitions(store.rows(f"{_SYMBOLS} WHERE s.id BETWEEN ? AND ? ORDER BY s.id", *span(file)))


def classes(store: IndexStore) -> set[str]:
    """Returns the qualified names of classes, structs and unions."""
    kinds = ", ".join(str(SYMBOL_KINDS.index(kind)) for kind in ("class", "struct", "union"))
    query = "SELECT DISTINCT c.text, s.name FROM symbol s LEFT JOIN text c ON c.id = s.container"
    return {(text or "") + name for text, name in store.rows(f"{query} WHERE s.kind IN ({kinds})")}


def _definitions(rows: Iterable[tuple[Any, ...]]) -> list[SiteDefinition]:
    definitions = []
    for file, name, text, kind, line, before, after, flags, signature in rows:
        container = text or ""
        if container.endswith("\n"):  # a qualified name that does not end with its name is stored whole
            container = container[: -1 - len(name)] if container[:-1].endswith(name) else ""
        definitions.append(
            SiteDefinition(file, name, container, SYMBOL_KINDS[kind], line, line - before, line + after,
                       bool(flags & DECLARATION), bool(flags & STATIC), bool(flags & TEST), signature or "",
                       bool(flags & VIRTUAL), bool(flags & TEMPLATE))
        )  # fmt: skip
    return definitions


def uses(store: IndexStore, file: int, named: Container[str] | None = None) -> list[SiteUse]:
    """Returns every use in one file; with `named`, only the uses of these names."""
    rows = store.rows(f"SELECT {_REF} WHERE r.id BETWEEN ? AND ?", *span(file))
    return [_use(row) for row in rows if named is None or row[0] in named]


def calls_of(store: IndexStore, name: str) -> list[tuple[str, SiteUse]]:
    """Returns the calls with this last part, and the uses of a macro of this name, each with the path of its file."""
    kinds = ", ".join(str(REF_KINDS.index(kind)) for kind in ("call", "macro"))
    query = f"SELECT f.path, {_REF} JOIN file f ON f.id = r.id >> 20 WHERE r.name = ? AND r.kind IN ({kinds})"
    return [(path, _use(row)) for path, *row in store.rows(query, name)]


def _use(row: Sequence[Any]) -> SiteUse:
    name, kind, text, target, lines = row
    return SiteUse(name, REF_KINDS[kind], text or name, target, unpack_lines(lines))
