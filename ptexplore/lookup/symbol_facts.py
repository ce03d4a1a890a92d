"""The facts about one symbol: its comment, its uses, the operators that it implements, and the notes about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ptexplore.annotations.about import MarksByTree, holds
from ptexplore.annotations.marks import Mark
from ptexplore.errors import PtexploreError
from ptexplore.lookup.doc_comment import doc_of
from ptexplore.lookup.link_targets import is_own
from ptexplore.lookup.operators import Catalogue
from ptexplore.lookup.refs import GROUPS, OverriddenAt, refs
from ptexplore.lookup.trees import IndexedTree, Spot, symbol_spot
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.model.operators import Registration
from ptexplore.model.symbols import Dialect, Symbol


@dataclass(frozen=True, slots=True)
class SymbolFacts:
    """The facts about one symbol of a tree.

    `same` counts the definitions with that exact qualified name. `comment` is the comment at its definition or
    declaration.

    `uses` has the number of lines for each sort of use; `lines` counts all of them. `certain` counts the lines that can
    mean nothing else. `otherwise` and `unknown` count lines that are not included, and `definitions` the definitions
    with that name (see `RefsView`).

    `overridden` counts the functions of classes below that override it or may; `may_override` counts those that only
    may. `overrides` are the functions that it overrides. `operators` are the installed torch's registrations with this
    symbol as their kernel, or with a kernel that only calls it. `stubs` are the rows that register it as a stub in its
    own file. `marks` are the stops about it.
    """

    symbol: Symbol
    spot: Spot
    same: int
    comment: str
    operators: tuple[Registration, ...]
    stubs: tuple[Dialect, ...]
    marks: tuple[Mark, ...]
    uses: tuple[tuple[str, int], ...] = ()
    lines: int = 0
    certain: int | None = None
    otherwise: int = 0
    unknown: int = 0
    overridden: int = 0
    may_override: int = 0
    definitions: int = 1
    overrides: tuple[OverriddenAt, ...] = ()


def symbol_facts(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    marks_by_tree: MarksByTree,
    number: int,
    symbol: Symbol,
    reader: UseReader | None = None,
) -> SymbolFacts:
    """Collect the facts about a symbol of tree `number`. You can pass the same `reader` again for the same trees."""
    facts = facts_without_uses(trees, catalogue, marks_by_tree, number, symbol)
    only = symbol.path if is_own(symbol.path, static=symbol.static) else ""
    try:
        view = refs(trees, symbol.qualified, 1, reader=reader, only=only)
    except PtexploreError:  # no line uses the name and no symbol has it
        return facts
    counts: Counter[str] = Counter()
    for group in view.groups:
        counts[group.name] += group.total - group.overriding
    return replace(
        facts,
        uses=tuple((name, counts[name]) for name in GROUPS if counts[name]),
        lines=view.lines,
        certain=view.certain,
        otherwise=view.otherwise,
        unknown=view.unknown,
        overridden=view.overridden,
        may_override=view.may_override,
        definitions=view.definitions,
        overrides=view.overrides,
    )


def facts_without_uses(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    marks_by_tree: MarksByTree,
    number: int,
    symbol: Symbol,
) -> SymbolFacts:
    """Collect the facts about a symbol of tree `number`, except its uses, whose search takes most of the time."""
    indexed = trees[number]
    operators = catalogue.store.registered_for(symbol.qualified) if catalogue is not None else []
    rows = indexed.store.dialect_targeting(symbol.name) if symbol.kind == "function" else []
    marks = marks_by_tree.get(indexed.tree.info.name, ())
    return SymbolFacts(
        symbol=symbol,
        spot=symbol_spot(indexed, symbol),
        same=len(indexed.store.definitions(symbol.qualified)),
        comment=_comment(indexed, symbol),
        operators=tuple(operators),
        # A row means the function with that name in its own file; elsewhere, another namespace may have that name too.
        stubs=tuple(row for row in rows if row.kind == "stub-register" and row.path == symbol.path),
        marks=tuple(mark for mark in marks if holds(mark, symbol.path, symbol.line)),
    )


def _comment(indexed: IndexedTree, symbol: Symbol) -> str:
    """Returns the comment at the definition, else at a declaration."""
    declared = () if symbol.role == "declaration" else indexed.store.declarations(symbol.qualified)
    for place in (symbol, *declared):
        if place.parameters in (None, symbol.parameters):
            lines = indexed.tree.lines(place.path)
            text = doc_of(lines, place, python=place.path.endswith((".py", ".pyi"))) if lines else ""
            if text:
                return text
    return ""
