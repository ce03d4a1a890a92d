"""Starts a note: finds the thing that a target names, and writes an anchor that means exactly that place."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ptexplore.annotations.anchors import Resolver
from ptexplore.annotations.records import Anchor, Where
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.lookup.targets import candidates
from ptexplore.lookup.trees import Candidate, IndexedTree
from ptexplore.model.symbols import DIALECT_KINDS, Dialect, Symbol

_NOWHERE = Where("", 0)


@dataclass(frozen=True, slots=True)
class NewNote:
    """The text of a new note, and its id."""

    id: str
    text: str


def new_note(indexed: IndexedTree, target: str, note_id: str | None = None) -> NewNote:
    """Starts a note about what the target names. Without `note_id`, the id is made from the symbol's name.

    Raises PtexploreError (USAGE) if the target names nothing, several things, or something without a place in this
    tree.
    """
    anchor, title = _anchor_of_target(indexed, target)
    name = note_id or _id(anchor.symbol)
    return NewNote(name, _note_text(anchor, name, title, indexed.tree.info.version))


def _id(symbol: str) -> str:
    """Makes an id from the words of a symbol: `Engine::evaluate_function` becomes engine-evaluate-function."""
    words = re.findall(r"[A-Za-z0-9]+", "-".join(re.split(r"::|\.", symbol)[-2:]))
    return "-".join(words).lower()[:64].strip("-") or "note"


def _anchor_of_target(indexed: IndexedTree, target: str) -> tuple[Anchor, str]:
    named = candidates([indexed], None, target)
    if not named:
        operator = target if "::" in target else f"aten::{target}"
        rows = [row for row in indexed.store.dialect(operator, ("yaml-function",)) if row.path.endswith(".yaml")]
        if len(rows) == 1:
            return _anchor_of_row(rows[0]), rows[0].name
        why = f"searched: {indexed.tree.info.label}"
        raise PtexploreError(f"nothing has the name {target}", why, "ptexplore find NAME", USAGE)
    if len(named) > 1:
        raise _several(target, named)
    (candidate,) = named
    name = candidate.name
    if candidate.kind == "file":
        if candidate.first is None:
            raise PtexploreError(f"{name} is a whole file", "a note is about a place", f"{name}:LINE", USAGE)
        return _anchor_at(indexed, name, candidate.first)
    if candidate.symbol is None:
        rows = indexed.store.dialect(name, ("yaml-function",))
        if len(rows) == 1:
            return _anchor_of_row(rows[0]), rows[0].name
        why = f"its YAML has {len(rows)} entries with that name"
        raise PtexploreError(f"{name} has no single place in this source", why, "ptexplore show NAME", USAGE)
    return _anchor_of(indexed, candidate.symbol), candidate.symbol.qualified


def _several(target: str, named: Sequence[Candidate]) -> PtexploreError:
    some = "; ".join(f"{other.name} at {other.spot.ref.path}:{other.spot.ref.line}" for other in named[:5])
    first = named[0].spot.ref
    hint = f"ptexplore notes new {shlex.quote(f'{first.path}:{first.line}')}"
    return PtexploreError(f"{target} names {len(named)} things", some, hint, USAGE)


def _anchor_of(indexed: IndexedTree, symbol: Symbol) -> Anchor:
    """Returns the shortest anchor that means only this symbol. Raises PtexploreError if there is none."""
    resolver = Resolver(indexed.tree, indexed.store)
    for anchor in _tries(symbol):
        resolved = resolver.resolve("new#note", anchor)
        if resolved.placed and (resolved.path, resolved.symbol) == (symbol.path, symbol.line):
            return anchor
    message = f"{symbol.qualified} at {symbol.path}:{symbol.line} cannot be distinguished from others with its name"
    raise PtexploreError(message, "neither its parameters nor the code around it differs", "a place inside it", FAILED)


def _tries(symbol: Symbol) -> Iterator[Anchor]:
    parts = re.split(r"(::|\.)", symbol.qualified)
    names = [symbol.name, "".join(parts[-3:]), symbol.qualified]
    for name in dict.fromkeys(names):
        yield Anchor(_NOWHERE, symbol.path, name)
    if symbol.parameters is not None:
        yield Anchor(_NOWHERE, symbol.path, symbol.qualified, signature=f"({', '.join(symbol.parameters)})")


def _anchor_of_row(row: Dialect) -> Anchor:
    """Returns the anchor of a YAML entry."""
    return Anchor(_NOWHERE, row.path, row.name.removeprefix("aten::"))


def _anchor_at(indexed: IndexedTree, path: str, line: int) -> tuple[Anchor, str]:
    """Returns the anchor of a line: the symbol named on it, else the line's offset inside the symbol around it."""
    store = indexed.store
    symbols = [symbol for symbol in store.outline(path) if symbol.line == line and symbol.kind != "namespace"]
    for row in store.dialect_in(path, line):
        if DIALECT_KINDS[row.kind].anchor == "entry":
            return _anchor_of_row(row), row.name
    if len(symbols) == 1:
        return _anchor_of(indexed, symbols[0]), symbols[0].qualified
    around = store.enclosing(path, line)
    if around is None or around.kind == "namespace":
        rows = (row for row in store.dialect_in(path) if row.line <= line <= row.end_line)
        row_around = next((row for row in rows if DIALECT_KINDS[row.kind].anchor in ("entry", "block")), None)
        if row_around is None:
            why = "no definition is around it, and a note needs a name as its anchor"
            raise PtexploreError(f"{path}:{line} has no name for an anchor", why, "ptexplore notes new SYMBOL", FAILED)
        block = DIALECT_KINDS[row_around.kind].anchor == "block"
        anchor = Anchor(_NOWHERE, path, row_around.text) if block else _anchor_of_row(row_around)
        return _with_line(anchor, line - row_around.line), row_around.name
    return _with_line(_anchor_of(indexed, around), line - around.line), around.qualified


def _with_line(anchor: Anchor, offset: int) -> Anchor:
    return replace(anchor, lines=(offset, offset)) if offset else anchor


def _note_text(anchor: Anchor, name: str, title: str, version: str) -> str:
    """Returns the whole file. `version` is the version of the tree that the note is written on."""
    release = re.match(r"[0-9]+\.[0-9]+\.[0-9]+", version)
    rows = [
        "---",
        f"id: {name}",
        f"title: {_quoted(title)}",
        f"baseline: v{release[0] if release else '0.0.0'}",
        "---",
        "",
        f"## {title} {{#{name}}}",
        "",
        "```anchor",
        f"path: {anchor.path}",
        f"symbol: {_quoted(anchor.symbol)}",
    ]
    if anchor.signature:
        rows.append(f"signature: {_quoted(anchor.signature)}")
    if anchor.lines:
        rows.append(f"lines: [{anchor.lines[0]}, {anchor.lines[1]}]")
    return "\n".join([*rows, "```", "", "", ""])


def _quoted(text: str) -> str:
    """Quotes a text for YAML if it has characters with a meaning there."""
    if re.fullmatch(r"[A-Za-z_][\w.]*(?:::[\w.]+)*", text):
        return text
    return "'" + text.replace("'", "''") + "'"
