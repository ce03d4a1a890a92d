"""Whether somebody set the machine's clock while torch's profiler ran, which tells times by it.

The profiler reads the processor's counter, and turns that into time by what the clock said at its start and at its end
(ApproximateClockToUnixTimeConverter of c10/util/ApproximateClock.cpp). A clock that is set meanwhile stretches all
times, and one that is set back by more than the profiler ran turns their order round.
"""

from __future__ import annotations

from .reasons import reason
from .taken import time

LEAST = 1_000_000  # nanoseconds by which a clock is set that matters; what keeps a clock right changes less at a time
TRIES = 5
SET = reason("clock-set-meanwhile")
CUT = reason("clock-was-set")


class ClockWatch:
    """Looks at the clock at the start of each profile and at its end. `saw_it_set`: at any of them."""

    def __init__(self) -> None:
        self.saw_it_set, self._offset = False, 0

    def start(self) -> ClockWatch:
        """A profile is about to start: the watch itself."""
        self._offset = _offset()
        return self

    def stop(self) -> bool:
        """A profile has ended: whether the clock was set since it started."""
        was_set = abs(_offset() - self._offset) >= LEAST
        self.saw_it_set |= was_set
        return was_set


def _offset() -> int:
    """By how many nanoseconds the clock is before the one that nobody can set; each try may be interrupted."""
    tries = []
    for _ in range(TRIES):
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        clock = time.clock_gettime_ns(time.CLOCK_REALTIME)
        ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        tries.append((ended - began, clock - (began + ended) // 2))
    return min(tries)[1]
