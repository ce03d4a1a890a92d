"""Everything in an index that an anchor's name may mean: symbols, YAML entries, registration blocks; none chosen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.annotations.records import Anchor
    from ptexplore.store.index_store import IndexStore
    from ptexplore.symbols import Dialect, DialectKind, Symbol

_QUALIFIER = re.compile(r"(?:[^\W\d]\w*)?::\s*")
_BLOCK = re.compile(r"[A-Z][A-Z0-9_]+\(.*\)?")
_YAML: tuple[DialectKind, ...] = ("yaml-function", "yaml-derivative")
_NAMED: tuple[DialectKind, ...] = (
    "stub-define",
    "stub-declare",
    "stub-register",
    "list",
    "flag",
    "def",
    "impl",
    "method",
)
_CLASSES = ("class", "struct", "union")


@dataclass(frozen=True, slots=True)
class Candidate:
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


def plain_types(parameters: str) -> str:
    """Parameter types without spaces and qualifiers: `c10::optional<at::Tensor>` is `optional<Tensor>` anywhere."""
    return "".join(_QUALIFIER.sub("", parameters).split())


def in_file(store: IndexStore, anchor: Anchor, outline: Sequence[Symbol], known: str | None) -> list[Candidate]:
    """What the anchor may mean in its own path. `known` is the qualified name that it had on its baseline.

    With that only what still bears it; else what bears the anchor's own, or ends in it.
    """
    block = _squeezed(anchor.symbol)
    if _BLOCK.fullmatch(block):
        rows = [row for row in store.dialect_in(anchor.path) if row.kind == "library" and _is_block(row.text, block)]
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


def elsewhere(store: IndexStore, anchor: Anchor, qualified: str) -> list[Candidate]:
    """Definitions of exactly that qualified name in other files; stubs (.pyi) only repeat what the .py defines."""
    if _BLOCK.fullmatch(_squeezed(anchor.symbol)):
        return []
    if anchor.path.endswith((".yaml", ".yml")):
        name = qualified if "::" in qualified else f"aten::{qualified}"
        return [_of_row(row, row.name) for row in store.dialect(name, _YAML) if row.path.endswith(_suffix(anchor.path))]
    found = [one for one in store.definitions(qualified) if one.path != anchor.path and not one.path.endswith(".pyi")]
    return best([_of_symbol(one) for one in found], anchor.signature)


def best(found: Iterable[Candidate], signature: str | None) -> list[Candidate]:
    """Of these those with the signature; definitions rather than declarations; a class rather than its constructors."""
    left = list(found)
    if signature is not None:
        wanted = plain_types(signature)
        left = [one for one in left if one.overload == wanted]
    left = [one for one in left if not one.declared] or left
    left = [one for one in left if one.kind != "namespace"] or left
    classes = {f"{one.name}::{one.name.rpartition('::')[2]}" for one in left if one.kind in _CLASSES}
    return [one for one in left if one.name not in classes]


def _suffix(path: str) -> str:
    return path.rpartition("/")[2]


def _yaml(rows: Iterable[Dialect], symbol: str) -> list[Candidate]:
    names = (symbol, f"aten::{symbol}")
    return [_of_row(row, row.name) for row in rows if row.kind in _YAML and row.name in names]


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


def _of_symbol(one: Symbol) -> Candidate:
    overload = plain_types(f"({','.join(one.parameters)})") if one.parameters is not None else ""
    return Candidate(
        one.path, one.qualified, one.kind, one.line, one.begin, one.end_line, overload, one.role == "declaration",
        one.static,
    )  # fmt: skip


def _of_row(row: Dialect, name: str) -> Candidate:
    return Candidate(row.path, name, row.kind, row.line, row.line, row.end_line)
