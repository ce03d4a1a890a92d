"""The inputs of a search: trees with their indexes, and the shipped atlas. Also the precision of a place in a tree."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ptexplore.errors import BROKEN, PtexploreError
from ptexplore.lookup.answers import LIKELY, Answering
from ptexplore.model.places import Checkout, SourceRef, TreeInfo
from ptexplore.model.remarks import DefinedInTree
from ptexplore.model.symbols import Symbol
from ptexplore.resolve.places.precision import decide
from ptexplore.source.atlas import Atlas
from ptexplore.source.fetch.checkouts import is_in_place
from ptexplore.source.permalink import permalink
from ptexplore.source.python_names import PythonDefinition, PythonLookup, is_python_name
from ptexplore.source.tree import SourceTree
from ptexplore.store.index.reader import IndexStore
from ptexplore.store.index.search import LinesText
from ptexplore.writing import open_below


@dataclass(frozen=True)
class IndexedTree:
    """A source tree and its open index. `checkout` is None for the tree of the installed torch."""

    tree: SourceTree
    store: IndexStore
    checkout: Checkout | None

    def reopened(self) -> IndexedTree:
        """Returns the same tree with the index opened once more, for another thread or process."""
        return replace(self, store=type(self.store).open(self.store.path))


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a tree, as search results and pages show it."""

    ref: SourceRef
    tree: TreeInfo


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that a target or a query may mean: a symbol, an operator, a file, a note, a line of text.

    `detail` is the signature, the schema or the line. `tree` is the number of its tree among the searched trees; -1 if
    it is none of these, or if the number is not needed. `also` are the places of the same thing in other trees. For a
    file, `first` and `last` are the lines asked for. `command` shows the thing, if `show` with its place does not.
    """

    kind: str
    name: str
    detail: str
    spot: Spot
    tree: int = -1
    symbol: Symbol | None = None
    first: int | None = None
    last: int | None = None
    also: tuple[Spot, ...] = ()
    command: str = ""
    stop: str = ""  # the stop that shows a tour, a note or a concept: "tour#stop"
    handed_on: tuple[str, ...] = ()  # the lines that give it a public Python name: "torch/nn/__init__.py:8"

    @property
    def declared(self) -> bool:
        """Whether it is a declaration, because no definition is known."""
        return self.symbol is not None and self.symbol.role == "declaration"

    @property
    def guards(self) -> tuple[str, ...]:
        """The `#if` conditions around it."""
        return self.symbol.guards if self.symbol is not None else ()


def project(indexed: IndexedTree) -> str:
    """Returns the project that a tree's paths belong to. The same path in two trees of a project is one file."""
    return indexed.checkout.project if indexed.checkout is not None else "pytorch"


def spot(indexed: IndexedTree, path: str, line: int | None, end_line: int | None = None, definitions: int = 1) -> Spot:
    """Returns a place that this tree's index gives.

    The precision is about the code that runs. A place in a tree of another version is `version-skew`, even if the line
    is certain in that tree.
    """
    info = indexed.tree.info
    known = indexed.store.file(path)
    precision = decide(info.relation, definitions)
    reason = DefinedInTree(definitions) if definitions > 1 else None
    layer = known.layer if known is not None else None
    return Spot(SourceRef(path, line, layer, precision, end_line, tree=info.name, reason=reason), info)  # type: ignore[arg-type]


def symbol_spot(indexed: IndexedTree, symbol: Symbol) -> Spot:
    """Returns the place of a symbol.

    The place is ambiguous if its tree defines the same name with the same parameters more than once.
    """
    count = 1
    if symbol.role == "definition" and symbol.kind == "function":
        count = indexed.store.definitions_alike(symbol)
    return spot(indexed, symbol.path, symbol.line, symbol.end_line, max(1, count))


def symbols_called(trees: Sequence[IndexedTree], name: str, *, exact: bool) -> list[tuple[int, Symbol]]:
    """Returns the symbols whose name ends in `name` (with `exact`: is `name`), each with the number of its tree."""
    pairs: list[tuple[int, Symbol]] = []
    for number, indexed in enumerate(trees):
        store = indexed.store
        named = [*store.definitions(name), *store.declarations(name)] if exact else store.symbols_ending(name)
        pairs += [(number, symbol) for symbol in named]
    return pairs


def public_symbols(trees: Sequence[IndexedTree], name: str) -> list[tuple[int, Symbol, PythonDefinition]]:
    """Returns the symbols that a public Python name ("torch.nn.Conv2d", "nn.Conv2d", "F.relu") leads to.

    Each has the number of its tree, and the imports that lead to it, as Python's own lookup follows them. Empty for a
    name that is not Python's.
    """
    if not is_python_name(name):
        return []
    definitions: list[tuple[int, Symbol, PythonDefinition]] = []
    for number, indexed in enumerate(trees):
        for definition in PythonLookup(indexed.tree).definitions(name):
            symbols = indexed.store.definitions(definition.name)
            at = (definition.path, definition.line)
            definitions += [(number, symbol, definition) for symbol in symbols if (symbol.path, symbol.line) == at]
    return definitions


def file_candidate(trees: Sequence[IndexedTree], numbers: Sequence[int], path: str, line: int = 0) -> Candidate:
    """Returns a file that the trees with these numbers have: its length, and its place in each of them.

    With a `line`, the place is that line, in the trees whose file is long enough.
    """
    known = [trees[number].store.file(path) for number in numbers]
    lines = [each.lines if each is not None else 0 for each in known]
    first, *others = (
        spot(trees[number], path, line if 0 < line <= count else None)
        for number, count in zip(numbers, lines, strict=True)
    )
    detail = f"{lines[0]} lines" if known[0] is not None else ""
    return Candidate("file", path, detail, first, numbers[0], also=tuple(others))


def symbol_candidate(trees: Sequence[IndexedTree], places: Sequence[tuple[int, Symbol]]) -> Candidate:
    """Returns a symbol that several trees may have, with its place in the first tree and in the others."""
    (number, symbol), *others = sorted(places, key=lambda place: place[0])
    also = tuple(symbol_spot(trees[n], s) for n, s in others)
    where = symbol_spot(trees[number], symbol)
    return Candidate(symbol.kind, symbol.qualified, symbol.signature, where, number, symbol, also=also)


def merged(trees: Sequence[IndexedTree], symbols: Iterable[tuple[int, Symbol]]) -> list[list[tuple[int, Symbol]]]:
    """Group symbols that are the same in several trees. Each comes with the number of its tree; the order stays.

    Overloads, the arms of an `#if` and specialisations in one tree stay apart, so that none is lost.
    """
    groups: dict[tuple[object, ...], list[tuple[int, Symbol]]] = {}
    times: Counter[tuple[object, ...]] = Counter()
    for number, symbol in symbols:
        same = (project(trees[number]), symbol.qualified, symbol.kind, symbol.path, symbol.role, symbol.parameters,
                symbol.scope, symbol.guards)  # fmt: skip
        times[(number, same)] += 1
        groups.setdefault((times[(number, same)], same), []).append((number, symbol))
    return list(groups.values())


def same_things(trees: Sequence[IndexedTree], symbols: Iterable[tuple[int, Symbol]]) -> list[list[tuple[int, Symbol]]]:
    """Group symbols like `merged`, and also symbols of other trees whose parameters differ.

    The file, name, kind and role must be equal. Lists of names use this: one thing at two versions is one result.
    """
    groups: list[list[tuple[int, Symbol]]] = []
    alike: dict[tuple[object, ...], list[list[tuple[int, Symbol]]]] = {}
    for places in merged(trees, symbols):
        number, symbol = places[0]
        same = (project(trees[number]), symbol.qualified, symbol.kind, symbol.path, symbol.role)
        own = {number for number, _symbol in places}
        others = alike.setdefault(same, [])
        free = next((group for group in others if own.isdisjoint(number for number, _symbol in group)), None)
        if free is not None:
            free.extend(places)
        else:
            others.append(places)
            groups.append(places)
    return groups


def places_elsewhere(
    trees: Sequence[IndexedTree], places: Sequence[tuple[int, Symbol]], gathered: Container[tuple[int, Symbol]]
) -> Iterator[tuple[int, Symbol]]:
    """Yields the places of a thing in the other trees of its project, each with the number of its tree.

    The file, name, kind and role must be equal, like in `same_things`. Symbols that were `gathered` are other things.
    """
    first, symbol = places[0]
    if symbol.kind == "namespace":
        return  # every file that opens a namespace has a row, and one place is enough
    known = {number for number, _symbol in places}
    for number, indexed in enumerate(trees):
        if number in known or project(indexed) != project(trees[first]):
            continue
        store = indexed.store
        named = (store.definitions if symbol.role == "definition" else store.declarations)(symbol.qualified)
        alike = [s for s in named if (s.kind, s.path) == (symbol.kind, symbol.path) and (number, s) not in gathered]
        same = next((s for s in alike if s.parameters == symbol.parameters), alike[0] if alike else None)
        if same is not None:
            yield number, same


def one_tree_a_file(trees: Iterable[IndexedTree]) -> Iterator[tuple[IndexedTree, list[IndexedTree]]]:
    """Yields each tree with the earlier trees of its project. Only the first tree that has a file shows it."""
    earlier: list[IndexedTree] = []
    for indexed in trees:
        yield indexed, [other for other in earlier if project(other) == project(indexed)]
        earlier.append(indexed)


def nearest_names(trees: Sequence[IndexedTree], asked: str, count: int = 5) -> list[str]:
    """Returns the indexed names that are closest to `asked`, best first; empty if none is like it."""
    scores: dict[str, int] = {}
    python = is_python_name(asked)
    last = asked.replace(".", "::").rsplit("::", 1)[-1] or asked
    for query in dict.fromkeys((asked, last)):
        for indexed in trees:
            for symbol, score in indexed.store.search(query, count):
                scores.setdefault(symbol.qualified, score)
        if scores:
            break
    return sorted(scores, key=lambda name: (python and "::" in name, -scores[name]))[:count]


def changed(indexed: IndexedTree, path: str) -> bool:
    """Whether a file differs from the text that was indexed. Only a folder that is used in place can differ.

    Raises OSError if a broken disk, or a limit, makes it impossible to know.
    """
    if indexed.checkout is None or not is_in_place(indexed.checkout):
        return False
    known = indexed.store.file(path)
    if known is None or not indexed.tree.exists(path):
        return False
    try:
        with open_below(indexed.checkout.root, path) as file:
            return hashlib.sha256(file.read()).hexdigest() != known.sha
    except OSError as error:
        if error.errno in BROKEN:
            raise
        return True


def atlas_symbols(trees: Sequence[IndexedTree], asked: str, limit: int, *, prefix: bool) -> list[tuple[Symbol, Spot]]:
    """Returns the atlas's definitions called `asked`, then (with `prefix`) those whose name begins with it.

    Only files that no tree here has. Empty if a checkout of PyTorch is among the trees: the checkout is more exact, and
    it has the text.
    """

    def of(atlas: Atlas) -> list[Symbol]:
        symbols = atlas.symbols_ending(asked.removeprefix("::"))
        for name in atlas.names(asked, limit) if prefix and "::" not in asked and len(asked) > 2 else ():
            if len(symbols) < limit and name != asked:
                symbols += atlas.symbols_named(name)
        return symbols

    return _from_atlas(trees, of, limit)


def atlas_symbols_with_words(
    trees: Sequence[IndexedTree], answering: Answering, most: int
) -> list[tuple[Symbol, Spot]]:
    """Returns the atlas's definitions whose names have words of the query; at most `most` names.

    Only in the cases in which `atlas_symbols` has any.
    """

    def of(atlas: Atlas) -> list[Symbol]:
        likely = _names_of(atlas).with_most(answering.groups, LIKELY)
        return [symbol for name in answering.best_names(likely, most) for symbol in atlas.symbols_named(name)]

    return _from_atlas(trees, of, None)


def atlas_candidates(trees: Sequence[IndexedTree], qualified: str) -> list[Candidate]:
    """Returns the functions that the atlas knows under a full name.

    Only in the cases in which `atlas_symbols` has any.
    """
    placed = _from_atlas(trees, lambda atlas: atlas.symbols_ending(qualified), None)
    functions = [
        (symbol, place) for symbol, place in placed if (symbol.kind, symbol.qualified) == ("function", qualified)
    ]
    return [Candidate(s.kind, s.qualified, s.signature, place, symbol=s) for s, place in functions]


def atlas_place(trees: Sequence[IndexedTree], path: str, name: str) -> Spot | None:
    """Returns the place that the atlas knows for a symbol of a file that no tree here has; None if it knows none."""
    ending = name.replace(".", "::")
    placed = _from_atlas(trees, lambda atlas: [s for s in atlas.symbols_ending(ending) if s.path == path], 1)
    return placed[0][1] if placed else None


def atlas_methods(trees: Sequence[IndexedTree], name: str) -> list[Candidate]:
    """Returns the C functions that the atlas knows for a method of a Python class that is written in C.

    Only in the cases in which `atlas_symbols` has any.
    """

    def of(atlas: Atlas) -> list[Symbol]:
        targets = dict.fromkeys(row.target for row in atlas.dialect(name, ("method", "pybind")) if row.target)
        return [symbol for target in targets for symbol in atlas.symbols_ending(target)]

    return [Candidate(s.kind, s.qualified, s.signature, place, symbol=s) for s, place in _from_atlas(trees, of, None)]


def _from_atlas(
    trees: Sequence[IndexedTree], of: Callable[[Atlas], list[Symbol]], limit: int | None
) -> list[tuple[Symbol, Spot]]:
    if any(indexed.checkout is not None and project(indexed) == "pytorch" for indexed in trees) or not trees:
        return []
    try:
        atlas = _shipped_atlas()
        symbols = of(atlas)
    except PtexploreError:
        return []  # the atlas only adds to the results
    fits = any(indexed.checkout is None and indexed.tree.info.commit == atlas.commit for indexed in trees)
    info = TreeInfo("atlas", atlas.release, ("atlas",), atlas.commit, "matches" if fits else "version-skew")
    precision = decide(info.relation)
    paths = {symbol.path for symbol in symbols}
    at_hand = {path for path in paths if any(indexed.store.file(path) is not None for indexed in trees)}
    hits = []
    for symbol in [symbol for symbol in symbols if symbol.path not in at_hand][:limit]:
        url = permalink(atlas.commit, symbol.path, symbol.line)
        ref = SourceRef(symbol.path, symbol.line, "atlas", precision, symbol.end_line, tree=info.name, url=url)
        hits.append((symbol, Spot(ref, info)))
    return hits


@lru_cache(maxsize=1)
def _names_of(atlas: Atlas) -> LinesText:
    """Returns every name of the atlas, as a search reads names."""
    return LinesText("\n" + "\n".join(atlas.every_name()) + "\n")


@lru_cache(maxsize=1)
def _shipped_atlas() -> Atlas:
    """Open the atlas once: the palette needs it for every letter that you type."""
    return Atlas.open()
