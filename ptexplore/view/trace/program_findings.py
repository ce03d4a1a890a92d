"""Findings about a recorded program, below its rows: costs that you may not expect, each with your line.

Reads of values and copies by line, loading of data, and the time outside of operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ptexplore.facts import layouts
from ptexplore.facts.recorded_python import slower_python
from ptexplore.facts.value_reads import LISTS, READS
from ptexplore.model import trace_remarks as beside
from ptexplore.model.details import CalledFrom
from ptexplore.model.nesting import outermost, without
from ptexplore.model.program import CallPath, OperatorCalls, Program
from ptexplore.model.run import Part, Run, Weighed, total
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.amounts import seconds, size
from ptexplore.view.trace.columns import AT_MOST, Column, cells
from ptexplore.view.trace.memory_layouts import bytes_of
from ptexplore.view.trace.page import ScreenRow
from ptexplore.view.trace.part_rows import APART
from ptexplore.view.trace.program_parts import operator_name, place_on_path, time_without_python, users_place
from ptexplore.view.words.trace_remarks import worded

LEAST = 0.01  # the least share of the run of a shown finding.
MOST = 8  # findings
# The error of what torch's profiler adds to an operator call, as a share of it: many inputs take longer.
ERROR_SHARE = 0.35
KNOWN = 0.2  # largest error of a known time, as a share of it.
# Kinds of parts whose time has a finding of its own, or is not in the time of the run.
_APART = (*APART, "data", "compiling")
ENOUGH = 1_000  # operator calls: with fewer of them, the time of a first use is most of the mean


@dataclass(frozen=True, slots=True)
class ProgramFinding:
    """A finding with its time and calls, and the place in your code that led to it."""

    told: TraceRemark
    weighed: Weighed
    place: str | None = None
    profiled: int = 0  # how many recorded calls are in it, to each of which torch's profiler added time
    is_bound: bool = False  # its time may be shorter, by a part that is not known


def findings_of(program: Program, python: str, run: Run, columns: tuple[Column, ...]) -> tuple[ScreenRow, ...]:
    """Returns a heading and a row for each finding, the costliest first; () if there is none.

    `python` is the version that ran the program.

    If the time of the run is only a bound, no share is known, and so no finding.
    """
    if run.whole.at_most:
        return ()
    events = _events_of(program)
    recorded = sum(row.calls * events[program.routes[row.route].kind] for row in program.calls)
    whole = max(run.whole.cost - program.profiling * recorded, 1)
    known = [*_by_line(program, events), *_loading(run.whole), *_outside(program, run.whole, python)]
    timed = [(each, program.profiling * each.profiled) for each in known]
    shown = sorted(
        ((each, added) for each, added in timed if each.weighed.cost - (1 + ERROR_SHARE) * added >= LEAST * whole),
        key=lambda shown: shown[1] - shown[0].weighed.cost,
    )[:MOST]
    rows = (_row(each, added, whole, columns) for each, added in shown)
    return (ScreenRow(worded(beside.FindingsFollow()), heading=True), *rows) if shown else ()


def _row(finding: ProgramFinding, added: int, whole: int, columns: tuple[Column, ...]) -> ScreenRow:
    """Returns the row of a finding. `added`: what torch's profiler added to its time. `whole`: the run without that.

    If the time is not known without the profiler's part, it is a bound, and has no share.
    """
    cost = finding.weighed.cost - added
    is_known = ERROR_SHARE * added <= KNOWN * cost and not finding.is_bound
    weighed = replace(finding.weighed, cost=cost if is_known else int(cost + ERROR_SHARE * added))
    texts = cells(columns, weighed, *(() if weighed.calls else ("calls",)))
    if not is_known:
        texts = tuple(
            AT_MOST + text if column.weight == "cost" else text for column, text in zip(columns, texts, strict=True)
        )
    return ScreenRow(
        name=worded(finding.told),
        level=1,
        share=min(cost / whole, 1.0) if is_known else None,
        cells=texts,
        details=(CalledFrom(places=(finding.place,)),) if finding.place is not None else (),
    )


def _events_of(program: Program) -> list[int]:
    """Returns for each kind how many recorded calls it consists of: the call itself, and all calls inside it."""
    counts: list[int] = []
    for kind in program.kinds:
        # The kinds inside come before it.
        counts.append(1 + sum(counts[inner] for inner, _ in kind.inside if 0 <= inner < len(counts)))
    return counts


def _by_line(program: Program, events: list[int]) -> Iterator[ProgramFinding]:
    """Yields the reads of values and the copies, each summed for a line and an operator."""
    held: dict[tuple[str | None, str, bool], list[tuple[Weighed, int, int]]] = {}
    for calls in program.calls:
        event = read_or_copy(program, calls)
        if event is not None:
            key = users_place(program, calls), event.name, event.is_copy
            weighed = Weighed(calls=calls.calls, cost=time_without_python(calls))
            profiled = calls.calls * events[program.routes[calls.route].kind]
            held.setdefault(key, []).append((weighed, event.copied, profiled))
    for number, path in enumerate(program.paths):
        if path.kind == "builtin" and path.method == LISTS:
            key = place_on_path(program, number), LISTS, False
            held.setdefault(key, []).append((Weighed(calls=path.calls, cost=_time_of(path)), 0, 0))
    for (place, name, is_copy), each in held.items():
        amount = size(sum(copied for _, copied, _ in each))
        told = beside.CopiesBy(call=name, size=amount) if is_copy else beside.ReadsValue(call=name)
        profiled = sum(count for _, _, count in each)
        yield ProgramFinding(told, total(weighed for weighed, _, _ in each), place, profiled)


class ReadOrCopy(NamedTuple):
    """Calls that give values to Python, or that only copy; `copied` is in bytes."""

    name: str
    is_copy: bool
    copied: int


def read_or_copy(program: Program, calls: OperatorCalls) -> ReadOrCopy | None:
    """Returns how calls read values or copy. None: neither."""
    route = program.routes[calls.route]
    kind = program.kinds[route.kind]
    is_copy = bool(calls.copies) and kind.name in (layouts.COPY, *layouts.COPIES)
    if not (is_copy or kind.name in READS) or program.paths[calls.path].method == LISTS:
        return None
    # A method is not the reader of a value: add_ calls item for a number that is a tensor.
    method = route.method if is_copy else None
    return ReadOrCopy(method or operator_name(kind), is_copy, _bytes(calls))


def _time_of(path: CallPath) -> int:
    return max(path.time - path.recording, 0)


def _bytes(calls: OperatorCalls) -> int:
    """Returns the bytes that calls copied, without dtypes whose size is not known."""
    return sum((bytes_of(copy.result.dtype, copy.result.sizes) or 0) * copy.calls for copy in calls.copies)


def _loading(whole: Part) -> Iterator[ProgramFinding]:
    """Yields the time in which the program waited for data loaders, or loaded data itself."""
    loaders = [part for part in outermost([whole], lambda part: part.kind in ("data", "thread")) if part.kind == "data"]
    if loaders:
        yield ProgramFinding(beside.DataLoading(), total(loaders))


def _outside(program: Program, whole: Part, python: str) -> Iterator[ProgramFinding]:
    """Yields the time outside of operators, data loaders and the compiler: Python, for the most part.

    Recording is subtracted by an estimate. A time that is shorter than recording took is left out. If Python runs
    slower while it is recorded, the time is a bound.
    """
    if program.elsewhere is not None:
        return
    outside = time_outside(whole)
    if outside.operators >= ENOUGH and outside.cost > program.overhead - program.folding:
        each = max(outside.cost // outside.operators - program.profiling, 0)
        is_bound = slower_python(python) is not None
        told = beside.OutsideOperators(each=seconds(each), at_most=is_bound)
        yield ProgramFinding(told, outside, profiled=outside.operators, is_bound=is_bound)


def time_outside(whole: Part) -> Weighed:
    """Returns the time of a run outside of operators, data loaders and the compiler, and the number of operators."""
    held = list(without([whole], lambda part: part.kind in _APART))
    apart = outermost([whole], lambda part: part.kind in _APART)
    other = sum(part.cost for part in apart if part.kind not in APART)
    own = total(own for part in held for own in part.own)
    return Weighed(cost=whole.cost - other - own.cost, operators=own.operators)
