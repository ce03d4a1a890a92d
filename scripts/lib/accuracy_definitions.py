"""Figure 2: the index's function definitions against those that libclang saw, and Ctags' beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from lib.accuracy_names import plain
from lib.accuracy_peer import Tags
from lib.accuracy_report import Figure
from lib.accuracy_truth import Truth
from lib.clang_definitions import Definition

from ptexplore.model.symbols import Symbol
from ptexplore.store.index.reader import IndexStore

_SHOWN = 25


@dataclass
class Compared:
    """Definitions with a body that libclang saw, found in the index or not; index rows that it bears out or not."""

    found: int = 0
    missed: list[Definition] = field(default_factory=list)
    borne_out: int = 0
    extra: list[Symbol] = field(default_factory=list)


KINDS = {
    "function": frozenset(("function",)),
    "type": frozenset(("class", "struct", "union", "enum", "typedef")),
    "enumerator": frozenset(("enumerator",)),
    "value": frozenset(("member", "variable")),
}


def compare(truth: Truth, index: IndexStore, kind: str = "function", own: IndexStore | None = None) -> Compared:
    """Over every file of the tree that a unit read, definitions of one kind.

    What a macro makes by `own` alone, the index of the installed torch's own text, counts neither way: the headers that
    define such macros are in the wheel and not in the tree.

    A row is a definition's when path, qualified name and line agree; of what a macro made, any line of the macro's use
    will do. `= default` and `= delete` count neither way, nor do rows in lines that every unit skipped.
    """
    result = Compared()
    for path in sorted(truth.active):
        _compare_file(truth, index, path, kind, result)
    if own is not None:
        result.missed = _not_made_in(own, result.missed, kind)
    return result


def _not_made_in(own: IndexStore, missed: list[Definition], kind: str) -> list[Definition]:
    """Those that no macro makes at that place by another index."""
    made: dict[tuple[str, str], list[Symbol]] = defaultdict(list)
    for path in {one.path for one in missed}:
        for row in own.outline(path):
            if row.macro is not None and row.kind in KINDS[kind]:
                made[path, plain(row.qualified)].append(row)
    return [one for one in missed if not any(_same_place(row, one) for row in made[one.path, plain(one.qualified)])]


def _compare_file(truth: Truth, index: IndexStore, path: str, kind: str, result: Compared) -> None:
    rows = [one for one in index.outline(path) if one.kind in KINDS[kind]]
    by_name: dict[str, list[Symbol]] = defaultdict(list)
    for row in rows:
        by_name[plain(row.qualified)].append(row)
    explained: set[int] = set()
    for (name, _, bodiless), one in _distinct(truth, path, kind).items():
        fitting = [row for row in by_name.get(name, ()) if _same_place(row, one)]
        explained.update(id(row) for row in fitting)
        if bodiless:
            continue
        if any(row.role == "definition" for row in fitting):
            result.found += 1
        else:
            result.missed.append(one)
    for row in rows:
        if row.role == "definition" and not truth.skipped(path, row.line):
            if id(row) in explained:
                result.borne_out += 1
            elif kind != "value" or not row.template:  # libclang's C interface shows no variable templates
                result.extra.append(row)


def _distinct(truth: Truth, path: str, kind: str = "function") -> dict[tuple[str, int, bool], Definition]:
    """One definition a name and line, in order of both: a macro's use can make several of one name."""
    of_kind = (one for one in truth.definitions.get(path, ()) if one.kind == kind)
    found = sorted(of_kind, key=lambda one: (one.line, one.qualified))
    return {(plain(one.qualified), one.line, one.bodiless): one for one in found}


def _same_place(row: Symbol, one: Definition) -> bool:
    if row.kind == "typedef" and row.line == one.end_line:  # "typedef struct { … } Name;"
        return True
    return row.line == one.line or (row.macro is not None and one.use <= row.line <= max(one.end_line, one.line))


def compare_tags(truth: Truth, tags: Tags) -> tuple[tuple[int, int], tuple[int, int]]:
    """Ctags' recall and precision by the same rule; it does not say what a macro made, so only its own lines count."""
    found = total = borne_out = rows = 0
    for path in truth.active:
        distinct = _distinct(truth, path)
        theirs = tags.by_path.get(path, set())
        for name, line, bodiless in distinct:
            if not bodiless:
                total += 1
                found += (name, line) in theirs
        places = {(name, line) for name, line, _ in distinct}
        for name, line in theirs:
            if not truth.skipped(path, line):
                rows += 1
                borne_out += (name, line) in places
    return (found, total), (borne_out, rows)


def figures(
    truth: Truth, index: IndexStore, own: IndexStore, tags: Tags | None
) -> tuple[list[Figure], list[tuple[str, list[str]]]]:
    """Recall and precision, with what was missed and what libclang did not bear out."""
    one = compare(truth, index)
    peer = compare_tags(truth, tags) if tags is not None else (None, None)
    where = f"{len(truth.units)} units that libclang parses without an error, the {len(truth.active):,} files they read"
    recall = Figure(
        "definitions: recall", one.found, one.found + len(one.missed), 99.0,
        f"function definitions with a body (path, qualified name, line) in {where}", peer[0],
    )  # fmt: skip
    precision = Figure(
        "definitions: precision", one.borne_out, one.borne_out + len(one.extra), 99.0,
        "the index's function definitions in the same files, except on lines that the preprocessor skips in all units",
        peer[1],
    )  # fmt: skip
    details = [
        ("Units that were left out, and why", [f"{path}: {why}" for path, why in sorted(truth.refused.items())]),
        ("Definitions missed", _missed(one)),
        ("Rows of the index that libclang does not confirm", _extra(one)),
    ]
    others = {kind: compare(truth, index, kind, own) for kind in KINDS if kind != "function"}
    details += [
        (
            f"{_NAMED[kind].capitalize()} missed, or not confirmed",
            [*_missed(one), *(f"extra: {row}" for row in _extra(one))],
        )
        for kind, one in others.items()
    ]
    return [recall, precision, *(figure for kind, one in others.items() for figure in _pair(kind, one))], details


_NAMED = {"type": "types", "enumerator": "enumerators", "value": "members and variables"}
_WHAT = {
    "type": "classes, structures, unions, enumerations and typedefs, except those inside functions",
    "enumerator": "enumerators",
    "value": "members of classes and variables of namespaces",
}


def _pair(kind: str, one: Compared) -> list[Figure]:
    name, what = _NAMED[kind], _WHAT[kind]
    missed, extra = len(one.missed), len(one.extra)
    least = 98.0 if kind == "value" else 99.0  # most that is missed is made by macros of pybind11's headers
    return [
        Figure(f"{name}: recall", one.found, one.found + missed, least, f"{what}, by the same rule in the same files"),
        Figure(f"{name}: precision", one.borne_out, one.borne_out + extra, 99.0, "the index's rows of these kinds"),
    ]


def _missed(one: Compared) -> list[str]:
    files = Counter(found.path for found in one.missed)
    rows = [f"{path}: {count}" for path, count in files.most_common(8)]
    return rows + [f"{row.path}:{row.line} {row.qualified}" for row in one.missed[:: max(len(one.missed) // _SHOWN, 1)]]


def _extra(one: Compared) -> list[str]:
    files = Counter(found.path for found in one.extra)
    rows = [f"{path}: {count}" for path, count in files.most_common(8)]
    some = one.extra[:: max(len(one.extra) // _SHOWN, 1)]
    return rows + [f"{row.path}:{row.line} {row.qualified}{f' ({row.macro})' if row.macro else ''}" for row in some]
