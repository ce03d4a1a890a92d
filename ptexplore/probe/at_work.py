"""Find out whether torch's C++ is at work. The profiler must not be stopped inside an operator.

If it is stopped there, the end of the operator writes into the memory of a freed profile and the operator's event is
lost. Later calls of that operator then appear inside another open event.

Python's profile function reports only the builtins that Python calls. Operators also begin in other ways: by syntax
(`a @ b`, `x.T`), by C code that calls a builtin (`map(torch.tanh, xs)`), or by a call of a class.

For the calling thread, the C++ stack gives the answer. The C++ stack of another thread cannot be read while that thread
runs. For another thread, the instructions that its Python functions are at give the answer.
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

DEEPEST = 1 << 14  # maximum number of C++ frames that are looked at
LIBRARIES = ("libtorch_cpu.so", "libtorch_python.so")  # every call of an operator goes through one of them
CALLS = ("CALL", "PRECALL")
# Instructions that call no operator. `BEFORE_WITH` and `SETUP_` are here because a `with` may wait for a lock there.
# Any instruction that is not in this list may call an operator.
HARMLESS = (
    "RESUME", "JUMP", "SEND", "YIELD", "RETURN", "NOP", "EXTENDED_ARG", "BEFORE_WITH", "SETUP_", "IMPORT_",
    "LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_NAME", "STORE_FAST", "STORE_NAME", "PUSH_", "POP_TOP", "POP_BLOCK",
)  # fmt: skip
# Instructions that call a Python function directly, with no operator in between.
ENTERS = (*CALLS, "BEFORE_", "SETUP_", "WITH_", "IMPORT_")
DISPATCHES = "__torch_dispatch__"  # Python itself calls functions with such names (`__getitem__`), except this one
WAITING = {"_thread", "_queue", "time", "select", "posix", "_socket", "_ssl", "_io", "_multiprocessing"}


def in_this_thread() -> bool:
    """Returns whether torch's C++ called the code that runs now: a frame of torch is on the C++ stack of this thread.

    Returns True, too, if the stack is deeper than DEEPEST or the memory map cannot be read. Without glibc's
    `backtrace`, the Python stack decides.
    """
    reads = _backtrace()
    if reads is None:  # no glibc
        return _leads_to_python(_outwards(sys._getframe(1)))
    frames = (ctypes.c_void_p * DEEPEST)()
    count = reads(frames, DEEPEST)
    if count == DEEPEST:
        return True  # the outermost frames are unknown
    try:
        spans = _spans()
    except OSError:
        return True
    return any(address is not None and bisect_right(spans, address) % 2 for address in frames[:count])


def in_other_thread(inner: FrameType, waits: tuple[CodeType, int] | None, *, is_seen: bool) -> bool:
    """Returns whether an operator may be at work in another thread, whose innermost Python function is `inner`.

    `waits`: code and offset of the thread's last call of a C builtin that only waits. `is_seen`: the profile function
    sees the calls of this thread, and no builtin of torch is open. If the profile function does not see the thread, a
    call instruction is taken for a call that leads to no operator.
    """
    if inner.f_code.co_filename.startswith(OURS):
        return True  # the recorder's profile function runs in that thread
    name = _instruction(inner)
    if name.startswith(CALLS):
        if is_seen and waits != (inner.f_code, inner.f_lasti):
            return True
    elif not name.startswith(HARMLESS):
        return True
    return _leads_to_python(_outwards(inner))


def prepare() -> None:
    """Load the stack reader and the memory map now: later, the program may be unable to open another file."""
    _backtrace()
    with suppress(OSError):
        _spans()


def only_waits(builtin: Any) -> bool:
    """Returns whether a C builtin that is not torch's only waits: for a lock, a file or the clock."""
    owner = getattr(builtin, "__self__", None)
    module = getattr(builtin, "__module__", None)
    return (module if module is not None else type(owner).__module__) in WAITING


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yields the program's functions on a stack, innermost first, without ptexplore's."""
    while frame is not None:
        if not frame.f_code.co_filename.startswith(OURS):
            yield frame
        frame = frame.f_back


def _leads_to_python(frames: Iterator[FrameType]) -> bool:
    """Returns whether an operator may be between two functions of a stack: the outer calls it, it calls the inner."""
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
    """Returns the name of the instruction that a function is at.

    In Python 3.11, `f_lasti` may point to the cache entries behind the instruction.
    """
    at, text = frame.f_lasti, _text(frame.f_code)
    while at > 0 and dis.opname[text[at]] == "CACHE":
        at -= 2
    return dis.opname[text[at]] if at >= 0 else "RESUME"


@functools.lru_cache(maxsize=4096)
def _text(code: CodeType) -> bytes:
    return code.co_code


@functools.cache
def _backtrace() -> Any:
    """Returns `backtrace` of the C library, or None if the C library has no such function."""
    try:
        function: Any = ctypes.CDLL(None).backtrace
    except (OSError, AttributeError):
        return None
    function((ctypes.c_void_p * 1)(), 1)  # the first call loads the unwinder
    return function


@functools.cache
def _spans() -> list[int]:
    """Returns where the LIBRARIES are in memory: begin and end addresses in turn, sorted."""
    spans: list[int] = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            place, rights, *_, name = line.split(maxsplit=5)
            if "x" in rights and os.path.basename(name.rstrip("\n")) in LIBRARIES:
                spans += (int(part, 16) for part in place.split("-"))
    return sorted(spans)
