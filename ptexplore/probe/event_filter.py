"""The filter before the profile function: events of code that no row asks about do not reach Python.

Python calls the profile function at each event of each function: some million times in a second of work. Most events
belong to code without a row: Python's own library, other packages, comprehensions, methods of strings and lists. So a
few instructions of machine code come first. They look up the event's code object, the type of the builtin's object or
the builtin itself in a table, count the event and return. Any other event goes on to the function in Python.

`sys.getprofile()` returns the function in Python, as without the filter. x86-64 Linux; elsewhere `set_directly` sets
the function itself, which skips the same events.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from . import machine_code, python_calls, throws

EVENTS = ("call", "exception", "line", "return", "c_call", "c_exception", "c_return", "opcode")  # by their numbers in C
_TYPE = machine_code.TYPE_OF
# Functions of Python that the machine code calls.
CALLED = ("PyFrame_GetCode", "Py_DecRef", "PyObject_CallFunctionObjArgs", "PyEval_SetProfile", "PyTraceBack_Here")
ADDS_TRACEBACK = sys.version_info < (3, 11)  # call_trampoline of Python/sysmodule.c puts the frame into a traceback


class EventFilter:
    """The table and the machine code, made once in a process: a thread may keep the filter after a recording's end.

    `counts`: how many events of builtins, and how many of Python functions, the filter has skipped so far.
    """

    def __init__(self) -> None:
        if sys.platform != "linux" or platform.machine() != "x86_64" or sys.implementation.name != "cpython":
            raise OSError(f"{sys.platform} {platform.machine()} {sys.implementation.name}")
        if not _is_known_layout():
            raise OSError("this Python has builtins of another layout")
        *functions, add_traceback = (throws.address_of(getattr(ctypes.pythonapi, name)) for name in CALLED)
        functions.append(add_traceback if ADDS_TRACEBACK else 0)
        self._memory = mmap.mmap(-1, machine_code.FILTER_SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._words = memoryview(self._memory).cast("Q")
        self.counts = self._words[: machine_code.FILTER_WORDS // 8]
        self._names = tuple(map(sys.intern, EVENTS))
        begin = machine_code.FILTER_WORDS // 8
        self._words[begin : begin + len(EVENTS)] = memoryview(_addresses(self._names)).cast("B").cast("Q")
        self._words[machine_code.FILTER_NONE // 8] = id(None)
        state = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._code = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._begin = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        code, labels = machine_code.assemble(machine_code.event_filter(state, *functions))
        self._code.write(code + bytes(-len(code) % 8))
        at, calls = self._begin + self._code.tell(), labels[machine_code.FILTER_CALLS]
        self._code.write(machine_code.unwinding(self._begin + calls, len(code) - calls))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        if protect(ctypes.c_void_p(self._begin), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError("no memory can be executed")
        ctypes.CDLL("libgcc_s.so.1")["__register_frame"](ctypes.c_void_p(at))

    def setter(self, function: Callable[..., Any]) -> Callable[[], None]:
        """Return what sets `function`, with the filter before it, as the profile function of the calling thread.

        It is no function of Python, so it needs no room on Python's stack.
        """
        prototype = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.py_object)
        return partial(prototype(("PyEval_SetProfile", ctypes.pythonapi)), self._begin, function)

    def skip(self, address: int) -> None:
        """Skip the events of a code object, of builtins whose object has this type, or of a builtin's PyMethodDef."""
        slot = (address >> machine_code.FILTER_SHIFT) & machine_code.FILTER_SLOTS - 1
        self._words[machine_code.FILTER_TABLE // 8 + slot] = address

    def forget(self) -> None:
        """Skip nothing from here on."""
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(self._memory)) + machine_code.FILTER_TABLE, 0,
                      machine_code.FILTER_SLOTS * 8)  # fmt: skip


_made: list[EventFilter | None] = []  # empty until the first question


def of_this_process() -> EventFilter | None:
    """Return the filter; None if this system or this Python cannot have one."""
    if not _made:
        try:
            _made.append(EventFilter())
        except (OSError, AttributeError, ValueError):
            _made.append(None)
    return _made[0]


def set_directly(function: Callable[..., Any]) -> Callable[[], None]:
    """Return what sets `function` as the profile function of the calling thread, without a filter."""
    return partial(sys.setprofile, function)


def set_none() -> None:
    """Set no profile function in the calling thread, by a call that no profile function sees."""
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(("PyEval_SetProfile", ctypes.pythonapi))(None, None)


def _is_known_layout() -> bool:
    """Return whether builtins have their type, object and PyMethodDef where the machine code reads them."""
    words = (ctypes.c_uint64 * (machine_code.METHOD_SELF // 8 + 1)).from_address(id(len))
    owner, kind = words[machine_code.METHOD_SELF // 8], words[_TYPE // 8]
    return kind == id(type(len)) and owner == id(sys.modules["builtins"]) and python_calls.name_of(len) == "len"


def _addresses(texts: tuple[str, ...]) -> Any:
    return (ctypes.c_uint64 * len(texts))(*map(id, texts))
