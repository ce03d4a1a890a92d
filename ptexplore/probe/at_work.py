"""Whether torch's C++ is at work: the profiler must not be stopped inside of an operator.

The operator's end would write into the memory of a profile that is gone, its event would be lost, and what it calls
later would stand in whatever is open. Python's profile function tells of builtins that Python calls, and of nothing
else that leads to an operator: syntax (`a @ b`, `x.T`), what C calls in turn (`map(torch.tanh, xs)`), a class.

Of the thread that asks, C++'s stack tells it. Nobody can read that of another thread while it runs: of that one its
functions of Python tell which instruction they are at.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

from .generators import RESUMED
from .taken import sys
from .whose import OURS

DEEPEST = 1 << 14  # frames of C++'s stack that are looked at
LIBRARIES = ("libtorch_cpu.so", "libtorch_python.so")  # a call of an operator goes through one of them
CALLS = ("CALL", "PRECALL")
# Instructions that call no operator; a lock that `with` enters may wait in one of them. Any other may call one.
HARMLESS = (
    "RESUME", "JUMP", "SEND", "YIELD", "RETURN", "NOP", "EXTENDED_ARG", "BEFORE_WITH", "SETUP_", "IMPORT_",
    "LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_NAME", "STORE_FAST", "STORE_NAME", "PUSH_", "POP_TOP", "POP_BLOCK",
)  # fmt: skip
# Instructions by which a function of Python is called, and no operator stands between.
ENTERS = (*CALLS, "BEFORE_", "SETUP_", "WITH_", "IMPORT_")
DISPATCHES = "__torch_dispatch__"  # what has such a name (`__getitem__`) is called by Python itself, but this
WAITING = {"_thread", "_queue", "time", "select", "posix", "_socket", "_ssl", "_io", "_multiprocessing"}


def in_this_thread() -> bool:
    """Whether torch's C++ has called what runs now: something of it is on the stack of this thread."""
    reads = _backtrace()
    if reads is None:  # no glibc
        return _leads_to_python(_outwards(sys._getframe(1)))
    frames = (ctypes.c_void_p * DEEPEST)()
    count = reads(frames, DEEPEST)
    if count == DEEPEST:
        return True  # who called it all is not known
    try:
        spans = _spans()
    except OSError:
        return True
    return any(address is not None and bisect_right(spans, address) % 2 for address in frames[:count])


def in_other_thread(inner: FrameType, waits: tuple[CodeType, int] | None, *, is_told: bool) -> bool:
    """Whether an operator may be at work in another thread, whose innermost function is at `inner`.

    `waits`: where it called, last, a builtin of C that only waits. `is_told`: whether the profile function sees what it
    calls, and no builtin of torch's is open; of a thread that nobody looks at, a call is taken for one of another kind.
    """
    if inner.f_code.co_filename.startswith(OURS):
        return True  # it is just being told what it does
    name = _instruction(inner)
    if name.startswith(CALLS):
        if is_told and waits != (inner.f_code, inner.f_lasti):
            return True
    elif not name.startswith(HARMLESS):
        return True
    return _leads_to_python(_outwards(inner))


def prepare() -> None:
    """Ask for what is needed later: a program may have no file left that can be opened."""
    _backtrace()
    with suppress(OSError):
        _spans()


def only_waits(builtin: Any) -> bool:
    """Whether a builtin of C that is no one of torch's does nothing but wait: for a lock, a file, the clock."""
    owner = getattr(builtin, "__self__", None)
    module = getattr(builtin, "__module__", None)
    return (module if module is not None else type(owner).__module__) in WAITING


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """The program's functions on a stack, innermost first."""
    while frame is not None:
        if not frame.f_code.co_filename.startswith(OURS):
            yield frame
        frame = frame.f_back


def _leads_to_python(frames: Iterator[FrameType]) -> bool:
    """Whether an operator may stand between two functions of a stack, and have called the inner one."""
    inner = next(frames, None)
    for outer in frames:
        assert inner is not None
        name = inner.f_code.co_name
        by_name = name.startswith("__") and name.endswith("__") and name != DISPATCHES
        if not by_name and not inner.f_code.co_flags & RESUMED and not _instruction(outer).startswith(ENTERS):
            return True
        inner = outer
    return False


def _instruction(frame: FrameType) -> str:
    """The name of the instruction that a function is at; in Python 3.11 it may be at what is kept behind that."""
    at, text = frame.f_lasti, _text(frame.f_code)
    while at > 0 and dis.opname[text[at]] == "CACHE":
        at -= 2
    return dis.opname[text[at]] if at >= 0 else "RESUME"


@functools.lru_cache(maxsize=4096)
def _text(code: CodeType) -> bytes:
    return code.co_code


@functools.cache
def _backtrace() -> Any:
    """The C library's own reader of stacks; None where it has none."""
    try:
        function: Any = ctypes.CDLL(None).backtrace
    except (OSError, AttributeError):
        return None
    function((ctypes.c_void_p * 1)(), 1)  # the first call loads the unwinder
    return function


@functools.cache
def _spans() -> list[int]:
    """Where the libraries are in memory: begins and ends in turn, in order."""
    spans: list[int] = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            place, rights, *_, name = line.split(maxsplit=5)
            if "x" in rights and os.path.basename(name.rstrip("\n")) in LIBRARIES:
                spans += (int(part, 16) for part in place.split("-"))
    return sorted(spans)
