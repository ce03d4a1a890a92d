"""What a `show` target names: symbols, operators, files and lines of files; every candidate, none chosen silently."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.model.symbols import OPERATOR_KINDS
from ptexplore.view.search.operators import Catalogue, operator_spot
from ptexplore.view.trees import IndexedTree, Spot, merged, project, spot, symbol_spot

if TYPE_CHECKING:
    from ptexplore.model.symbols import Symbol

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
    files = _files(trees, target)
    if files:
        return files
    found = [*_symbols(trees, target), *_operators(trees, catalogue, target)]
    if kind is not None:
        return [one for one in found if one.kind == kind]
    found.sort(key=lambda one: _ORDER.get(one.kind, 3))
    bodies = [one for one in found if one.kind != "namespace"]
    return bodies or found


# --- files ---


def _files(trees: Sequence[IndexedTree], target: str) -> list[Candidate]:
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
    asked = _plain(target)
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


def _plain(target: str) -> str:
    """`torch.ops.aten.add.Tensor` and `aten::add.default` as the dispatcher writes them."""
    name = target.removeprefix("torch.ops.")
    if name != target:
        name = name.replace(".", "::", 1)
    return name.removesuffix(".default")
