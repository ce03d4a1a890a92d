"""Numbers that the system writes into files: free memory, the process that traces this one.

They differ each time, and the traced code may run right after they are read. Its objects must get the same addresses as
the last time. So no object here has a length that depends on such a number.
"""

from __future__ import annotations

import ctypes
from ctypes import byref

from .taken import os

_TEXT = ctypes.create_string_buffer(1 << 13)  # the content of a file
_C = ctypes.CDLL(None)
_C.strtoull.restype = ctypes.c_ulonglong


def number_in(path: str, name: bytes = b"") -> int:
    """Return the number after a name in a file of the system; 0 if there is none."""
    place = _place_after(path, name)
    return int(_C.strtoull(byref(_TEXT, place), None, 10)) if place >= 0 else 0


def text_in(path: str, name: bytes) -> bytes:
    """Return the text after a name until the end of its line; an empty text if there is none."""
    place = _place_after(path, name)
    return _TEXT.raw[place:].partition(b"\0")[0].partition(b"\n")[0].strip() if place >= 0 else b""


def _place_after(path: str, name: bytes) -> int:
    """Read a file into `_TEXT`. Return the place after a name; -1 if there is none, or the file cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        count = os.readv(file, [_TEXT])
    except OSError:
        return -1
    finally:
        os.close(file)
    _TEXT[min(count, len(_TEXT) - 1)] = b"\0"  # the end of this file; the buffer may hold the text of an earlier one
    place = _TEXT.raw.find(name, 0, count)
    return place + len(name) if place >= 0 else -1
