"""Ranges that the program itself marks for torch's profiler, and graphs of CUDA that it captures.

Where the profiler is stopped meanwhile, a range's end writes to memory of it that is gone (onFunctionExit of
torch/csrc/autograd/profiler_kineto.cpp keeps a pointer). So a range of Python's is ended before, and begun anew under
the next profile; and where that cannot be, the profiler is not stopped.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from . import torch_api as api
from .stacks import Thread
from .taken import sys
from .threads import Threads

ONLY_KEPT = 3  # references to a range that nobody but the recorder has: of its list, a loop and the call that counts
BEGINS, ENDS = api.RANGE.__enter__.__code__, api.RANGE.__exit__.__code__


class ProgramRanges:
    """What of these is open. `at_work`: ranges that just begin or end; `captures`: those of graphs, that go on."""

    __slots__ = ("_fast", "_threads", "at_work", "captures")

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self.at_work = self.captures = 0
        self._fast: list[Any] = []  # those of C++'s that are open

    def changed(self, thread: Thread, code: CodeType, range_: Any) -> None:
        """A range of the program's began, or it ended, if it is not one that goes on until a future is done."""
        if code is BEGINS:
            if range_.record is not None:
                thread.ranges.append((thread.stack[-1], range_))
        elif range_.run_callbacks_on_exit:
            last = next((n for n, (_, known) in reversed(list(enumerate(thread.ranges))) if known is range_), None)
            if last is not None:
                del thread.ranges[last]

    def fast(self, range_: Any, method: str) -> None:
        """A range of C++'s begins or ends by a call; it is kept meanwhile, so that its end is not missed."""
        if method == "__enter__":
            self._fast.append(range_)
        elif method == "__exit__":
            self._fast = [known for known in self._fast if known is not range_]

    def capture(self, code: CodeType) -> None:
        """A function of torch's ended that begins or ends the capture of a graph."""
        if code is not api.CAPTURE_BEGINS:
            self.captures = max(self.captures - 1, 0)
        elif api.is_capturing():  # it raised nothing
            self.captures += 1

    def can_end(self) -> bool:
        """Whether every open range of the program's can be ended and begun anew, unseen by the program."""
        if any(sys.getrefcount(range_) > ONLY_KEPT for range_ in self._fast):
            return False
        while self._fast:  # the program gave them up, as where an error came between
            self._fast.pop().__exit__(None, None, None)
        for thread in self._threads.by_number:
            for _, range_ in thread.ranges:
                if thread is not self._threads.local.thread or not range_.run_callbacks_on_exit or api.has_modes():
                    return False  # a mode of Python's would be asked to begin it
        return True
