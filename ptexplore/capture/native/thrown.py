"""Finds where C++ threw an error, from torch's text with TORCH_SHOW_CPP_STACKTRACES=1, or from notes of the probe.

Source of the form: c10::Error::compute_what in c10/util/Exception.cpp, and torch/csrc/profiler/unwind for the stack. A
place of the stack is a library and an address in it while TORCH_DISABLE_ADDR2LINE is set.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

from ptexplore.capture.failures import without_stack
from ptexplore.capture.native.symbols import Elf, FunctionAddress, NotElf, demangle
from ptexplore.cpp.library_names import OPENMP, STANDARD, SYSTEMS, TORCHS
from ptexplore.cpp.symbol_names import parse
from ptexplore.model.messages import RaiserNoted
from ptexplore.model.observed import CppFunction, ThrownError

_RAISED = re.compile(r"Exception raised from (.+?) at (.+?):(\d+) \(most recent call first\):\n")
_FRAME = re.compile(r"#\d+ .* from (/.+):(\d+)")
CALL_BACK = (*OPENMP, "libc.", "libpthread", "libstdc++", "libmkl")  # libraries that run functions given to them
THROWING = ("c10::Error::", "c10::detail::torch", "c10::SetStackTraceFetcher", "std::_Function_handler<")
# a parameter of the function that converts an error of C++ to one of Python
HANDS_ON = "std::__exception_ptr::exception_ptr"
HELPER = "pybind11::detail::raise_err("  # sets an error for its caller (detail/internals.h of torch 2.6)
THROW = "throw"
_CLASS = re.compile(r"c10::\w+Error::\w+Error\(")  # the constructor of the error: c10::IndexError::IndexError(


def thrown(text: str, cache: Path) -> ThrownError | None:
    """Returns where the error with this text was thrown, or None if C++ did not throw it.

    `cache` is the folder of function tables by build id.
    """
    raised = _RAISED.search(text)
    if raised is None:
        return None
    functions = _functions(text[raised.end() :], cache)
    stack = tuple(function for function in functions if not _throws(function.name))
    return ThrownError(without_stack(text), raised[1], raised[2], int(raised[3]), stack)


def raised(notes: RaiserNoted, message: str, cache: Path) -> ThrownError | None:
    """Returns where an error was thrown, if torch keeps no line for it. None if the place is unknown.

    `notes` has the probe's notes (probe/raises.py). A function that converts an error of C++ for Python takes it as an
    exception_ptr. Then the last error thrown before is that error.
    """
    by, places = notes.by, notes.places
    innermost = list(islice(_named(places, cache), 2))
    raiser = innermost[0] if innermost else None
    setter = innermost[-1] if raiser is not None and raiser.name.startswith(HELPER) else raiser
    if setter is not None and HANDS_ON in setter.name:
        by, places = THROW, notes.thrown
        raiser = _raiser(places, cache)
    if raiser is None or not raiser.name:
        return None
    stack = tuple(stack_at(places, cache))
    type_ = demangle(f"_Z{notes.type}") if by == THROW else ""
    return ThrownError(message, parse(raiser.name).plain, stack=stack, by=by, type=type_, raiser=raiser)


def _raiser(places: Sequence[tuple[str, int]], cache: Path) -> CppFunction | None:
    """Returns the innermost function on a stack outside C++'s own library. None if its library has no names."""
    return next(_named(places, cache), None)


def _named(places: Sequence[tuple[str, int]], cache: Path) -> Iterator[CppFunction]:
    """Yields the functions on a stack outside C++'s own library, innermost first, up to a library without names."""
    for file, address in places:
        if os.path.basename(file).startswith(STANDARD):
            continue
        try:
            function = Elf(file, cache).at(address)
        except (OSError, NotElf):
            return
        yield _demangle_function(function)


def _functions(text: str, cache: Path) -> Iterator[CppFunction]:
    """Yields the functions of torch's libraries and of extensions on the stack in a text, innermost first."""
    frames = (_FRAME.fullmatch(line.rstrip()) for line in text.splitlines())
    return stack_at([(frame[1], int(frame[2])) if frame is not None else None for frame in frames], cache)


def stack_at(places: Sequence[tuple[str, int] | None], cache: Path) -> Iterator[CppFunction]:
    """Yields the functions of torch's libraries and of extensions at places (file, address), innermost first.

    A place that is unknown yields nothing. `cache` is the folder of function tables by build id.
    """
    libraries: dict[str, Elf | None] = {}

    def is_shown(path: str) -> bool:
        if path not in libraries:
            libraries[path] = _shown_library(path, cache)
        return _is_ours(path) or libraries[path] is not None

    for place, caller in zip_longest(places, places[1:]):
        if place is None or not is_shown(place[0]):
            continue
        elf = libraries[place[0]]
        # It is a return address, which may be behind the end of the function.
        if elf is not None:
            function = elf.at(place[1] - 1)
            # An unreadable library may belong to torch.
            entered = caller is not None and not is_shown(caller[0]) and not _calls_back(caller[0])
            yield _demangle_function(function, entered=entered)


def _demangle_function(function: FunctionAddress, *, entered: bool = False) -> CppFunction:
    shared, jumpers = (tuple(map(demangle, names)) for names in (function.others, function.jumpers))
    return CppFunction(function.library, demangle(function.mangled), function.unit, entered, shared, jumpers)


def _shown_library(path: str, cache: Path) -> Elf | None:
    """Returns the library if it belongs to torch or an extension. None for all others, and if it cannot be read."""
    if not _is_ours(path) and os.path.basename(path).startswith((*SYSTEMS, *CALL_BACK)):
        return None
    try:
        library = Elf(path, cache)
    except (OSError, NotElf):
        return None
    return library if _is_ours(path) or library.is_extension else None


def _is_ours(path: str) -> bool:
    return os.path.basename(path).startswith(TORCHS)


def _calls_back(path: str) -> bool:
    """Whether a library runs functions given to it: OpenMP's runs parts of a loop, C's runs threads."""
    return os.path.basename(path).startswith(CALL_BACK)


def _throws(name: str) -> bool:
    """Whether a function is one of those that make the error."""
    return name.startswith(THROWING) or _CLASS.match(name) is not None
