"""The columns of a table of parts: which weight (`model/run.py`) each shows, its heading, and its number format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ptexplore.model.run import WEIGHTS, Part, Run, Unit, Weighed, WeightTable, WeightUnit
from ptexplore.view.trace.amounts import seconds, size
from ptexplore.view.words.weights import ENGLISH, OF_ONE

AT_MOST = "≤"  # before a cost that is a bound


class Column(NamedTuple):
    """A weight with its heading, and what formats the number."""

    weight: str
    heading: str
    formatter: Callable[[int], str]


FORMATTERS: Mapping[WeightUnit, Callable[[int], str]] = {  # costs: see OF_COST
    "count": "{:,}".format,
    "bytes": size,
    "nanoseconds": seconds,
}
OF_COST: dict[Unit, tuple[str, Callable[[int], str]]] = {
    "instructions": ("instr", "{:,}".format),
    "nanoseconds": ("time", seconds),
    "": ("time", seconds),
}


def columns_of(run: Run, table: WeightTable = "parts") -> tuple[Column, ...]:
    """Returns the columns of a table about a run."""
    return columns(run.unit, *weights_of(run.whole, table))


def weights_of(whole: Weighed, table: WeightTable) -> Iterator[str]:
    """Yields the weights that a table shows, in the order of their columns. `whole` has the sums."""
    for name, weight in WEIGHTS.items():
        if table in weight.tables and (weight.always or getattr(whole, name)):
            yield name


def columns(unit: Unit, *weights: str) -> tuple[Column, ...]:
    """Returns the columns for these weights. The unit decides the heading and the format of costs."""
    return tuple(_column(unit, weight) for weight in weights)


def _column(unit: Unit, weight: str) -> Column:
    heading, formatter = OF_COST[unit]
    heading = heading if weight == "cost" else ENGLISH[weight].heading
    return Column(weight, heading, FORMATTERS.get(WEIGHTS[weight].unit, formatter))


def cells(columns: tuple[Column, ...], weighed: Weighed, *without: str) -> tuple[str, ...]:
    """Formats the cells of a row. Weights in `without` and zeros are empty, except that 0 calls are shown."""
    return tuple(_cell(column, getattr(weighed, column.weight)) if column.weight not in without else ""
                 for column in columns)  # fmt: skip


def _cell(column: Column, value: int) -> str:
    return column.formatter(value) if value or column.weight == "calls" else ""


def time_of(part: Part) -> str:
    """Returns the time of a part in words, with a sign if it is a bound."""
    return f"{AT_MOST if part.at_most else ''}{seconds(part.cost)}"


def of_part(columns: tuple[Column, ...], part: Part, sign: str) -> tuple[str, ...]:
    """Formats the cells of a part's row. If the figures are lower bounds, `sign` is put before each."""
    # If backward ran inside the part, its cost already includes the nodes. `backward` is tested first, since it is 0
    # for most parts.
    runs_backward = part.backward > 0 and any(inner.kind == "backward" for inner in part.walk())
    without = (*(("backward",) if runs_backward else ()), *(("calls",) if part.kind == "imports" else ()))
    texts = cells(columns, part, *without)
    if part.at_least:
        return tuple(f"{sign}{cell}" if cell else cell for cell in texts)
    signs = (AT_MOST if part.at_most and column.weight == "cost" else "" for column in columns)
    return tuple(f"{sign}{cell}" if cell else cell for sign, cell in zip(signs, texts, strict=True))


def in_a_sentence(heading: str, cell: str) -> str:
    """Returns a cell that is in no column, with the word of its heading: "49 ms backward", "1 call", "53 ms"."""
    if not cell or heading == OF_COST["nanoseconds"][0]:
        return cell
    return f"{cell} {OF_ONE.get(heading, heading) if cell in ('1', f'{AT_MOST}1') else heading}"
