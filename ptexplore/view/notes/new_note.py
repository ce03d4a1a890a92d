"""The text that a new note begins with: an anchor that means exactly the place asked for, and prose to be written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ptexplore.annotations.anchors import Resolver
from ptexplore.annotations.records import Anchor, Where
from ptexplore.errors import FAILED, PtexploreError
from ptexplore.model.symbols import DIALECT_KINDS, Dialect, Symbol
from ptexplore.source.tree import SourceTree
from ptexplore.store.index.reader import IndexStore

_NOWHERE = Where("", 0)


def anchor_of(tree: SourceTree, store: IndexStore, symbol: Symbol) -> Anchor:
    """The shortest anchor that means this symbol and no other. Raises PtexploreError where none does."""
    resolver = Resolver(tree, store)
    for anchor in _tries(symbol):
        found = resolver.resolve("new#note", anchor)
        if found.placed and (found.path, found.symbol) == (symbol.path, symbol.line):
            return anchor
    what = f"{symbol.qualified} at {symbol.path}:{symbol.line} cannot be told from others of its name"
    raise PtexploreError(what, "neither its parameters nor what is around it differ", "a place inside it", FAILED)


def _tries(symbol: Symbol) -> Iterator[Anchor]:
    parts = re.split(r"(::|\.)", symbol.qualified)
    names = [symbol.name, "".join(parts[-3:]), symbol.qualified]
    for name in dict.fromkeys(names):
        yield Anchor(_NOWHERE, symbol.path, name)
    if symbol.parameters is not None:
        yield Anchor(_NOWHERE, symbol.path, symbol.qualified, signature=f"({', '.join(symbol.parameters)})")


def anchor_of_row(row: Dialect) -> Anchor:
    """The anchor of a YAML entry."""
    return Anchor(_NOWHERE, row.path, row.name.removeprefix("aten::"))


def anchor_at(tree: SourceTree, store: IndexStore, path: str, line: int) -> tuple[Anchor, str]:
    """The anchor of a line: of the symbol whose name stands there, else the line inside the one around it."""
    here = [one for one in store.outline(path) if one.line == line and one.kind != "namespace"]
    for row in store.dialect_in(path, line):
        if DIALECT_KINDS[row.kind].anchor == "entry":
            return anchor_of_row(row), row.name
    if len(here) == 1:
        return anchor_of(tree, store, here[0]), here[0].qualified
    around = store.enclosing(path, line)
    if around is None or around.kind == "namespace":
        rows = (row for row in store.dialect_in(path) if row.line <= line <= row.end_line)
        row_around = next((row for row in rows if DIALECT_KINDS[row.kind].anchor in ("entry", "block")), None)
        if row_around is None:
            why = "no definition is around it, and a note is anchored to a name"
            raise PtexploreError(f"{path}:{line} has no name to hold on to", why, "ptexplore notes new SYMBOL", FAILED)
        block = DIALECT_KINDS[row_around.kind].anchor == "block"
        anchor = Anchor(_NOWHERE, path, row_around.text) if block else anchor_of_row(row_around)
        return _with_line(anchor, line - row_around.line), row_around.name
    return _with_line(anchor_of(tree, store, around), line - around.line), around.qualified


def _with_line(anchor: Anchor, offset: int) -> Anchor:
    return replace(anchor, lines=(offset, offset)) if offset else anchor


def note_text(anchor: Anchor, name: str, title: str, version: str) -> str:
    """The whole file. `version` is that of the tree it is written on."""
    release = re.match(r"[0-9]+\.[0-9]+\.[0-9]+", version)
    rows = [
        "---",
        f"id: {name}",
        f"title: {_quoted(title)}",
        f"baseline: v{release[0] if release else '0.0.0'}",
        "---",
        "",
    ]
    rows += [f"## {title} {{#{name}}}", "", "```anchor", f"path: {anchor.path}", f"symbol: {_quoted(anchor.symbol)}"]
    if anchor.signature:
        rows.append(f"signature: {_quoted(anchor.signature)}")
    if anchor.lines:
        rows.append(f"lines: [{anchor.lines[0]}, {anchor.lines[1]}]")
    return "\n".join([*rows, "```", "", "", ""])


def _quoted(text: str) -> str:
    """As YAML takes it: quoted where it has signs that mean something there."""
    if re.fullmatch(r"[A-Za-z_][\w.]*(?:::[\w.]+)*", text):
        return text
    return "'" + text.replace("'", "''") + "'"
