"""`find`: the symbols, operators, files, notes and lines of text that a query may mean; also while you type it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ptexplore.annotations.marks import Mark
from ptexplore.cpp.symbol_names import pasted
from ptexplore.errors import FAILED, PtexploreError
from ptexplore.model.places import TreeInfo
from ptexplore.model.symbols import OPERATOR_KINDS, Symbol
from ptexplore.resolve.places.precision import unknown
from ptexplore.source.canonical import is_test_file
from ptexplore.source.python_names import is_python_name
from ptexplore.view.documents import FORMAT, source_to_json, tree_to_json
from ptexplore.view.notes.notes_about import MarksByTree, matching
from ptexplore.view.search.operators import Catalogue, operator_spot, ranked_operators
from ptexplore.view.trees import (
    Candidate,
    IndexedTree,
    Spot,
    atlas_symbols,
    file_candidate,
    merged,
    nearest_names,
    one_tree_a_file,
    project,
    public_symbols,
    spot,
    symbol_candidate,
)

PUBLIC = 2000  # the score of what a Python name means: above any likeness
FEW = 3  # fewer results by name than this: the query may be meant as text
BY_WORDS = 5  # notes that only speak of the query: more would bury what bears its name
GROUPS = ("symbol", "operator", "file", "note", "text")


@dataclass(frozen=True, slots=True)
class HitGroup:
    """Results of one sort, best first; `more` says how many are left out, None where nobody counted."""

    name: str
    hits: tuple[Candidate, ...]
    more: int | None = 0


@dataclass(frozen=True, slots=True)
class FindView:
    """Everything a renderer needs of one search."""

    query: str
    groups: tuple[HitGroup, ...]
    trees: tuple[TreeInfo, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FindQuery:
    """What the reader asked for: at most so many of each group, of one group or kind of symbol, full text as well."""

    limit: int = 20
    kind: str | None = None
    text: bool = False
    declarations: bool = False
    stopped: Callable[[], bool] = lambda: False  # whether nobody waits for the lines of text any more


def find(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    query: str,
    wanted: FindQuery,
    marks_by_tree: MarksByTree | None = None,
) -> FindView:
    """Search every tree. `catalogue` is the installed torch's operators with the tree that holds their places.

    `marks_by_tree` are the notes on each tree.
    """
    groups: list[HitGroup] = []
    remarks: list[str] = []
    by_name = pasted(query)
    only = wanted.kind if wanted.kind in GROUPS else "symbol" if wanted.kind else None
    if only in (None, "symbol"):
        group, folded = _symbols(trees, by_name, wanted)
        groups.append(group)
        if folded:
            remarks.append(f"{folded} declarations and constructors of these are not listed: --declarations")
        groups.append(_atlas(trees, by_name, wanted))
    if only in (None, "operator"):
        groups.append(_operators(trees, catalogue, query, wanted.limit))
    if only in (None, "file"):
        groups.append(_files(trees, query, wanted.limit))
    few = sum(len(g.hits) for g in groups) < FEW
    if only in (None, "note"):
        groups.append(_notes(trees, marks_by_tree or {}, query, wanted))
    if wanted.text or only == "text" or (only is None and few):
        lines, more = matching_lines(trees, query, wanted)
        groups.append(HitGroup("text", tuple(lines), None if more else 0))
    first = leading(trees, catalogue, query)
    groups.sort(key=lambda group: group.name != f"{first}s")
    return FindView(query, tuple(g for g in groups if g.hits), tuple(t.tree.info for t in trees), tuple(remarks))


def leading(trees: Sequence[IndexedTree], catalogue: Catalogue | None, query: str) -> str | None:
    """The sort of which the query is a whole name as it stands: that of a file ("Dispatcher.h") or an operator's."""
    name = query.strip()
    if "." in name:
        paths = (path for indexed in trees for path in indexed.store.files_like(name, 5))
        if any(path == name or path.endswith(f"/{name}") for path in paths):
            return "file"
    store = catalogue.store if catalogue is not None else None
    if store is not None and (store.operator(name) or store.operator(f"aten::{name}")) and "." in name:
        return "operator"
    return None


def nothing_fits(trees: Sequence[IndexedTree], query: str, kind: str | None) -> PtexploreError:
    """What is said if nothing fits a query: what was searched, what is closest."""
    close = nearest_names(trees, query)
    message = f"no {kind} fits {query}" if kind else f"nothing fits {query}"
    searched = ", ".join(indexed.tree.info.label for indexed in trees)
    why = f"searched by name and by text in {searched}" if kind is None else f"searched in {searched}"
    words = [word for word in _WORD.findall(query) if not word[0].isdecimal()]
    if close:
        return PtexploreError(
            message, f"{why}; the closest are {', '.join(close)}", f"ptexplore find {shlex.quote(close[0])}"
        )
    if not words and kind in (None, "text"):
        why += "; text is found by its words, and this has none that begins with a letter"
        return PtexploreError(message, why, "ptexplore find --help", FAILED)
    if len(words) > 1:
        return PtexploreError(message, why, f"ptexplore find {shlex.quote(max(words, key=len))}", FAILED)
    if not is_python_name(query) and not any(indexed.checkout is not None for indexed in trees):
        return PtexploreError(message, f"{why}, which has no hand-written C++", "ptexplore fetch", FAILED)
    again = f"ptexplore find {shlex.quote(query)}" if kind is not None else "ptexplore doctor"
    return PtexploreError(message, why, again, FAILED)


def _symbols(trees: Sequence[IndexedTree], query: str, wanted: FindQuery) -> tuple[HitGroup, int]:
    """One result for a name with its signature in a file: what further trees say of it goes with it."""
    kind = wanted.kind if wanted.kind not in GROUPS else None
    most = max(60, 3 * wanted.limit) * (8 if kind else 1)
    ranked: list[tuple[int, bool, bool, int, int, Symbol]] = []
    cut = False
    python = is_python_name(query)
    public = public_symbols(trees, query)
    for number, indexed in enumerate(trees):
        named = dict.fromkeys(symbol for tree, symbol, _way in public if tree == number)
        results = indexed.store.search(query, most)
        cut = cut or len(results) >= most
        scores = dict(results) | dict.fromkeys(named, PUBLIC)
        for position, (symbol, score) in enumerate(scores.items()):
            if kind is None or symbol.kind == kind:
                late = is_test_file(symbol.path) or symbol.kind == "namespace" or (python and "::" in symbol.qualified)
                ranked.append((-score, symbol.role == "declaration", late, position, number, symbol))
    ranked.sort(key=lambda row: row[:5])
    defined = {row[5].qualified for row in ranked if row[5].role == "definition"}
    kept = [
        (number, symbol)
        for _score, declared, _test, _position, number, symbol in ranked
        if wanted.declarations or not (_makes_one_of(symbol, defined) or (declared and symbol.qualified in defined))
    ]
    together = merged(trees, kept)
    hits = tuple(symbol_candidate(trees, places) for places in together[: wanted.limit])
    return HitGroup("symbols", hits, None if cut else len(together) - len(hits)), len(ranked) - len(kept)


def _atlas(trees: Sequence[IndexedTree], query: str, wanted: FindQuery) -> HitGroup:
    """Hand-written definitions of the atlas's release, where no checkout says more."""
    kind = wanted.kind if wanted.kind not in GROUPS else None
    hits = tuple(
        Candidate(symbol.kind, symbol.qualified, symbol.signature, place, symbol=symbol)
        for symbol, place in atlas_symbols(trees, query, wanted.limit, prefix=True)
        if kind is None or symbol.kind == kind
    )
    return HitGroup("symbols whose text is not here (ptexplore fetch)", hits, None if hits else 0)


def _notes(trees: Sequence[IndexedTree], marks_by_tree: MarksByTree, query: str, wanted: FindQuery) -> HitGroup:
    """Stops of tours and notes, each where its anchor is placed: on the first tree that can."""
    stops: dict[str, tuple[bool, Mark, IndexedTree]] = {}
    for indexed in trees:
        for named, mark in matching(marks_by_tree.get(indexed.tree.info.name, ()), query):
            if mark.stop not in stops or (mark.placed and not stops[mark.stop][1].placed):
                stops[mark.stop] = (named, mark, indexed)
    by_words = wanted.limit if wanted.kind == "note" else min(BY_WORDS, wanted.limit)
    hits = [_note(mark, indexed) for named, mark, indexed in stops.values() if named]
    hits += [_note(mark, indexed) for named, mark, indexed in stops.values() if not named][:by_words]
    kept = tuple(hits[: wanted.limit])
    return HitGroup("notes", kept, len(stops) - len(kept))


def _note(mark: Mark, indexed: IndexedTree) -> Candidate:
    if mark.placed:
        place = spot(indexed, mark.path, mark.line, mark.end_line)
    else:
        place = Spot(unknown(f"its anchor is {mark.outcome} here"), indexed.tree.info)
    return Candidate("note", mark.stop, mark.title, place, command=mark.command)


def _makes_one_of(symbol: Symbol, defined: set[str]) -> bool:
    """Whether it is the constructor or destructor of a class that is a result itself: the class leads there."""
    outer = symbol.qualified.rpartition("::")[0]
    return outer in defined and outer.rpartition("::")[2] == symbol.name.removeprefix("~")


def _operators(trees: Sequence[IndexedTree], catalogue: Catalogue | None, query: str, limit: int) -> HitGroup:
    """Operators of the running torch by name; further ones that only a checkout defines, by their full name."""
    hits: dict[str, Candidate] = {}
    names: list[str] = []
    if catalogue is not None:
        names = ranked_operators(catalogue.store.all_names(), query)
        for operator in filter(None, map(catalogue.store.operator, names[:limit])):
            place = operator_spot(catalogue, operator)
            hits[operator.name] = Candidate("operator", operator.name, operator.schema, place)
    for indexed in trees:
        for full in dict.fromkeys((*hits, query, f"aten::{query}")):
            for row in indexed.store.dialect(full, OPERATOR_KINDS):
                place = spot(indexed, row.path, row.line, row.end_line)
                hit = hits.get(row.name)
                hits[row.name] = _placed(hit, place) if hit else Candidate("operator", row.name, row.text, place)
    return HitGroup("operators", tuple(hits.values())[:limit], max(0, len(names) - limit))


def _placed(hit: Candidate, place: Spot) -> Candidate:
    """An operator with one place more: a tree's first one counts, and a known place stands before an unknown one."""
    if hit.spot.ref.precision == "unknown":
        return replace(hit, spot=place, also=(hit.spot, *hit.also))
    if place.tree.name in {known.tree.name for known in (hit.spot, *hit.also)}:
        return hit
    return replace(hit, also=(*hit.also, place))


def _files(trees: Sequence[IndexedTree], query: str, limit: int) -> HitGroup:
    """Files by the end or a part of their path; a path that several trees have is one result."""
    if len(query.strip()) < 2 or "::" in query:
        return HitGroup("files", ())
    holders: dict[tuple[str, str], list[int]] = {}
    cut = False
    for number, indexed in enumerate(trees):
        paths = indexed.store.files_like(query.strip(), limit + 1)
        cut = cut or len(paths) > limit
        for path in paths[:limit]:
            holders.setdefault((project(indexed), path), []).append(number)
    hits = tuple(file_candidate(trees, numbers, path) for (_project, path), numbers in islice(holders.items(), limit))
    return HitGroup("files", hits, None if cut else len(holders) - len(hits))


FILES = 400  # most files of one tree that are read for one query
LONGEST = 400  # characters of a line that are shown
_WORD = re.compile(r"\w+")


def matching_lines(trees: Sequence[IndexedTree], query: str, wanted: FindQuery) -> tuple[list[Candidate], bool]:
    """The first lines that hold `query`, as many as are `wanted`, and whether there are (or may be) more.

    The query is literal; runs of blanks are one blank. Case counts when the query has a capital letter. Files are found
    by the query's words: it may begin and end inside a word if its first has three letters. What was found so far is
    returned as soon as `wanted.stopped` says so.
    """
    words = [word.lower() for word in _WORD.findall(query) if not word[0].isdecimal()]  # numbers are not indexed
    plain = " ".join(query.split())
    if not words:
        return [], False
    fold = plain == plain.lower()
    lines: list[Candidate] = []
    more = False
    for indexed, earlier in one_tree_a_file(trees):
        paths = indexed.store.files_with_words(words, FILES + 1)
        more = more or len(paths) > FILES
        for path in paths[:FILES]:
            if wanted.stopped():
                return lines, True
            if any(other.store.file(path) is not None for other in earlier):
                continue
            for number, line in _lines_with(indexed, path, plain, fold=fold):
                if len(lines) == wanted.limit:
                    return lines, True
                place = spot(indexed, path, number)
                lines.append(Candidate("line", f"{path}:{number}", shortened(line, words[0]), place))
    return lines, more


def _lines_with(indexed: IndexedTree, path: str, wanted: str, *, fold: bool) -> Iterator[tuple[int, str]]:
    """Numbers and lines of one file that hold `wanted`; a file without its first piece is not parted into lines."""
    file = indexed.tree.read(path)
    indexed.tree.forget()  # hundreds of files may be read for one query
    if file is None:
        return
    first = wanted.split(" ", 1)[0]
    text = file.text.lower() if fold else file.text
    at, number, begin = text.find(first), 1, 0
    while at != -1:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end == -1 else end
        number += text.count("\n", begin, start)
        begin = start
        if wanted in " ".join(text[start:end].split()):
            yield number, file.text[start:end] if len(text) == len(file.text) else text[start:end]
        at = text.find(first, end)


def shortened(line: str, word: str) -> str:
    """A line without its indentation; of an endless one what is around `word`."""
    line = line.strip()
    if len(line) <= LONGEST:
        return line
    at = max(0, line.lower().find(word.lower()) - LONGEST // 4)
    return ("… " if at else "") + line[at : at + LONGEST] + (" …" if at + LONGEST < len(line) else "")


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort of results: its name, the sign that chooses it, what `find` calls it."""

    name: str
    sign: str
    kind: str | None


SORTS = (
    Sort("all", "", None),
    Sort("symbols", "@", "symbol"),
    Sort("operators", "%", "operator"),
    Sort("files", "/", "file"),
    Sort("notes", "?", "note"),
    Sort("text", '"', "text"),
)
MOST = 40  # of one sort where it is asked for alone
EACH = 8  # of each where all are
_QUICK = ("symbol", "operator", "file", "note")


def asked(typed: str) -> tuple[Sort, str]:
    """The sort that the first sign of a query chooses, all without one; and the query without it."""
    query = typed.strip()
    chosen = next((sort for sort in SORTS if sort.sign and query.startswith(sort.sign)), SORTS[0])
    return chosen, query[len(chosen.sign) :].strip()


def hits(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    marks_by_tree: MarksByTree,
    query: str,
    sort: Sort,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[HitGroup]:
    """The groups of results, each as soon as it is known; lines of text among all only where names are few."""
    if not query:
        return
    if sort.kind is not None:
        yield from find(trees, catalogue, query, FindQuery(MOST, sort.kind, stopped=stopped), marks_by_tree).groups
        return
    count, first = 0, leading(trees, catalogue, query)
    for kind in sorted(_QUICK, key=lambda kind: kind != first):
        for group in find(trees, catalogue, query, FindQuery(EACH, kind), marks_by_tree).groups:
            count += len(group.hits)
            yield group
    if count < FEW:
        yield from find(trees, catalogue, query, FindQuery(EACH, "text", stopped=stopped), marks_by_tree).groups


def find_to_document(view: FindView) -> dict[str, Any]:
    """Groups of results; each place with its tree and precision. `more` is null where nobody counted."""
    return {
        "format": FORMAT,
        "query": view.query,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "groups": [
            {"name": group.name, "more": group.more, "results": [_hit_to_json(hit) for hit in group.hits]}
            for group in view.groups
        ],
        "remarks": list(view.remarks),
    }


def _hit_to_json(hit: Candidate) -> dict[str, Any]:
    symbol = hit.symbol
    return {
        "kind": hit.kind,
        "name": hit.name,
        "role": symbol.role if symbol is not None else "definition",
        "detail": hit.detail,
        "macro": symbol.macro if symbol is not None else None,
        "guards": list(hit.guards),
        "source": source_to_json(hit.spot.ref),
        "also": [source_to_json(other.ref) for other in hit.also],
    }
