"""The ladder of an operator: what happens to it on each rung of PyTorch's compiler stack, and whether it is Core ATen.

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
# - inductor: torch.compile with Inductor, before its lowerings.
# - lowering: Inductor's lowerings.
# - meta: meta tensors and fake tensors.
RungName: TypeAlias = Literal["eager", "vmap", "forward-ad", "export", "prims", "inductor", "lowering", "meta"]
RUNGS: tuple[RungName, ...] = get_args(RungName)


# --- whether an operator is Core ATen, and why ---


class CoreReason(Struct, frozen=True, kw_only=True, tag_field="code", tag=code_of):
    """Why an operator is Core ATen, or is not."""


class HasCoreTag(CoreReason, frozen=True):
    """It has the tag `core`."""


class CoreYetReplaced(CoreReason, frozen=True):
    """It has the tag `core`, but run_decompositions() replaces it all the same."""

    function: str  # the function that does, or "" for its composite kernel


class IsPrim(CoreReason, frozen=True):
    """It belongs to a namespace of prims, a rung below ATen."""

    namespace: str


class IsCustom(CoreReason, frozen=True):
    """It is not of ATen: a custom operator, or one of another library of torch. Core ATen is a subset of ATen."""

    namespace: str


class IsHigherOrder(CoreReason, frozen=True):
    """It is a higher-order operator, which takes functions."""


class Mutates(CoreReason, frozen=True):
    """It writes to its arguments. Functionalization replaces it first."""

    arguments: tuple[str, ...]


class IsComposite(CoreReason, frozen=True):
    """Its kernel for CompositeImplicitAutograd takes it apart. `function`: the one in Python, or "" for C++."""

    function: str


class IsKeptComposite(CoreReason, frozen=True):
    """It has a kernel for CompositeImplicitAutograd, but run_decompositions() keeps it, and it has no tag."""


class InDefaultTable(CoreReason, frozen=True):
    """The table of run_decompositions() replaces it: a graph that has it was made with another table.

    `declines`: the function may return NotImplemented, and so leave it.
    """

    function: str
    declines: bool = False


class TracedApart(CoreReason, frozen=True):
    """Python's dispatcher has a function that takes it apart while torch.export and torch.compile trace."""

    function: str


class HasNoDecomposition(CoreReason, frozen=True):
    """It is of ATen without the tag, and the table of run_decompositions() does not have it: it stays."""

    registered: str = ""  # a function that is registered as its decomposition, and that the table does not use


class HasNoTag(CoreReason, frozen=True):
    """It has no tag `core`. The tables were not read."""


class IsNoOperator(CoreReason, frozen=True):
    """This torch has no operator of this name."""


class CoreAnswer(Struct, frozen=True):
    """Whether an operator is Core ATen, and why. `is_core` is None if this torch has no such operator."""

    name: str  # with its namespace and overload
    is_core: bool | None
    reason: CoreReason


# --- the rungs ---


class RungState(Struct, frozen=True, kw_only=True, tag_field="code", tag=code_of):
    """What happens to an operator on a rung."""


class IsKept(RungState, frozen=True):
    """It stays in the graph."""


class IsKeptWhole(RungState, frozen=True):
    """It stays in the graph, although it has a kernel for CompositeImplicitAutograd."""


class RunsKernel(RungState, frozen=True):
    """Its own kernels run; nothing takes it apart."""


class ReplacedByPython(RungState, frozen=True):
    """A Python function takes it apart."""

    function: str
    declines: bool = False  # whether it may return NotImplemented: then the operator stays


class TracedInPython(RungState, frozen=True):
    """A Python function takes it apart that Python's dispatcher has in place of a C++ kernel, while tracing."""

    function: str


class ReplacedByComposite(RungState, frozen=True):
    """Its C++ kernel takes it apart. `keys`: the dispatch keys with another kernel."""

    kernel: str
    keys: tuple[str, ...] = ()


class TakenApartBefore(RungState, frozen=True):
    """Its composite kernel takes it apart, as in a plain call, before this rung's table is read."""


class MadeFunctional(RungState, frozen=True):
    """Functionalization replaces it by an operator that does not write to its arguments."""


class IsLowered(RungState, frozen=True):
    """Inductor's lowering makes loops or a template of it. `falls_back`: for some calls it calls the kernel."""

    function: str
    falls_back: bool = False


class IsCalledWhole(RungState, frozen=True):
    """Inductor calls its kernel: it is registered as a fallback."""


class IsNotLowered(RungState, frozen=True):
    """Inductor has no lowering for it, so it calls its kernel."""


class NotKnown(RungState, frozen=True):
    """This torch could not say."""

    part: DecompositionPart
    error: str


class LadderRung(Struct, frozen=True):
    """What happens to an operator on one rung."""

    name: RungName
    state: RungState
    place: SourceRef | None = None  # of the function or kernel that the state names
    reached: bool = True  # for the lowering: false if the operator gets there only where its decomposition declines


class LadderTable(Struct, frozen=True):
    """A table of torch, and what it has for one operator."""

    name: DecompositionPart
    operators: int  # how many operators it has; for `refs`, how many public Python names
    function: str  # the function that it has for the operator; "" for a composite kernel, or if it has none
    has: bool  # whether it has the operator
    user: str  # the function of torch that reads it, or ""
    place: SourceRef | None = None  # of that function


class OperatorLadder(Struct, frozen=True):
    """What happens to one operator on each rung."""

    core: CoreAnswer
    rungs: tuple[LadderRung, ...]
    tables: tuple[LadderTable, ...]
    unknown: tuple[tuple[DecompositionPart, str], ...] = ()  # what this torch could not say, with the error


# --- lists of operators ---

OperatorSet: TypeAlias = Literal["core", "prims"]


class ListedOperator(Struct, frozen=True):
    """An operator of a list, and what becomes of it with torch.export and with Inductor."""

    name: str
    export: RungState
    inductor: RungState  # what takes it apart; IsKept if it reaches the lowerings
    lowering: RungState
    place: SourceRef | None = None  # of the function that takes it apart or lowers it in Inductor
    later: bool = False  # whether Inductor's import registers it, and `import torch` does not


class OperatorList(Struct, frozen=True):
    """Operators of a set: at most as many rows as were asked for. `total` counts them all."""

    of: OperatorSet
    rows: tuple[ListedOperator, ...]
    total: int
    lowered: int  # how many have a lowering or are taken apart before
    unknown: tuple[tuple[DecompositionPart, str], ...] = ()  # what this torch could not say, with the error
