"""Slices of a recording: where no operator is open the profiler is stopped, folded, and started anew.

What is kept of a slice is the fold of it. While the profiler is off the process may fork, so that a call is stepped.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import events, unpatched
from . import torch_api as api
from .cuts import CutList
from .fold import Fold
from .held_signals import HeldSignals
from .paths import Paths
from .profiler import Profiler
from .reasons import reason
from .run_times import RunTimes
from .safety import Safety
from .stacks import Slot
from .taken import sys, threading, time
from .threads import Threads

if TYPE_CHECKING:
    from types import FrameType

    from .stepping import Stepping

FIRST_SLICE = 64  # where calls are stepped: what was folded tells which; twice as long where nothing new came
EAGER = 8  # builtins at first, after each of which what ran is folded: a short program is over before a slice is
SLICE = 2_000  # markers after which the profiler is started anew
AGAIN_DEEPER = 0.125  # calls more, of `Safety.wait`, for each function on the stack, through which any look goes
COLD = 16  # calls of a function of torch's without an operator of its own, after which it gets no marker any more:
# once they were folded, which tells that there was none
# Nanoseconds until all is kept again, at least, and times what that took: they say when it is written, never what is.
KEEP_AGAIN, KEEP_COST = 200_000_000, 100
OTHERS_WENT_ON = reason("other-threads-went-on")
_get_ident = _thread.get_ident


class Slices:
    """Folds slice after slice. `stepping`: who steps calls between them, None where nobody does.

    `turn` is held by the thread that stops or starts torch's profiler: one that starts the program's own waits for it.
    `forks`: it is we who fork now. `keeps` is called now and then, so that what was recorded is kept if the program is
    killed.
    """

    __slots__ = (
        "_cuts", "_fold", "_keep_next", "_not_before", "_paths", "_size", "_threads", "_times", "forks",
        "keeps", "profiler", "safety", "stepping", "turn",
    )  # fmt: skip

    def __init__(
        self, paths: Paths, threads: Threads, safety: Safety, profiler: Profiler, fold: Fold, cuts: CutList,
        times: RunTimes,
    ) -> None:  # fmt: skip
        self._paths, self.profiler, self._threads, self._fold = paths, profiler, threads, fold
        self._cuts, self._times = cuts, times
        self.safety = safety
        self.stepping: Stepping | None = None
        self.turn = threading.RLock()
        self.forks = False
        self.keeps: Callable[[], None] | None = None
        self._keep_next = 0
        self._not_before = 0  # at which call of the profile function it may be tried next to stop the profiler
        self._size = profiler.left = SLICE

    def step(self, stepping: Stepping) -> None:
        """Calls are stepped between slices, which are short at first."""
        self.stepping = stepping
        self.profiler.left = self._size = FIRST_SLICE

    def come_closer(self, met: int) -> None:
        """A builtin was met for the first time, `met` by now: what it calls should be folded soon."""
        self.profiler.left = min(self.profiler.left, 1 << max(met - EAGER, 0), FIRST_SLICE)

    # --- when ---

    def if_safe(self, *, counted: bool = True) -> None:
        """Fold what the profiler has, if no builtin is at work in any thread.

        `counted`: calls of the profile function led here, and no clock.
        """
        profiler = self.profiler
        if profiler.profile is None or (counted and self._times.calls < self._not_before):
            return
        if not self.safety.is_safe():
            if counted:
                self._not_before = self._times.calls + self.safety.wait + int(AGAIN_DEEPER * _depth(sys._getframe(1)))
                if profiler.left < -50 * SLICE:
                    self._cuts.add(reason("profiler-not-stopped"))
            if profiler.is_to_stop and _get_ident() == self._threads.main:
                profiler.record_no_more()
            return
        self.slice(counted=counted)

    def device_begins(self) -> None:
        """The program has begun to use a device: the next profile tells what is launched on it."""
        device, profiler = api.launching_device(), self.profiler
        if profiler.profile is not None and profiler.profile.use_device is None and device is not None:
            profiler.left, profiler.device = 0, device
            if not self.safety.is_safe():
                self._cuts.add(events.BEGAN_LATE)
            self.if_safe()

    # --- one slice ---

    def slice(self, meanwhile: Callable[[], None] | None = None, *, counted: bool = True) -> None:
        """Fold what the profiler has, and start it anew; `meanwhile` is called while it is off, and may fork."""
        with unpatched.ours(), self.turn:
            self._sliced(meanwhile, counted=counted)

    def _sliced(self, meanwhile: Callable[[], None] | None, *, counted: bool) -> None:
        """What is not `counted`, as a clock led here, decides nothing: the next slice finds all as it would without."""
        times = self._times
        began, calls = time.perf_counter_ns(), times.calls
        waited = times.waited
        others_run = self.safety.others_run()
        held = HeldSignals()
        try:
            held.hold()
            were_open = self._threads.close_all()
            try:
                self.fold_profile(counted=counted)
                if self.keeps is not None and time.perf_counter_ns() > self._keep_next:
                    self._keep(self.keeps)
                if meanwhile is not None:
                    self.forks = True
                    if self.stepping is not None:
                        self.stepping.came = held.came
                    meanwhile()
            finally:
                self.forks = False
                if self.stepping is None or not self.stepping.in_child:
                    self._start_again(were_open, counted=counted)
        finally:
            if self.stepping is None or not self.stepping.in_child:
                held.release()
        if others_run or times.calls != calls:
            self._cuts.add(OTHERS_WENT_ON)
        times.slicing += time.perf_counter_ns() - began - (times.waited - waited)

    def fold_profile(self, *, counted: bool = True) -> None:
        """End the profile and fold what it saw; only what is `counted` decides anything."""
        try:
            profile = self.profiler.end()
            self._fold.take(profile, self.profiler.marked, self._paths.root, self._paths.workers)
            if counted:
                self._decide()
        except BaseException as error:  # memory ran out, as under a limit
            self._cuts.failed(error)
            if not isinstance(error, Exception):
                raise

    def _decide(self) -> None:
        """Of what is folded by now: which paths get no marker any more, and what is stepped next."""
        for path in self._paths.by_number:
            path.cold = not path.hot and path.seen >= COLD
        if self.stepping is not None:
            self.stepping.folded()

    def _keep(self, keeps: Callable[[], None]) -> None:
        """Keep what was folded, so seldom that it costs little."""
        began = time.perf_counter_ns()
        keeps()
        took = time.perf_counter_ns() - began
        self._keep_next = began + max(KEEP_AGAIN, KEEP_COST * took)

    def _start_again(self, were_open: list[Slot | Any], *, counted: bool) -> None:
        profiler = self.profiler
        left = profiler.left
        profiler.begin()
        self._threads.tell_fold()
        for opened in were_open:
            if isinstance(opened, Slot):
                profiler.open(opened)
                opened.path.seen -= not counted
            else:
                api.RANGE.__enter__(opened)
        if not counted:
            profiler.left = left
            return
        closely = self.stepping is not None and self.stepping.looks_closely
        self._size = FIRST_SLICE if closely else min(2 * self._size, SLICE)
        profiler.left = max(self._size, len(were_open))  # what is opened once more is no reason to start anew at once

    # --- beside the program's own profiler ---

    def suspend(self) -> None:
        """The program starts torch's profiler itself, and there can be but one: what runs in it is not told."""
        if self.profiler.profile is not None:
            self._cuts.add(reason("profiles-itself"))
            self._threads.close_all()
            self.fold_profile()
            self.profiler.profile = None

    def resume(self) -> None:
        """The program's own profiler has ended: the recorder's goes on, if that is not so already."""
        if self.profiler.profile is not None:
            return
        self.profiler.begin()
        self._threads.tell_fold()
        self._threads.open_all()

    def give_up(self) -> None:
        """End what torch's profiler has begun, if it was not ended as it should be: that is lost."""
        for profile in self.profiler.given_up():
            if api.is_profiling():
                with suppress(Exception):  # a marker is closed before the profiler that it began under ends
                    self._threads.close_all()
                with suppress(RuntimeError, AssertionError), api.quiet_profiler():
                    profile.__exit__(None, None, None)


def _depth(frame: FrameType | None) -> int:
    """How many functions a thread is in."""
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
