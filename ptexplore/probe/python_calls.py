"""Python's calls in the stepper's log: a profile function in machine code, whose calls of a stub appear in the log.

The function is set while something is stepped. At each event of Python, it calls `mark` with the event. So the log has
the event at its place among all other calls. The function runs no Python. The traced code can see it only through
`sys.getprofile()`, and through the references to code objects that it keeps.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import machine_code
from .reasons import Said, reason

if TYPE_CHECKING:
    from .messages import PythonCodeData, PythonLogData

NAME_LIMIT = 200  # bytes of a builtin's name
_ROW_SIZE = machine_code.ROW


@dataclass(frozen=True)
class CodeName:
    """The code of a Python function: the file, the first line, the name without and with its classes."""

    file: str
    line: int
    name: str
    qualname: str


@dataclass(frozen=True)
class PythonCalls:
    """The data needed to read the rows of a log as Python calls.

    `hook` and `mark` are the addresses of the two functions. `codes` are code objects by address. `builtins` are names
    with the address of the C function, by the address of the PyMethodDef. `lost`: the traced code removed the profile
    function, and calls after its last event are unknown.
    """

    hook: int
    mark: int
    codes: dict[int, CodeName] = field(default_factory=dict)
    builtins: dict[int, tuple[str, int]] = field(default_factory=dict)
    lost: bool = False

    def data(self) -> PythonLogData:
        """Return the data of this object as plain data."""
        codes: dict[int, PythonCodeData] = {
            address: {"file": code.file, "line": code.line, "name": code.name, "qualname": code.qualname}
            for address, code in self.codes.items()
        }
        return {"hook": self.hook, "mark": self.mark, "codes": codes, "builtins": self.builtins, "lost": self.lost}


def program() -> tuple[list[str], Said | None]:
    """Return the text of the profile function; an empty list and the reason if this Python cannot have one."""
    try:
        get_code = ctypes.cast(ctypes.pythonapi.PyFrame_GetCode, ctypes.c_void_p).value or 0
        ctypes.cast(ctypes.pythonapi.PyEval_SetProfile, ctypes.c_void_p)
    except AttributeError as error:
        return [], reason("python-lacks", function=str(error.name or error))
    if sys.implementation.name != "cpython" or _method(_row_of(len))[0] != "len":
        return [], reason("other-builtins")
    return [machine_code.profile_function(get_code)], None


def _row_of(builtin: Any) -> int:
    """Return the address of a builtin's PyMethodDef, as the machine code reads it."""
    return int(ctypes.c_uint64.from_address(id(builtin) + machine_code.METHOD_ROW).value)


def _method(address: int) -> tuple[str, int]:
    """Return name and C function of a PyMethodDef; ("", 0) if there is none, or no longer one."""
    name, function = struct.unpack("<2Q", _memory_at(address, 16) or bytes(16))
    text = _memory_at(name, NAME_LIMIT).partition(b"\0")[0] if name else b""
    return text.decode("utf-8", "replace"), function


def function_of(builtin: Any) -> int:
    """Return the address of the C function that a builtin calls; 0 if it is unknown."""
    return _method(_row_of(builtin))[1]


def _memory_at(address: int, size: int) -> bytes:
    """Read memory of this process, as much as there is. An invalid address gives no bytes, and no fault."""
    with contextlib.suppress(OSError, ValueError, OverflowError), open("/proc/self/mem", "rb", 0) as memory:
        return os.pread(memory.fileno(), size, address)
    return b""


class Profiled:
    """The profile function, at address `placed` in memory, which is set while a context is open.

    `lost` says afterwards whether the traced code removed it.
    """

    def __init__(self, placed: int) -> None:
        labels = machine_code.assemble(machine_code.profile_function(0))[1]
        self.hook, self.mark = placed + labels["profile"], placed + labels["mark"]
        self.lost = False
        self._given: Any = None  # the result of sys.getprofile() while it is set

    def _called(self, *_: object) -> None:
        """Note the loss: the traced code has passed the result of sys.getprofile() to sys.setprofile()."""
        self.lost = True

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Set the profile function for this thread, and then put back the earlier one. A nested call sets nothing."""
        before, outermost = sys.getprofile(), self._given is None
        if outermost:
            self._given, self.lost = self._called, False
            ctypes.pythonapi.PyEval_SetProfile(ctypes.c_void_p(self.hook), ctypes.py_object(self._given))
        try:
            yield
        finally:
            now = sys.getprofile()
            self.lost = self.lost or now is not self._given
            if outermost:
                sys.setprofile(before)
                self._given = None

    def read(self, rows: bytes) -> PythonCalls:
        """Return the meaning of the addresses of code objects and builtins in the rows."""
        codes: dict[int, CodeName] = {}
        builtins: dict[int, tuple[str, int]] = {}
        for subject, event in self._marks(rows):
            if event == machine_code.PY_C_CALL:
                if subject not in builtins:
                    builtins[subject] = _method(subject)
            elif subject not in codes:
                codes[subject] = _code_name(ctypes.cast(subject, ctypes.py_object).value)
        return PythonCalls(self.hook, self.mark, codes, builtins, self.lost)

    def _marks(self, rows: bytes) -> Iterator[tuple[int, int]]:
        """Yield rdi and rsi of each row that is a call of `mark`."""
        wanted, position = struct.pack("<Q", self.mark), 0
        while (position := rows.find(wanted, position)) >= 0:
            if position % _ROW_SIZE == 0:
                subject, event = struct.unpack_from("<2Q", rows, position + 40)
                yield subject, event
            position += 8


def _code_name(code: Any) -> CodeName:
    qualname = getattr(code, "co_qualname", code.co_name)  # co_qualname is new in Python 3.11
    return CodeName(code.co_filename, code.co_firstlineno, code.co_name, qualname)
