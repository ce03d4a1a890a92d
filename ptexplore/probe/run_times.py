"""When a recorded run began and ended, and about how much of it recording took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from . import last_words
from .taken import time

if TYPE_CHECKING:
    from .stepping import Stepping


class CallCounter(Protocol):
    """The profile function, which counts how often it is called."""

    calls: int


class RunTimes:
    """The times of one run, in nanoseconds; `processor` are those of its own threads.

    `hook`: what calls of the profile function took, by samples; `slicing`: what it took to fold.
    """

    __slots__ = ("began", "counter", "ended", "hook", "processor", "slicing", "stepping")

    def __init__(self) -> None:
        self.began = self.ended = self.processor = 0
        self.hook = self.slicing = 0
        self.counter: CallCounter | None = None
        self.stepping: Stepping | None = None  # whose forks the program waits for

    @property
    def calls(self) -> int:
        """How often the profile function was called so far, in all threads."""
        return self.counter.calls if self.counter is not None else 0

    @property
    def waited(self) -> int:
        """For how long the program waited for forks of it: that is no part of its time."""
        return self.stepping.waited if self.stepping is not None else 0

    @property
    def wall(self) -> int:
        """How long the program ran."""
        return self.ended - self.began - self.waited

    @property
    def overhead(self) -> int:
        """About how much of the run recording took.

        That is folding, and the profile function, which is timed by samples. What markers and the profiler add to an
        operator is not in it.
        """
        return min(self.slicing + self.hook, max(self.ended - self.began, 0))

    def begin(self) -> None:
        """The program runs from here on."""
        self.began, self.processor = time.perf_counter_ns(), -time.process_time_ns()

    def end(self, *, dying: bool = False) -> None:
        """Note the end, if that was not done before. `dying`: this is a fork, and it is the other process that ends."""
        if self.ended:
            return
        self.processor += last_words.process_time_ns() if dying else time.process_time_ns()
        if self.stepping is not None:
            self.processor -= self.stepping.waited_on_processors
        self.ended = time.perf_counter_ns()

    def look(self) -> int:
        """Have it end now, to tell what was recorded so far; what `go_on` takes."""
        before = self.processor
        self.end()
        return before

    def go_on(self, before: int) -> None:
        """The run has not ended."""
        self.ended, self.processor = 0, before
