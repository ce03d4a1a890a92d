"""Finds the things that a target names: a place in a file, a file, operators, symbols. Also the error for no match."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from ptexplore.cpp.symbol_names import pasted
from ptexplore.errors import FAILED, PtexploreError
from ptexplore.lookup.operators import Catalogue, operator_spot
from ptexplore.lookup.query import read_query
from ptexplore.lookup.query_length import check_length
from ptexplore.lookup.trees import (
    Candidate,
    IndexedTree,
    atlas_symbols,
    file_candidate,
    merged,
    nearest_names,
    project,
    public_symbols,
    spot,
    symbol_candidate,
    symbols_called,
)
from ptexplore.model.operators import dispatcher_name
from ptexplore.model.symbols import OPERATOR_KINDS, Symbol
from ptexplore.source.python_names import is_python_name

_SOURCES = (".cpp", ".h", ".cu", ".cuh", ".py", ".pyi", ".yaml", ".c", ".cc", ".hpp", ".mm", ".metal", ".inl")
_PLACE = re.compile(r"^(?P<path>.+?):(?P<first>[1-9][0-9]{0,8})(?:-(?P<last>[1-9][0-9]{0,8})|:[0-9]+)?:?$")
_ORDER = {"function": 0, "class": 0, "struct": 0, "union": 0, "enum": 1, "concept": 1, "macro": 1, "typedef": 2,
          "operator": 2, "file": 3, "variable": 4, "member": 5, "enumerator": 6, "namespace": 7}  # fmt: skip


def candidates(
    trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str, kind: str | None = None
) -> list[Candidate]:
    """Returns everything that `target` names, best first: a place in a file, else a file, else operators and symbols.

    Raises PtexploreError for a target that is too long.
    """
    check_length(target)
    files = _files_named(trees, target)
    if files:
        return files
    target = pasted(target)
    named = [*_symbols(trees, target), *_operators(trees, catalogue, target)]
    call = read_query(target).call if not named else ""
    if call:  # torch.add is no function in these files, but Python's name for an operator
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
    if os.path.isabs(path) and files:  # the line number is of the file on disk
        tree = trees[files[0].tree].tree
        first, last = tree.own_line(files[0].name, first), tree.own_line(files[0].name, last) if last else None
    lengths = [_length(trees[file.tree], file.name) for file in files]
    if len(files) > 1 and max(lengths) < first:
        why = f"the longest of the {len(files)} files with this name has {max(lengths)} lines"
        raise PtexploreError(f"{path} has no line {first}", why, f"ptexplore show {shlex.quote(path)}")
    long_enough = [file for file, length in zip(files, lengths, strict=True) if length >= first]
    return [replace(file, first=first, last=last) for file in long_enough or files]


def _length(indexed: IndexedTree, path: str) -> int:
    known = indexed.store.file(path)
    return known.lines if known is not None else len(indexed.tree.lines(path))


def _paths(trees: Sequence[IndexedTree], asked: str) -> list[Candidate]:
    """Returns the files with that canonical path, else those whose path ends in it.

    An absolute path is looked up on disk.
    """
    if os.path.isabs(asked):
        file = file_on_disk(trees, asked)
        return [file] if file is not None else []
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
    """Returns the files of that path: one candidate for each project, with its places in the other trees."""
    by_project: dict[str, list[int]] = {}
    for number, indexed in enumerate(trees):
        if indexed.store.file(path) is not None or ("/" in path and indexed.tree.exists(path)):
            by_project.setdefault(project(indexed), []).append(number)
    return [file_candidate(trees, numbers, path) for numbers in by_project.values()]


def file_on_disk(trees: Sequence[IndexedTree], file: str) -> Candidate | None:
    """Returns the file of a tree at that absolute path, or None. A compiler, a debugger or an editor may have named it.

    `trees` are tried in their order.
    """
    real = os.path.realpath(file)
    parts = real.split(os.sep)
    for number, indexed in enumerate(trees):
        for start in range(1, len(parts)):
            path = "/".join(parts[start:])
            for full in (path, f"aten/src/{path}", f"build/aten/src/{path}"):
                held = indexed.tree.file_of(full) if indexed.store.file(full) is not None else None
                if held is not None and os.path.realpath(held) == real:
                    return Candidate("file", full, "", spot(indexed, full, None), number)
    return None


# --- symbols ---


def _symbols(trees: Sequence[IndexedTree], target: str) -> list[Candidate]:
    """Returns the definitions of the name, else its declarations.

    A qualified name is first looked for exactly, then as Python's imports lead to it, then as the end of a name.
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
    """Returns the definitions that a public Python name leads to."""
    named = public_symbols(trees, asked)
    steps = {id(symbol): [f"{path}:{line}" for path, line in way.through] for _number, symbol, way in named}
    return [
        replace(symbol_candidate(trees, places), handed_on=tuple(steps[id(places[0][1])]))
        for places in merged(trees, [(number, symbol) for number, symbol, _way in named])
    ]


def _without_stubs(symbols: list[tuple[int, Symbol]]) -> list[tuple[int, Symbol]]:
    """Drop symbols of a .pyi file that the .py file defines too."""
    real = {symbol.qualified for _number, symbol in symbols if not symbol.path.endswith(".pyi")}
    return [(n, s) for n, s in symbols if not (s.path.endswith(".pyi") and s.qualified in real)]


def _without_constructors(together: list[list[tuple[int, Symbol]]]) -> list[list[tuple[int, Symbol]]]:
    """Drop the constructors of a class (Class::Class) if the class itself is there: its name means the class."""
    classes = {
        f"{symbol.qualified}::{symbol.name}"
        for (_number, symbol), *_others in together
        if symbol.kind in ("class", "struct", "union")
    }
    return [places for places in together if places[0][1].qualified not in classes]


# --- operators ---


def _operators(trees: Sequence[IndexedTree], catalogue: Catalogue | None, target: str) -> list[Candidate]:
    """Returns the operator with that full name, or every overload if the target is a base name ("aten::add")."""
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


# --- nothing ---


def nothing(trees: Sequence[IndexedTree], target: str, kind: str | None) -> PtexploreError:
    """Returns the error for a target that names nothing here: the trees that were searched, and the closest names."""
    message = f"no {kind} is named {target}" if kind else f"nothing is named {target}"
    path, _, line = target.rpartition(":")
    asked = path if path and line.replace("-", "").isdigit() else target
    is_file = "/" in asked or asked.endswith(_SOURCES)
    close = [] if is_file else nearest_names(trees, asked)
    close = close or (nearest_files(trees, asked) if is_file or "." in asked.strip(".") else [])
    known = atlas_symbols(trees, target, 3, prefix=False)
    if known:
        places = "; ".join(f"{symbol.qualified} at {symbol.path}:{symbol.line} ({at.ref.url})" for symbol, at in known)
        why = f"{known[0][1].tree.label} has no text; it only names places: {places}"
        return PtexploreError(f"the text of {target} is not here", why, "ptexplore fetch", FAILED)
    searched = ", ".join(indexed.tree.info.label for indexed in trees) or "nothing, because there is no tree"
    closest = f"the closest names are {', '.join(close)}" if close else "no name is similar"
    why = f"searched: {searched}; {closest}"
    if not is_python_name(target) and not any(indexed.checkout is not None for indexed in trees):
        why += "; the installed torch has no hand-written C++"
        return PtexploreError(message, why, "ptexplore fetch", FAILED)
    hint = f"ptexplore show {shlex.quote(close[0])}" if close else f"ptexplore find --text {shlex.quote(target)}"
    return PtexploreError(message, why, hint, FAILED)


def nearest_files(trees: Sequence[IndexedTree], asked: str) -> list[str]:
    """Returns up to five files whose paths contain `asked`, then its last part, then that part without its ending."""
    name = asked.rstrip("/").rsplit("/", 1)[-1]
    fragments = [fragment for fragment in (asked, name, name.rpartition(".")[0]) if len(fragment) > 2]
    files = (file for indexed in trees for part in fragments for file in indexed.store.files_like(part, 5))
    return list(dict.fromkeys(files))[:5]
