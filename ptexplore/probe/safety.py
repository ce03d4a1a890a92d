"""Whether torch's profiler can be stopped now: no operator may be at work in any thread that it records."""

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

# Calls of the profile function after which it is looked again whether the profiler can be stopped, if an operator was
# at work in another thread, or in this one, whose stack takes longer to read: a look costs less than these calls do.
# They are counts, and no times, since a slice decides what is stepped next, and which functions have a marker.
AGAIN_BESIDE, AGAIN = 8, 500
# Folders of torch's compiler, which marks ranges by a class of C++ that `with` enters unseen (api.FAST_RANGE). What it
# compiles enters and leaves one by calls, which are seen (record_pregraph_bytecode_enter of torch/_dynamo/utils.py).
COMPILER = tuple(
    os.path.join(os.path.dirname(torch.__file__), name) + os.sep
    for name in ("_dynamo", "_functorch/_aot_autograd", "_inductor")
)
_get_ident = _thread.get_ident


class Safety:
    """Looks at all threads. `wait`: calls until it should be looked again, by what was at work when it looked last."""

    __slots__ = ("_profiler", "_ranges", "_threads", "wait")

    def __init__(self, profiler: Profiler, threads: Threads, ranges: ProgramRanges) -> None:
        self._profiler, self._threads, self._ranges = profiler, threads, ranges
        self.wait = 0

    def is_safe(self) -> bool:
        """Whether the profiler can be stopped: it runs, no thread is in a builtin, and open ranges can be ended."""
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
        """Whether an operator may be at work in another thread, of which the profiler records it."""
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
            if at_work.in_other_thread(frame, waits, is_told=thread is not None):
                return True
        return False

    def others_run(self) -> bool:
        """Whether another thread of the program's may run Python now, and is not waiting."""
        frames = _other_threads()
        others = {thread.ident: thread for thread in self._threads.by_number if not thread.is_main}  # the last of each
        known = ((frames.get(ident), thread) for ident, thread in others.items())
        return api.records_all_threads() and any(
            frame is not None and thread.waits != (frame.f_code, frame.f_lasti) for frame, thread in known
        )


def _other_threads() -> dict[int, FrameType]:
    """Where each other thread is.

    Not this one: a function that holds its own frame holds all around it, with what the program's functions have in
    their variables, until Python's collector comes.
    """
    mine = _get_ident()
    return {ident: frame for ident, frame in sys._current_frames().items() if ident != mine}


def _compiles(frame: FrameType | None) -> bool:
    """Whether a thread is in torch's compiler, or in what that has compiled."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(COMPILER):
            return True
        frame = frame.f_back
    return False
