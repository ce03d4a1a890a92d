"""What reading one file may cost: its nesting, its processor time, its memory. A file over budget is a problem."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from types import FrameType

DEEPEST = 200  # brackets within one another; the deepest file of PyTorch's has some thirty
UNCLOSED = 2_000  # brackets that have no partner: text in which `#if` leaves out some has a handful
MEMORY = 4 << 30  # bytes that a process that reads files may ask for
_SECONDS = 10.0  # of processor, for any file
_SECONDS_A_MEGABYTE = 5.0  # the slowest of PyTorch's files take half a second
_BRACKETS = b"(){}[]"
_OTHERS = bytes(set(range(256)) - set(_BRACKETS))
_PAIR = re.compile(rb"\(\)|\{\}|\[\]")


class OverBudget(Exception):
    """Reading a file takes longer than it may."""


def too_deep(data: bytes) -> str:
    """Why a text is not parsed: it nests too deep, or too many brackets are open; "" where it can be.

    A parser's way past an error takes time in the square of what is open. Strings and comments count here, too.
    """
    if max(map(data.count, (b"(", b"{", b"[", b")", b"}", b"]"))) <= UNCLOSED:
        return ""
    left = data.translate(None, _OTHERS)
    for _ in range(DEEPEST):
        left, gone = _PAIR.subn(b"", left)
        if len(left) <= UNCLOSED:
            return ""
        if not gone:
            return f"{len(left):,} brackets have no partner: not read as source"
    return f"its brackets nest deeper than {DEEPEST}: not read as source"


@contextlib.contextmanager
def budget(size: int, *, final: bool = False) -> Iterator[None]:
    """Raise OverBudget in the block once it has taken the processor time that a file of `size` bytes may take.

    Where the block does not come to hear of that, as C does not, `final` ends the process after twice the time: only
    for a process that is there to be ended. Other threads than the first hear nothing: they have no budget.
    """
    import signal

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    seconds = _SECONDS + _SECONDS_A_MEGABYTE * size / 1_000_000

    def over(_signal: int, _frame: FrameType | None) -> None:
        raise OverBudget(f"reading it takes more than {seconds:.0f} seconds of processor")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.2)
    if final:
        signal.setitimer(signal.ITIMER_PROF, 2 * seconds)  # whose signal ends the process, whatever it is doing
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if final:
            signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGVTALRM, before)


def limit_memory(most: int = MEMORY) -> None:
    """Have this process get no more than `most` bytes: for one that reads files and nothing else."""
    import resource

    _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def limit_processor(seconds: float) -> None:
    """Have SIGPROF end this process once it has taken `seconds` of processor from now on, whatever it is doing."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
