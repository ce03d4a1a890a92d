"""When a recorded run began and ended, and about how much of it recording took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from . import last_words
from .taken import time

if TYPE_CHECKING:
    from .stepping import Stepping


class CallCounter(Protocol):
    """The profile function, which counts its calls."""

    calls: int


class RunTimes:
    """The times of one run, in nanoseconds. `processor` is the processor time of the process, without forks.

    `hook`: time in the profile function, estimated from samples. `slicing`: time for folding.
    """

    __slots__ = ("began", "counter", "ended", "hook", "processor", "slicing", "stepping")

    def __init__(self) -> None:
        self.began = self.ended = self.processor = 0
        self.hook = self.slicing = 0
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
        return min(self.slicing + self.hook, max(self.ended - self.began, 0))

    def begin(self) -> None:
        """Note that the program runs from here on."""
        self.began, self.processor = time.perf_counter_ns(), -time.process_time_ns()

    def end(self, *, dying: bool = False) -> None:
        """Note the end, unless it was noted before. `dying`: this process is a fork, and the other process ends."""
        if self.ended:
            return
        self.processor += last_words.process_time_ns() if dying else time.process_time_ns()
        if self.stepping is not None:
            self.processor -= self.stepping.waited_on_processors
        self.ended = time.perf_counter_ns()

    def look(self) -> int:
        """Treat this moment as the end, to send the recording so far. Return the argument for `go_on`."""
        before = self.processor
        self.end()
        return before

    def go_on(self, before: int) -> None:
        """Note that the run has not ended."""
        self.ended, self.processor = 0, before
