"""How long recording takes for one event, by kind: so its time is subtracted from the program's by exact counts.

Two costs are measured. Before and after the program, and at some moments in between, loops that call builtins and
functions run with and without the profile function. This gives the cost of events that are skipped, and the cost around
the profile function. Python runs slower between two events, too, and that is part of these costs. While the program
runs, one call in so many of the profile function is timed, which gives the mean for each kind of event.

How many events a path had is counted, and not estimated.
"""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

from . import event_filter
from .paths import Path
from .skipped_events import BUILTINS, FRAMES
from .taken import time

ROUNDS, TRIES = 40, 5  # calls in each loop; runs of each loop, of which the median counts
MOMENTS = 200  # maximum number of measurements
# The error of a cost that loops gave, as its share: the program has other lines than the loops.
EXACT = 0.35
BY_SAMPLES = 2.0  # the error of a mean, in standard errors
KINDS = 4  # of handled events: a function or a builtin, without or with a marker


@dataclass
class Samples:
    """Timed events of one kind: how many, for how many events they count, and their nanoseconds with their squares."""

    number: int = 0
    events: int = 0
    time: int = 0
    squares: int = 0

    def add(self, took: int, events: int) -> None:
        """Add an event which took so many nanoseconds, and counts for so many events."""
        self.number += 1
        self.events += events
        self.time += took * events
        self.squares += took * took * events

    def mean(self) -> tuple[float, float]:
        """Return the mean in nanoseconds, and its error."""
        if not self.events:
            return 0.0, 0.0
        mean = self.time / self.events
        variance = max(self.squares / self.events - mean * mean, 0.0)
        return mean, BY_SAMPLES * sqrt(variance / self.number)


class EventCosts:
    """The costs of events in nanoseconds. `samples`: timed calls of the profile function, by kind of event.

    `clock`: what reading the clock takes.
    """

    __slots__ = ("_moments", "clock", "samples")

    def __init__(self) -> None:
        self._moments: list[tuple[float, ...]] = []
        self.clock = 0
        self.samples = [Samples() for _ in range(KINDS)]

    def measure(self, with_filter: Callable[[], None], without: Callable[[], None]) -> None:
        """Measure what a skipped event costs now. Both functions set the profile function: with a filter, and without.

        Afterwards no profile function is set. The processor is slower at some times than at others, so the costs are
        measured at several moments of a run.
        """
        if len(self._moments) >= MOMENTS:
            return
        self.clock = self.clock or min(-time.thread_time_ns() + time.thread_time_ns() for _ in range(30))
        plain, skipped, handled = (tuple(_usual(loop, on) for loop in LOOPS) for on in (None, with_filter, without))
        took = (*map(operator.sub, skipped, plain), *map(operator.sub, handled, plain))
        self._moments.append(tuple(max(each, 0) / (2 * ROUNDS) for each in took))

    @property
    def skipped(self) -> tuple[float, float]:
        """The mean cost of an event that is skipped: of a builtin, and of a function."""
        return self._mean(0), self._mean(1)

    @property
    def around(self) -> tuple[float, float]:
        """The mean cost of an event outside of the profile function: of a builtin, and of a function."""
        return self._mean(2), self._mean(3)

    def _mean(self, which: int) -> float:
        return statistics.median([moment[which] for moment in self._moments]) if self._moments else 0.0

    def taken(self, paths: Sequence[Path], slowness: float) -> list[tuple[int, int]]:
        """Return for each path the time of recording in it, without the paths that follow, and the error of that time.

        Costs are processor time. `slowness`: how much longer the clock ran, because other programs had the processor.
        It is a mean over the run, so the error is as large as what it adds.

        A path that is entered begins late in the profile function, and a path that is left ends early. So the time of
        both events belongs to the path around them.
        """
        by_number = [float(path.recording) for path in paths]
        errors = [0.0] * len(paths)
        means = [samples.mean() for samples in self.samples]
        of_skipped, of_around = self.skipped, self.around
        for path in paths:
            skipped = path.skipped[BUILTINS] * of_skipped[BUILTINS] + path.skipped[FRAMES] * of_skipped[FRAMES]
            by_number[path.index] += skipped
            errors[path.index] += EXACT * skipped
            if path.parent is None or path.label.kind in ("thread", "imports"):
                continue
            is_builtin = path.label.kind == "builtin"
            marked = min(path.seen, path.calls)
            around = 2 * path.calls * of_around[BUILTINS if is_builtin else FRAMES]
            by_number[path.parent.index] += around
            errors[path.parent.index] += EXACT * around
            for count, (mean, error) in ((marked, means[kind_of(path, cold=False)]),
                                         (path.calls - marked, means[kind_of(path, cold=True)])):  # fmt: skip
                by_number[path.parent.index] += 2 * count * mean
                errors[path.parent.index] += 2 * count * error
        return [
            (round(min(taken * slowness, most)), round(error * slowness + taken * (slowness - 1)))
            for taken, error, most in zip(by_number, errors, _own_times(paths), strict=True)
        ]


def _own_times(paths: Sequence[Path]) -> list[float]:
    """Return for each path the time without the paths that follow; no limit for a path whose time is not known."""
    own = [path.time for path in paths]
    for path in paths:
        if path.parent is not None and path.label.kind != "thread":
            own[path.parent.index] -= path.time
    return [time if time > 0 else inf for time in own]


def kind_of(path: Path, *, cold: bool) -> int:
    """Return the kind of the events that enter and leave a path, which has a marker unless it is cold."""
    return 2 * (path.label.kind == "builtin") + (not cold)


def _usual(loop: Callable[[], object], on: Callable[[], None] | None) -> float:
    """Return the nanoseconds that a loop usually takes, with the profile function on or off."""
    took = []
    for _ in range(TRIES):
        began = time.thread_time_ns()  # not the time of other threads and programs
        if on is not None:
            on()
        loop()
        if on is not None:
            event_filter.set_none()
        took.append(time.thread_time_ns() - began)
    return statistics.median(took)


def _calls_builtins(words: Sequence[str] = ("ab", "cde") * (ROUNDS // 2)) -> list[int]:
    """Call a builtin in each round, between lines as programs have them."""
    chosen, number = [0], 0
    for word in words:
        if word.startswith("x") or number < 0:
            chosen = [number]
        number = number + 1
    return chosen


def _calls_functions(words: Sequence[str] = ("ab", "cde") * (ROUNDS // 2)) -> list[int]:
    """Call a function in each round."""
    chosen, number = [0], 0
    for word in words:
        if _is_wanted(word, number):
            chosen = [number]
        number = number + 1
    return chosen


def _is_wanted(word: str, number: int) -> Any:
    if number < 0:
        return word == "x"
    return word is None


LOOPS = (_calls_builtins, _calls_functions)  # in the order of BUILTINS and FRAMES
