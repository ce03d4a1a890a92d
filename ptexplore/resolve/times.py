"""Lay the times of a run elsewhere over a recorded program: which of its calls each operator of a profiler's trace is.

Both are sequences of outermost operator calls, each with what ran in it. Runs of calls that are alike are looked for,
the longest first at each place. Where several places of the program fit equally well, nothing is claimed.
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

RUN = 4  # calls that must be alike in a row, for a place to be looked at
ALIKE = 8  # places with the same rows in a row that are looked at
SHOWN = 8  # names told of what was not matched
Signature = tuple[str, ...]  # the names of a call and of all that ran in it, in order


@dataclass(frozen=True, slots=True)
class _Unit:
    """An outermost call of the program: the names in it, which of them have a row of their own, and are nodes."""

    names: Signature
    rows: tuple[tuple[int, int], ...]  # the place among the names, and the row
    nodes: frozenset[int]  # places among the names


@dataclass
class _Laid:
    """What was laid over the program so far."""

    time: Counter[int] = field(default_factory=Counter)  # by row
    python: Counter[int] = field(default_factory=Counter)  # by row
    inside: Counter[int] = field(default_factory=Counter)  # by path
    row_of: dict[int, int] = field(default_factory=dict)  # by the sequence number of a call that has one
    unlike: int = 0  # nodes that another call recorded


def with_times(program: Program, trace: TimedTrace) -> Program:
    """The program with the times of another run of it.

    Raises PtexploreError (usage) where nothing of the trace is a call of this program.
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
    told = TimesElsewhere(
        file=trace.name,
        matched=matched,
        unmatched=missed.total(),
        names=tuple(missed.most_common(SHOWN)),
        unlike=laid.unlike,
        device_events=trace.device_events,
    )
    return _timed(program, laid, told)


def _unit(calls: Sequence[tuple[int | None, OperatorKind]]) -> _Unit:
    return _Unit(
        names=tuple(kind.name for _, kind in calls),
        rows=tuple((place, row) for place, (row, _) in enumerate(calls) if row is not None),
        nodes=frozenset(place for place, (_, kind) in enumerate(calls) if kind.type in NODES),
    )


# --- which call each is ---


class _Places:
    """Where in the program runs of calls are. Of places with the same rows in a row, the first few stand for all."""

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
        """Each outermost operator of a thread with the call that it is; None where that is not known."""
        names = [self._signatures.get(tuple(inner.name for inner in outer.walk()), -1) for outer in thread]
        at = 0
        while at < len(thread):
            length, starts = self._longest(names, at)
            for step in range(max(length, 1)):
                alike = {self._units[start + step] for start in starts}
                yield thread[at + step], self.units[alike.pop()] if len(alike) == 1 else None
            at += max(length, 1)

    def _longest(self, names: Sequence[int], at: int) -> tuple[int, list[int]]:
        """How many calls from `at` on are alike a run of the program's, at most, and where such runs begin."""
        runs = self._runs.get(tuple(names[at : at + self._least]), {})
        lengths = {start: self._length(names, at, start) for starts in runs.values() for start in starts}
        most = max(lengths.values(), default=0)
        return most, [start for start, length in lengths.items() if length == most]

    def _length(self, names: Sequence[int], at: int, start: int) -> int:
        most = min(len(names) - at, len(self._named) - start)
        return next((n for n in range(most) if names[at + n] != self._named[start + n]), most)


# --- what follows from it ---


def _lay(program: Program, laid: _Laid, operator: TimedOperator, unit: _Unit) -> None:
    """Count the time of a call, and of the calls in it that Python made."""
    rows = dict(unit.rows)
    around: list[tuple[TimedOperator, int]] = []
    for place, inner in enumerate(operator.walk()):
        while around and around[-1][0].end <= inner.begin:
            around.pop()
        row = rows.get(place)
        if inner.sequence is not None and place not in unit.nodes:
            # A call that records no node has the number of the next one that does.
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
    """A call that Python made inside of another: the time is that of the path that leads from the one to the other."""
    start, path = program.calls[outer].path, program.calls[row].path
    while program.paths[path].parent not in (None, start):
        path = program.paths[path].parent or 0
    if program.paths[path].parent == start:
        laid.python[outer] += time
        laid.inside[path] += time


def _timed(program: Program, laid: _Laid, told: TimesElsewhere) -> Program:
    """The program with these times: of a path those of its operators, and of the paths that go on from it."""
    calls = tuple(
        structs.replace(row, time=laid.time[number], python=laid.python[number])
        for number, row in enumerate(program.calls)
    )
    spans = [0] * len(program.paths)
    for row in calls:
        spans[row.path] += row.time
    for number in range(len(program.paths) - 1, 0, -1):
        if program.paths[number].kind != "thread":  # it ran beside the others
            spans[program.paths[number].parent or 0] += spans[number] - laid.inside[number]
    paths = tuple(
        structs.replace(path, time=spans[number], inside=laid.inside[number])
        for number, path in enumerate(program.paths)
    )
    return structs.replace(program, paths=paths, calls=calls, wall=spans[0], overhead=0, folding=0, elsewhere=told)
