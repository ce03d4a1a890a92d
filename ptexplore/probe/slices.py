"""Slices of a recording: whenever no operator is open, the profiler is stopped, folded, and started again.

Only the fold of a slice is kept. While the profiler is off, the process may fork, so that the fork steps a call.
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
from .slice_cut import Place, SliceCut, place_of
from .stacks import Slot
from .taken import sys, threading, time
from .threads import Threads

if TYPE_CHECKING:
    from types import FrameType

    from .stepping import Stepping

FIRST_SLICE = 64  # markers of the first slice if calls are stepped; the size doubles when nothing new came
EAGER = 8  # the first builtins: the recording is folded after each, since a short program may end before a slice does
SLICE = 2_000  # markers after which the profiler is restarted
AGAIN_DEEPER = 0.125  # calls added to `Safety.wait` for each function on the stack, because each check walks the stack
COLD = 16  # after so many calls without an operator of its own, a function of torch gets no marker any longer:
# only folded calls count, since folding shows that they had no operator
# Minimum nanoseconds until the recording is kept again, and a factor of the time that keeping took. These numbers
# decide when the recording is written, never its content.
KEEP_AGAIN, KEEP_COST = 200_000_000, 100
OTHERS_WENT_ON = reason("other-threads-went-on")
_get_ident = _thread.get_ident


class Slices:
    """Folds slice after slice. `stepping`: the object that steps calls between slices, or None.

    `turn` is a lock for stopping or starting torch's profiler: a thread that starts the program's own profiler waits
    for it. `forks`: ptexplore itself is forking now. `keeps` is called now and then, so that the recording is kept if
    the program is killed.
    """

    __slots__ = (
        "_began_at", "_cuts", "_fold", "_keep_next", "_not_before", "_paths", "_size", "_threads", "_times", "forks",
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
        self._began_at: Place | None = None  # where the main thread was when this profile began, if it is known
        self._not_before = 0  # the call of the profile function from which the next try may happen
        self._size = profiler.left = SLICE

    def step(self, stepping: Stepping) -> None:
        """Step calls between slices, which are short at first."""
        self.stepping = stepping
        self.profiler.left = self._size = FIRST_SLICE

    def come_closer(self, met: int) -> None:
        """Fold soon: a builtin was called for the first time. `met`: how many different builtins were called so far."""
        self.profiler.left = min(self.profiler.left, 1 << max(met - EAGER, 0), FIRST_SLICE)

    # --- when to fold ---

    def if_safe(self, *, counted: bool = True) -> None:
        """Fold the profile, if no builtin is running in any thread.

        `counted`: this was reached by counting calls of the profile function, not by a clock.
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
        """Note that the program has begun to use a device: the next profile records the launches on it."""
        device, profiler = api.launching_device(), self.profiler
        if profiler.profile is not None and profiler.profile.use_device is None and device is not None:
            profiler.left, profiler.device = 0, device
            if not self.safety.is_safe():
                self._cuts.add(events.BEGAN_LATE)
            self.if_safe()

    # --- one slice ---

    def slice(self, meanwhile: Callable[[], None] | None = None, *, counted: bool = True) -> None:
        """Fold the profile, and start a new one. `meanwhile` is called while the profiler is off, and may fork."""
        with unpatched.ours(), self.turn:
            self._sliced(meanwhile, counted=counted)

    def _sliced(self, meanwhile: Callable[[], None] | None, *, counted: bool) -> None:
        """Do the work of `slice`. If not `counted` (a clock led here), it decides nothing for later slices."""
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
        """End the profile and fold its events. Decisions follow only if `counted`."""
        try:
            profile = self.profiler.end()
            cut = SliceCut(self._began_at, place_of(self._threads.mine))
            self._fold.take(profile, self.profiler.marked, self._paths.root, self._paths.workers, cut)
            if counted:
                self._decide()
        except BaseException as error:  # memory ran out, for example under a limit
            self._cuts.failed(error)
            if not isinstance(error, Exception):
                raise

    def _decide(self) -> None:
        """Decide from the fold so far which paths get no marker any longer, and which call is stepped next."""
        for path in self._paths.by_number:
            path.cold = not path.hot and path.seen >= COLD
        if self.stepping is not None:
            self.stepping.folded()

    def _keep(self, keeps: Callable[[], None]) -> None:
        """Keep the fold, so rarely that keeping costs little."""
        began = time.perf_counter_ns()
        keeps()
        took = time.perf_counter_ns() - began
        self._keep_next = began + max(KEEP_AGAIN, KEEP_COST * took)

    def _start_again(self, were_open: list[Slot | Any], *, counted: bool) -> None:
        profiler = self.profiler
        left = profiler.left
        profiler.begin()
        self._began_at = place_of(self._threads.mine)
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
        profiler.left = max(self._size, len(were_open))  # reopened markers are no reason to restart at once

    # --- beside the program's own profiler ---

    def suspend(self) -> None:
        """End the profile: the program starts torch's profiler, and only one can run. Its run is not recorded."""
        if self.profiler.profile is not None:
            self._cuts.add(reason("profiles-itself"))
            self._threads.close_all()
            self.fold_profile()
            self.profiler.profile = None

    def resume(self) -> None:
        """Continue the recorder's profiler after the program's own one has ended, unless it runs already."""
        if self.profiler.profile is not None:
            return
        self.profiler.begin()
        self._began_at = None
        self._threads.tell_fold()
        self._threads.open_all()

    def give_up(self) -> None:
        """End each profile of the recorder that was not ended properly. Its events are lost."""
        for profile in self.profiler.given_up():
            if api.is_profiling():
                with suppress(Exception):  # a marker must be closed before its profiler ends
                    self._threads.close_all()
                with suppress(RuntimeError, AssertionError), api.quiet_profiler():
                    profile.__exit__(None, None, None)


def _depth(frame: FrameType | None) -> int:
    """Return how many functions a thread is in."""
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
