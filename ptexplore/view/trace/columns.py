"""The columns of a table of parts: which weight (`model/run.py`) each shows, its heading, and its number format."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ptexplore.model.run import Part, Run, Unit, Weighed
from ptexplore.view.trace.amounts import seconds, size

AT_MOST = "≤"  # before a cost that is a bound


class Column(NamedTuple):
    """A weight with its heading. `formatter` formats the number; None: the number is formatted as a cost."""

    weight: str
    heading: str
    formatter: Callable[[int], str] | None = None
    wanted: bool = True  # False: the column is shown only if the whole has that weight


COLUMNS = (
    Column("cost", "time"),
    Column("backward", "backward"),
    Column("calls", "calls", "{:,}".format),
    Column("operators", "ops", "{:,}".format),
    Column("saved", "saved", size),
    Column("device", "device", seconds, wanted=False),
)
OF_COST: dict[Unit, tuple[str, Callable[[int], str]]] = {
    "instructions": ("instr", "{:,}".format),
    "nanoseconds": ("time", seconds),
    "": ("time", seconds),
}


def columns_of(run: Run) -> tuple[Column, ...]:
    """Returns the columns for the parts of a run."""
    used = (column.weight for column in COLUMNS if column.wanted or getattr(run.whole, column.weight))
    return columns(run.unit, *used)


def columns(unit: Unit, *weights: str) -> tuple[Column, ...]:
    """Returns the columns for these weights. The unit decides the heading and the format of costs."""
    heading, formatter = OF_COST[unit]
    known = {column.weight: column for column in COLUMNS}
    known["cost"] = known["cost"]._replace(heading=heading)
    return tuple(known[weight]._replace(formatter=known[weight].formatter or formatter) for weight in weights)


def cells(columns: tuple[Column, ...], weighed: Weighed, *without: str) -> tuple[str, ...]:
    """Formats the cells of a row. Weights in `without` and zeros are empty, except that 0 calls are shown."""
    return tuple(_cell(column, getattr(weighed, column.weight)) if column.weight not in without else ""
                 for column in columns)  # fmt: skip


def _cell(column: Column, value: int) -> str:
    return column.formatter(value) if column.formatter is not None and (value or column.weight == "calls") else ""


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
    return f"{cell} {heading.removesuffix('s') if cell in ('1', f'{AT_MOST}1') else heading}"
