"""A failure instead of a hang, for work that must come to an end whatever it is given."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def ends(seconds: float = 60.0) -> Iterator[None]:
    """Fail once that much processor time is used: many times what it takes, so that no slow machine is meant.

    It counts this process's own time and not the clock's: other tests run beside this one.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"it goes on after {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
