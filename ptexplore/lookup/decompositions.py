"""The Python functions that a query such as "decomposition of gelu" asks for."""

from __future__ import annotations

from collections.abc import Sequence

from ptexplore.annotations.plain_words import STOP_WORDS
from ptexplore.lookup.operators import Catalogue
from ptexplore.lookup.query import ReadQuery
from ptexplore.lookup.query_words import ASKING
from ptexplore.lookup.trees import Candidate, IndexedTree, symbol_candidate

_ASKS = frozenset(("decomposition", "decompositions", "decompose", "decomposes", "decomposed", "decomp"))


def decompositions_of(trees: Sequence[IndexedTree], catalogue: Catalogue | None, asked: ReadQuery) -> list[Candidate]:
    """Returns the functions that torch registered as decompositions of the operator in a query, functional ones first.

    Empty if the query does not ask for a decomposition, if it names no operator of ATen, or if the installed torch is
    not among the searched trees. The words of a name may be apart: "decomposition of layer norm backward".
    """
    words = asked.text.lower().split()
    if catalogue is None or catalogue.number < 0 or _ASKS.isdisjoint(words):
        return []
    named = [word for word in words if word not in _ASKS and word not in STOP_WORDS and word not in ASKING]
    name = "_".join(named).removeprefix("torch.").removeprefix("aten::")
    bases = [base for base in (name, f"native_{name}", f"_{name}") if base in catalogue.store.names_by_base]
    operators = [op for base in bases for op in catalogue.store.names_by_base[base] if op.startswith("aten::")]
    operators.sort(key=lambda op: "out" in op.partition(".")[2])
    kernels = [kernel for op in operators for kernel in catalogue.store.python_kernels(op)]
    functions = {(k.function, k.path, k.line) for k in kernels if k.role == "decomposition"}
    order = dict.fromkeys(k.function for k in kernels)
    store = trees[catalogue.number].store
    return [
        symbol_candidate(trees, [(catalogue.number, symbol)])
        for function in order
        for symbol in store.definitions(function)
        if (function, symbol.path, symbol.line) in functions
    ]
