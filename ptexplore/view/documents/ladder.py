"""An operator's ladder, whether it is Core ATen, and lists of operators of Core ATen or of prims."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs, to_builtins

from ptexplore.model.decompositions import DecompositionPart
from ptexplore.model.ladder import (
    CoreAnswer,
    CoreReason,
    LadderRung,
    ListedOperator,
    OperatorLadder,
    OperatorList,
    OperatorSet,
    RungName,
    RungState,
)
from ptexplore.model.places import Runtime
from ptexplore.view.documents.parts import FORMAT, Reference, TorchBuild, reference_if, torch_build
from ptexplore.view.words.ladder import reason_in_words, state_in_words


class CoreEntry(Struct, frozen=True):
    """Whether an operator is Core ATen."""

    is_core: bool | None  # null if this torch has no such operator
    code: str  # why: `has-core-tag`, `core-yet-replaced`, `is-composite`, `mutates`, `in-default-table`, …
    arguments: dict[str, Any]  # the arguments of the code
    text: str  # the same in words


class StateEntry(Struct, frozen=True):
    """What happens to an operator on a rung."""

    code: str  # `is-kept`, `replaced-by-python`, `traced-in-python`, `replaced-by-composite`, `is-lowered`, …
    arguments: dict[str, Any]  # the arguments of the code: `function`, `kernel`, `declines`, …
    text: str  # the same in words


class RungEntry(Struct, frozen=True):
    """One rung of the ladder."""

    rung: RungName  # the rung; `export`: run_decompositions()
    state: StateEntry  # what happens to the operator
    source: Reference | None  # the function or kernel
    reached: bool  # false for a lowering after a decomposition that may decline


class TableOfTorch(Struct, frozen=True):
    """A table of torch, and what it has for the operator."""

    table: DecompositionPart  # the table
    operators: int  # its operators; for `refs`, its Python names
    has: bool  # whether it has the operator
    function: str  # its Python function for the operator, or ""
    read_by: str  # the function that reads it
    source: Reference | None  # where that is


class UnknownPart(Struct, frozen=True):
    """A part that this torch lacks."""

    part: DecompositionPart  # the part
    error: str  # the error


class LadderEntry(Struct, frozen=True):
    """The ladder of an operator."""

    rungs: tuple[RungEntry, ...]  # from a plain call to Inductor's lowerings
    tables: tuple[TableOfTorch, ...]  # the tables of this torch
    unknown: tuple[UnknownPart, ...]  # what this torch lacks


class ListedEntry(Struct, frozen=True):
    """One operator of a list."""

    name: str  # its full name
    export: StateEntry  # with run_decompositions()
    inductor: StateEntry  # with Inductor, before the lowerings
    lowering: StateEntry  # with Inductor's lowerings
    source: Reference | None  # the function
    later: bool  # whether only Inductor's import registers it


class OperatorListDocument(Struct, frozen=True):
    """`op --core --json` and `op --prims --json`."""

    format: int  # 1
    list: OperatorSet  # the list
    torch: TorchBuild  # the torch
    total: int  # operators of the list
    lowered: int | None  # how many Inductor lowers or replaces; for the others, the kernel is called
    rows: tuple[ListedEntry, ...]  # at most LIMIT of them
    unknown: tuple[UnknownPart, ...]  # what this torch lacks


def core_entry(core: CoreAnswer) -> CoreEntry:
    """Returns whether an operator is Core ATen."""
    return CoreEntry(core.is_core, _code(core.reason), _arguments(core.reason), reason_in_words(core.reason))


def ladder_entry(ladder: OperatorLadder) -> LadderEntry:
    """Returns the rungs of an operator, and the tables of its torch."""
    tables = tuple(
        TableOfTorch(t.name, t.operators, t.has, t.function, t.user, reference_if(t.place)) for t in ladder.tables
    )
    unknown = tuple(UnknownPart(part, error) for part, error in ladder.unknown)
    return LadderEntry(tuple(map(_rung, ladder.rungs)), tables, unknown)


def list_document(operators: OperatorList, runtime: Runtime) -> OperatorListDocument:
    """Returns a list of operators as a document."""
    return OperatorListDocument(
        format=FORMAT,
        list=operators.of,
        torch=torch_build(runtime),
        total=operators.total,
        lowered=operators.lowered,
        rows=tuple(map(_listed, operators.rows)),
        unknown=tuple(UnknownPart(part, error) for part, error in operators.unknown),
    )


def _rung(rung: LadderRung) -> RungEntry:
    return RungEntry(rung.name, _state(rung.state), reference_if(rung.place), rung.reached)


def _listed(row: ListedOperator) -> ListedEntry:
    export, inductor, lowering = map(_state, (row.export, row.inductor, row.lowering))
    return ListedEntry(row.name, export, inductor, lowering, reference_if(row.place), row.later)


def _state(state: RungState) -> StateEntry:
    return StateEntry(_code(state), _arguments(state), state_in_words(state))


def _code(code: CoreReason | RungState) -> str:
    return str(type(code).__struct_config__.tag)


def _arguments(code: CoreReason | RungState) -> dict[str, Any]:
    arguments: dict[str, Any] = to_builtins(structs.asdict(code))
    return arguments
