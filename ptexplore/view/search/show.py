"""`show`: what a target names, and the pages to print for it, or the candidates where it names several things."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ptexplore.annotations.marks import Mark
from ptexplore.cpp.symbol_names import pasted
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.model.operators import dispatcher_name
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.symbols import OPERATOR_KINDS, Symbol
from ptexplore.source.canonical import language_of
from ptexplore.source.python_names import is_python_name
from ptexplore.view.documents import FORMAT, mark_to_json, source_to_json, tree_to_json
from ptexplore.view.notes.notes_about import MarksByTree, on_lines
from ptexplore.view.query_length import check_length
from ptexplore.view.search.operators import Catalogue, operator_spot
from ptexplore.view.search.ranking import read_query
from ptexplore.view.tokens import Stretch, surroundings
from ptexplore.view.trees import (
    Candidate,
    IndexedTree,
    Spot,
    atlas_symbols,
    changed,
    file_candidate,
    merged,
    nearest_names,
    project,
    public_symbols,
    spot,
    symbol_candidate,
    symbols_called,
)

if TYPE_CHECKING:
    from ptexplore.view.card import ShownKernel  # a card needs all that resolves, a page hardly ever

AROUND = 12  # lines before and after a line asked for, where no definition of a readable size holds it
_SOURCES = (".cpp", ".h", ".cu", ".cuh", ".py", ".pyi", ".yaml", ".c", ".cc", ".hpp", ".mm", ".metal", ".inl")
CHANGED = "this file was changed after it was indexed, so lines may be off: ptexplore index"
READABLE = 120  # lines of a definition that is shown whole around a line of it


@dataclass(frozen=True, slots=True)
class Page(Stretch):
    """One stretch of source. `mark` is the line asked for, None where there is none.

    `facts` are sentences for the reader. `file` and `file_line` say where it lies on this machine.
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
    """Pages where the target names one thing or all are wanted; else only the candidates."""

    target: str
    pages: tuple[Page, ...]
    candidates: tuple[Candidate, ...]
    trees: tuple[TreeInfo, ...]


def show(
    trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str, *, everything: bool, kind: str | None
) -> ShowView:
    """The view of `target`: every candidate's page with `everything`, candidates of one `kind` alone where it is given.

    Raises PtexploreError where it names nothing, a line that is not there, or has no text.
    """
    named = tuple(candidates(trees, catalogue, target, kind))
    if not named:
        raise nothing(trees, target, kind)
    infos = tuple(indexed.tree.info for indexed in trees)
    if len(named) > 1 and not everything:
        return ShowView(target, (), named, infos)
    return ShowView(target, tuple(_page(trees, catalogue, candidate) for candidate in named), named, infos)


def with_marks(view: ShowView, marks_by_tree: MarksByTree) -> ShowView:
    """The view with the notes on its lines; none on a file that is not the text that was indexed any more."""
    return replace(view, pages=tuple(_with_marks(page, marks_by_tree) for page in view.pages))


def _with_marks(page: Page, marks_by_tree: MarksByTree) -> Page:
    path = page.spot.ref.path
    if path is None or CHANGED in page.facts:
        return page
    marks = on_lines(marks_by_tree.get(page.spot.tree.name, ()), path, page.first, page.first + len(page.lines) - 1)
    return replace(page, marks=tuple(marks))


def nothing(trees: Sequence[IndexedTree], target: str, kind: str | None) -> PtexploreError:
    """What is said where a target names nothing in these trees: what was searched, what is closest."""
    message = f"there is no {kind} {target}" if kind else f"there is nothing named {target}"
    path, _, line = target.rpartition(":")
    asked = path if path and line.replace("-", "").isdigit() else target
    is_file = "/" in asked or asked.endswith(_SOURCES)
    close = [] if is_file else nearest_names(trees, asked)
    close = close or (nearest_files(trees, asked) if is_file or "." in asked.strip(".") else [])
    known = atlas_symbols(trees, target, 3, prefix=False)
    if known:
        places = "; ".join(f"{symbol.qualified} at {symbol.path}:{symbol.line} ({at.ref.url})" for symbol, at in known)
        why = f"{known[0][1].tree.label} has no text, it only names {places}"
        return PtexploreError(f"there is no text of {target} here", why, "ptexplore fetch", FAILED)
    searched = ", ".join(indexed.tree.info.label for indexed in trees) or "nothing: no tree is there"
    closest = f"the closest are {', '.join(close)}" if close else "nothing has a name like it"
    why = f"searched: {searched}; {closest}"
    if not is_python_name(target) and not any(indexed.checkout is not None for indexed in trees):
        why += "; the installed torch has no hand-written C++"
        return PtexploreError(message, why, "ptexplore fetch", FAILED)
    hint = f"ptexplore show {shlex.quote(close[0])}" if close else f"ptexplore find --text {shlex.quote(target)}"
    return PtexploreError(message, why, hint, FAILED)


def nearest_files(trees: Sequence[IndexedTree], asked: str) -> list[str]:
    """Files whose name is closest to that of `asked`; where none is like it, those in the same folder."""
    name = asked.rstrip("/").rsplit("/", 1)[-1]
    fragments = [fragment for fragment in (asked, name, name.rpartition(".")[0]) if len(fragment) > 2]
    files = (file for indexed in trees for part in fragments for file in indexed.store.files_like(part, 5))
    return list(dict.fromkeys(files))[:5]


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
        why = f"{candidate.spot.tree.label} names {place} but its text is not there (any more)"
        raise PtexploreError(f"there is no text of {candidate.name}", why, "ptexplore fetch", FAILED)
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
    if symbol is not None and symbol.role == "declaration":
        for _symbol, definition in atlas_symbols(trees, candidate.name, 3, prefix=False):
            at = definition.ref
            place = f"{at.path}:{at.line} in {definition.tree.version}, {at.precision} ({at.url})"
            facts = (*facts, f"defined at {place}; ptexplore fetch brings the text")
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
    """First and last line to show."""
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
            f"there is no line {asked} in {name}", why, f"ptexplore show {shlex.quote(f'{name}:{total}')}", USAGE
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
        facts.append(f"handed on by {' and '.join(candidate.handed_on)}")
    if symbol is not None:
        if symbol.path.startswith("torch/_C/"):
            facts.append("a stub, for type checkers: what runs is C++")
        if symbol.role == "declaration":
            facts.append("a declaration: no definition of it is in these trees")
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
    if held is not None and held.shift:  # the lines are the repository's, and a debugger's are the file's
        facts.append(f"in the installed file these lines are {held.shift} further down: it begins with a guard")
    if indexed is not None and path is not None and changed(indexed, path):
        facts.append(CHANGED)
    return tuple(facts)


_PLACE = re.compile(r"^(?P<path>.+?):(?P<first>[1-9][0-9]{0,8})(?:-(?P<last>[1-9][0-9]{0,8})|:[0-9]+)?:?$")
_ORDER = {"function": 0, "class": 0, "struct": 0, "union": 0, "enum": 1, "concept": 1, "macro": 1, "typedef": 2,
          "operator": 2, "file": 3, "variable": 4, "member": 5, "enumerator": 6, "namespace": 7}  # fmt: skip


def candidates(
    trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str, kind: str | None = None
) -> list[Candidate]:
    """Everything that `target` names: a place in a file, else a file, else operators and symbols; best first.

    Raises PtexploreError for a target that is too long to be one.
    """
    check_length(target)
    files = _files_named(trees, target)
    if files:
        return files
    target = pasted(target)
    named = [*_symbols(trees, target), *_operators(trees, catalogue, target)]
    call = read_query(target).call if not named else ""
    if call:  # torch.add is no function of these files: Python's name for an operator
        named = _operators(trees, catalogue, f"aten::{call}")
    if kind is not None:
        return [candidate for candidate in named if candidate.kind == kind]
    named.sort(key=lambda candidate: _ORDER.get(candidate.kind, 3))
    return [candidate for candidate in named if candidate.kind != "namespace"] or named


# --- files ---


def _files_named(trees: Sequence[IndexedTree], target: str) -> list[Candidate]:
    match = _PLACE.match(target)
    if match is None:
        return _paths(trees, target)
    path, first, last = match["path"], int(match["first"]), int(match["last"]) if match["last"] else None
    files = _paths(trees, path)
    if os.path.isabs(path) and files:  # a line of the file as it lies there
        tree = trees[files[0].tree].tree
        first, last = tree.own_line(files[0].name, first), tree.own_line(files[0].name, last) if last else None
    lengths = [_length(trees[file.tree], file.name) for file in files]
    if len(files) > 1 and max(lengths) < first:
        why = f"the longest of the {len(files)} files of that name has {max(lengths)}"
        raise PtexploreError(f"there is no line {first} in {path}", why, f"ptexplore show {shlex.quote(path)}")
    long_enough = [file for file, length in zip(files, lengths, strict=True) if length >= first]
    return [replace(file, first=first, last=last) for file in long_enough or files]


def _length(indexed: IndexedTree, path: str) -> int:
    known = indexed.store.file(path)
    return known.lines if known is not None else len(indexed.tree.lines(path))


def _paths(trees: Sequence[IndexedTree], asked: str) -> list[Candidate]:
    """Files of that canonical path, else of a path that ends in it; a file on this machine is known by its place."""
    if os.path.isabs(asked):
        return _on_disk(trees, asked)
    asked = asked.removeprefix("./")
    exact = _holding(trees, asked)
    if exact or not asked.strip("/"):
        return exact
    ending = f"/{asked.lower()}"
    paths = dict.fromkeys(
        path for indexed in trees for path in indexed.store.files_like(asked, 200) if path.lower().endswith(ending)
    )
    same_case = [path for path in paths if path.endswith(f"/{asked}")]
    return [candidate for path in same_case or paths for candidate in _holding(trees, path)]


def _holding(trees: Sequence[IndexedTree], path: str) -> list[Candidate]:
    """The trees' files of that path: one candidate a project, further trees beside it."""
    by_project: dict[str, list[int]] = {}
    for number, indexed in enumerate(trees):
        if indexed.store.file(path) is not None or ("/" in path and indexed.tree.exists(path)):
            by_project.setdefault(project(indexed), []).append(number)
    return [file_candidate(trees, numbers, path) for numbers in by_project.values()]


def _on_disk(trees: Sequence[IndexedTree], file: str) -> list[Candidate]:
    """The file of a tree that lies at that absolute path: a compiler or a debugger may have named it."""
    real = os.path.realpath(file)
    parts = real.split(os.sep)
    for number, indexed in enumerate(trees):
        for start in range(1, len(parts)):
            path = "/".join(parts[start:])
            for full in (path, f"aten/src/{path}", f"build/aten/src/{path}"):
                held = indexed.tree.file_of(full) if indexed.store.file(full) is not None else None
                if held is not None and os.path.realpath(held) == real:
                    return [Candidate("file", full, "", spot(indexed, full, None), number)]
    return []


# --- symbols ---


def _symbols(trees: Sequence[IndexedTree], target: str) -> list[Candidate]:
    """Definitions of the name, else its declarations.

    A qualified name is exact where it can be, else what Python's look-up finds, else an ending.
    """
    asked = target.removeprefix("::")
    qualified = "::" in target or "." in target
    for strict in (True, False) if qualified else (False,):
        if not strict and (public := _public(trees, asked)):
            return public
        symbols = symbols_called(trees, asked, exact=strict)
        defined = [(number, symbol) for number, symbol in symbols if symbol.role == "definition"]
        together = _without_constructors(merged(trees, _without_stubs(defined) or symbols))
        if together:
            return [symbol_candidate(trees, places) for places in together]
    return []


def _public(trees: Sequence[IndexedTree], asked: str) -> list[Candidate]:
    """The definitions of a public Python name."""
    named = public_symbols(trees, asked)
    steps = {id(symbol): [f"{path}:{line}" for path, line in way.through] for _number, symbol, way in named}
    return [
        replace(symbol_candidate(trees, places), handed_on=tuple(steps[id(places[0][1])]))
        for places in merged(trees, [(number, symbol) for number, symbol, _way in named])
    ]


def _without_stubs(symbols: list[tuple[int, Symbol]]) -> list[tuple[int, Symbol]]:
    """A .pyi only repeats what the .py defines."""
    real = {symbol.qualified for _number, symbol in symbols if not symbol.path.endswith(".pyi")}
    return [(n, s) for n, s in symbols if not (s.path.endswith(".pyi") and s.qualified in real)]


def _without_constructors(together: list[list[tuple[int, Symbol]]]) -> list[list[tuple[int, Symbol]]]:
    """A class's name means the class: its constructors bear it too, and are named as Class::Class."""
    classes = {
        f"{symbol.qualified}::{symbol.name}"
        for (_number, symbol), *_others in together
        if symbol.kind in ("class", "struct", "union")
    }
    return [places for places in together if places[0][1].qualified not in classes]


# --- operators ---


def _operators(trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str) -> list[Candidate]:
    """Operators of that full name, or every overload where it names a family ("aten::add")."""
    asked = dispatcher_name(target)
    operators: dict[str, Candidate] = {}
    if catalogue is not None:
        store = catalogue.store
        exact = store.operator(asked) or store.operator(f"aten::{asked}")
        namespace, _, base = asked.rpartition("::")
        family = [member for member in store.operators_named(base) if member.namespace == (namespace or "aten")]
        for operator in [exact] if exact is not None and ("::" in asked or "." in asked) else family:
            place = operator_spot(catalogue, operator)
            operators[operator.name] = Candidate("operator", operator.name, operator.schema, place, catalogue.number)
    for number, indexed in enumerate(trees if "::" in asked else ()):
        for row in indexed.store.dialect(asked, OPERATOR_KINDS):
            place = spot(indexed, row.path, row.line, row.end_line)
            operators.setdefault(row.name, Candidate("operator", row.name, row.text, place, number))
    return list(operators.values())


# --- JSON ---


def show_to_document(view: ShowView) -> dict[str, Any]:
    """The pages with their lines; `candidates` is everything that the target may name."""
    return {
        "format": FORMAT,
        "target": view.target,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "candidates": [_candidate_to_json(candidate) for candidate in view.candidates],
        "pages": [_page_to_json(page) for page in view.pages],
    }


def _candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    symbol = candidate.symbol
    return {
        "kind": candidate.kind,
        "name": candidate.name,
        "detail": candidate.detail,
        "role": symbol.role if symbol is not None else None,
        "macro": symbol.macro if symbol is not None else None,
        "guards": list(candidate.guards),
        "source": source_to_json(candidate.spot.ref),
        "also": [source_to_json(other.ref) for other in candidate.also],
        "handed_on": list(candidate.handed_on),
    }


def _page_to_json(page: Page) -> dict[str, Any]:
    document = _candidate_to_json(page.candidate) | {
        "source": source_to_json(page.spot.ref),
        "first": page.first,
        "mark": page.mark,
        "lines": list(page.lines),
        "language": page.language,
        "file": page.file,
        "file_line": page.file_line,
        "inside": page.inside.qualified if page.inside is not None else None,
        "facts": list(page.facts),
        "notes": [mark_to_json(mark) for mark in page.marks],
    }
    kernels = [
        {"keys": list(kernel.keys), "name": kernel.name, "depth": kernel.depth, "source": source_to_json(kernel.ref)}
        for kernel in page.kernels
    ]
    return document | ({"kernels": kernels} if kernels else {})
