"""Python's calls on the stepper's clock: a profile function of machine code whose calls of a stub stand in the log.

The function is set while something is stepped. Each event of Python's makes it call `mark` with what happened, so the
log has it in its place among all other calls. It runs no Python and touches nothing that the traced code can see but
`sys.getprofile()`, and the references to code objects that it keeps.
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
    """A Python function's code, by what names it: the file, the first line, the name with and without its classes."""

    file: str
    line: int
    name: str
    qualname: str


@dataclass(frozen=True)
class PythonCalls:
    """What the rows of a log need to be read as Python's calls.

    `hook` and `mark` are the addresses of the two functions. `codes` are code objects by address; `builtins` are names
    and the C function's address, by the address of the PyMethodDef. `lost`: the traced code took the profile function
    away; what came after its last event is not known.
    """

    hook: int
    mark: int
    codes: dict[int, CodeName] = field(default_factory=dict)
    builtins: dict[int, tuple[str, int]] = field(default_factory=dict)
    lost: bool = False

    def told(self) -> PythonLogData:
        """It as plain data."""
        codes: dict[int, PythonCodeData] = {
            address: {"file": code.file, "line": code.line, "name": code.name, "qualname": code.qualname}
            for address, code in self.codes.items()
        }
        return {"hook": self.hook, "mark": self.mark, "codes": codes, "builtins": self.builtins, "lost": self.lost}


def program() -> tuple[list[str], Said | None]:
    """The text of the profile function; none, and why, where this Python cannot have it."""
    try:
        get_code = ctypes.cast(ctypes.pythonapi.PyFrame_GetCode, ctypes.c_void_p).value or 0
        ctypes.cast(ctypes.pythonapi.PyEval_SetProfile, ctypes.c_void_p)
    except AttributeError as error:
        return [], reason("python-lacks", function=str(error.name or error))
    if sys.implementation.name != "cpython" or _method(_row_of(len))[0] != "len":
        return [], reason("other-builtins")
    return [machine_code.profile_function(get_code)], None


def _row_of(builtin: Any) -> int:
    """The PyMethodDef's address of a builtin, as the machine code reads it."""
    return int(ctypes.c_uint64.from_address(id(builtin) + machine_code.METHOD_ROW).value)


def _method(address: int) -> tuple[str, int]:
    """Name and C function of a PyMethodDef; ("", 0) where there is none (any more)."""
    name, function = struct.unpack("<2Q", _memory_at(address, 16) or bytes(16))
    text = _memory_at(name, NAME_LIMIT).partition(b"\0")[0] if name else b""
    return text.decode("utf-8", "replace"), function


def function_of(builtin: Any) -> int:
    """The address of the function of C that a builtin calls; 0 where it cannot be told."""
    return _method(_row_of(builtin))[1]


def _memory_at(address: int, size: int) -> bytes:
    """Bytes of this process's memory, as many as there are: an address that is none gives no bytes, and no fault."""
    with contextlib.suppress(OSError, ValueError, OverflowError), open("/proc/self/mem", "rb", 0) as memory:
        return os.pread(memory.fileno(), size, address)
    return b""


class Profiled:
    """The profile function, `placed` in memory, while a context is open.

    `lost` tells afterwards whether the traced code took it away.
    """

    def __init__(self, placed: int) -> None:
        labels = machine_code.assemble(machine_code.profile_function(0))[1]
        self.hook, self.mark = placed + labels["profile"], placed + labels["mark"]
        self.lost = False
        self._given: Any = None  # what sys.getprofile() gives while it is set

    def _called(self, *_: object) -> None:
        """What Python calls where the traced code puts back, as a Python function, what sys.getprofile() gave it."""
        self.lost = True

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Set the profile function for this thread; what was there before comes back. Within itself it sets nothing."""
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
        """What the rows' addresses of code objects and builtins stand for."""
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
        """rdi and rsi of each row that is a call of `mark`."""
        wanted, position = struct.pack("<Q", self.mark), 0
        while (position := rows.find(wanted, position)) >= 0:
            if position % _ROW_SIZE == 0:
                subject, event = struct.unpack_from("<2Q", rows, position + 40)
                yield subject, event
            position += 8


def _code_name(code: Any) -> CodeName:
    qualname = getattr(code, "co_qualname", code.co_name)  # co_qualname is new in Python 3.11
    return CodeName(code.co_filename, code.co_firstlineno, code.co_name, qualname)
