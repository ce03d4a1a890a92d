"""What a search reads: trees with their indexes, the shipped atlas; and what may be claimed of a place in a tree."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ptexplore.errors import BROKEN, PtexploreError
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
from ptexplore.writing import open_below


@dataclass(frozen=True)
class IndexedTree:
    """A tree and the open index of its text; `checkout` is None for the installed torch's own."""

    tree: SourceTree
    store: IndexStore
    checkout: Checkout | None

    def reopened(self) -> IndexedTree:
        """The same with an index that is open once more: for another thread or process."""
        return replace(self, store=type(self.store).open(self.store.path))


@dataclass(frozen=True, slots=True)
class Spot:
    """One place in one tree, as every search result and every page shows it."""

    ref: SourceRef
    tree: TreeInfo


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that a target or a query may mean: a symbol, an operator, a file, a note, a line of text.

    `detail` is the signature, the schema or the line itself. `tree` is the number of its tree among those searched, -1
    if that is none of them or nothing asks for it. `also` are places of the same thing in further trees. For a file,
    `first` and `last` are the lines asked for; `command` is what shows it, if that is not `show` with its place.
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
    handed_on: tuple[str, ...] = ()  # the lines that give a public Python name to it, "torch/nn/__init__.py:8"

    @property
    def declared(self) -> bool:
        """Whether it is a declaration: no definition of it is known."""
        return self.symbol is not None and self.symbol.role == "declaration"

    @property
    def guards(self) -> tuple[str, ...]:
        """The `#if` conditions under which it is there."""
        return self.symbol.guards if self.symbol is not None else ()


def project(indexed: IndexedTree) -> str:
    """Whose paths these are: the same path in two trees of one project is the same file at two versions."""
    return indexed.checkout.project if indexed.checkout is not None else "pytorch"


def spot(indexed: IndexedTree, path: str, line: int | None, end_line: int | None = None, definitions: int = 1) -> Spot:
    """A place that the index of this tree gives.

    The precision is about the code that runs: that of a place in a tree of another version is `version-skew`, however
    surely the line is the tree's own.
    """
    info = indexed.tree.info
    known = indexed.store.file(path)
    precision = decide(info.relation, definitions)
    reason = DefinedInTree(definitions) if definitions > 1 else None
    layer = known.layer if known is not None else None
    return Spot(SourceRef(path, line, layer, precision, end_line, tree=info.name, reason=reason), info)  # type: ignore[arg-type]


def symbol_spot(indexed: IndexedTree, symbol: Symbol) -> Spot:
    """A symbol's place; ambiguous where its tree defines the same name with the same parameters more than once."""
    count = 1
    if symbol.role == "definition" and symbol.kind == "function":
        count = indexed.store.definitions_alike(symbol)
    return spot(indexed, symbol.path, symbol.line, symbol.end_line, max(1, count))


def symbols_called(trees: Sequence[IndexedTree], name: str, *, exact: bool) -> list[tuple[int, Symbol]]:
    """The symbols of that qualified name (with `exact`) or whose name ends so, each with its tree's number."""
    pairs: list[tuple[int, Symbol]] = []
    for number, indexed in enumerate(trees):
        store = indexed.store
        named = [*store.definitions(name), *store.declarations(name)] if exact else store.symbols_ending(name)
        pairs += [(number, symbol) for symbol in named]
    return pairs


def public_symbols(trees: Sequence[IndexedTree], name: str) -> list[tuple[int, Symbol, PythonDefinition]]:
    """What a public Python name ("torch.nn.Conv2d", "nn.Conv2d", "F.relu") leads to: symbols with their tree's number.

    As Python's own look-up would find it, with the imports that hand it on. Empty for a name that is no dotted one.
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
    """A file that the trees of these numbers have: its length, its place in the first of them and in the others.

    With a `line` that line of it, in the trees whose file has as many.
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
    """A symbol that several trees may have, each with its number: its place in the first of them and in the others."""
    (number, symbol), *others = sorted(places, key=lambda place: place[0])
    also = tuple(symbol_spot(trees[n], s) for n, s in others)
    where = symbol_spot(trees[number], symbol)
    return Candidate(symbol.kind, symbol.qualified, symbol.signature, where, number, symbol, also=also)


def merged(trees: Sequence[IndexedTree], symbols: Iterable[tuple[int, Symbol]]) -> list[list[tuple[int, Symbol]]]:
    """Symbols with their tree's number, those of several trees that are one and the same together, in order.

    Overloads, the arms of an `#if` and the specialisations of one tree stay apart, so that none is lost.
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
    """As `merged`, and what another tree has in the same file under the same name, with other parameters, with it.

    For lists of what is called so: one thing at two versions is one result.
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


def one_tree_a_file(trees: Iterable[IndexedTree]) -> Iterator[tuple[IndexedTree, list[IndexedTree]]]:
    """Each tree with those before it that speak for the same paths: the first that has a file is the one shown."""
    earlier: list[IndexedTree] = []
    for indexed in trees:
        yield indexed, [other for other in earlier if project(other) == project(indexed)]
        earlier.append(indexed)


def nearest_names(trees: Sequence[IndexedTree], asked: str, count: int = 5) -> list[str]:
    """Qualified names of the indexes that are closest to `asked`, best first; empty where nothing is like it."""
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
    """Whether the file differs from what was indexed; only a folder used in place can.

    Raises OSError where a broken disk, or a limit, does not let anybody know.
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
    """Definitions called `asked`, then (with `prefix`) those that begin so; of files that no tree here has.

    None where a checkout of PyTorch is among the trees: it knows better, and has the text.
    """
    if any(indexed.checkout is not None and project(indexed) == "pytorch" for indexed in trees) or not trees:
        return []
    try:
        atlas = _shipped_atlas()
        symbols = atlas.symbols_ending(asked.removeprefix("::"))
        for name in atlas.names(asked, limit) if prefix and "::" not in asked and len(asked) > 2 else ():
            if len(symbols) < limit and name != asked:
                symbols += atlas.symbols_named(name)
    except PtexploreError:
        return []  # it only ever adds
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
def _shipped_atlas() -> Atlas:
    """Opened once: a palette asks it with every letter."""
    return Atlas.open()
