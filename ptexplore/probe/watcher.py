"""The recorder's own thread: it asks for a tick while the program calls nothing, and ends the program in time.

A tick is a call that Python's main thread makes between two of its instructions. `process_hooks.py` has the function
that is called.
"""

from __future__ import annotations

import _thread
import mmap
from types import CodeType, FrameType

from . import isolate, own_threads
from .cuts import CutList
from .process_hooks import ask_for_tick
from .profile_function import ProfileFunction
from .profiler_load import ProfilerLoad
from .reasons import reason
from .run_times import RunTimes
from .slices import Slices
from .stacks import Thread
from .taken import os, signal, sys, threading, time
from .threads import Threads

OF_A_THREAD = 16 << 20  # bytes that must be free before the watcher's thread begins: its stack, and Python's data
BEGINS = 10.0  # seconds in which the watcher's thread must begin
# Seconds between checks whether a loop without Python calls fills the profiler. Such a loop has no calls to count. So
# its folds decide nothing (`Slices.if_safe`): on a busy machine they only come at other times.
TICK = 0.1


class ProgramWatch:
    """Watches from `start` to `end`.

    `limit`: seconds after which the program is interrupted and its recording is folded. `late`: whether it was
    interrupted. `held_back`: signals that came where nothing can be raised; the watcher sends them again. For a block
    of a process, it watches neither time nor memory.
    """

    __slots__ = (
        "_calls", "_calls_before", "_cuts", "_is_block", "_load", "_local", "_profiler", "_slices", "_threads",
        "_ticked", "_times", "_watched", "held_back", "late", "limit",
    )  # fmt: skip

    def __init__(
        self, calls: ProfileFunction, threads: Threads, slices: Slices, cuts: CutList, times: RunTimes,
        limit: float | None, *, is_block: bool,
    ) -> None:  # fmt: skip
        self._calls, self._threads, self._slices = calls, threads, slices
        self._profiler, self._cuts, self._times = slices.profiler, cuts, times
        self._local = threads.local
        self._is_block = is_block
        self.limit, self.late = limit, False
        self.held_back: list[int] = []
        self._watched = threading.Lock()  # held while this watches
        self._ticked = self._calls_before = 0
        self._load = 0, ProfilerLoad()  # the number of the last checked profile, and its load

    def start(self) -> None:
        """Start the thread, and wait until it runs. Without memory, this fails where Python can raise the error."""
        mmap.mmap(-1, OF_A_THREAD).close()
        self._watched.acquire()
        runs = _thread.allocate_lock()
        runs.acquire()
        # This is no object of `threading`: the program would see it in the list of threads.
        self._threads.watcher = _thread.start_new_thread(self._watch, (runs,))
        if not runs.acquire(timeout=BEGINS):
            raise RuntimeError("the watcher's thread did not begin")

    def end(self) -> None:
        """Stop watching. Raises RuntimeError if it has stopped already."""
        self._watched.release()

    def tick(self) -> None:
        """Handle a tick. Python's main thread calls this between two instructions, even if the program calls little."""
        calls = self._calls
        thread: Thread | None = getattr(self._local, "thread", None)
        is_importing = thread is not None and thread.importing
        # Python removes a profile function that raises. A signal handler may raise right where the function begins.
        if calls.threw or (sys.getprofile() is None and not calls.given_up and not is_importing):
            calls.go_on()
        hook = sys.getprofile()
        if self._profiler.profile is not None and hook is not None and not _runs(ProfileFunction.hook.__code__):
            # A loop over operator syntax makes no call that the hook sees. Only time says that the profiler may hold
            # much.
            sys.setprofile(None)
            try:
                self._slices.if_safe(counted=False)
            finally:
                sys.setprofile(hook)
        self._ticked += 1

    def _watch(self, runs: _thread.LockType) -> None:
        try:
            with own_threads.this_one():
                runs.release()
                self._watch_on()
        except MemoryError:  # Python would print it. `suppress` ends with a call, which needs memory
            pass

    def _watch_on(self) -> None:
        """Ask for a tick while the profile function is not called.

        This waits until the last requested tick has been over for a while. Otherwise Python 3.11 loops for ever in a
        function that it calls for a tick while another call is requested (make_pending_calls of Python/ceval.c).
        """
        times = self._times
        asked = over = 0
        while not self._watched.acquire(timeout=TICK):
            if not times.began:  # the recorder is still being set up
                continue
            if not self._is_block:
                self._look_at_load()
                self._end_in_time()
            while self.held_back:
                signal.pthread_kill(self._threads.main, self.held_back.pop())
            quiet, self._calls_before = times.calls == self._calls_before, times.calls
            quiet = quiet or self._profiler.is_to_stop
            asked = max(asked, self._ticked)  # a tick requested by an earlier recorder may come late
            if asked == self._ticked == over and (quiet or self._calls.threw):
                asked += 1
                ask_for_tick()
            over = self._ticked

    def _look_at_load(self) -> None:
        """Estimate what the profiler holds if it was not stopped for long, and stop recording if that is too much."""
        if self._load[0] != self._profiler.begun:
            self._load = self._profiler.begun, ProfilerLoad()
            return
        load = self._load[1]
        load.look()
        why = None if self._profiler.is_stopped else load.too_much(self.limit, isolate.available_memory())
        if why is not None:
            self._cuts.add(reason("operators-inside-cut", because=why))
            self._profiler.stop_soon()

    def _end_in_time(self) -> None:
        """Interrupt the program when its time is over, less the time for folding what the profiler holds."""
        if self.limit is None or self.late:
            return
        took = time.perf_counter_ns() - self._times.began
        if took > (self.limit - self._load[1].seconds) * 1e9:
            self.late = True
            # After this time, the waiting process ends this one: C code has kept Python's lock all the time.
            if took < (self.limit + isolate.TELLING) * 1e9:
                os.kill(os.getpid(), signal.SIGINT)


def _runs(code: CodeType) -> bool:
    """Return whether a function is running in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None
