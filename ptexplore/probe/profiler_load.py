"""How long it takes to read what torch's profiler holds: where that is too long, no more is recorded.

The profiler tells nothing before its end, and is read then at once: nobody can end that in time. How many events it
holds is not told either. By how much the process has grown, and how long it ran, they are at most so many.
"""

from __future__ import annotations

import mmap

from .reasons import Said, reason
from .taken import os, time

# Seconds at most, for each byte by which the process grew, and each second of its processor. To read 100,000 small
# additions, without folding them, took 2.3e-8 and 1.3 with torch 2.13.0.
A_BYTE, A_SECOND = 5e-8, 15.0
MEMORY = 10  # bytes that are needed to read what takes one
LEAST = 3.0  # seconds: what may take less is not looked at
NO_LESS = 1 << 24  # bytes: nothing that is less is too much
PART = 0.5  # of the time that there is


class ProfilerLoad:
    """What a profiler holds at most, from its beginning on.

    A file is opened for that at once, or only where it may be much: a program could see that.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._began = time.process_time()
        self._before = _memory() if at_once else 0  # bytes that the process had when it was looked at first
        self.grown = 0
        self.seconds = 0.0  # that it takes to read it

    def look(self) -> None:
        """Look how much it may be by now."""
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
        """Why no more should be recorded; None if it may. `limit`: the seconds that there are in all."""
        if self.grown < NO_LESS:
            return None
        if limit is not None and self.seconds > PART * limit:
            return reason("reading-takes-time", seconds=float(f"{limit:.3g}"))
        if available is not None and MEMORY * self.grown > available:
            return reason("reading-takes-memory", megabytes=MEMORY * self.grown >> 20)
        return None


def _memory() -> int:
    """How many bytes of memory this process has; 0 where the system does not say so."""
    try:
        with open("/proc/self/statm") as status:
            return int(status.read().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


def _slowness() -> float:
    """How many times as long this process takes as it would alone, by how long its main thread waited."""
    try:
        with open(f"/proc/{os.getpid()}/schedstat") as status:
            ran, waited, _ = map(int, status.read().split())
    except (OSError, ValueError):
        return 1.0
    return (ran + waited) / ran if ran else 1.0
