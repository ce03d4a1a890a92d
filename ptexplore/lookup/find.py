"""`find`: gathers what a query may mean, ranks it and forms the answer. The palette searches in the same way."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ptexplore.cpp.symbol_names import pasted
from ptexplore.errors import FAILED, PtexploreError
from ptexplore.lookup.answers import Answering
from ptexplore.lookup.decompositions import decompositions_of
from ptexplore.lookup.fits import HALF_SAID, LATE_HALF, LATE_SAID, SAID
from ptexplore.lookup.gathering import FindQuery, Possibilities, SearchedNotes, gather
from ptexplore.lookup.members_in_words import members_in_words
from ptexplore.lookup.operator_kernels import kernels_of
from ptexplore.lookup.operators import Catalogue
from ptexplore.lookup.query import ReadQuery, read_query, with_root_spelled
from ptexplore.lookup.query_length import check_length
from ptexplore.lookup.ranking import HitSort, Ranking, Rated, is_slip_likely, ranked
from ptexplore.lookup.text_lines import WORD, matching_lines
from ptexplore.lookup.trees import Candidate, IndexedTree, Spot, atlas_candidates, atlas_methods, nearest_names
from ptexplore.model.places import TreeInfo
from ptexplore.model.remarks import (
    AnswerRemark,
    DeclarationsFolded,
    LinesOfText,
    OnlyInCpp,
    Respelled,
    SomeWords,
    WordsDropped,
)
from ptexplore.source.python_names import is_python_name
from ptexplore.store.index.search import PART

FEW = 3  # with fewer results than this, and no name that equals the query, text is searched too
BEST = 8  # results of all sorts that come first
BY_WORDS = 5  # notes that only mention the query's words; more of them would hide the things with that name
_BY_WORDS = (SAID, HALF_SAID, LATE_SAID, LATE_HALF)


@dataclass(frozen=True, slots=True)
class HitGroup:
    """The results of one sort, best first. `more` is how many results are left out; None if they were not counted."""

    sort: HitSort
    hits: tuple[Candidate, ...]
    more: int | None = 0


@dataclass(frozen=True, slots=True)
class FindView:
    """Everything that a renderer needs of one search.

    `best` are the best results of all sorts. `groups` are the results of each sort; the best results are among them.
    `how` are remarks on how the query was searched. `remarks` are the same, and how many declarations are folded.
    """

    query: str
    groups: tuple[HitGroup, ...]
    trees: tuple[TreeInfo, ...]
    remarks: tuple[AnswerRemark, ...] = ()
    best: tuple[Candidate, ...] = ()
    how: tuple[AnswerRemark, ...] = ()

    @property
    def further(self) -> tuple[HitGroup, ...]:
        """The groups without the results in `best`. A group with no result left is dropped, unless `more` is not 0."""
        groups = (replace(group, hits=_others(self.best, group.hits)) for group in self.groups)
        return tuple(group for group in groups if group.hits or group.more)


def find(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    query: str,
    wanted: FindQuery,
    notes: SearchedNotes | None = None,
) -> FindView:
    """Search every tree for a query.

    `catalogue` has the operators of the installed torch and the tree that their places are in. If no name is like the
    query, a second search also accepts typing errors. Raises PtexploreError for a query that is too long.
    """
    check_length(query)
    asked = read_query(pasted(query))
    searched = notes or SearchedNotes()
    asked, respelled = _respelled(trees, catalogue, asked, searched)
    gathered = gather(trees, catalogue, asked, wanted, searched, slips=False)
    ranking = ranked(asked, gathered.possible, gathered.topics, slips=False)
    if is_slip_likely(asked, ranking):
        asked = with_root_spelled(asked)
        gathered = gather(trees, catalogue, asked, wanted, searched, slips=True)
        ranking = ranked(asked, gathered.possible, gathered.topics, slips=True)
    answer = _defined(_answer(trees, query, asked, wanted, gathered, ranking, respelled), trees)
    if wanted.group not in (None, "symbol") or wanted.symbol_kind not in (None, "function"):
        return answer
    first = decompositions_of(trees, catalogue, asked) or members_in_words(trees, asked)
    if asked.dotted and asked.outer and not answer.best:  # a method of an object whose class is written in C
        first = atlas_methods(trees, asked.last)
    return _with_first(answer, first, wanted) if first else _with_kernels(answer, trees, catalogue, asked, wanted)


def _with_first(answer: FindView, first: Sequence[Candidate], wanted: FindQuery) -> FindView:
    """Puts symbols before all other results. They do not appear a second time."""
    if not first:
        return answer
    symbols = next((group for group in answer.groups if group.sort == "symbol"), HitGroup("symbol", ()))
    hits = (*first, *_others(first, symbols.hits))
    shown = hits[: max(wanted.limit, len(first))]
    whole = replace(symbols, hits=shown, more=0 if len(shown) == len(hits) and symbols.more == 0 else None)
    rest = tuple(group for group in answer.groups if group.sort != "symbol")
    best = (*first, *_others(first, answer.best))[:BEST] if wanted.group is None else ()
    return replace(answer, groups=(whole, *rest), best=best)


def _defined(answer: FindView, trees: Sequence[IndexedTree]) -> FindView:
    """Replaces the declarations among the best results by definitions that the atlas knows, in files not at hand."""

    def definition(hit: Candidate) -> Candidate:
        is_declared = hit.declared and hit.kind == "function"
        return next(iter(atlas_candidates(trees, hit.name)), hit) if is_declared else hit

    return _with_best(answer, tuple(dict.fromkeys(map(definition, answer.best))))


def _with_best(answer: FindView, best: tuple[Candidate, ...]) -> FindView:
    """Returns the answer with these best results.

    A group's own form of a result is taken, with its places in other trees. A new result that no group has comes first
    in the group of its sort.
    """
    own = {_thing(hit): hit for group in answer.groups for hit in group.hits}
    best = tuple(own.get(_thing(hit), hit) for hit in best)
    groups = {group.sort: group for group in answer.groups}
    for hit in _others([*own.values(), *answer.best], best):
        sort: HitSort = "operator" if hit.kind == "operator" else "symbol" if hit.tree >= 0 else "atlas"
        group = groups.get(sort, HitGroup(sort, ()))
        groups[sort] = replace(group, hits=(hit, *group.hits))
    return replace(answer, best=best, groups=tuple(groups.values()))


def _thing(hit: Candidate) -> tuple[str, str, str, Spot]:
    return hit.kind, hit.name, hit.detail, hit.spot


def _with_kernels(
    answer: FindView, trees: Sequence[IndexedTree], catalogue: Catalogue | None, asked: ReadQuery, wanted: FindQuery
) -> FindView:
    """Puts an operator and what it runs before the other results, if the query names the operator.

    Nothing appears twice. An operator that is the best result stays the one that it is.
    """
    if wanted.group is not None or not answer.best:
        return answer
    runs = kernels_of(trees, catalogue, asked)
    if runs and answer.best[0].kind == "operator":
        runs = [answer.best[0], *runs[1:]]
    elif runs and (answer.best[0].stop or asked.dotted):  # a page about the operator, or its name in Python
        runs = [answer.best[0], *runs]
    return _with_best(answer, (*runs, *_others(runs, answer.best))[:BEST]) if runs else answer


def _others(first: Sequence[Candidate], hits: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Returns the results that are not among the first."""
    known = set(map(_thing, first))
    return tuple(hit for hit in hits if _thing(hit) not in known)


def _respelled(
    trees: Sequence[IndexedTree], catalogue: Catalogue | None, asked: ReadQuery, notes: SearchedNotes
) -> tuple[ReadQuery, dict[str, str]]:
    """Returns the query with likely spellings of words that no name has, and these spellings."""
    answering = Answering(asked, notes.topics)
    bases = catalogue.store.names_by_base if catalogue is not None else {}

    def is_known(text: str) -> bool:
        return any(indexed.store.has_text(text) for indexed in trees) or any(text in base for base in bases)

    spellings = answering.respelled(is_known, notes.topics) if answering.terms else {}
    text = asked.text
    for word, spelling in spellings.items():
        text = re.sub(rf"(?i)(?<![^\W_]){re.escape(word)}(?![^\W_])", spelling, text)
    return (read_query(text), spellings) if spellings else (asked, spellings)


# --- the answer ---


def _answer(
    trees: Sequence[IndexedTree],
    query: str,
    asked: ReadQuery,
    wanted: FindQuery,
    gathered: Possibilities,
    ranking: Ranking,
    respelled: Mapping[str, str],
) -> FindView:
    """Form the answer: the best results and some of each group. If there are few results, lines of text are added."""
    rows = ranking.rows
    made = {id(row): row.possible.candidate() for row in rows[:BEST]} if wanted.group is None else {}
    best = tuple(made.values())
    groups = [
        _group(group, [row for row in rows if row.possible.group == group], wanted, gathered.cut, made)
        for group in dict.fromkeys(row.possible.group for row in rows)
    ]
    how: list[AnswerRemark] = [Respelled(word, spelling) for word, spelling in respelled.items()]
    how += _how_named(query, asked, ranking, best)
    is_text = wanted.text or wanted.group == "text"
    if is_text or (wanted.group is None and len(rows) < FEW and not ranking.is_called):
        lines, more_lines = matching_lines(trees, query, wanted.limit, wanted.stopped)
        if lines:
            groups.append(HitGroup("text", tuple(lines), None if more_lines else 0))
            how.append(_how_text(query))
    remarks = list(how)
    if gathered.folded:
        remarks.append(DeclarationsFolded(gathered.folded))
    infos = tuple(indexed.tree.info for indexed in trees)
    return FindView(query, tuple(groups), infos, tuple(remarks), best, tuple(how))


def _group(
    group: HitSort, rows: Sequence[Rated], wanted: FindQuery, cut: frozenset[str], made: dict[int, Candidate]
) -> HitGroup:
    """Cut the results of one group to the limit. Notes that only mention the query's words have a lower limit."""
    shown = rows[: wanted.limit]
    if group == "note" and wanted.kind is None:
        by_words = [row for row in shown if row.key[0] in _BY_WORDS][max(BY_WORDS, wanted.limit // 4) :]
        left_out = {id(row) for row in by_words} - made.keys()
        shown = [row for row in shown if id(row) not in left_out]
    hits = tuple(made.get(id(row)) or row.possible.candidate() for row in shown)
    return HitGroup(group, hits, None if group in cut else len(rows) - len(shown))


def _how_named(query: str, asked: ReadQuery, ranking: Ranking, best: Sequence[Candidate]) -> Iterable[AnswerRemark]:
    """Yields the remarks on how names and notes were searched."""
    if ranking.some_words:
        yield SomeWords(tuple(asked.words))
    if ranking.dropped:
        yield WordsDropped(tuple(ranking.dropped))
    if asked.dotted and best and "::" in best[0].name and best[0].kind not in ("operator", "file", "folder"):
        yield OnlyInCpp(query.strip())


def _how_text(query: str) -> AnswerRemark:
    """Returns the remark on how lines of text were searched."""
    words = [word for word in WORD.findall(query) if not word[0].isdecimal()]
    return LinesOfText(query == query.lower(), bool(words) and len(words[0]) >= PART)


def nothing_fits(trees: Sequence[IndexedTree], query: str, kind: str | None) -> PtexploreError:
    """Returns the error for a query without results. It names the trees that were searched and the closest names."""
    close = nearest_names(trees, query)
    message = f"no {kind} matches {query}" if kind else f"nothing matches {query}"
    searched = ", ".join(indexed.tree.info.label for indexed in trees)
    why = f"searched by name and by text in {searched}" if kind is None else f"searched in {searched}"
    words = [word for word in WORD.findall(query) if not word[0].isdecimal()]
    if close:
        return PtexploreError(
            message, f"{why}; the closest names are {', '.join(close)}", f"ptexplore find {shlex.quote(close[0])}"
        )
    if not words and kind in (None, "text"):
        why += "; a text is found by its words, and this query has no word that begins with a letter"
        return PtexploreError(message, why, "ptexplore find --help", FAILED)
    if len(words) > 1:
        return PtexploreError(message, why, f"ptexplore find {shlex.quote(max(words, key=len))}", FAILED)
    if not is_python_name(query) and not any(indexed.checkout is not None for indexed in trees):
        return PtexploreError(message, f"{why}, which has no hand-written C++", "ptexplore fetch", FAILED)
    again = f"ptexplore find {shlex.quote(query)}" if kind is not None else "ptexplore doctor"
    return PtexploreError(message, why, again, FAILED)


# --- a palette ---


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of results: its name, the sign that chooses it, and its kind for `find` (None for all sorts)."""

    name: str
    sign: str
    kind: str | None


SORTS = (
    Sort("all", "", None),
    Sort("symbols", "@", "symbol"),
    Sort("operators", "%", "operator"),
    Sort("files", "/", "file"),
    Sort("notes", "?", "note"),
    Sort("folders", "=", "folder"),
    Sort("text", '"', "text"),
)
MOST = 40  # results, if you chose one sort
EACH = 8  # results of each sort, if you chose none


def asked(typed: str) -> tuple[Sort, str]:
    """Returns the sort that the first sign of a query chooses, and the query without that sign.

    Without a sign, it is the sort "all".
    """
    query = typed.strip()
    chosen = next((sort for sort in SORTS if sort.sign and query.startswith(sort.sign)), SORTS[0])
    return chosen, query[len(chosen.sign) :].strip()


def hits(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    notes: SearchedNotes,
    query: str,
    sort: Sort,
    stopped: Callable[[], bool] = lambda: False,
) -> FindView | None:
    """Returns the results that the palette shows, or None if nothing was typed.

    With the sort "all", these are the best results and a few of each sort; else many of the chosen sort.
    """
    if not query:
        return None
    most = EACH if sort.kind is None else MOST
    return find(trees, catalogue, query, FindQuery(most, sort.kind, stopped=stopped), notes)
