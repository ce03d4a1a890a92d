"""Whether torch's profiler can be stopped now: no operator may be running in any thread that it records."""

from __future__ import annotations

import _thread
from collections.abc import Mapping
from types import FrameType

import torch

from . import at_work
from . import torch_api as api
from .profiler import Profiler
from .program_ranges import ProgramRanges
from .taken import os, sys, threading
from .threads import Threads

# How many calls of the profile function to wait before the next check, if an operator ran in another thread, or in this
# thread. Reading the stack of this thread takes longer. A check costs less than these calls do. The limits count calls,
# not time, because a slice decides which calls are stepped next and which functions have a marker.
AGAIN_BESIDE, AGAIN = 8, 500
# Folders of torch's compiler. It marks ranges by a C++ class that `with` enters unseen (api.FAST_RANGE). Code that it
# compiled enters and leaves a range by calls, which are seen (record_pregraph_bytecode_enter of
# torch/_dynamo/utils.py).
COMPILER = tuple(
    os.path.join(os.path.dirname(torch.__file__), name) + os.sep
    for name in ("_dynamo", "_functorch/_aot_autograd", "_inductor")
)
_get_ident = _thread.get_ident


class Safety:
    """Checks all threads. `wait`: calls until the next check. It depends on where the last check found an operator."""

    __slots__ = ("_profiler", "_ranges", "_threads", "wait")

    def __init__(self, profiler: Profiler, threads: Threads, ranges: ProgramRanges) -> None:
        self._profiler, self._threads, self._ranges = profiler, threads, ranges
        self.wait = 0

    def is_safe(self) -> bool:
        """Return whether the profiler can be stopped: it runs, no thread is in a builtin, open ranges can be ended."""
        self.wait = 0
        ranges = self._ranges
        if self._profiler.profile is None or ranges.at_work or ranges.captures or not ranges.can_end():
            return False
        threads = self._threads
        if threading.get_ident() != threads.main or any(s.builtin for t in threads.by_number for s in t.stack):
            return False
        if api.is_capturing():
            return False
        frames = _other_threads()
        if _compiles(sys._getframe(1)) or any(map(_compiles, frames.values())):
            return False
        if self._are_at_work(frames):
            self.wait = AGAIN_BESIDE
        elif at_work.in_this_thread():
            self.wait = AGAIN
        return not self.wait

    def others_are_at_work(self) -> bool:
        """Return whether an operator may be running in another thread, if the profiler records that thread."""
        return self._are_at_work(_other_threads())

    def _are_at_work(self, frames: Mapping[int, FrameType]) -> bool:
        if not api.records_all_threads():
            return False
        threads = self._threads
        for ident, frame in frames.items():
            if ident in (threads.main, threads.watcher):
                continue
            thread = next((known for known in reversed(threads.by_number) if known.ident == ident), None)
            waits = thread.waits if thread is not None else None
            if at_work.in_other_thread(frame, waits, is_seen=thread is not None):
                return True
        return False

    def others_run(self) -> bool:
        """Return whether another thread of the program may run Python now, and is not waiting."""
        frames = _other_threads()
        others = {thread.ident: thread for thread in self._threads.by_number if not thread.is_main}  # the last of each
        known = ((frames.get(ident), thread) for ident, thread in others.items())
        return api.records_all_threads() and any(
            frame is not None and thread.waits != (frame.f_code, frame.f_lasti) for frame, thread in known
        )


def _other_threads() -> dict[int, FrameType]:
    """Return the frame of each other thread.

    The frame of this thread is left out. A function that holds its own frame keeps all frames around it alive, with the
    variables of the program's functions, until Python's garbage collector runs.
    """
    mine = _get_ident()
    return {ident: frame for ident, frame in sys._current_frames().items() if ident != mine}


def _compiles(frame: FrameType | None) -> bool:
    """Return whether a thread is in torch's compiler, or in code that the compiler made."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(COMPILER):
            return True
        frame = frame.f_back
    return False
