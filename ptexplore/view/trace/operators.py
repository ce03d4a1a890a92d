"""The view `operators`: the operator calls of a trace, grouped by their way through the dispatcher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ptexplore.model import details as says
from ptexplore.model.details import Detail
from ptexplore.model.places import SourceRef
from ptexplore.model.run import Weighed, as_sum
from ptexplore.model.trace import Hop, Status, Trace
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.line import Line
from ptexplore.view.trace.around import about_this, explained, findings, legend, title_of
from ptexplore.view.trace.columns import Column, cells
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.native_names import kernel_name
from ptexplore.view.trace.page import NextStep, ScreenRow, TraceView, in_words
from ptexplore.view.trace.path import keys_of, of_call
from ptexplore.view.trace.screen import bare
from ptexplore.view.words.trace_remarks import all_in_words

INSTRUCTIONS = Column("instructions", "instr", "{:,}".format)
_Key = TypeVar("_Key", bound=Hashable)
Counts = tuple[tuple[_Key, int], ...]  # pairs of a key and its number: how many times, or how many nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorWay(Weighed):
    """Calls of one operator through the same dispatch keys to the same kernel; or the runs of one autograd node."""

    name: str
    details: tuple[Detail, ...] = ()  # its keys and its kernel (a node: its formulas), then further remarks
    place: SourceRef | None = None
    status: Status = "observed"
    hop: int | None = None  # the first hop that shows this way
    opens: str = ""
    instructions: int = 0  # of the calls that were stepped
    stepped: int = 0  # the number of stepped calls
    launched: Counts[str] = ()  # kernels and copies launched on a device, with nanoseconds
    callers: Counts[str] = ()  # the callers, with the number of calls
    libraries: Counts[tuple[str, ...]] = ()  # entries into linked libraries, with the number of calls
    recorded: Counts[str] = ()  # the nodes that its calls recorded, with the number of calls
    lines: tuple[Line, ...] = ()


def gathered(calls: Iterable[tuple[_Key, OperatorWay]]) -> dict[_Key, OperatorWay]:
    """Groups calls by their key. Each group becomes one OperatorWay, in the order of the first calls."""
    alike: dict[_Key, list[OperatorWay]] = {}
    for key, way in calls:
        alike.setdefault(key, []).append(way)
    return {key: _as_one(held) for key, held in alike.items()}


def by_cost(ways: Iterable[OperatorWay]) -> list[OperatorWay]:
    """Sorts by cost, the costliest first. Equal or unknown costs are sorted by the number of calls."""
    return sorted(ways, key=lambda way: (-way.cost, -way.calls))


def _as_one(held: Sequence[OperatorWay]) -> OperatorWay:
    return replace(
        as_sum(held),
        instructions=sum(way.instructions for way in held),
        stepped=sum(way.stepped for way in held),
        launched=_added(way.launched for way in held),
        callers=_added(way.callers for way in held),
        libraries=_added(way.libraries for way in held),
        recorded=_added(way.recorded for way in held),
    )


def _added(held: Iterable[Counts[_Key]]) -> Counts[_Key]:
    counts = Counter[_Key]()
    for each in held:
        for key, count in each:
            counts[key] += count
    return tuple(counts.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators:
    """The rows of the view and everything around them. Shares are fractions of the cost `whole`; 0: it is not known."""

    ways: Sequence[OperatorWay]
    whole: int
    columns: tuple[Column, ...]
    facts: tuple[TraceRemark, ...]
    left_out: tuple[TraceRemark, ...]
    next_steps: tuple[NextStep, ...]
    read: tuple[str, ...] = ()
    most: int  # at most so many rows; one more row sums up the rest
    is_by_cost: bool = True  # False: sorted by the number of calls, since no cost is known


def operators_view(trace: Trace, operators: Operators) -> TraceView:
    """Lays out one row for each operator and each way of its calls: by cost, or by count if no cost is known."""
    rows = [_row(way, operators) for way in operators.ways[: operators.most]]
    rest = operators.ways[operators.most :]
    if rest:
        others = says.OthersCostLess if operators.is_by_cost else says.OthersCalledLess
        name = f"… {sum(way.calls for way in rest):,} more"
        rows.append(ScreenRow(name, details=(others(others=len(rest)),), cells=("",) * len(operators.columns)))
    remarks = (*operators.facts, *operators.left_out)
    return TraceView(
        title=title_of(trace),
        traced=trace.traced.name,
        facts=about_this(operators.facts),
        findings=all_in_words(findings(trace, verbose=False)),
        counted=INSTRUCTIONS in operators.columns,
        next_steps=operators.next_steps,
        read=operators.read,
        ending=ending_lines(trace, None),
        view="operators",
        table=in_words(rows),
        columns=tuple(column.heading for column in operators.columns),
        legend=legend(trace, rows),
        left_out=about_this(operators.left_out),
        explained=explained(remarks),
    )


def _row(way: OperatorWay, operators: Operators) -> ScreenRow:
    """Returns the row of one OperatorWay."""
    stepped = f" ({way.stepped} stepped)" if 0 < way.stepped < way.calls else ""
    figures = zip(operators.columns, cells(operators.columns, way), strict=True)
    return ScreenRow(
        name=way.name,
        share=way.cost / operators.whole if way.cost and operators.whole else None,
        instructions=way.instructions or None,
        cells=tuple(f"{cell}{stepped}" if column is INSTRUCTIONS else cell for column, cell in figures),
        details=way.details,
        place=way.place,
        status=way.status,
        hop=way.hop,
        opens=way.opens,
        lines=way.lines,
    )


def kernel_of(call: Hop) -> Hop | None:
    """Returns the last kernel that an operator call reached: the hand-written body if it is known."""
    last: Hop | None = None
    for part in of_call(call):
        if part.kind == "kernel" or (part.kind == "impl" and not part.name.startswith("at::meta::")):
            last = part
    return last


def of_launches(launched: Counts[str]) -> tuple[Detail, ...]:
    """Returns the launch that took longest on the device, and the number of others. Returns () for no launch."""
    if not launched:
        return ()
    longest, _ = max(launched, key=lambda launch: launch[1])
    return (says.Launches(kernel=kernel_name(longest).partition("<")[0], more=len(launched) - 1),)


def way_of(call: Hop | None, kernel: Hop | None) -> tuple[Detail, ...]:
    """Returns the way of a call: its dispatch keys, and the kernel that they led to. Returns () if neither is known."""
    keys = keys_of(call) if call is not None else ()
    way = says.WayOfCall(keys=keys, kernel=bare(kernel.name) if kernel is not None else "")
    return (way,) if way != says.WayOfCall() else ()
