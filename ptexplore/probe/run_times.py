"""When a recorded run began and ended, and about how much of it recording took."""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Protocol

from . import last_words
from .taken import os, time

if TYPE_CHECKING:
    from .stepping import Stepping


class CallCounter(Protocol):
    """The profile function, which counts its calls."""

    calls: int


class RunTimes:
    """The times of one run, in nanoseconds. `processor` is the processor time of the process, without forks.

    `hook`: processor time in the profile function, estimated from samples. `slicing`: time for folding. `waiting`: the
    main thread's time, with its waits for a processor, as a multiple of its processor time.
    """

    __slots__ = ("_scheduled", "began", "counter", "ended", "hook", "processor", "slicing", "stepping", "waiting")

    def __init__(self) -> None:
        self.began = self.ended = self.processor = 0
        self.hook = self.slicing = 0
        self.waiting = 1.0
        self._scheduled: tuple[int, int, int] | None = None
        self.counter: CallCounter | None = None
        self.stepping: Stepping | None = None  # the program waits for its forks

    @property
    def calls(self) -> int:
        """Return how often the profile function was called so far, in all threads."""
        return self.counter.calls if self.counter is not None else 0

    @property
    def waited(self) -> int:
        """Return how long the program waited for its stepping forks. This is not part of its time."""
        return self.stepping.waited if self.stepping is not None else 0

    @property
    def wall(self) -> int:
        """Return how long the program ran."""
        return self.ended - self.began - self.waited

    @property
    def overhead(self) -> int:
        """Return about how much of the run recording took.

        This is the time for folding and for the profile function, which is estimated from samples. The time that
        markers and the profiler add to an operator is not included.
        """
        return min(self.slicing + int(self.waiting * self.hook), max(self.ended - self.began, 0))

    def begin(self) -> None:
        """Note that the program runs from here on."""
        self._scheduled = _scheduled()
        self.began, self.processor = time.perf_counter_ns(), -time.process_time_ns()

    def end(self, *, dying: bool = False) -> None:
        """Note the end, unless it was noted before. `dying`: this process is a fork, and the other process ends."""
        if self.ended:
            return
        self.processor += last_words.process_time_ns() if dying else time.process_time_ns()
        if self.stepping is not None:
            self.processor -= self.stepping.waited_on_processors
        self.ended = time.perf_counter_ns()
        if not dying:
            self._note_waiting()

    def _note_waiting(self) -> None:
        """Note how long the main thread was ready to run and did not: that happens in the recording's part too."""
        before, now = self._scheduled, _scheduled()
        if before is not None and now is not None and before[0] == now[0] and now[1] > before[1]:
            self.waiting = 1 + max(now[2] - before[2], 0) / (now[1] - before[1])

    def look(self) -> int:
        """Treat this moment as the end, to send the recording so far. Return the argument for `go_on`."""
        before = self.processor
        self.end()
        return before

    def go_on(self, before: int) -> None:
        """Note that the run has not ended."""
        self.ended, self.processor = 0, before


def _scheduled() -> tuple[int, int, int] | None:
    """Return this thread, its processor time, and the time that it waited for a processor, in nanoseconds.

    The kernel's Documentation/scheduler/sched-stats.rst describes the file. None if the system has no such file.
    """
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            ran, waited, *_ = map(int, os.read(file, 200).split())
        finally:
            os.close(file)
    except (OSError, ValueError):
        return None
    return _thread.get_native_id(), ran, waited
