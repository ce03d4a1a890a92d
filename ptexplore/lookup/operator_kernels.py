"""The functions that an operator runs, for a query that names one operator: "repeat_interleave", "torch.mode source".

native_functions.yaml names the kernel of each key. An entry without kernels has one for all backends, with the
operator's own name (aten/src/ATen/native/README.md).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ptexplore.annotations.plain_words import STOP_WORDS
from ptexplore.lookup.operators import Catalogue, operator_spot
from ptexplore.lookup.query import BACKENDS, ReadQuery, read_query
from ptexplore.lookup.query_words import ASKING
from ptexplore.lookup.trees import Candidate, IndexedTree, atlas_candidates, symbol_candidate
from ptexplore.model.operators import Operator

MOST = 3  # functions
_NATIVE = "at::native"
_IMPLEMENTATION = frozenset(("implement", "implements", "implemented", "implementation", "implementations", "source"))
_GPU = frozenset({"cuda", "gpu"})
# The keys whose kernels a call on the CPU reaches: the first that an entry names.
_ON_CPU = ("CPU", "CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
_ON_CUDA = ("CUDA", *_ON_CPU[1:])


def kernels_of(trees: Sequence[IndexedTree], catalogue: Catalogue | None, asked: ReadQuery) -> list[Candidate]:
    """Returns an operator and the hand-written functions that its call runs first, if the query names just this.

    They are the kernels for the CPU, or for CUDA if the query says so. Empty for other queries, and if no tree and no
    atlas has such a function.
    """
    if catalogue is None or catalogue.number < 0:
        return []
    name, keys = _named(asked, catalogue.store.names_by_base)
    operators = [op for op in catalogue.store.operators_named(name) if op.namespace == "aten"] if name else []
    operators = [op for op in operators if not op.autogen and "(a!) out" not in op.schema] or operators
    kernels = dict.fromkeys(kernel for op in operators for kernel in _kernels(trees, catalogue, op, keys))
    hits: list[Candidate] = []
    for kernel in kernels:
        hits += _definitions(trees, kernel)[:1]
        if len(hits) == MOST:
            break
    if not hits:
        return []
    first = operators[0]
    return [Candidate("operator", first.name, first.schema, operator_spot(catalogue, first)), *hits]


def _named(asked: ReadQuery, bases: Container[str]) -> tuple[str, Sequence[str]]:
    """Returns the operator that a query names, and the keys that it asks for; "" if it says anything else, too.

    The words of the operator may be apart if the query asks for its implementation: "cosine similarity implementation".
    """
    lower = [word.lower() for word in asked.text.rstrip("?").split()]
    words = [word for word in asked.text.rstrip("?").split() if word.lower() not in STOP_WORDS | ASKING | BACKENDS]
    keys = _ON_CPU if _GPU.isdisjoint(lower) else _ON_CUDA
    joined = "_".join(map(str.lower, words))
    if len(words) > 1 and joined in bases and not _IMPLEMENTATION.isdisjoint(lower):
        return joined, keys
    words = [word for word in words if word.lower() not in ("kernel", "operator")]
    if len(words) != 1:
        return "", keys
    only = read_query(words[0])
    return only.call or words[0].removeprefix("aten::"), keys


def _kernels(
    trees: Sequence[IndexedTree], catalogue: Catalogue, operator: Operator, keys: Sequence[str]
) -> Iterator[str]:
    """Yields the names that the kernel of an operator may have in C++: the kernel of the first of these keys."""
    if operator.autogen:
        return
    delegate = operator.structured if operator.structured not in (None, "structured") else None
    names = [operator.name, *([f"{operator.namespace}::{delegate}"] if delegate else [])]
    store = trees[catalogue.number].store
    named = {row.context: row.target for name in names for row in store.dialect(name, ["yaml-dispatch"])}
    if not named:
        yield f"{_NATIVE}::{operator.base}"
    kernel = next((named[key] for key in keys if named.get(key)), None)
    if kernel is not None:
        yield kernel if "::" in kernel else f"{_NATIVE}::{kernel}"


def _definitions(trees: Sequence[IndexedTree], kernel: str) -> list[Candidate]:
    """Returns the definitions of a kernel: of its function, of its `impl` if it is structured, of its SymInt form."""
    scope, _, last = kernel.rpartition("::")
    for name in (kernel, f"{scope}::structured_{last}::impl", f"{kernel}_symint"):
        known = [(number, s) for number, each in enumerate(trees) for s in each.store.definitions(name)]
        functions = [pair for pair in known if pair[1].kind == "function" and not pair[1].path.startswith("build/")]
        hits = [symbol_candidate(trees, [pair]) for pair in functions] or atlas_candidates(trees, name)
        if hits:
            return hits
    return []
