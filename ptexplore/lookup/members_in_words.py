"""Functions that a query names by words beside their name.

By class and method ("storage cuda method"), by a method of torch.Tensor that Python's type calls
("Tensor.__getitem__"), or by operator and library ("quantized linear fbgemm").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptexplore.annotations.plain_words import STOP_WORDS, stem
from ptexplore.facts.quantized_engines import ENGINES
from ptexplore.facts.type_slots import SLOTS
from ptexplore.lookup.fits import words_of
from ptexplore.lookup.query import SPACES, ReadQuery
from ptexplore.lookup.query_words import ASKING
from ptexplore.lookup.trees import Candidate, IndexedTree, atlas_candidates, merged, symbol_candidate
from ptexplore.model.symbols import Symbol
from ptexplore.source.canonical import FOREIGN, area
from ptexplore.store.index.search import lowered

_METHOD = frozenset(("method", "methods"))
_QUANTIZED = frozenset(("quantized", "quantised", "int8"))
_TENSOR = frozenset(("tensor", "torch.tensor", "tensorbase", "torch._c.tensorbase"))
_MOST = 3  # functions
_EACH = 2000  # functions of one name: many classes have a method `forward`


def members_in_words(trees: Sequence[IndexedTree], asked: ReadQuery) -> list[Candidate]:
    """Returns the functions that a query names by other words than their own name; empty for other queries."""
    words = [word.strip(",") for word in asked.text.rstrip("? ").split()]
    return _of_slot(trees, words) or _of_engine(trees, words) or _of_class(trees, words)


def _of_slot(trees: Sequence[IndexedTree], words: Sequence[str]) -> list[Candidate]:
    """Returns the C function of a special method of torch.Tensor: Python's type has it in a slot, not in a table."""
    for word in words:
        owner, _, method = word.removesuffix("()").rpartition(".")
        if method in SLOTS and lowered(owner) in _TENSOR:
            return _definitions(trees, f"torch::autograd::{SLOTS[method]}")
    return []


def _of_engine(trees: Sequence[IndexedTree], words: Sequence[str]) -> list[Candidate]:
    """Returns the functions that compute a quantized operator with the library that the query names."""
    low = {lowered(word) for word in words}
    parts = {part for word in low for part in (word, word.removeprefix("q"))}
    if low.isdisjoint(_QUANTIZED) and not any(f"q{row.operator}" in low for row in ENGINES):
        return []
    convolution = {"conv", "conv1d", "conv2d", "conv3d", "convolution"}
    meant = {"conv" if part in convolution else part for part in parts}
    rows = [row for row in ENGINES if row.operator in meant and not low.isdisjoint(row.libraries)]
    names = [row.dynamic if "dynamic" in low else row.function for row in rows]
    return [hit for name in names for hit in _definitions(trees, name)[:1]]


def _of_class(trees: Sequence[IndexedTree], words: Sequence[str]) -> list[Candidate]:
    """Returns the methods of a query that ends in "CLASS NAME method". Classes with few further words come first."""
    low = [lowered(word) for word in words]
    if len(low) < 3 or low[-1] not in _METHOD:
        return []
    name = low[-2]
    owner = [part for word in low[:-2] if word not in STOP_WORDS | ASKING for part in words_of(word) if part]
    wanted = {stem(word) for word in owner}
    if not wanted:
        return []
    likely: list[tuple[tuple[int, ...], int, Symbol]] = []
    for number, indexed in enumerate(trees):
        for symbol in indexed.store.called_one_of([name], _EACH):
            scope = _class_of(symbol)
            if symbol.kind == "function" and wanted <= {stem(word) for word in words_of(scope)}:
                near = area(symbol.path)
                key = (near >= FOREIGN, symbol.role != "definition", len(words_of(scope)) - len(wanted), near)
                likely.append((tuple(map(int, key)), number, symbol))
    # The last definition of a name in a file is the one that runs: those with @overload come before it.
    likely.sort(key=lambda row: (row[0], row[2].qualified, row[1], -row[2].line))
    each: dict[tuple[str, int], tuple[int, Symbol]] = {}
    for _key, number, symbol in likely:
        each.setdefault((symbol.qualified, number), (number, symbol))
    return [symbol_candidate(trees, places) for places in merged(trees, each.values())[:_MOST]]


def _class_of(symbol: Symbol) -> str:
    """Returns the name of the class around a method; "" if its scope is no class. Classes begin with a capital."""
    scopes = [scope for scope in SPACES.split(symbol.qualified.replace(".", "/")) if scope]
    scope = scopes[-2] if len(scopes) > 1 else ""
    return scope if scope.lstrip("_")[:1].isupper() else ""


def _definitions(trees: Sequence[IndexedTree], name: str) -> list[Candidate]:
    return list(_in_trees(trees, name)) or atlas_candidates(trees, name)


def _in_trees(trees: Sequence[IndexedTree], name: str) -> Iterator[Candidate]:
    known = [(number, s) for number, each in enumerate(trees) for s in each.store.definitions(name)]
    for places in merged(trees, [pair for pair in known if pair[1].kind == "function"]):
        yield symbol_candidate(trees, places)
