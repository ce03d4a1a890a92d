"""Transfers the times of another run to a recorded program: it matches the operators of a profiler's trace to calls.

Both runs are sequences of outermost operator calls with their inner calls. The matching looks for equal sequences of
calls, the longest one at each position. If several places of the program match equally well, nothing is matched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from ptexplore.capture.chrome_trace import TimedOperator, TimedTrace
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.program import NODES, OperatorKind, Program, TimesElsewhere
from ptexplore.model.program_order import units

RUN = 4  # a place is a candidate if this many calls in a row are equal
ALIKE = 8  # limit on places with the same rows in a row
SHOWN = 8  # limit on the unmatched names that are kept
Signature = tuple[str, ...]  # the names of a call and of all calls inside it, in order


@dataclass(frozen=True, slots=True)
class _Unit:
    """An outermost call of the program: its names, and which of them have a row or are nodes."""

    names: Signature
    rows: tuple[tuple[int, int], ...]  # position among the names, and row
    nodes: frozenset[int]  # positions among the names


@dataclass
class _Laid:
    """The times that were transferred so far."""

    time: Counter[int] = field(default_factory=Counter)  # by row
    python: Counter[int] = field(default_factory=Counter)  # by row
    inside: Counter[int] = field(default_factory=Counter)  # by path
    row_of: dict[int, int] = field(default_factory=dict)  # by sequence number
    unlike: int = 0  # nodes that were recorded by another call


def with_times(program: Program, trace: TimedTrace) -> Program:
    """Returns the program with the times of another run.

    Raises PtexploreError (usage) if no operator of the trace is a call of this program.
    """
    try:
        places = _Places(map(_unit, units(program)))
    except ValueError as error:
        raise PtexploreError("no times can be laid over this trace", str(error), "record it again", USAGE) from error
    laid, missed = _Laid(), Counter[str]()
    matched = 0
    for thread in trace.threads:
        for operator, unit in places.matched(thread):
            if unit is None:
                missed[operator.name] += 1
            else:
                matched += 1
                _lay(program, laid, operator, unit)
    if not matched:
        why = f"none of its {missed.total():,} operator calls is one of this program"
        raise PtexploreError(f"{trace.name} is of another program", why, "a trace of the same script", USAGE)
    elsewhere = TimesElsewhere(
        file=trace.name,
        matched=matched,
        unmatched=missed.total(),
        names=tuple(missed.most_common(SHOWN)),
        unlike=laid.unlike,
        device_events=trace.device_events,
    )
    return _timed(program, laid, elsewhere)


def _unit(calls: Sequence[tuple[int | None, OperatorKind]]) -> _Unit:
    return _Unit(
        names=tuple(kind.name for _, kind in calls),
        rows=tuple((place, row) for place, (row, _) in enumerate(calls) if row is not None),
        nodes=frozenset(place for place, (_, kind) in enumerate(calls) if kind.type in NODES),
    )


# --- matching ---


class _Places:
    """The places of equal sequences of calls in the program. Of equal places, only the first few are kept.

    Places are equal if they also have the same rows.
    """

    def __init__(self, own: Iterable[_Unit]) -> None:
        self._signatures: dict[Signature, int] = {}
        numbers: dict[_Unit, int] = {}
        self._units = [numbers.setdefault(unit, len(numbers)) for unit in own]
        self.units = list(numbers)
        names = [self._signatures.setdefault(unit.names, len(self._signatures)) for unit in self.units]
        self._named = [names[number] for number in self._units]
        self._least = min(RUN, len(self._units))
        self._runs: dict[tuple[int, ...], dict[tuple[int, ...], list[int]]] = {}
        for start in range(len(self._units) - self._least + 1):
            end = start + self._least
            of_run = self._runs.setdefault(tuple(self._named[start:end]), {})
            starts = of_run.setdefault(tuple(self._units[start:end]), [])
            if len(starts) < ALIKE:
                starts.append(start)

    def matched(self, thread: Sequence[TimedOperator]) -> Iterator[tuple[TimedOperator, _Unit | None]]:
        """Yields each outermost operator of a thread with its call in the program; None if it is not known."""
        names = [self._signatures.get(tuple(inner.name for inner in outer.walk()), -1) for outer in thread]
        at = 0
        while at < len(thread):
            length, starts = self._longest(names, at)
            for step in range(max(length, 1)):
                alike = {self._units[start + step] for start in starts}
                yield thread[at + step], self.units[alike.pop()] if len(alike) == 1 else None
            at += max(length, 1)

    def _longest(self, names: Sequence[int], at: int) -> tuple[int, list[int]]:
        """Returns the length of the longest equal sequence of calls from `at` on, and the places where it begins."""
        runs = self._runs.get(tuple(names[at : at + self._least]), {})
        lengths = {start: self._length(names, at, start) for starts in runs.values() for start in starts}
        most = max(lengths.values(), default=0)
        return most, [start for start, length in lengths.items() if length == most]

    def _length(self, names: Sequence[int], at: int, start: int) -> int:
        most = min(len(names) - at, len(self._named) - start)
        return next((n for n in range(most) if names[at + n] != self._named[start + n]), most)


# --- transfer ---


def _lay(program: Program, laid: _Laid, operator: TimedOperator, unit: _Unit) -> None:
    """Add the time of a call, and of the calls that Python made inside it."""
    rows = dict(unit.rows)
    around: list[tuple[TimedOperator, int]] = []
    for place, inner in enumerate(operator.walk()):
        while around and around[-1][0].end <= inner.begin:
            around.pop()
        row = rows.get(place)
        if inner.sequence is not None and place not in unit.nodes:
            # A call that records no node has the sequence number of the next call that does.
            laid.row_of[inner.sequence] = around[-1][1] if row is None else row
        if row is None:
            continue
        laid.time[row] += inner.time
        if around:
            _ran_python(program, laid, around[-1][1], row, inner.time)
        around.append((inner, row))
        if inner.sequence is not None and place in unit.nodes:
            recorded, seen = program.calls[row].recorded, laid.row_of.get(inner.sequence)
            laid.unlike += None not in (recorded, seen) and recorded != seen


def _ran_python(program: Program, laid: _Laid, outer: int, row: int, time: int) -> None:
    """Add the time of a call that Python made inside another call to the path between the two calls."""
    start, path = program.calls[outer].path, program.calls[row].path
    while program.paths[path].parent not in (None, start):
        path = program.paths[path].parent or 0
    if program.paths[path].parent == start:
        laid.python[outer] += time
        laid.inside[path] += time


def _timed(program: Program, laid: _Laid, elsewhere: TimesElsewhere) -> Program:
    """Returns the program with these times. The time of a path is that of its operators and of the paths after it."""
    calls = tuple(
        structs.replace(row, time=laid.time[number], python=laid.python[number])
        for number, row in enumerate(program.calls)
    )
    spans = [0] * len(program.paths)
    for row in calls:
        spans[row.path] += row.time
    for number in range(len(program.paths) - 1, 0, -1):
        if program.paths[number].kind != "thread":  # it ran in parallel
            spans[program.paths[number].parent or 0] += spans[number] - laid.inside[number]
    paths = tuple(
        structs.replace(path, time=spans[number], inside=laid.inside[number], recording=0, error=0)
        for number, path in enumerate(program.paths)
    )
    return structs.replace(program, paths=paths, calls=calls, wall=spans[0], overhead=0, folding=0, elsewhere=elsewhere)
