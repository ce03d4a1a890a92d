"""What an anchor may mean in an index: every candidate, none chosen; and the token or lines inside one of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.annotations.fingerprint import Token, fingerprint, places
from ptexplore.annotations.lock import LockEntry
from ptexplore.annotations.records import Anchor
from ptexplore.cpp.types import unqualified_types
from ptexplore.model.symbols import DIALECT_KINDS

if TYPE_CHECKING:
    from ptexplore.annotations.records import Anchor
    from ptexplore.model.symbols import Dialect, Symbol
    from ptexplore.store.index.reader import IndexStore


_BLOCK = re.compile(r"[A-Z][A-Z0-9_]+\(.*\)?")
_BLOCKS = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.anchor == "block")
_ENTRIES = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.anchor == "entry")
_NAMED = tuple(kind for kind, traits in DIALECT_KINDS.items() if traits.anchor == "name")
_CLASSES = ("class", "struct", "union")


@dataclass(frozen=True, slots=True)
class AnchorCandidate:
    """One thing of that name: where (`begin` <= `line` <= `end`) and what it is. `local`: no other file sees it."""

    path: str
    name: str
    kind: str
    line: int
    begin: int
    end: int
    overload: str = ""
    declared: bool = False
    local: bool = False


def in_file(store: IndexStore, anchor: Anchor, outline: Sequence[Symbol], known: str | None) -> list[AnchorCandidate]:
    """What the anchor may mean in its own path. `known` is the qualified name that it had on its baseline.

    With that only what still bears it; else what bears the anchor's own, or ends in it.
    """
    block = _squeezed(anchor.symbol)
    if _BLOCK.fullmatch(block):
        rows = [row for row in store.dialect_in(anchor.path) if row.kind in _BLOCKS and _is_block(row.text, block)]
        return [_of_row(row, _squeezed(row.text)) for row in rows]
    if anchor.path.endswith((".yaml", ".yml")):
        return _yaml(store.dialect_in(anchor.path), anchor.symbol)
    named = [one for one in outline if one.qualified == (known or anchor.symbol)]
    if not named and known is None:
        ends = (f"::{anchor.symbol}", f".{anchor.symbol}")
        named = [one for one in outline if one.qualified.endswith(ends)]
    if anchor.inside is not None:
        named = [one for one in named if _is_inside(one, anchor.inside, outline)]
    found = best([_of_symbol(one) for one in named], anchor.signature)
    if not found and not named:
        rows = [row for row in store.dialect_in(anchor.path) if row.kind in _NAMED]
        return [_of_row(row, row.name) for row in rows if _is_row(row, anchor.symbol)]
    return found


def elsewhere(store: IndexStore, anchor: Anchor, qualified: str) -> list[AnchorCandidate]:
    """Definitions of exactly that qualified name in other files; stubs (.pyi) only repeat what the .py defines."""
    if _BLOCK.fullmatch(_squeezed(anchor.symbol)):
        return []
    if anchor.path.endswith((".yaml", ".yml")):
        name = qualified if "::" in qualified else f"aten::{qualified}"
        return [
            _of_row(row, row.name) for row in store.dialect(name, _ENTRIES) if row.path.endswith(_suffix(anchor.path))
        ]
    found = [one for one in store.definitions(qualified) if one.path != anchor.path and not one.path.endswith(".pyi")]
    return best([_of_symbol(one) for one in found], anchor.signature)


def best(found: Iterable[AnchorCandidate], signature: str | None) -> list[AnchorCandidate]:
    """Of these those with the signature; definitions rather than declarations; a class rather than its constructors."""
    left = list(found)
    if signature is not None:
        wanted = unqualified_types(signature)
        left = [one for one in left if one.overload == wanted]
    left = [one for one in left if not one.declared] or left
    left = [one for one in left if one.kind != "namespace"] or left
    classes = {f"{one.name}::{one.name.rpartition('::')[2]}" for one in left if one.kind in _CLASSES}
    return [one for one in left if one.name not in classes]


def _suffix(path: str) -> str:
    return path.rpartition("/")[2]


def _yaml(rows: Iterable[Dialect], symbol: str) -> list[AnchorCandidate]:
    names = (symbol, f"aten::{symbol}")
    return [_of_row(row, row.name) for row in rows if row.kind in _ENTRIES and row.name in names]


def _is_row(row: Dialect, symbol: str) -> bool:
    return row.name == symbol or row.name.rpartition("::")[2] == symbol


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _is_block(text: str, wanted: str) -> bool:
    """Whether `TORCH_LIBRARY_IMPL(aten, CPU, m)` is what `TORCH_LIBRARY_IMPL(aten, CPU)` asks for."""
    given = _squeezed(text)
    return given == wanted or given.startswith(f"{wanted.removesuffix(')')},")


def _is_inside(one: Symbol, inside: str, outline: Sequence[Symbol]) -> bool:
    """Whether a symbol is a member of `inside`, or lies within the lines of it."""
    tails = (f"::{inside}", f".{inside}")
    for other in outline:
        if other is one or not (other.qualified == inside or other.qualified.endswith(tails)):
            continue
        holds = other.begin <= one.begin and one.end_line <= other.end_line
        if one.qualified.startswith((f"{other.qualified}::", f"{other.qualified}.")) or holds:
            return True
    return False


def _of_symbol(one: Symbol) -> AnchorCandidate:
    overload = unqualified_types(f"({','.join(one.parameters)})") if one.parameters is not None else ""
    return AnchorCandidate(
        one.path, one.qualified, one.kind, one.line, one.begin, one.end_line, overload, one.role == "declaration",
        one.static,
    )  # fmt: skip


def _of_row(row: Dialect, name: str) -> AnchorCandidate:
    return AnchorCandidate(row.path, name, row.kind, row.line, row.line, row.end_line)


@dataclass(frozen=True, slots=True)
class NarrowTarget:
    """First and last line of what is meant; `why` is set where that is the whole symbol for want of anything surer."""

    first: int
    last: int
    why: str = ""


def target(
    anchor: Anchor, one: AnchorCandidate, found: Sequence[Token], entry: LockEntry | None
) -> NarrowTarget | None:
    """What the anchor means inside `one`, whose tokens are `found`; None where it never was there.

    In a symbol whose text is the baseline's own, places count as written. In one that changed they hold only where the
    tokens on those lines are the same and stand there once, or the anchor's token stood and stands there once.
    """
    if anchor.token is None and anchor.lines is None:
        return NarrowTarget(one.line, one.end)
    whole = NarrowTarget(one.line, one.end)
    if entry is None or not entry.at:
        return _as_written(anchor, one, found)
    same = fingerprint(found) == entry.hash
    if same and (anchor.token is not None or not entry.near):
        return _as_written(anchor, one, found)
    if same and anchor.lines is not None:
        written = _as_written(anchor, one, found)
        if written is not None and fingerprint(on_lines(found, written)) == entry.near:
            return written
    if entry.near:
        matches = places(found, entry.near, entry.size)
        if len(matches) == 1:
            return NarrowTarget(*matches[0])
    return _single(anchor, found, entry) or NarrowTarget(whole.first, whole.last, _why(anchor, found))


def _single(anchor: Anchor, found: Sequence[Token], entry: LockEntry) -> NarrowTarget | None:
    lines = occurrences(found, anchor.token)
    return NarrowTarget(lines[0], lines[0]) if anchor.token and entry.count == len(lines) == 1 else None


def _why(anchor: Anchor, found: Sequence[Token]) -> str:
    if anchor.token is None:
        return "the lines meant are not there as they were: this is the whole symbol"
    count = len(occurrences(found, anchor.token))
    times = f"stands there {count} times, and which is meant cannot be told" if count else "is not there any more"
    return f"{anchor.token} {times}: this is the whole symbol"


def _as_written(anchor: Anchor, one: AnchorCandidate, found: Sequence[Token]) -> NarrowTarget | None:
    if anchor.token is not None:
        lines = occurrences(found, anchor.token)
        if len(lines) < anchor.occurrence:
            return None
        line = lines[anchor.occurrence - 1]
        return NarrowTarget(line, line)
    assert anchor.lines is not None
    first, last = one.line + anchor.lines[0], one.line + anchor.lines[1]
    return NarrowTarget(first, last) if one.begin <= first and last <= one.end else None


def occurrences(found: Sequence[Token], token: str | None) -> list[int]:
    """The lines on which an identifier stands, once for each time."""
    return [one.line for one in found if one.text == token]


def on_lines(found: Sequence[Token], where: NarrowTarget) -> list[Token]:
    """The tokens on the lines of a target."""
    return [one for one in found if where.first <= one.line <= where.last]
