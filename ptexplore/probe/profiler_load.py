"""Estimate how long reading torch's profiler takes. If that is too long, the recording stops.

The profiler gives its events only at its end, all at once, and nobody can interrupt this read in time. The number of
its events is unknown until then. The growth of the process and its run time give an upper bound.
"""

from __future__ import annotations

import mmap

from .reasons import Said, reason
from .taken import os, time

# Upper bounds in seconds: for each byte by which the process grew, and for each second of processor time. Measured with
# torch 2.13.0, reading 100,000 small additions without folding: 2.3e-8 and 1.3.
A_BYTE, A_SECOND = 5e-8, 15.0
MEMORY = 10  # bytes of memory needed to read one byte of the recording
LEAST = 3.0  # seconds of reading; nothing is measured below this
NO_LESS = 1 << 24  # bytes; less growth is never too much
PART = 0.5  # share of the time limit


class ProfilerLoad:
    """An upper bound for what a profiler holds, since its start.

    `at_once` opens a file for this at once; otherwise only when the profile may be large. A program could notice the
    file.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._began = time.process_time()
        self._before = _memory() if at_once else 0  # bytes of the process at the first measurement
        self.grown = 0
        self.seconds = 0.0  # time to read the profile

    def look(self) -> None:
        """Measure how large the profile may be by now."""
        ran = time.process_time() - self._began
        if ran * A_SECOND < LEAST:
            return
        size = _memory()
        if not self._before:
            self._before = size
            return
        self.grown = max(size - self._before, 0)
        self.seconds = min(A_BYTE * self.grown, A_SECOND * ran) * _slowness()

    def too_much(self, limit: float | None, available: int | None) -> Said | None:
        """Return why the recording should stop; None if it may go on. `limit`: all seconds of the run."""
        if self.grown < NO_LESS:
            return None
        if limit is not None and self.seconds > PART * limit:
            return reason("reading-takes-time", seconds=float(f"{limit:.3g}"))
        if available is not None and MEMORY * self.grown > available:
            return reason("reading-takes-memory", megabytes=MEMORY * self.grown >> 20)
        return None


def _memory() -> int:
    """Return the memory of this process in bytes; 0 if the system does not say."""
    try:
        with open("/proc/self/statm") as status:
            return int(status.read().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


def _slowness() -> float:
    """Return the slowdown of this process by others: (run time + wait time of the main thread) / run time."""
    try:
        with open(f"/proc/{os.getpid()}/schedstat") as status:
            ran, waited, _ = map(int, status.read().split())
    except (OSError, ValueError):
        return 1.0
    return (ran + waited) / ran if ran else 1.0
