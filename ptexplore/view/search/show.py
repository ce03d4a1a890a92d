"""The answer of `show`: the pages of a target, or the candidates if the target names several things."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ptexplore.annotations.about import MarksByTree, on_lines
from ptexplore.annotations.marks import Mark
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.lookup.operators import Catalogue
from ptexplore.lookup.targets import candidates, nothing
from ptexplore.lookup.trees import Candidate, IndexedTree, Spot, atlas_symbols, changed
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.symbols import Symbol
from ptexplore.source.canonical import language_of
from ptexplore.view.search.override_lines import override_facts
from ptexplore.view.tokens import Stretch, surroundings

if TYPE_CHECKING:
    from ptexplore.view.card import ShownKernel  # a card imports all resolvers; few pages need one

AROUND = 12  # lines before and after the asked line, if no definition of readable size contains it
CHANGED = "this file changed after it was indexed, so lines may be wrong: ptexplore index"
READABLE = 120  # lines of a definition that is shown whole around one of its lines


@dataclass(frozen=True, slots=True)
class Page(Stretch):
    """One stretch of source. `mark` is the line that was asked for, or None.

    `facts` are sentences for the reader. `file` and `file_line` say where the text is on this machine.
    """

    candidate: Candidate
    spot: Spot
    facts: tuple[str, ...] = ()
    mark: int | None = None
    file: str | None = None
    file_line: int | None = None
    inside: Symbol | None = None
    kernels: tuple[ShownKernel, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowView:
    """The pages if the target names one thing or all pages are wanted; else only the candidates."""

    target: str
    pages: tuple[Page, ...]
    candidates: tuple[Candidate, ...]
    trees: tuple[TreeInfo, ...]


def show(
    trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str, *, everything: bool, kind: str | None
) -> ShowView:
    """Returns the view of `target`. With `everything`, every candidate has a page; `kind` limits the candidates.

    Raises PtexploreError if the target names nothing, names a line that does not exist, or has no text.
    """
    named = tuple(candidates(trees, catalogue, target, kind))
    if not named:
        raise nothing(trees, target, kind)
    infos = tuple(indexed.tree.info for indexed in trees)
    if len(named) > 1 and not everything:
        return ShowView(target, (), named, infos)
    return ShowView(target, tuple(_page(trees, catalogue, candidate) for candidate in named), named, infos)


def with_marks(view: ShowView, marks_by_tree: MarksByTree) -> ShowView:
    """Adds the notes on each page's lines. A file that changed after it was indexed gets none."""
    return replace(view, pages=tuple(_with_marks(page, marks_by_tree) for page in view.pages))


def _with_marks(page: Page, marks_by_tree: MarksByTree) -> Page:
    path = page.spot.ref.path
    if path is None or CHANGED in page.facts:
        return page
    marks = on_lines(marks_by_tree.get(page.spot.tree.name, ()), path, page.first, page.first + len(page.lines) - 1)
    return replace(page, marks=tuple(marks))


def _page(trees: Sequence[IndexedTree], catalogue: Catalogue | None, candidate: Candidate) -> Page:
    indexed = trees[candidate.tree] if candidate.tree >= 0 else None
    tree = (indexed or catalogue).tree  # type: ignore[union-attr]  # without a catalogue each candidate is of a tree
    ref, symbol = candidate.spot.ref, candidate.symbol
    path = ref.path
    if path is None or tree.read(path) is None:
        if candidate.kind == "operator":
            facts = _facts(candidate, indexed, None)
            return Page(candidate, candidate.spot, facts, first=1, lines=(), language="yaml")
        place = f"{path}:{ref.line}" if ref.line else path
        why = f"{candidate.spot.tree.label} names {place}, but the text is not there"
        raise PtexploreError(f"the text of {candidate.name} is missing", why, "ptexplore fetch", FAILED)
    lines = tree.lines(path)
    if lines and lines[-1] == "":
        lines = lines[:-1]
    asked = candidate.first
    inside = indexed.store.enclosing(path, asked) if indexed is not None and asked is not None else None
    first, last = _extent(candidate, inside, len(lines))
    file, file_line = tree.place_of(path, asked or ref.line or first) or (None, None)
    language = language_of(path)
    before, after = surroundings(lines, first, last, language)
    facts = _facts(candidate, indexed, inside)
    if symbol is not None:
        facts = (*facts, *override_facts(trees, symbol))
    if symbol is not None and symbol.role == "declaration":
        for _symbol, definition in atlas_symbols(trees, candidate.name, 3, prefix=False):
            at = definition.ref
            place = f"{at.path}:{at.line} in {definition.tree.version}, {at.precision} ({at.url})"
            facts = (*facts, f"defined at {place}; ptexplore fetch downloads the text")
    if ref.line is None:
        ref = SourceRef(path, asked or 1, ref.layer, ref.precision, last, ref.tree, None, ref.reason)
    return Page(
        candidate=candidate,
        spot=Spot(ref, candidate.spot.tree),
        first=first,
        lines=tuple(lines[first - 1 : last]),
        language=language,
        facts=facts,
        mark=asked if candidate.last is None else None,
        before=before,
        after=after,
        file=file,
        file_line=file_line,
        inside=inside,
    )


def _extent(candidate: Candidate, inside: Symbol | None, total: int) -> tuple[int, int]:
    """Returns the first and last line to show."""
    symbol, ref, first, last = candidate.symbol, candidate.spot.ref, candidate.first, candidate.last
    if symbol is not None:
        return symbol.begin, min(symbol.end_line, total)
    if candidate.kind == "operator" and ref.line:
        return ref.line, min(ref.end_line or ref.line, total)
    if first is None:
        return 1, total
    if first > total or (last is not None and last < first):
        name = candidate.name
        why = f"{name} has {total} lines" if first > total else "the last line is before the first"
        asked = f"{first}-{last}" if last is not None else str(first)
        raise PtexploreError(
            f"{name} has no line {asked}", why, f"ptexplore show {shlex.quote(f'{name}:{total}')}", USAGE
        )
    if last is not None:
        return first, min(last, total)
    if inside is not None and inside.end_line - inside.begin < READABLE:
        return inside.begin, min(inside.end_line, total)
    return max(1, first - AROUND), min(total, first + AROUND)


def _facts(candidate: Candidate, indexed: IndexedTree | None, inside: Symbol | None) -> tuple[str, ...]:
    facts: list[str] = []
    symbol, path = candidate.symbol, candidate.spot.ref.path
    if candidate.handed_on:
        facts.append(f"passed on by {' and '.join(candidate.handed_on)}")
    if symbol is not None:
        if symbol.path.startswith("torch/_C/"):
            facts.append("a stub for type checkers: the code that runs is C++")
        if symbol.role == "declaration":
            facts.append("a declaration; these trees have no definition")
        if symbol.macro:
            facts.append(f"made by {symbol.macro}")
        if symbol.guards:
            facts.append(f"only where {' and '.join(symbol.guards)}")
    if inside is not None:
        kind = "inside" if inside.kind != "namespace" else "inside namespace"
        facts.append(f"{kind} {inside.qualified} (lines {inside.begin}-{inside.end_line})")
    for other in candidate.also:
        line = f":{other.ref.line}" if other.ref.line else ""
        facts.append(f"also in {other.tree.label}: {other.ref.path}{line}")
    held = indexed.tree.read(path) if indexed is not None and path is not None else None
    if held is not None and held.shift:  # line numbers are the repository's; a debugger shows the installed file's
        facts.append(f"the installed file begins with a guard, so these lines are {held.shift} further down in it")
    if indexed is not None and path is not None and changed(indexed, path):
        facts.append(CHANGED)
    return tuple(facts)
