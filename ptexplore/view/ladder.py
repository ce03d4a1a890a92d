"""An operator's ladder as tables: what happens to it on each rung, and what each table of torch has for it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ptexplore.model import ladder as says
from ptexplore.model.decompositions import DecompositionPart
from ptexplore.model.ladder import LadderRung, LadderTable, ListedOperator, OperatorLadder, OperatorList, RungState
from ptexplore.view.card_table import CardRow, CardTable, short
from ptexplore.view.words.ladder import (
    HAS,
    HAS_NOT,
    HEADINGS,
    LATER,
    LISTED_ELSE,
    LISTED_LOWERED,
    LISTED_REPLACED,
    LISTED_UNKNOWN,
    LOWERED,
    NOT_REACHED,
    READ_BY,
    REPLACED_BY_EXPORT,
    RUNGS,
    TABLES,
    state_in_words,
)

_LOWERINGS = "torch._inductor.lowering."  # the module of most lowerings


def ladder_tables(ladder: OperatorLadder) -> tuple[CardTable, ...]:
    """Returns the rungs, and the tables of this torch with the functions that read them."""
    return (
        CardTable("rung", "becomes", tuple(map(_rung, ladder.rungs))),
        CardTable("table of torch", "this operator", tuple(map(_table, ladder.tables))),
    )


def _rung(rung: LadderRung) -> CardRow:
    return CardRow(RUNGS[rung.name], rung_text(rung), rung.place)


def rung_text(rung: LadderRung) -> str:
    """Returns what happens on a rung. Common namespaces of C++ are left out."""
    words = _shortened(rung.state)
    return words if rung.reached else f"{NOT_REACHED}{words}"


def _shortened(state: RungState) -> str:
    if isinstance(state, says.ReplacedByComposite):
        state = says.ReplacedByComposite(kernel=short(state.kernel), keys=state.keys)
    return state_in_words(state)


def _table(table: LadderTable) -> CardRow:
    reads = READ_BY.format(table.user.rpartition(".")[2]) if table.user else ""
    name = f"{TABLES[table.name]} ({table.operators:,})"
    return CardRow(name, f"{HAS if table.has else HAS_NOT}{reads}", table.place)


def unknown_lines(unknown: Iterable[tuple[DecompositionPart, str]]) -> tuple[str, ...]:
    """Returns a line for each part that this torch could not say."""
    return tuple(state_in_words(says.IsUnknown(part=part, error=error)) for part, error in unknown)


def list_title(operators: OperatorList) -> tuple[str, ...]:
    """Returns the heading of a list of operators, and how many of them Inductor lowers, if that is known."""
    title = HEADINGS[operators.of].format(total=operators.total)
    if operators.lowered is None:
        return (title,)
    return title, LOWERED.format(lowered=operators.lowered, called=operators.total - operators.lowered)


def list_table(operators: OperatorList) -> CardTable:
    """Returns the operators of a list, each with what becomes of it with Inductor."""
    return CardTable("operator", "with Inductor", tuple(map(_listed, operators.rows)))


def _listed(row: ListedOperator) -> CardRow:
    return CardRow(row.name, listed_text(row), row.place)


def listed_text(row: ListedOperator) -> str:
    """Returns what becomes of an operator of a list with Inductor, and whether run_decompositions() replaces it."""
    kept = says.IsKept | says.IsKeptWhole | says.AnswersShape
    states = [row.lowering if isinstance(row.inductor, kept) else row.inductor]
    if isinstance(row.inductor, says.ReplacedByPython) and row.inductor.declines:
        states.append(row.lowering)
    words = LISTED_ELSE.join(map(_listed_state, states))
    replaced = isinstance(row.export, says.ReplacedByPython | says.DecomposedBefore | says.TracedInPython)
    return f"{words}{REPLACED_BY_EXPORT if replaced else ''}{LATER if row.later else ''}"


def _listed_state(state: RungState) -> str:
    if isinstance(state, says.IsUnknown):
        return LISTED_UNKNOWN
    if isinstance(state, says.IsLowered):
        return LISTED_LOWERED.format(state_in_words(replace(state, function=state.function.removeprefix(_LOWERINGS))))
    if isinstance(state, says.ReplacedByPython):
        return LISTED_REPLACED.format(state.function)
    return (
        LISTED_REPLACED.format(state_in_words(state)) if isinstance(state, says.TracedInPython) else _shortened(state)
    )
