"""`show`: what a target names, and the pages to print for it, or the candidates where it names several things."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ptexplore.annotations.marks import Mark
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.symbols import OPERATOR_KINDS, Symbol
from ptexplore.view.documents import FORMAT, mark_to_json, source_to_json, tree_to_json
from ptexplore.view.notes.noted import Noted, on_lines
from ptexplore.view.search.operators import Catalogue, operator_spot
from ptexplore.view.tokens import surroundings
from ptexplore.view.trees import (
    IndexedTree,
    Spot,
    atlas_symbols,
    changed,
    merged,
    nearest_names,
    project,
    spot,
    symbol_spot,
)

if TYPE_CHECKING:
    from ptexplore.view.card import ShownKernel  # a card needs all that resolves, a page hardly ever

AROUND = 12  # lines before and after a line asked for, where no definition of a readable size holds it
_SOURCES = (".cpp", ".h", ".cu", ".cuh", ".py", ".pyi", ".yaml", ".c", ".cc", ".hpp", ".mm", ".metal", ".inl")
CHANGED = "this file was changed after it was indexed, so lines may be off: ptexplore index"
READABLE = 120  # lines of a definition that is shown whole around a line of it


@dataclass(frozen=True, slots=True)
class Page:
    """One stretch of source. `lines` begin at line `first`; `mark` is the line asked for, None where there is none.

    `before` and `after` are the lines around it that a highlighter reads, too. `facts` are sentences for the reader.
    `file` and `file_line` say where it lies on this machine.
    """

    candidate: Candidate
    spot: Spot
    first: int
    lines: tuple[str, ...]
    language: str
    facts: tuple[str, ...] = ()
    mark: int | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    file: str | None = None
    file_line: int | None = None
    inside: Symbol | None = None
    kernels: tuple[ShownKernel, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowView:
    """Pages where the target names one thing or all are wanted; else only the candidates."""

    target: str
    pages: tuple[Page, ...]
    candidates: tuple[Candidate, ...]
    trees: tuple[TreeInfo, ...]


@dataclass(frozen=True, slots=True)
class ShowQuery:
    """What the reader asked for: every candidate's page, candidates of one kind alone."""

    everything: bool = False
    kind: str | None = None


def show(trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str, wanted: ShowQuery) -> ShowView:
    """The view of `target`. Raises PtexploreError where it names nothing, a line that is not there, or has no text."""
    found = candidates(trees, catalogue, target, wanted.kind)
    if not found:
        raise nothing(trees, target, wanted.kind)
    infos = tuple(one.tree.info for one in trees)
    if len(found) > 1 and not wanted.everything:
        return ShowView(target, (), tuple(found), infos)
    return ShowView(target, tuple(_page(trees, catalogue, one) for one in found), tuple(found), infos)


def with_marks(view: ShowView, noted: Noted) -> ShowView:
    """The view with the notes on its lines; none on a file that is not the text that was indexed any more."""
    pages = [
        page
        if CHANGED in page.facts or page.spot.ref.path is None
        else replace(page, marks=tuple(_on_page(page, noted.get(page.spot.tree.name, ()))))
        for page in view.pages
    ]
    return replace(view, pages=tuple(pages))


def _on_page(page: Page, found: Sequence[Mark]) -> list[Mark]:
    assert page.spot.ref.path is not None
    return on_lines(found, page.spot.ref.path, page.first, page.first + len(page.lines) - 1)


def nothing(trees: Sequence[IndexedTree], target: str, kind: str | None) -> PtexploreError:
    """What is said where a target names nothing in these trees: what was searched, what is closest."""
    what = f"there is no {kind} {target}" if kind else f"there is nothing named {target}"
    path, _, line = target.rpartition(":")
    asked = path if path and line.replace("-", "").isdigit() else target
    is_file = "/" in asked or asked.endswith(_SOURCES)
    close = [] if is_file else nearest_names(trees, asked)
    close = close or (nearest_files(trees, asked) if is_file or "." in asked.strip(".") else [])
    known = atlas_symbols(trees, target, 3, prefix=False)
    if known:
        places = "; ".join(f"{one.qualified} at {one.path}:{one.line} ({where.ref.url})" for one, where in known)
        release = known[0][1].tree.label
        why = f"{release} has no text, it only names {places}"
        return PtexploreError(f"there is no text of {target} here", why, "ptexplore fetch", FAILED)
    searched = ", ".join(one.tree.info.label for one in trees) or "nothing: no tree is there"
    why = f"searched: {searched}" + (
        f"; the closest are {', '.join(close)}" if close else "; nothing has a name like it"
    )
    if not any(one.checkout is not None for one in trees):
        why += "; the installed torch has no hand-written C++"
        return PtexploreError(what, why, "ptexplore fetch", FAILED)
    import shlex

    hint = f"ptexplore show {shlex.quote(close[0])}" if close else f"ptexplore find --text {shlex.quote(target)}"
    return PtexploreError(what, why, hint, FAILED)


def nearest_files(trees: Sequence[IndexedTree], asked: str) -> list[str]:
    """Files whose name is closest to that of `asked`; where none is like it, those in the same folder."""
    name = asked.rstrip("/").rsplit("/", 1)[-1]
    found: dict[str, None] = {}
    for indexed in trees:
        for fragment in (asked, name, name.rpartition(".")[0]):
            if len(fragment) > 2:
                found.update(dict.fromkeys(indexed.store.files_like(fragment, 5)))
    return list(found)[:5]


def _page(trees: Sequence[IndexedTree], catalogue: Catalogue | None, one: Candidate) -> Page:
    from_catalogue = one.tree < 0 and catalogue is not None
    tree = catalogue.tree if from_catalogue and catalogue is not None else trees[one.tree].tree
    indexed = None if from_catalogue else trees[one.tree]
    elsewhere = atlas_symbols(trees, one.name, 3, prefix=False) if _is_declaration(one) else []
    path = one.spot.ref.path
    lines = tree.lines(path) if path is not None else []
    if lines and lines[-1] == "":
        lines = lines[:-1]
    if path is None or tree.read(path) is None:
        if one.kind == "operator":
            return Page(one, one.spot, 1, (), "yaml", _facts(one, indexed, None))
        raise _no_text(one)
    inside = _inside(indexed, one)
    first, last = _extent(one, inside, len(lines))
    place = tree.place_of(path, one.first or one.spot.ref.line or first)
    known = indexed.store.file(path) if indexed is not None else None
    language = known.language if known is not None else _language(path)
    before, after = surroundings(lines, first, last, language)
    ref = one.spot.ref
    spot = one.spot
    if ref.line is None:
        whole = SourceRef(path, one.first or 1, ref.layer, ref.precision, last, ref.tree, None, ref.reason)
        spot = Spot(whole, one.spot.tree)
    return Page(
        candidate=one,
        spot=spot,
        first=first,
        lines=tuple(lines[first - 1 : last]),
        language=language,
        facts=(*_facts(one, indexed, inside), *(_in_atlas(where) for _symbol, where in elsewhere)),
        mark=one.first if one.first is not None and one.last is None else None,
        before=before,
        after=after,
        file=place[0] if place else None,
        file_line=place[1] if place else None,
        inside=inside,
    )


def _is_declaration(one: Candidate) -> bool:
    return one.symbol is not None and one.symbol.role == "declaration"


def _in_atlas(where: Spot) -> str:
    ref = where.ref
    place = f"{ref.path}:{ref.line} in {where.tree.version}"
    return f"defined at {place}, {ref.precision} ({ref.url}); ptexplore fetch brings the text"


def _no_text(one: Candidate) -> PtexploreError:
    where = f"{one.spot.ref.path}:{one.spot.ref.line}" if one.spot.ref.line else one.spot.ref.path
    why = f"{one.spot.tree.label} names {where} but its text is not there (any more)"
    return PtexploreError(f"there is no text of {one.name}", why, "ptexplore fetch", FAILED)


def _inside(indexed: IndexedTree | None, one: Candidate) -> Symbol | None:
    if indexed is None or one.first is None or one.spot.ref.path is None:
        return None
    return indexed.store.enclosing(one.spot.ref.path, one.first)


def _extent(one: Candidate, inside: Symbol | None, total: int) -> tuple[int, int]:
    """First and last line to show."""
    if one.symbol is not None:
        return one.symbol.begin, min(one.symbol.end_line, total)
    if one.kind == "operator" and one.spot.ref.line:
        return one.spot.ref.line, min(one.spot.ref.end_line or one.spot.ref.line, total)
    if one.first is None:
        return 1, total
    last = one.last if one.last is not None else one.first
    if one.first > total or last < one.first:
        why = f"{one.name} has {total} lines" if one.first > total else "the last line is before the first"
        asked = f"{one.first}-{one.last}" if one.last is not None else str(one.first)
        raise PtexploreError(
            f"there is no line {asked} in {one.name}", why, f"ptexplore show {one.name}:{total}", USAGE
        )
    if one.last is not None:
        return one.first, min(one.last, total)
    if inside is not None and inside.end_line - inside.begin < READABLE:
        return inside.begin, min(inside.end_line, total)
    return max(1, one.first - AROUND), min(total, one.first + AROUND)


def _facts(one: Candidate, indexed: IndexedTree | None, inside: Symbol | None) -> tuple[str, ...]:
    facts: list[str] = []
    symbol = one.symbol
    if symbol is not None:
        if symbol.role == "declaration":
            facts.append("a declaration: no definition of it is in these trees")
        if symbol.macro:
            facts.append(f"made by {symbol.macro}")
        if symbol.guards:
            facts.append(f"only where {' and '.join(symbol.guards)}")
    if inside is not None:
        kind = "inside" if inside.kind != "namespace" else "inside namespace"
        facts.append(f"{kind} {inside.qualified} (lines {inside.begin}-{inside.end_line})")
    for other in one.also:
        where = f"{other.ref.path}:{other.ref.line}" if other.ref.line else other.ref.path
        facts.append(f"also in {other.tree.label}: {where}")
    if indexed is not None and one.spot.ref.path is not None and changed(indexed, one.spot.ref.path):
        facts.append(CHANGED)
    return tuple(facts)


def _language(path: str) -> str:
    suffix = path.rpartition(".")[2]
    return {"py": "python", "pyi": "python", "yaml": "yaml", "yml": "yaml"}.get(suffix, "cpp")


_PLACE = re.compile(r"^(?P<path>.+?):(?P<first>[1-9][0-9]{0,8})(?:-(?P<last>[1-9][0-9]{0,8})|:[0-9]+)?:?$")
_ORDER = {"function": 0, "class": 0, "struct": 0, "union": 0, "enum": 1, "concept": 1, "macro": 1, "typedef": 2,
          "operator": 2, "file": 3, "variable": 4, "member": 5, "enumerator": 6, "namespace": 7}  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """One thing that a target may name. `tree` is the number of its tree among those searched.

    `also` are places of the same thing in further trees. For a file, `first` and `last` are the lines asked for.
    """

    kind: str
    name: str
    detail: str
    spot: Spot
    tree: int
    symbol: Symbol | None = None
    first: int | None = None
    last: int | None = None
    also: tuple[Spot, ...] = ()


def candidates(
    trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str, kind: str | None = None
) -> list[Candidate]:
    """Everything that `target` names: a place in a file, else a file, else operators and symbols; best first."""
    files = _files_named(trees, target)
    if files:
        return files
    found = [*_symbols(trees, target), *_operators(trees, catalogue, target)]
    if kind is not None:
        return [one for one in found if one.kind == kind]
    found.sort(key=lambda one: _ORDER.get(one.kind, 3))
    bodies = [one for one in found if one.kind != "namespace"]
    return bodies or found


# --- files ---


def _files_named(trees: Sequence[IndexedTree], target: str) -> list[Candidate]:
    match = _PLACE.match(target)
    if match is not None:
        first = int(match["first"])
        found = _paths(trees, match["path"])
        long_enough = [one for one in found if _lines(trees[one.tree], one) >= first]
        last = int(match["last"]) if match["last"] else None
        if len(found) > 1 and not long_enough:
            why = (
                f"the longest of the {len(found)} files of that name has {max(_lines(trees[f.tree], f) for f in found)}"
            )
            raise PtexploreError(f"there is no line {first} in {match['path']}", why, f"ptexplore show {match['path']}")
        return [replace(one, first=first, last=last) for one in long_enough or found]
    return _paths(trees, target)


def _lines(indexed: IndexedTree, one: Candidate) -> int:
    known = indexed.store.file(one.name)
    return known.lines if known is not None else len(indexed.tree.lines(one.name))


def _paths(trees: Sequence[IndexedTree], asked: str) -> list[Candidate]:
    """Files of that canonical path, else of a path that ends in it; a file on this machine is known by its place."""
    if os.path.isabs(asked):
        return _on_disk(trees, asked)
    asked = asked.removeprefix("./")
    exact = _holding(trees, asked)
    if exact or not asked.strip("/"):
        return exact
    paths: dict[str, None] = {}
    for indexed in trees:
        for path in indexed.store.files_like(asked, 200):
            if path.lower().endswith(f"/{asked.lower()}"):
                paths[path] = None
    same_case = [path for path in paths if path.endswith(f"/{asked}")]
    return [one for path in same_case or paths for one in _holding(trees, path)]


def _holding(trees: Sequence[IndexedTree], path: str) -> list[Candidate]:
    """The trees' files of that path: one candidate a project, further trees beside it."""
    by_project: dict[str, list[int]] = {}
    for number, indexed in enumerate(trees):
        if indexed.store.file(path) is not None or ("/" in path and indexed.tree.exists(path)):
            by_project.setdefault(project(indexed), []).append(number)
    found = []
    for numbers in by_project.values():
        first, *others = (spot(trees[number], path, None) for number in numbers)
        known = trees[numbers[0]].store.file(path)
        detail = f"{known.lines} lines" if known is not None else ""
        found.append(Candidate("file", path, detail, first, numbers[0], also=tuple(others)))
    return found


def _on_disk(trees: Sequence[IndexedTree], file: str) -> list[Candidate]:
    """The file of a tree that lies at that absolute path: a compiler or a debugger may have named it."""
    real = os.path.realpath(file)
    parts = real.split(os.sep)
    for number, indexed in enumerate(trees):
        for start in range(1, len(parts)):
            path = "/".join(parts[start:])
            for full in (path, f"aten/src/{path}", f"build/aten/src/{path}"):
                if indexed.store.file(full) is None:
                    continue
                held = indexed.tree.file_of(full)
                if held is not None and os.path.realpath(held) == real:
                    return [Candidate("file", full, "", spot(indexed, full, None), number)]
    return []


# --- symbols ---


def _symbols(trees: Sequence[IndexedTree], target: str) -> list[Candidate]:
    """Definitions of the name, else its declarations. A qualified name is exact where it can be, else an ending."""
    asked = target.removeprefix("::")
    qualified = "::" in target or "." in target
    for strict in (True, False) if qualified else (False,):
        found = [(n, s) for n, indexed in enumerate(trees) for s in _of_tree(indexed, asked, strict=strict)]
        defined = [(n, s) for n, s in found if s.role == "definition"]
        together = _without_constructors(merged(trees, _without_stubs(defined) or found))
        if together:
            return [_candidate(trees, places) for places in together]
    return []


def _without_stubs(found: list[tuple[int, Symbol]]) -> list[tuple[int, Symbol]]:
    """A .pyi only repeats what the .py defines."""
    real = {symbol.qualified for _number, symbol in found if not symbol.path.endswith(".pyi")}
    return [(n, s) for n, s in found if not (s.path.endswith(".pyi") and s.qualified in real)]


def _without_constructors(together: list[list[tuple[int, Symbol]]]) -> list[list[tuple[int, Symbol]]]:
    """A class's name means the class: its constructors bear it too, and are named as Class::Class."""
    classes = {
        f"{one[0][1].qualified}::{one[0][1].name}" for one in together if one[0][1].kind in ("class", "struct", "union")
    }
    return [one for one in together if one[0][1].qualified not in classes]


def _of_tree(indexed: IndexedTree, asked: str, *, strict: bool) -> list[Symbol]:
    if strict:
        return [*indexed.store.definitions(asked), *indexed.store.declarations(asked)]
    return indexed.store.symbols_ending(asked)


def _candidate(trees: Sequence[IndexedTree], places: Sequence[tuple[int, Symbol]]) -> Candidate:
    (number, symbol), *others = sorted(places, key=lambda place: place[0])
    also = tuple(symbol_spot(trees[n], s) for n, s in others)
    where = symbol_spot(trees[number], symbol)
    return Candidate(symbol.kind, symbol.qualified, symbol.signature, where, number, symbol, also=also)


# --- operators ---


def _operators(trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str) -> list[Candidate]:
    """Operators of that full name, or every overload where it names a family ("aten::add")."""
    asked = _dispatcher_name(target)
    found: list[Candidate] = []
    if catalogue is not None:
        store = catalogue.store
        exact = store.operator(asked) or store.operator(f"aten::{asked}")
        if exact is not None and ("::" in asked or "." in asked):
            family = [exact]
        else:
            namespace, _, base = asked.rpartition("::")
            family = [one for one in store.operators_named(base) if one.namespace == (namespace or "aten")]
        for one in family:
            where = operator_spot(catalogue, one)
            found.append(Candidate("operator", one.name, one.schema, where, catalogue.number))
    known = {one.name for one in found}
    for number, indexed in enumerate(trees):
        for row in indexed.store.dialect(asked, OPERATOR_KINDS) if "::" in asked else ():
            if row.name not in known:
                known.add(row.name)
                where = spot(indexed, row.path, row.line, row.end_line)
                found.append(Candidate("operator", row.name, row.text, where, number))
    return found


def _dispatcher_name(target: str) -> str:
    """`torch.ops.aten.add.Tensor` and `aten::add.default` as the dispatcher writes them."""
    name = target.removeprefix("torch.ops.")
    if name != target:
        name = name.replace(".", "::", 1)
    return name.removesuffix(".default")


def show_to_document(view: ShowView) -> dict[str, Any]:
    """The pages with their lines; `candidates` is everything that the target may name."""
    return {
        "format": FORMAT,
        "target": view.target,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "candidates": [_candidate_to_json(one) for one in view.candidates],
        "pages": [_page_to_json(page) for page in view.pages],
    }


def _candidate_to_json(one: Candidate) -> dict[str, Any]:
    symbol = one.symbol
    return {
        "kind": one.kind,
        "name": one.name,
        "detail": one.detail,
        "role": symbol.role if symbol is not None else None,
        "macro": symbol.macro if symbol is not None else None,
        "guards": list(symbol.guards) if symbol is not None else [],
        "source": source_to_json(one.spot.ref),
        "also": [source_to_json(other.ref) for other in one.also],
    }


def _page_to_json(page: Page) -> dict[str, Any]:
    out = _candidate_to_json(page.candidate) | {
        "source": source_to_json(page.spot.ref),
        "first": page.first,
        "mark": page.mark,
        "lines": list(page.lines),
        "language": page.language,
        "file": page.file,
        "file_line": page.file_line,
        "inside": page.inside.qualified if page.inside is not None else None,
        "facts": list(page.facts),
    }
    out["notes"] = [mark_to_json(mark) for mark in page.marks]
    if page.kernels:
        out["kernels"] = [
            {"keys": list(k.keys), "name": k.name, "depth": k.depth, "source": source_to_json(k.ref)}
            for k in page.kernels
        ]
    return out
