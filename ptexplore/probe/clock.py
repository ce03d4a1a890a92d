"""Notice that the machine's clock was set while torch's profiler ran.

The profiler reads the processor's counter. It converts counts to time with the clock at its start and at its end
(ApproximateClockToUnixTimeConverter of c10/util/ApproximateClock.cpp). If the clock is set in between, all times are
stretched. If the clock is set back by more than the profiler ran, the order of events is reversed.
"""

from __future__ import annotations

from .reasons import reason
from .taken import time

LEAST = 1_000_000  # nanoseconds: a smaller change does not matter, and time synchronization makes smaller ones at once
TRIES = 5
SET = reason("clock-set-meanwhile")
CUT = reason("clock-was-set")


class ClockWatch:
    """Compares the clock at the start and end of each profile. `saw_it_set`: some comparison found the clock set."""

    def __init__(self) -> None:
        self.saw_it_set, self._offset = False, 0

    def start(self) -> ClockWatch:
        """Note the clock before a profile starts. Returns the watch itself."""
        self._offset = _offset()
        return self

    def stop(self) -> bool:
        """Returns whether the clock was set since `start`; to be called when the profile has ended."""
        was_set = abs(_offset() - self._offset) >= LEAST
        self.saw_it_set |= was_set
        return was_set


def _offset() -> int:
    """Returns the nanoseconds from the monotonic clock to the real-time clock. The quickest of TRIES readings counts.

    Any one reading may be interrupted.
    """
    tries = []
    for _ in range(TRIES):
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        clock = time.clock_gettime_ns(time.CLOCK_REALTIME)
        ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        tries.append((ended - began, clock - (began + ended) // 2))
    return min(tries)[1]
