"""Limits for reading one file: nesting, processor time, memory. A file over a limit is reported as a problem."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from types import FrameType

DEEPEST = 200  # levels of nested brackets; PyTorch's deepest file has about thirty
UNCLOSED = 2_000  # brackets without a partner; a text in which `#if` hides some has a handful
MEMORY = 4 << 30  # bytes of memory for a process that reads files
_SECONDS = 10.0  # processor time for any file
_SECONDS_A_MEGABYTE = 5.0  # the slowest files of PyTorch take half a second
_BRACKETS = b"(){}[]"
_OTHERS = bytes(set(range(256)) - set(_BRACKETS))
_PAIR = re.compile(rb"\(\)|\{\}|\[\]")


class OverBudget(Exception):
    """Reading a file takes longer than its limit."""


def too_deep(data: bytes) -> str:
    """Returns the reason why a text is not parsed, or "": it nests too deep, or too many brackets have no partner.

    A parser's recovery from an error takes time in the square of the open brackets. Brackets in strings and comments
    count, too.
    """
    if max(map(data.count, (b"(", b"{", b"[", b")", b"}", b"]"))) <= UNCLOSED:
        return ""
    left = data.translate(None, _OTHERS)
    for _ in range(DEEPEST):
        left, gone = _PAIR.subn(b"", left)
        if len(left) <= UNCLOSED:
            return ""
        if not gone:
            return f"{len(left):,} brackets have no partner: not parsed"
    return f"its brackets nest deeper than {DEEPEST}: not parsed"


@contextlib.contextmanager
def budget(size: int, *, final: bool = False) -> Iterator[None]:
    """Raises OverBudget in the block when it has used the processor time allowed for a file of `size` bytes.

    C code does not see the exception before it returns to Python. With `final`, the process is killed after twice the
    time; use it only in a process that may be killed. It works only in the main thread: other threads have no limit.
    """
    import signal

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    seconds = _SECONDS + _SECONDS_A_MEGABYTE * size / 1_000_000

    def over(_signal: int, _frame: FrameType | None) -> None:
        raise OverBudget(f"parsing takes more than {seconds:.0f} seconds of processor time")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.2)
    if final:
        signal.setitimer(signal.ITIMER_PROF, 2 * seconds)  # its signal kills the process, whatever the process is doing
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if final:
            signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGVTALRM, before)


def limit_memory(most: int = MEMORY) -> None:
    """Limits the memory of this process to `most` bytes. For processes that only read files."""
    import resource

    _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def limit_processor(seconds: float) -> None:
    """Makes SIGPROF kill this process after `seconds` of processor time from now, whatever the process is doing."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
