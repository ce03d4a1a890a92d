"""Gathers from indexes, operators and notes all that a query may mean. `lookup/ranking.py` puts it in order.

More is gathered than fits the query; `lookup/ranking.py` drops the rest.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import NamedTuple

from ptexplore.annotations.about import MarksByTree
from ptexplore.annotations.topics import Topic
from ptexplore.lookup.answers import LIKELY, Answering
from ptexplore.lookup.entries import file_entry, folder_entry, operator_entry, symbol_entry, use_bits
from ptexplore.lookup.fits import name_fit, slip_fit
from ptexplore.lookup.operators import Catalogue, operator_spot
from ptexplore.lookup.query import ReadQuery
from ptexplore.lookup.ranking import Possible
from ptexplore.lookup.trees import (
    Candidate,
    IndexedTree,
    Spot,
    atlas_place,
    atlas_symbols,
    atlas_symbols_with_words,
    file_candidate,
    places_elsewhere,
    project,
    public_symbols,
    same_things,
    spot,
    symbol_candidate,
)
from ptexplore.model.remarks import AnchorIs
from ptexplore.model.symbols import OPERATOR_KINDS, Symbol
from ptexplore.resolve.places.precision import unknown
from ptexplore.store.index.search import lowered

GROUPS = ("symbol", "operator", "folder", "file", "note", "text")
_LOOKED_AT = 200  # names of one sort and tree that are ranked, at least
_FEWER = 60  # the same for a very short query, which fits many names equally well
_NAMES_WITH_WORDS = 80  # The most names with words of the query.
_EACH_OF_NAME = 16  # The most symbols of such a name.
_PATHS_WITH_WORDS = 200
_OPERATORS_WITH_WORDS = 60
_TELLING = 3  # letters of a query that is not very short


@dataclass(frozen=True, slots=True)
class SearchedNotes:
    """The notes that a search reads: the marks of the stops in each tree, and all topics that people wrote about."""

    marks_by_tree: MarksByTree = field(default_factory=dict)
    topics: Sequence[Topic] = ()


@dataclass(frozen=True, slots=True)
class FindQuery:
    """The options of a search.

    At most `limit` results of each group. `kind` is the one group, or kind of symbol, that is wanted. With `text`,
    lines of text are searched too; with `declarations`, a declaration is listed even if its definition is found.
    """

    limit: int = 20
    kind: str | None = None
    text: bool = False
    declarations: bool = False
    stopped: Callable[[], bool] = lambda: False  # whether nobody waits for the lines of text any longer

    @property
    def group(self) -> str | None:
        """The group that the reader wants; None for all groups."""
        return self.kind if self.kind in GROUPS else "symbol" if self.kind else None

    @property
    def symbol_kind(self) -> str | None:
        """The kind of symbol that the reader wants; None for all kinds."""
        return self.kind if self.kind not in GROUPS else None


class Possibilities(NamedTuple):
    """Everything that a query may mean.

    `cut` are the groups in which not everything was looked at. `topics` are all topics of the notes, fitting or not.
    `folded` counts the declarations and constructors that are left out because their definition or class is a result.
    """

    possible: list[Possible]
    cut: frozenset[str]
    topics: Sequence[Topic]
    folded: int


def gather(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    asked: ReadQuery,
    wanted: FindQuery,
    notes: SearchedNotes,
    *,
    slips: bool,
) -> Possibilities:
    """Gather everything that may have the name asked for, and the topics. With `slips`, nearly equal names fit too.

    If the query has several words, things with some of these words are gathered as well.
    """
    only = wanted.group
    gatherer = _Gatherer(trees, catalogue, asked, wanted, notes)
    if only in (None, "symbol"):
        gatherer.symbols(slips=slips)
        gatherer.atlas()
    if only in (None, "operator"):
        gatherer.operators(slips=slips)
    if only in (None, "file"):
        gatherer.files()
    if only in (None, "folder"):
        gatherer.folders(slips=slips)
    with_topics = only in (None, "note", "folder")
    if with_topics:
        gatherer.topics(only)
    topics = notes.topics if with_topics else ()
    return Possibilities(gatherer.possible, frozenset(gatherer.cut), topics, gatherer.folded)


class _Gatherer:
    """A gatherer for one query: it gathers one sort of thing after another."""

    def __init__(
        self,
        trees: Sequence[IndexedTree],
        catalogue: Catalogue | None,
        asked: ReadQuery,
        wanted: FindQuery,
        notes: SearchedNotes,
    ) -> None:
        self._trees = trees
        self._catalogue = catalogue
        self._asked = asked
        self._wanted = wanted
        self._notes = notes
        self._answering = Answering(asked, notes.topics)
        self.possible: list[Possible] = []
        self.cut: set[str] = set()
        self.folded = 0

    # --- symbols ---

    def symbols(self, *, slips: bool) -> None:
        """Gather symbols. A name with one signature in one file is one result, with its places in all trees."""
        trees, asked, wanted = self._trees, self._asked, self._wanted
        kind = wanted.symbol_kind
        # Names with words of several words are gathered by these words, below.
        at_least = _FEWER if self._answering.terms or len(asked.last) < _TELLING else _LOOKED_AT
        most = max(at_least, 3 * wanted.limit) * (8 if kind else 1)
        public = {(number, symbol): None for number, symbol, _way in public_symbols(trees, asked.name)}
        pairs = dict(public)
        names = self._names_with_words()
        for number, indexed in enumerate(trees):
            for spelling in asked.spellings:
                results = indexed.store.search(spelling, most, slips=slips)
                if len(results) >= most:
                    self.cut.add("symbol")
                pairs |= {(number, symbol): None for symbol, _score in results}
            if self._answering.terms:
                pairs |= {(number, symbol): None for symbol in self._with_words(indexed, names)}
        chosen = [(number, symbol) for number, symbol in pairs if kind is None or symbol.kind == kind]
        defined = {symbol.qualified for _number, symbol in chosen if symbol.role == "definition"}
        kept = [
            (number, symbol)
            for number, symbol in chosen
            if wanted.declarations
            or not (_makes_one_of(symbol, defined) or (symbol.role == "declaration" and symbol.qualified in defined))
        ]
        self.folded = len(chosen) - len(kept)
        uses = self._uses({symbol.name for _number, symbol in kept})
        for places in same_things(trees, _one_namespace(kept)):
            symbol = places[0][1]
            container = symbol.qualified.removesuffix(symbol.name).rstrip(":.")
            entry = symbol_entry(
                symbol.kind, symbol.name, container, symbol.path, declared=symbol.role == "declaration",
                uses=uses[symbol.name],
            )  # fmt: skip
            is_public = any(place in public for place in places)
            make = partial(self._symbol, places, pairs)
            self.possible.append(Possible("symbol", entry, make, is_public))

    def _symbol(self, places: Sequence[tuple[int, Symbol]], gathered: Container[tuple[int, Symbol]]) -> Candidate:
        """Returns a symbol with its places in all trees. A tree may have it among names that were not looked at."""
        return symbol_candidate(self._trees, [*places, *places_elsewhere(self._trees, places, gathered)])

    def _names_with_words(self) -> list[str]:
        """Returns the names that have most of the query's words. Every tree is asked for the names of all trees."""
        answering, names = self._answering, dict[str, None]()
        for indexed in self._trees if answering.terms else ():
            likely = indexed.store.names_with_most(answering.groups, LIKELY)
            names |= dict.fromkeys(answering.best_names(likely, _NAMES_WITH_WORDS))
        return list(names)

    def _with_words(self, indexed: IndexedTree, names: Sequence[str]) -> list[Symbol]:
        """Returns the symbols with these names, and those with a name that the query has in one piece."""
        typed = sorted(self._answering.names)
        symbols = [symbol for name in typed for symbol, _score in indexed.store.search(name, _FEWER, slips=False)]
        return [*symbols, *indexed.store.called_one_of(names, _EACH_OF_NAME)]

    def _uses(self, names: set[str]) -> Counter[str]:
        """Returns how often each name is used in all trees, as a number of bits."""
        counts: Counter[str] = Counter()
        for indexed in self._trees:
            counts.update(indexed.store.uses(names))
        return Counter({name: use_bits(count) for name, count in counts.items()})

    def atlas(self) -> None:
        """Gather hand-written definitions that the atlas names, if there is no checkout of PyTorch."""
        kind = self._wanted.symbol_kind
        placed = atlas_symbols(self._trees, self._asked.name, self._wanted.limit, prefix=True)
        if self._answering.terms:
            placed += atlas_symbols_with_words(self._trees, self._answering, _NAMES_WITH_WORDS)
        for symbol, place in dict(placed).items():
            if kind is None or symbol.kind == kind:
                container = symbol.qualified.removesuffix(symbol.name).rstrip(":.")
                entry = symbol_entry(symbol.kind, symbol.name, container, symbol.path, declared=False, uses=0)
                hit = Candidate(symbol.kind, symbol.qualified, symbol.signature, place, symbol=symbol)
                self.possible.append(Possible("atlas", entry, partial(_itself, hit)))
                self.cut.add("atlas")

    # --- operators ---

    def operators(self, *, slips: bool) -> None:
        """Gather operators by name from the installed torch; those that only a checkout defines, by their full name."""
        known: set[str] = set()
        by_base = self._catalogue.store.names_by_base if self._catalogue is not None else {}
        wanted = self._asked.last.lower().lstrip("_")
        every = slips or bool(self._asked.call or self._asked.joined or "." in self._asked.last)
        bases = [
            base
            for base in by_base
            if (every or base.lstrip("_")[:1] == wanted[:1] or (len(wanted) > 1 and wanted in base))
            and _may_be_called(self._asked, base, slips=slips)
        ]
        if self._answering.terms and self._catalogue is not None:
            likely = self._catalogue.store.bases_text.with_most(self._answering.groups, LIKELY)
            scores = {base: self._answering.name_score(base) for base in sorted(likely)}
            with_words = [base for base in sorted(scores, key=lambda base: -scores[base]) if scores[base]]
            bases = list(dict.fromkeys([*bases, *with_words[:_OPERATORS_WITH_WORDS]]))
        holding = set(bases) if self._answering.terms else {base for base in bases if wanted in base}
        uses = self._uses(holding) if len(holding) <= 2 * _LOOKED_AT else Counter()
        names = {name: base for base in bases for name in by_base[base]}
        if "." in self._asked.text or "::" in self._asked.text:
            names |= {name: base for base, of in by_base.items() for name in of if self._asked.text in name}
        for name, base in names.items():
            namespace, _, bare = name.partition("::")
            known.add(name)
            entry = operator_entry(namespace, bare, uses[base])
            self.possible.append(Possible("operator", entry, partial(self._operator, name)))
        text = self._asked.text
        for indexed in self._trees:
            for full in dict.fromkeys((text, f"aten::{text}")):
                for row in indexed.store.dialect(full, OPERATOR_KINDS):
                    if row.name not in known:
                        known.add(row.name)
                        namespace, _, bare = row.name.rpartition("::")
                        entry = operator_entry(namespace, bare, 0)
                        self.possible.append(Possible("operator", entry, partial(self._operator, row.name)))

    def _operator(self, name: str) -> Candidate:
        """Returns an operator with its place in the installed torch, then its entry in each tree."""
        catalogue = self._catalogue
        operator = catalogue.store.operator(name) if catalogue is not None else None
        hit: Candidate | None = None
        if operator is not None and catalogue is not None:
            hit = Candidate("operator", name, operator.schema, operator_spot(catalogue, operator))
        for indexed in self._trees:
            for row in indexed.store.dialect(name, OPERATOR_KINDS):
                place = spot(indexed, row.path, row.line, row.end_line)
                hit = _placed(hit, place) if hit is not None else Candidate("operator", name, row.text, place)
        assert hit is not None
        return hit

    # --- files and folders ---

    def files(self) -> None:
        """Gather files by name or a part of their path. A path that several trees have is one result."""
        fragment = self._asked.text if self._asked.path or not self._asked.joined else self._asked.last
        if len(fragment) < 2 or "::" in fragment:
            return
        holders: dict[tuple[str, str], list[int]] = {}
        groups = self._answering.groups
        most = max(_LOOKED_AT // 2, self._wanted.limit + 1)
        for number, indexed in enumerate(self._trees):
            paths = indexed.store.files_like(fragment, most)
            if len(paths) >= most:
                self.cut.add("file")
            if groups:
                paths += indexed.store.paths_with_most(groups, _PATHS_WITH_WORDS)
            for path in dict.fromkeys(paths):
                holders.setdefault((project(indexed), path), []).append(number)
        uses = self._uses({path.rpartition("/")[2] for _project, path in holders})
        for (_project, path), numbers in holders.items():
            entry = file_entry(path, uses[path.rpartition("/")[2]])
            make = partial(self._file, path, numbers[0])
            self.possible.append(Possible("file", entry, make))

    def _file(self, path: str, first: int) -> Candidate:
        """Returns a file with its places in all trees of its project; `first` is the number of one that has it."""
        of = project(self._trees[first])
        holding = [n for n, each in enumerate(self._trees) if project(each) == of and each.store.file(path) is not None]
        return file_candidate(self._trees, holding, path, self._asked.line)

    def folders(self, *, slips: bool) -> None:
        """Gather folders by name or the end of their path. The place is in the first tree that has the folder."""
        if len(self._asked.last) < 2:
            return
        holders: dict[str, list[int]] = {}
        for number, indexed in enumerate(self._trees):
            for path in indexed.store.folders():
                holders.setdefault(path, []).append(number)
        written = {topic.name for topic in self._notes.topics if topic.kind == "folder"}
        for path, numbers in holders.items():
            name = path.rpartition("/")[2]
            if self._asked.last.lower() in path.lower() or (slips and slip_fit(self._asked.last, name) is not None):
                entry = folder_entry(path, written=path in written)
                self.possible.append(Possible("folder", entry, partial(self._folder, path, numbers)))

    def _folder(self, path: str, numbers: Sequence[int]) -> Candidate:
        written = next((topic for topic in self._notes.topics if topic.kind == "folder" and topic.name == path), None)
        first, *others = (spot(self._trees[number], path, None) for number in numbers)
        detail = f"{written.title}: {written.summary}" if written is not None else ""
        command = f"ptexplore show {shlex.quote(path)}"
        return Candidate("folder", path, detail, first, numbers[0], also=tuple(others), command=command)

    # --- notes ---

    def topics(self, only: str | None) -> None:
        """Gather tours, stops, notes and concepts, and those folders with a page that a tree has."""
        folders = [frozenset(indexed.store.folders()) for indexed in self._trees]
        for number, topic in enumerate(self._notes.topics):
            is_folder = topic.kind == "folder"
            if only is not None and is_folder != (only == "folder"):
                continue
            if not is_folder:
                self.possible.append(Possible("note", topic, partial(self._note, topic), number=number))
                continue
            holders = [at for at, names in enumerate(folders) if topic.name in names]
            if holders:
                make = partial(self._folder, topic.name, holders)
                self.possible.append(Possible("folder", topic, make, number=number))

    def _note(self, topic: Topic) -> Candidate:
        """Returns a tour, a stop or a concept. Its place is in the first tree where its stop's anchor is placed."""
        stop = topic.stops[0]
        asked = (topic.name if topic.kind in ("tour", "note") else stop).split("#")
        command = shlex.join(["ptexplore", "tour", *asked])
        marks = [
            (mark, indexed)
            for indexed in self._trees
            for mark in self._notes.marks_by_tree.get(indexed.tree.info.name, ())
            if mark.stop == stop
        ]
        mark, indexed = next((pair for pair in marks if pair[0].placed), marks[0] if marks else (None, self._trees[0]))
        if mark is not None and mark.placed:
            place = spot(indexed, mark.path, mark.line, mark.end_line)
        else:
            nowhere = Spot(unknown(AnchorIs(mark.outcome if mark is not None else "")), indexed.tree.info)
            known = atlas_place(self._trees, *mark.absent) if mark is not None and mark.absent[0] else None
            place = known or nowhere
        kind = "note" if topic.kind == "stop" else topic.kind
        opens = topic.name if topic.kind in ("tour", "note") else stop
        return Candidate(kind, topic.name, topic.title, place, command=command, stop=opens)


@lru_cache(maxsize=1 << 13)  # every search compares with every operator
def _lowered_base(name: str) -> str:
    return lowered(name)


def _may_be_called(asked: ReadQuery, base: str, *, slips: bool) -> bool:
    """Whether the query may mean operators with this base name."""
    low = _lowered_base(base)
    if asked.joined and (asked.joined in base.replace("_", "") or asked.operator == low):
        return True
    last = asked.last.partition(".")[0]
    # A name that neither contains the word nor has its first letter is not like it; there are thousands of operators.
    wanted = _lowered_base(last)
    if slips or asked.call or wanted in low or low.lstrip("_")[:1] == wanted.lstrip("_")[:1]:
        if _lowered_base(asked.call) == low or name_fit(last, base) is not None:
            return True
        return slips and slip_fit(asked.last, base) is not None
    return False


def _itself(hit: Candidate) -> Candidate:
    return hit


def _one_namespace(symbols: Iterable[tuple[int, Symbol]]) -> list[tuple[int, Symbol]]:
    """Keep one symbol for each namespace, from the first tree: every file that opens the namespace has a row."""
    seen: set[str] = set()
    kept = []
    for number, symbol in symbols:
        if symbol.kind == "namespace":
            if symbol.qualified in seen:
                continue
            seen.add(symbol.qualified)
        kept.append((number, symbol))
    return kept


def _makes_one_of(symbol: Symbol, defined: set[str]) -> bool:
    """Whether the symbol is a constructor or destructor of a class that is itself a result. The class leads there."""
    outer = symbol.qualified.rpartition("::")[0]
    return outer in defined and outer.rpartition("::")[2] == symbol.name.removeprefix("~")


def _placed(hit: Candidate, place: Spot) -> Candidate:
    """Add a place to an operator. A tree adds only its first place; a known place comes before an unknown one."""
    if hit.spot.ref.precision == "unknown":
        return replace(hit, spot=place, also=(hit.spot, *hit.also))
    if place.tree.name in {known.tree.name for known in (hit.spot, *hit.also)}:
        return hit
    return replace(hit, also=(*hit.also, place))
