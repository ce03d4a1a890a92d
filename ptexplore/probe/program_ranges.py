"""Ranges that the program itself marks for torch's profiler, and CUDA graphs that it captures.

If the profiler stops during a range, the end of the range writes to freed memory (onFunctionExit of
torch/csrc/autograd/profiler_kineto.cpp keeps a pointer). So a Python range is ended before the profiler stops, and
begun again under the next profile. If that is not possible, the profiler is not stopped.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from . import torch_api as api
from .stacks import Thread
from .taken import sys
from .threads import Threads

ONLY_KEPT = 3  # references to a range that only the recorder holds: from its list, the loop and the call that counts
BEGINS, ENDS = api.RANGE.__enter__.__code__, api.RANGE.__exit__.__code__


class ProgramRanges:
    """The open ranges and captures of the program.

    `at_work`: how many ranges are beginning or ending now. `captures`: how many captures of graphs are open.
    """

    __slots__ = ("_fast", "_threads", "at_work", "captures")

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self.at_work = self.captures = 0
        self._fast: list[Any] = []  # the open ranges of C++

    def changed(self, thread: Thread, code: CodeType, range_: Any) -> None:
        """Note that a range of the program began or ended. A range that ends with a future does not end here."""
        if code is BEGINS:
            if range_.record is not None:
                thread.ranges.append((thread.stack[-1], range_))
        elif range_.run_callbacks_on_exit:
            last = next((n for n, (_, known) in reversed(list(enumerate(thread.ranges))) if known is range_), None)
            if last is not None:
                del thread.ranges[last]

    def fast(self, range_: Any, method: str) -> None:
        """Note that a C++ range begins or ends by a call. The range is kept alive, so that its end is not missed."""
        if method == "__enter__":
            self._fast.append(range_)
        elif method == "__exit__":
            self._fast = [known for known in self._fast if known is not range_]

    def capture(self, code: CodeType) -> None:
        """Note the end of a function of torch that begins or ends the capture of a graph."""
        if code is not api.CAPTURE_BEGINS:
            self.captures = max(self.captures - 1, 0)
        elif api.is_capturing():  # the function did not raise
            self.captures += 1

    def can_end(self) -> bool:
        """Return whether every open range of the program can be ended and begun again without the program noticing."""
        if any(sys.getrefcount(range_) > ONLY_KEPT for range_ in self._fast):
            return False
        while self._fast:  # the program dropped them, for example after an error
            self._fast.pop().__exit__(None, None, None)
        for thread in self._threads.by_number:
            for _, range_ in thread.ranges:
                if thread is not self._threads.local.thread or not range_.run_callbacks_on_exit or api.has_modes():
                    return False  # beginning a range again would call a Python mode
        return True
