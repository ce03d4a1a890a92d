"""Which C or C++ function raised: it set Python's error with a PyErr_ function, or threw an error that became it.

Most errors of torch's C++ are c10::Error, which says itself where it was thrown (thrown.py). Others do not. C++ sets
some errors with Python's own functions (handle_torch_function_no_python_arg_parser of
torch/csrc/utils/python_arg_parser.cpp). It throws others as another class (pybind11's classes, those of the standard
library, torch::TypeError until 2.9), and translate_exception_to_python of torch/csrc/Exceptions.cpp hands these to
Python. So each call of a function in `WATCHED` is noted, with the C++ stack. This happens only in a run of its own.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import machine_code as code
from .reasons import reason
from .throws import JumpTables, NoNotes, address_of

if TYPE_CHECKING:
    from .messages import RaiserNotedData

# Each with: whether its second argument is text. The first argument is the class; for __cxa_throw it is the object.
WATCHED = {
    "PyErr_SetString": True,
    "PyErr_Format": True,
    "PyErr_SetObject": False,
    "PyErr_SetNone": False,
    "__cxa_throw": False,
}
NAMES = tuple(WATCHED)
THROW = "__cxa_throw"  # its second argument is a std::type_info, whose second word is the name (Itanium C++ ABI, 2.9.5)
_CONVERSION = re.compile(rb"%[-+ #0-9.*hlzjtq]*[A-Za-z%]")  # the conversions of PyUnicode_FromFormat


@dataclass(frozen=True)
class Raise:
    """A call of a function that raises. `first` and `second` are the addresses of its arguments."""

    number: int
    function: str
    first: int
    second: int
    words: bytes
    thread: int
    stack: tuple[int, ...]

    def made(self, error: BaseException) -> bool:
        """Return whether this call may have set this error: its class is the same, and its text or its value."""
        if self.function == THROW or self.first != id(type(error)):
            return False
        args: tuple[object, ...] = vars(BaseException)["args"].__get__(error)  # whatever the class does
        if self.function == "PyErr_SetNone":
            return not args
        if self.function == "PyErr_SetObject":
            return self.second in (id(error), id(args), *map(id, args))
        text = args[0] if len(args) == 1 else None
        if type(text) is not str:
            return False
        encoded, is_cut = text.encode("utf-8", "surrogateescape"), len(self.words) == code.NOTED_WORDS
        if self.function == "PyErr_SetString":
            return encoded.startswith(self.words) if is_cut else encoded == self.words
        parts = _CONVERSION.split(self.words[: -len(b"%ld")] if is_cut else self.words)
        pattern = b".*".join(map(re.escape, parts)) + (b".*" if is_cut else b"")
        return re.fullmatch(pattern, encoded, re.DOTALL) is not None


class RaiseLog(JumpTables):
    """The notes about functions that raised. Calls by Python's own library are not noted."""

    skipped = (b"libpython", b"libc.", b"libgcc")

    def _programs(self, backtrace: int) -> dict[bytes, str]:
        try:
            of_cpp = ctypes.CDLL("libstdc++.so.6")
            watched = {name: getattr(of_cpp if name == THROW else ctypes.pythonapi, name) for name in WATCHED}
        except (OSError, AttributeError) as error:
            raise NoNotes(reason("raising-unwatched", error=str(error))) from error
        return {
            name.encode(): code.raise_note(
                self._begin, number, address_of(watched[name]), backtrace, has_words=has_words
            )
            for number, (name, has_words) in enumerate(WATCHED.items())
        }

    def data_of(self, error: BaseException) -> RaiserNotedData | None:
        """Return as plain data who raised an error: the last call that set it, and the last throw before, if any.

        Each has the places on the C++ stack, innermost first: a library and an address in it.
        """
        notes = list(self._notes_made())
        setter = next((note for note in reversed(notes) if note.made(error)), None)
        if setter is None:
            return None
        thrown = next(
            (n for n in reversed(notes[: notes.index(setter)]) if (n.function, n.thread) == (THROW, setter.thread)),
            None,
        )
        data: RaiserNotedData = {"by": setter.function, "places": list(self._frames_of(setter.stack))}
        if thrown is not None:
            data["type"], data["thrown"] = _type_name(thrown.second), list(self._frames_of(thrown.stack))
        return data

    def _notes_made(self) -> Iterator[Raise]:
        """Yield the notes since the log is on, in order."""
        for number, (which, first, second, thread, *_), words, stack in self._written():
            yield Raise(number, NAMES[which], first, second, words, thread, stack)


def _type_name(info: int) -> str:
    """Return the mangled name of a C++ type from its std::type_info."""
    name = ctypes.c_char_p.from_address(info + 8).value or b""
    return name.lstrip(b"*").decode("ascii", "replace")
