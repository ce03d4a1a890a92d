"""What one event of the profile function costs: the part that the function itself cannot measure.

Python makes a dict of the local variables of the running function before each event (until Python 3.12), so an event
costs more in a function with many variables.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType

from .taken import sys, time

ROUNDS, CALLS = 5, 100  # the cheapest of so many rounds counts: the others were interrupted
LOCALS = 20  # local variables of `_with_locals`


class EventCosts:
    """Nanoseconds of processor time. `clock`: what a measured time has too much, because the clock was read.

    `event`: an event that nobody asks about, in a function without variables. `local`: what a variable adds.
    """

    __slots__ = ("clock", "event", "local")

    def __init__(self) -> None:
        self.clock, self.event, self.local = 0, 0.0, 0.0

    def measure(self, function: Callable[[FrameType, str, object], object]) -> None:
        """Measure the events of a profile function."""
        before = sys.getprofile()
        sys.setprofile(None)
        with suppress(RecursionError):  # the program may have little room on its stack
            self.clock = min(-(time.thread_time_ns() - time.thread_time_ns()) for _ in range(ROUNDS * CALLS))
            bare, bare_locals = _took(_without_locals), _took(_with_locals)
            sys.setprofile(function)
            try:
                few, many = _took(_without_locals), _took(_with_locals)
            finally:
                sys.setprofile(before)
            self.event = max(few - bare, 0) / (2 * CALLS)  # a call and a return
            self.local = max((many - bare_locals) / (2 * CALLS) - self.event, 0) / LOCALS

    def of(self, code: CodeType) -> int:
        """Return what an event in this function costs apart from the work of the profile function."""
        return int(self.event + self.local * (code.co_nlocals + len(code.co_cellvars) + len(code.co_freevars)))


def _took(function: Callable[[], object]) -> int:
    """Return the time of CALLS calls."""
    times = []
    for _ in range(ROUNDS):
        began = time.thread_time_ns()
        for _ in range(CALLS):
            function()
        times.append(time.thread_time_ns() - began)
    return min(times)


def _without_locals() -> None:
    return


def _with_locals() -> None:
    a = b = c = d = e = f = g = h = i = j = k = l = m = n = o = p = q = r = s = t = None  # noqa: E741, F841
