"""The ladder of an operator: the changes on each rung of the compiler stack of PyTorch, and whether it is Core ATen.

The codes have their words in `view/words/ladder.py`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from ptexplore.model.codes import code_of
from ptexplore.model.decompositions import DecompositionPart
from ptexplore.model.places import SourceRef

# A rung:
# - eager: a call in your program.
# - vmap: torch.vmap.
# - forward-ad: forward-mode AD.
# - export: ExportedProgram.run_decompositions() with its default table: Core ATen.
# - prims: TorchRefsMode, which calls the functions of torch._refs: prims.
# - refs: the same for a call of the operator's Python name, if another function runs.
# - inductor: torch.compile with Inductor, before its lowerings.
# - lowering: Inductor's lowerings.
# - meta: meta tensors and fake tensors.
RungName: TypeAlias = Literal["eager", "vmap", "forward-ad", "export", "prims", "refs", "inductor", "lowering", "meta"]
RUNGS: tuple[RungName, ...] = get_args(RungName)


# --- whether an operator is Core ATen, and why ---


class CoreReason(Struct, frozen=True, kw_only=True, tag_field="code", tag=code_of):
    """Why an operator is Core ATen, or is not."""


class HasCoreTag(CoreReason, frozen=True):
    """The operator has the tag `core`."""


class CoreYetReplaced(CoreReason, frozen=True):
    """The operator has the tag `core`, but run_decompositions() replaces it nevertheless."""

    function: str  # the function that does, or "" for its composite kernel.


class IsPrim(CoreReason, frozen=True):
    """The operator is a prim: prims are a rung below ATen."""

    namespace: str


class IsCustom(CoreReason, frozen=True):
    """The operator does not belong to ATen: a custom operator, or an operator of another library of torch."""

    namespace: str


class IsHigherOrder(CoreReason, frozen=True):
    """A higher-order operator, which takes functions."""


class Mutates(CoreReason, frozen=True):
    """The operator writes to its arguments. Functionalization replaces the operator first."""

    arguments: tuple[str, ...]


class IsComposite(CoreReason, frozen=True):
    """The kernel for CompositeImplicitAutograd decomposes the operator. `function`: a Python kernel, or "" for C++."""

    function: str


class IsKeptComposite(CoreReason, frozen=True):
    """The operator has a kernel for CompositeImplicitAutograd and no tag, and run_decompositions() keeps it."""


class InDefaultTable(CoreReason, frozen=True):
    """The table of run_decompositions() replaces the operator. A graph that has it was made with another table.

    `declines`: the function may return NotImplemented. Then the operator stays.
    """

    function: str
    declines: bool = False


class DecomposedInTracing(CoreReason, frozen=True):
    """A Python function decomposes the operator while torch.export and torch.compile trace."""

    function: str


class HasNoDecomposition(CoreReason, frozen=True):
    """An operator of ATen without the tag, which the table of run_decompositions() does not have."""

    registered: str = ""  # a function that is registered as its decomposition, and that the table does not use.


class HasNoTag(CoreReason, frozen=True):
    """The operator has no tag `core`. The tables were not read."""


class IsNoOperator(CoreReason, frozen=True):
    """This torch has no operator of this name."""


class CoreAnswer(Struct, frozen=True):
    """Whether an operator is Core ATen, and why. `is_core` is None if this torch has no such operator."""

    name: str  # with its namespace and overload.
    is_core: bool | None
    reason: CoreReason


# --- the rungs ---


class RungState(Struct, frozen=True, kw_only=True, tag_field="code", tag=code_of):
    """The state of an operator on a rung."""


class IsKept(RungState, frozen=True):
    """The operator stays in the graph."""


class IsKeptWhole(RungState, frozen=True):
    """The operator stays in the graph, although it has a kernel for CompositeImplicitAutograd."""


class RunsKernel(RungState, frozen=True):
    """The operator's own kernels run."""


class ReplacedByPython(RungState, frozen=True):
    """A Python function decomposes the operator."""

    function: str
    declines: bool = False  # whether it may return NotImplemented: then the operator stays.


class ReplacedByRef(RungState, frozen=True):
    """A function of torch._refs runs in place of the Python function with one of these names."""

    function: str
    names: tuple[str, ...]


class TracedInPython(RungState, frozen=True):
    """While torch traces, a Python function decomposes the operator in place of a C++ kernel."""

    function: str


class ReplacedByComposite(RungState, frozen=True):
    """A C++ kernel decomposes the operator. `keys`: the dispatch keys with another kernel."""

    kernel: str
    keys: tuple[str, ...] = ()


class DecomposedBefore(RungState, frozen=True):
    """The composite kernel decomposes the operator, as in a plain call, before a table is read."""


class AnswersShape(RungState, frozen=True):
    """The result is a size: a number while torch traces. Where sizes are symbols, torch puts the operator in graphs."""


class MadeFunctional(RungState, frozen=True):
    """Functionalization replaces the operator by one that does not write to its arguments."""


class IsLowered(RungState, frozen=True):
    """Inductor makes loops or a template of the operator. `falls_back`: for some calls, the kernel is called."""

    function: str
    falls_back: bool = False


class IsCalledWhole(RungState, frozen=True):
    """Inductor calls the kernel, because the operator is registered as a fallback."""


class IsNotLowered(RungState, frozen=True):
    """Inductor calls the kernel, because the operator has no lowering."""


class IsUnknown(RungState, frozen=True):
    """This torch could not say."""

    part: DecompositionPart
    error: str


class LadderRung(Struct, frozen=True):
    """The state of an operator on one rung."""

    name: RungName
    state: RungState
    place: SourceRef | None = None  # of the function or kernel that the state names.
    reached: bool = True  # for the lowering: false if the operator gets there only where its decomposition declines.


class LadderTable(Struct, frozen=True):
    """A table of torch, and its entry for one operator."""

    name: DecompositionPart
    operators: int  # how many operators it has; for `refs`, how many public Python names.
    function: str  # the function that it has for the operator; "" for a composite kernel, or if it has none.
    has: bool  # whether it has the operator.
    user: str  # the function of torch that reads it, or "".
    place: SourceRef | None = None  # of that function.


class OperatorLadder(Struct, frozen=True):
    """The states of one operator on all rungs."""

    core: CoreAnswer
    rungs: tuple[LadderRung, ...]
    tables: tuple[LadderTable, ...]
    unknown: tuple[tuple[DecompositionPart, str], ...] = ()  # what this torch could not say, with the error.


# --- lists of operators ---

OperatorSet: TypeAlias = Literal["core", "prims"]


class ListedOperator(Struct, frozen=True):
    """An operator of a list, and its changes with torch.export and with Inductor."""

    name: str
    export: RungState
    inductor: RungState  # what decomposes it; IsKept if it reaches the lowerings.
    lowering: RungState
    place: SourceRef | None = None  # of the function that decomposes it or lowers it in Inductor.
    later: bool = False  # whether Inductor's import registers it, and `import torch` does not.


class OperatorList(Struct, frozen=True):
    """Operators of a set: at most as many rows as were asked for. `total` counts them all."""

    of: OperatorSet
    rows: tuple[ListedOperator, ...]
    total: int
    lowered: int | None  # how many have a lowering or are replaced before; None if that is unknown.
    unknown: tuple[tuple[DecompositionPart, str], ...] = ()  # what this torch could not say, with the error.
