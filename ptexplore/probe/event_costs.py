"""What one event costs: the part of the profile function that it cannot measure itself, and an event of the profiler.

Python makes a dict of the local variables of the running function before each event (until Python 3.12), so an event
costs more in a function with many variables.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType

from . import torch_api as api
from .taken import sys, time

ROUNDS, CALLS = 5, 100  # the middle one of so many rounds counts
# What the profiler adds to an operator call, as a share of what it adds to a marker: 1.1 to 1.4 in torch 2.13, for
# operators with one and two inputs, and for `item`.
OPERATOR = 1.25
LOCALS = 20  # local variables of `_with_locals`


class EventCosts:
    """Nanoseconds of processor time. `clock`: what a measured time has too much, because the clock was read.

    `frame`: an event that nobody asks about, in a function without variables: its call or its end. `builtin`: the same
    for a builtin. `local`: what a variable adds. `operator`: what torch's profiler adds to an operator call.
    """

    __slots__ = ("_mark", "_marked", "builtin", "clock", "frame", "local", "operator")

    def __init__(self) -> None:
        self.clock, self.frame, self.builtin, self.local, self.operator = 0, 0.0, 0.0, 0.0, 0.0
        mark = api.marker("cost")
        self._mark = mark.__enter__, mark.__exit__
        self._marked = 0

    def measure(self, function: Callable[[FrameType, str, object], object]) -> None:
        """Measure the events of a profile function."""
        before = sys.getprofile()
        sys.setprofile(None)
        with suppress(RecursionError):  # the program may have little room on its stack
            self.clock = _middle([-(time.thread_time_ns() - time.thread_time_ns()) for _ in range(CALLS)])
            self._marked = _took(self._opened)
            bare = [_took(each) for each in (_without_locals, _with_locals, [].clear)]
            sys.setprofile(function)
            try:
                took = [_took(each) for each in (_without_locals, _with_locals, [].clear)]
            finally:
                sys.setprofile(before)
            # Each call has two events.
            few, many, self.builtin = (max(t - b, 0) / (2 * CALLS) for t, b in zip(took, bare, strict=True))
            self.frame, self.local = few, max(many - few, 0) / LOCALS

    def measure_profiler(self) -> None:
        """Measure an event of torch's profiler, which has begun. No operator is called for that."""
        with suppress(RecursionError):
            self.operator = OPERATOR * max(_took(self._opened) - self._marked, 0) / CALLS

    def _opened(self) -> None:
        """Open and close a marker that has no path."""
        self._mark[0]()
        self._mark[1](None, None, None)

    def of(self, code: CodeType, event: str) -> int:
        """Return what an event in this function costs, apart from the work of the profile function."""
        base = self.builtin if event.startswith("c_") else self.frame
        return int(base + self.local * (code.co_nlocals + len(code.co_cellvars) + len(code.co_freevars)))


def _took(function: Callable[[], object]) -> int:
    """Return the time of CALLS calls."""
    times = []
    for _ in range(ROUNDS):
        began = time.thread_time_ns()
        for _ in range(CALLS):
            function()
        times.append(time.thread_time_ns() - began)
    return _middle(times)


def _middle(times: list[int]) -> int:
    return sorted(times)[len(times) // 2]


def _without_locals() -> None:
    return


def _with_locals() -> None:
    a = b = c = d = e = f = g = h = i = j = k = l = m = n = o = p = q = r = s = t = None  # noqa: E741, F841
