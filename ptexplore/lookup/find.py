"""`find`: the symbols, operators, files, notes and lines of text that a query may mean; also while you type it."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ptexplore.annotations.topics import Topic
from ptexplore.cpp.symbol_names import pasted
from ptexplore.errors import FAILED, PtexploreError
from ptexplore.model.places import TreeInfo
from ptexplore.model.symbols import OPERATOR_KINDS, Symbol
from ptexplore.resolve.places.precision import unknown
from ptexplore.source.python_names import is_python_name
from ptexplore.store.index.search import PART
from ptexplore.annotations.about import MarksByTree
from ptexplore.lookup.query_length import check_length
from ptexplore.lookup.operators import Catalogue, operator_spot
from ptexplore.lookup.ranking import (
    BEGINS,
    CASE_MINOR,
    HALF_SAID,
    LATE_HALF,
    LATE_SAID,
    PUBLIC,
    SAID,
    Entry,
    Key,
    ReadQuery,
    asked_operator,
    entry_key,
    file_entry,
    folder_entry,
    in_order,
    may_be_called,
    operator_entry,
    public_key,
    read_query,
    slip_fit,
    symbol_entry,
    topic_fit,
    topic_key,
    use_bits,
    word_weights,
)
from ptexplore.lookup.trees import (
    Candidate,
    IndexedTree,
    Spot,
    atlas_symbols,
    file_candidate,
    nearest_names,
    one_tree_a_file,
    project,
    public_symbols,
    same_things,
    spot,
    symbol_candidate,
)

FEW = 3  # fewer results than this, and none that is called so: the query may be meant as text
BEST = 8  # results of all sorts that come first
BY_WORDS = 5  # notes that only speak of the query: more would bury what bears its name
GROUPS = ("symbol", "operator", "folder", "file", "note", "text")
_BY_WORDS = (SAID, HALF_SAID, LATE_SAID, LATE_HALF)
_LOOKED_AT = 200  # names of one sort and tree that are put in order, at least
_FEWER = 60  # where so little was typed that all of them are alike
_TELLING = 3  # letters that tell something
_HEADINGS = {"symbol": "symbols", "atlas": "symbols whose text is not here (ptexplore fetch)", "operator": "operators",
             "folder": "folders", "file": "files", "note": "notes", "text": "text"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HitGroup:
    """Results of one sort, best first; `more` says how many are left out, None where nobody counted."""

    name: str
    hits: tuple[Candidate, ...]
    more: int | None = 0


@dataclass(frozen=True, slots=True)
class FindView:
    """Everything a renderer needs of one search: the `best` of all sorts, then each sort, those among them.

    `how` says how it was searched; `remarks` are these and what an option of the command line shows.
    """

    query: str
    groups: tuple[HitGroup, ...]
    trees: tuple[TreeInfo, ...]
    remarks: tuple[str, ...] = ()
    best: tuple[Candidate, ...] = ()
    how: tuple[str, ...] = ()

    @property
    def further(self) -> tuple[HitGroup, ...]:
        """The groups without what is among the best."""
        shown = {id(hit) for hit in self.best}
        left = (tuple(hit for hit in group.hits if id(hit) not in shown) for group in self.groups)
        groups = (replace(group, hits=hits) for group, hits in zip(self.groups, left, strict=True))
        return tuple(group for group in groups if group.hits or group.more)


@dataclass(frozen=True, slots=True)
class SearchedNotes:
    """What people wrote, for a search: where the stops stand on each tree, and all that was written about."""

    marks_by_tree: MarksByTree = field(default_factory=dict)
    topics: Sequence[Topic] = ()


@dataclass(frozen=True, slots=True)
class FindQuery:
    """What the reader asked for: at most so many of each group, of one group or kind of symbol, full text as well."""

    limit: int = 20
    kind: str | None = None
    text: bool = False
    declarations: bool = False
    stopped: Callable[[], bool] = lambda: False  # whether nobody waits for the lines of text any more


@dataclass(frozen=True, slots=True, eq=False)
class _Rated:
    """A result before it is drawn: its group, its place, what it is one of, and what makes it a candidate."""

    group: str
    key: Key
    family: str
    candidate: Callable[[], Candidate]


def find(
    trees: Sequence[IndexedTree],
    catalogue: Catalogue | None,
    query: str,
    wanted: FindQuery,
    notes: SearchedNotes | None = None,
) -> FindView:
    """Search every tree. `catalogue` is the installed torch's operators with the tree that holds their places.

    Raises PtexploreError for a query that is too long to be one.
    """
    check_length(query)
    only = wanted.kind if wanted.kind in GROUPS else "symbol" if wanted.kind else None
    search = _Search(trees, catalogue, read_query(pasted(query)), wanted, notes or SearchedNotes())
    rated = search.rated(only)
    ordered = in_order((row.key, row.family, row) for row in rated)
    made = {id(row): row.candidate() for row in ordered[:BEST]} if only is None else {}
    best = tuple(made[id(row)] for row in ordered[:BEST]) if only is None else ()
    called = any(row.key[0] <= CASE_MINOR for row in rated)
    groups: list[HitGroup] = []
    for group in dict.fromkeys(row.group for row in ordered):
        rows = [row for row in ordered if row.group == group]
        shown = rows[: wanted.limit]
        if group == "note" and wanted.kind is None:
            by_words = [row for row in shown if row.key[0] in _BY_WORDS][max(BY_WORDS, wanted.limit // 4) :]
            left_out = {id(row) for row in by_words} - made.keys()
            shown = [row for row in shown if id(row) not in left_out]
        hits = tuple(made.get(id(row)) or row.candidate() for row in shown)
        more = None if group in search.cut else len(rows) - len(shown)
        groups.append(HitGroup(_HEADINGS[group], hits, more))
    remarks = search.remarks
    if search.asked.dotted and best and "::" in best[0].name and best[0].kind not in ("operator", "file", "folder"):
        remarks.append(f"nothing of Python is called {query.strip()} here: what C++ calls so is listed")
    if wanted.text or only == "text" or (only is None and len(rated) < FEW and not called):
        lines, more_lines = matching_lines(trees, query, wanted)
        if lines:
            groups.append(HitGroup("text", tuple(lines), None if more_lines else 0))
            remarks.append(_how_text(query))
    how = tuple(remarks)
    if search.folded:
        remarks.append(f"{search.folded} declarations and constructors of these are not listed: --declarations")
    return FindView(query, tuple(groups), tuple(t.tree.info for t in trees), tuple(remarks), best, how)


def _how_text(query: str) -> str:
    """How lines were searched, in words."""
    words = [word for word in _WORD.findall(query) if not word[0].isdecimal()]
    case = "in small or capital letters" if query == query.lower() else "capitals as typed"
    inside = "; it may begin or end inside a word" if words and len(words[0]) >= PART else ""
    return f"lines of text: those that hold the query as it stands, {case}{inside}"


class _Search:
    """One search by names and notes: gathers what may fit, and says where each result stands."""

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
        self.asked = asked
        self._wanted = wanted
        self._notes = notes
        self._rows: list[tuple[str, Entry, Callable[[], Candidate]]] = []
        self.cut: set[str] = set()  # the groups of which not all were looked at
        self.remarks: list[str] = []
        self.folded = 0  # declarations and constructors that stand behind what they declare and make

    def rated(self, only: str | None) -> list[_Rated]:
        """Every result with its place, in no order; `only` names one group."""
        topics = self._topics(only) if only in (None, "note", "folder") else []
        named = self._named(only, slips=False)
        whole = not (self.asked.joined or self.asked.question)
        if whole and not any(row.key[0] <= BEGINS for row in (*named, *topics)):
            named = self._named(only, slips=True)  # a slip is likely where nothing is what was typed, or begins so
            topics += self._slipped_topics(only)
        return _folders_once([*named, *self._that_count(topics, named)])

    def _named(self, only: str | None, *, slips: bool) -> list[_Rated]:
        """What is called as it was asked for, or nearly so."""
        self._rows = []
        rated: list[_Rated] = []
        if only in (None, "symbol"):
            rated = self._symbols(slips=slips)
            self._atlas()
        if only in (None, "operator"):
            self._operators(slips=slips)
        if only in (None, "file"):
            self._files()
        if only in (None, "folder"):
            self._folders()
        for group, entry, candidate in self._rows:
            key = entry_key(self.asked, entry, slips=slips)
            if key is not None:
                rated.append(_Rated(group, key, entry.family, candidate))
        return rated

    # --- symbols ---

    def _symbols(self, *, slips: bool) -> list[_Rated]:
        """One result for a name with its signature in a file: what further trees say of it goes with it.

        Returns what a public Python name leads to; everything else is only gathered.
        """
        trees, asked, wanted = self._trees, self.asked, self._wanted
        kind = wanted.kind if wanted.kind not in GROUPS else None
        at_least = _LOOKED_AT if len(asked.last) >= _TELLING else _FEWER
        most = max(at_least, 3 * wanted.limit) * (8 if kind else 1)
        public = {(number, symbol): None for number, symbol, _way in public_symbols(trees, asked.name)}
        pairs = dict(public)
        for number, indexed in enumerate(trees):
            for spelling in asked.spellings:
                results = indexed.store.search(spelling, most, slips=slips)
                if len(results) >= most:
                    self.cut.add("symbol")
                pairs |= {(number, symbol): None for symbol, _score in results}
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
        rated = []
        for places in same_things(trees, _one_namespace(kept)):
            symbol = places[0][1]
            container = symbol.qualified.removesuffix(symbol.name).rstrip(":.")
            entry = symbol_entry(
                symbol.kind, symbol.name, container, symbol.path, declared=symbol.role == "declaration",
                uses=uses[symbol.name],
            )  # fmt: skip
            if any(place in public for place in places):
                rated.append(_Rated("symbol", public_key(asked, entry), entry.family, self._symbol(places)))
            else:
                self._rows.append(("symbol", entry, self._symbol(places)))
        return rated

    def _symbol(self, places: Sequence[tuple[int, Symbol]]) -> Callable[[], Candidate]:
        return lambda: symbol_candidate(self._trees, places)

    def _uses(self, names: set[str]) -> Counter[str]:
        """How often names are used, in bits; over all trees."""
        counts: Counter[str] = Counter()
        for indexed in self._trees:
            counts.update(indexed.store.uses(names))
        return Counter({name: use_bits(count) for name, count in counts.items()})

    def _atlas(self) -> None:
        """Hand-written definitions of the atlas's release, where no checkout says more."""
        kind = self._wanted.kind if self._wanted.kind not in GROUPS else None
        for symbol, place in atlas_symbols(self._trees, self.asked.name, self._wanted.limit, prefix=True):
            if kind is None or symbol.kind == kind:
                container = symbol.qualified.removesuffix(symbol.name).rstrip(":.")
                entry = symbol_entry(symbol.kind, symbol.name, container, symbol.path, declared=False, uses=0)
                hit = Candidate(symbol.kind, symbol.qualified, symbol.signature, place, symbol=symbol)
                self._rows.append(("atlas", entry, partial(_itself, hit)))
                self.cut.add("atlas")

    # --- operators ---

    def _operators(self, *, slips: bool) -> None:
        """Operators of the running torch by name; further ones that only a checkout defines, by their full name."""
        known: set[str] = set()
        by_base = self._catalogue.store.names_by_base if self._catalogue is not None else {}
        wanted = self.asked.last.lower().lstrip("_")
        every = slips or bool(self.asked.call or self.asked.joined or "." in self.asked.last)
        bases = [
            base
            for base in by_base
            if (every or base.lstrip("_")[:1] == wanted[:1] or (len(wanted) > 1 and wanted in base))
            and may_be_called(self.asked, base, slips=slips)
        ]
        holding = {base for base in bases if wanted in base}
        uses = self._uses(holding) if len(holding) <= _LOOKED_AT else Counter()
        names = {name: base for base in bases for name in by_base[base]}
        if "." in self.asked.text or "::" in self.asked.text:
            names |= {name: base for base, of in by_base.items() for name in of if self.asked.text in name}
        for name, base in names.items():
            namespace, _, bare = name.partition("::")
            known.add(name)
            entry = operator_entry(namespace, bare, uses[base])
            self._rows.append(("operator", entry, partial(self._operator, name)))
        text = self.asked.text
        for indexed in self._trees:
            for full in dict.fromkeys((text, f"aten::{text}")):
                for row in indexed.store.dialect(full, OPERATOR_KINDS):
                    if row.name not in known:
                        known.add(row.name)
                        namespace, _, bare = row.name.rpartition("::")
                        entry = operator_entry(namespace, bare, 0)
                        self._rows.append(("operator", entry, partial(self._operator, row.name)))

    def _operator(self, name: str) -> Candidate:
        """An operator: its place in the running torch, then what each tree's entry says of it."""
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

    def _files(self) -> None:
        """Files by their name or a part of their path; a path that several trees have is one result."""
        fragment = self.asked.text if self.asked.path or not self.asked.joined else self.asked.last
        if len(fragment) < 2 or "::" in fragment:
            return
        holders: dict[tuple[str, str], list[int]] = {}
        most = max(_LOOKED_AT // 2, self._wanted.limit + 1)
        for number, indexed in enumerate(self._trees):
            paths = indexed.store.files_like(fragment, most)
            if len(paths) >= most:
                self.cut.add("file")
            for path in paths:
                holders.setdefault((project(indexed), path), []).append(number)
        uses = self._uses({path.rpartition("/")[2] for _project, path in holders})
        for (_project, path), numbers in holders.items():
            entry = file_entry(path, uses[path.rpartition("/")[2]])
            self._rows.append(("file", entry, partial(file_candidate, self._trees, numbers, path, self.asked.line)))

    def _folders(self) -> None:
        """Folders by their name or the end of their path, in the first tree that has them."""
        if len(self.asked.last) < 2:
            return
        holders: dict[str, list[int]] = {}
        for number, indexed in enumerate(self._trees):
            for path in indexed.store.folders():
                holders.setdefault(path, []).append(number)
        written = {topic.name for topic in self._notes.topics if topic.kind == "folder"}
        for path, numbers in holders.items():
            if self.asked.last.lower() in path.lower():
                entry = folder_entry(path, written=path in written)
                self._rows.append(("folder", entry, partial(self._folder, path, numbers)))

    def _folder(self, path: str, numbers: Sequence[int]) -> Candidate:
        written = next((topic for topic in self._notes.topics if topic.kind == "folder" and topic.name == path), None)
        first, *others = (spot(self._trees[number], path, None) for number in numbers)
        detail = f"{written.title}: {written.summary}" if written is not None else ""
        command = f"ptexplore show {shlex.quote(path)}"
        return Candidate("folder", path, detail, first, numbers[0], also=tuple(others), command=command)

    # --- notes ---

    def _topics(self, only: str | None) -> list[_Rated]:
        """Tours, stops, concepts and folders that the query's words are about."""
        topics = self._notes.topics
        weights = word_weights(self.asked, topics)
        rated = []
        for number, topic in enumerate(topics):
            fit = topic_fit(self.asked, topic, weights) if self._is_asked(topic, only) else None
            if fit is not None:
                rated.append(self._topic(topic, topic_key(self.asked, fit, topic, number)))
        return [row for row in rated if row is not None]

    def _slipped_topics(self, only: str | None) -> list[_Rated]:
        """Tours, stops and concepts whose name has a slip of the finger in the query."""
        rated = []
        for number, topic in enumerate(self._notes.topics):
            fits = [slip_fit(self.asked.text, name) for name in topic.names]
            fit = next(filter(None, fits), None)
            if fit is not None and topic.kind != "folder" and self._is_asked(topic, only):
                rated.append(self._topic(topic, topic_key(self.asked, fit, topic, number)))
        return [row for row in rated if row is not None]

    @staticmethod
    def _is_asked(topic: Topic, only: str | None) -> bool:
        return only is None or (topic.kind == "folder") == (only == "folder")

    def _topic(self, topic: Topic, key: Key) -> _Rated | None:
        family = f"{'folder' if topic.kind == 'folder' else 'topic'} {topic.name}"
        if topic.kind == "folder":
            numbers = [number for number, tree in enumerate(self._trees) if tree.store.has_folder(topic.name)]
            if not numbers:
                return None
            return _Rated("folder", key, family, partial(self._folder, topic.name, numbers))
        return _Rated("note", key, family, partial(self._note, topic))

    def _note(self, topic: Topic) -> Candidate:
        """A tour, stop or concept, where its stop's anchor is placed: on the first tree that can."""
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
            outcome = mark.outcome if mark is not None else "not placed"
            place = Spot(unknown(f"its anchor is {outcome} here"), indexed.tree.info)
        kind = "note" if topic.kind == "stop" else topic.kind
        opens = topic.name if topic.kind in ("tour", "note") else stop
        return Candidate(kind, topic.name, topic.title, place, command=command, stop=opens)

    def _that_count(self, topics: list[_Rated], named: Sequence[_Rated]) -> list[_Rated]:
        """The topics that count: those with some of the words only where none has all.

        Where an operator on a backend was asked for, what only speaks of both comes after all that is called so.
        """
        asked = self.asked
        if asked_operator(asked) and any(row.key[0] == PUBLIC for row in named):
            topics = [replace(row, key=(LATE_SAID, *row.key[1:])) if row.key[0] == SAID else row for row in topics]
        half = (HALF_SAID, LATE_HALF)
        whole = [row for row in topics if row.key[0] not in half]
        if len(asked.words) > 1 and not whole:
            if topics and (asked.plain or not named):
                self.remarks.append(f"no note has all the words {_listed(asked.words)}: these have some of them")
            else:
                topics = []
        else:
            topics = whole
        if asked.dropped and topics:
            self.remarks.append(f"left out in notes: {_listed(dict.fromkeys(asked.dropped))}")
        return topics


def _folders_once(rated: Iterable[_Rated]) -> list[_Rated]:
    """A folder that is called so, and is about it too, is one result."""
    best: dict[object, _Rated] = {}
    for row in rated:
        name = row.family if row.group == "folder" else row
        if name not in best or row.key < best[name].key:
            best[name] = row
    return list(best.values())


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


def _itself(hit: Candidate) -> Candidate:
    return hit


def _one_namespace(symbols: Iterable[tuple[int, Symbol]]) -> list[tuple[int, Symbol]]:
    """Each namespace once, as the first tree has it: every file that opens it has a row."""
    seen: set[str] = set()
    kept = []
    for number, symbol in symbols:
        if symbol.kind == "namespace":
            if symbol.qualified in seen:
                continue
            seen.add(symbol.qualified)
        kept.append((number, symbol))
    return kept


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


def _makes_one_of(symbol: Symbol, defined: set[str]) -> bool:
    """Whether it is the constructor or destructor of a class that is a result itself: the class leads there."""
    outer = symbol.qualified.rpartition("::")[0]
    return outer in defined and outer.rpartition("::")[2] == symbol.name.removeprefix("~")


def _placed(hit: Candidate, place: Spot) -> Candidate:
    """An operator with one place more: a tree's first one counts, and a known place stands before an unknown one."""
    if hit.spot.ref.precision == "unknown":
        return replace(hit, spot=place, also=(hit.spot, *hit.also))
    if place.tree.name in {known.tree.name for known in (hit.spot, *hit.also)}:
        return hit
    return replace(hit, also=(*hit.also, place))


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
    Sort("folders", "=", "folder"),
    Sort("text", '"', "text"),
)
MOST = 40  # of one sort where it is asked for alone
EACH = 8  # of each where all are


def asked(typed: str) -> tuple[Sort, str]:
    """The sort that the first sign of a query chooses, all without one; and the query without it."""
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
    """What the palette shows: the best, a few of each sort; of one sort many. None where nothing was typed."""
    if not query:
        return None
    most = EACH if sort.kind is None else MOST
    return find(trees, catalogue, query, FindQuery(most, sort.kind, stopped=stopped), notes)
