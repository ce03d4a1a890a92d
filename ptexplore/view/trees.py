"""What a search reads: trees with their indexes, and what may be claimed of a place in one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.resolve.places.precision import decide

if TYPE_CHECKING:
    from ptexplore.model.places import Checkout
    from ptexplore.model.symbols import Symbol
    from ptexplore.source.tree import SourceTree
    from ptexplore.store.index.reader import IndexStore


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
    reason = f"{definitions} definitions of it in this tree" if definitions > 1 else None
    layer = known.layer if known is not None else None
    return Spot(SourceRef(path, line, layer, precision, end_line, tree=info.name, reason=reason), info)  # type: ignore[arg-type]


def symbol_spot(indexed: IndexedTree, symbol: Symbol) -> Spot:
    """A symbol's place; ambiguous where its tree defines the same name with the same parameters more than once."""
    count = 1
    if symbol.role == "definition" and symbol.kind == "function":
        stub = symbol.path.endswith(".pyi")
        same = [one for one in indexed.store.definitions(symbol.qualified) if one.path.endswith(".pyi") == stub]
        count = max(1, sum(one.parameters == symbol.parameters and one.scope == symbol.scope for one in same))
    return spot(indexed, symbol.path, symbol.line, symbol.end_line, count)


def merged(trees: Sequence[IndexedTree], found: Iterable[tuple[int, Symbol]]) -> list[list[tuple[int, Symbol]]]:
    """Symbols with their tree's number, those of several trees that are one and the same together, in order.

    Overloads, the arms of an `#if` and the specialisations of one tree stay apart, so that none is lost.
    """
    groups: dict[tuple[object, ...], list[tuple[int, Symbol]]] = {}
    times: Counter[tuple[object, ...]] = Counter()
    for number, one in found:
        same = (project(trees[number]), one.qualified, one.kind, one.path, one.role, one.parameters, one.scope,
                one.guards)  # fmt: skip
        times[(number, same)] += 1
        groups.setdefault((times[(number, same)], same), []).append((number, one))
    return list(groups.values())


def one_tree_a_file(trees: Iterable[IndexedTree]) -> Iterator[tuple[IndexedTree, list[IndexedTree]]]:
    """Each tree with those before it that speak for the same paths: the first that has a file is the one shown."""
    earlier: list[IndexedTree] = []
    for indexed in trees:
        yield indexed, [one for one in earlier if project(one) == project(indexed)]
        earlier.append(indexed)


def nearest_names(trees: Sequence[IndexedTree], asked: str, count: int = 5) -> list[str]:
    """Qualified names of the indexes that are closest to `asked`, best first; empty where nothing is like it."""
    found: dict[str, int] = {}
    last = asked.replace(".", "::").rsplit("::", 1)[-1] or asked
    for query in dict.fromkeys((asked, last)):
        for indexed in trees:
            for symbol, score in indexed.store.search(query, count):
                found.setdefault(symbol.qualified, score)
        if found:
            break
    return sorted(found, key=lambda name: -found[name])[:count]
