"""Where C++ threw an error, read from the text that torch gives it with TORCH_SHOW_CPP_STACKTRACES=1, or from notes.

Source of the form: c10::Error::compute_what of c10/util/Exception.cpp, and torch/csrc/profiler/unwind for the stack,
whose places are a library and an address in it while TORCH_DISABLE_ADDR2LINE is set.
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
CALL_BACK = (*OPENMP, "libc.", "libpthread", "libstdc++", "libmkl")  # run what they are given
THROWING = ("c10::Error::", "c10::detail::torch", "c10::SetStackTraceFetcher", "std::_Function_handler<")
HANDS_ON = "std::__exception_ptr::exception_ptr"  # among the parameters of what makes an error of C++ one of Python's
HELPER = "pybind11::detail::raise_err("  # sets an error for what calls it (detail/internals.h of torch 2.6)
THROW = "throw"
_CLASS = re.compile(r"c10::\w+Error::\w+Error\(")  # of the error itself: c10::IndexError::IndexError(


def thrown(text: str, cache: Path) -> ThrownError | None:
    """Where the error of this text was thrown; None for one that C++ did not throw.

    `cache` is the folder where function tables are kept by build id.
    """
    raised = _RAISED.search(text)
    if raised is None:
        return None
    functions = _functions(text[raised.end() :], cache)
    stack = tuple(function for function in functions if not _throws(function.name))
    return ThrownError(without_stack(text), raised[1], raised[2], int(raised[3]), stack)


def raised(told: RaiserNoted, message: str, cache: Path) -> ThrownError | None:
    """Where an error was thrown that torch keeps no line with; None if it is not known.

    `told` is what the probe noted (probe/raises.py). What hands an error of C++ to Python takes it as an exception_ptr;
    then the last one that was thrown before is that error.
    """
    by, places = told.by, told.places
    innermost = list(islice(_named(places, cache), 2))
    raiser = innermost[0] if innermost else None
    setter = innermost[-1] if raiser is not None and raiser.name.startswith(HELPER) else raiser
    if setter is not None and HANDS_ON in setter.name:
        by, places = THROW, told.thrown
        raiser = _raiser(places, cache)
    if raiser is None or not raiser.name:
        return None
    stack = tuple(stack_at(places, cache))
    type_ = demangle(f"_Z{told.type}") if by == THROW else ""
    return ThrownError(message, parse(raiser.name).plain, stack=stack, by=by, type=type_, raiser=raiser)


def _raiser(places: Sequence[tuple[str, int]], cache: Path) -> CppFunction | None:
    """The innermost function on a stack that is none of C++'s own library; None if its library tells no names."""
    return next(_named(places, cache), None)


def _named(places: Sequence[tuple[str, int]], cache: Path) -> Iterator[CppFunction]:
    """The functions on a stack that are none of C++'s own library, innermost first, until a library tells no names."""
    for file, address in places:
        if os.path.basename(file).startswith(STANDARD):
            continue
        try:
            function = Elf(file, cache).at(address)
        except (OSError, NotElf):
            return
        yield _told(function)


def _functions(text: str, cache: Path) -> Iterator[CppFunction]:
    """The functions of torch's libraries, and of extensions, on the stack that a text tells, innermost first."""
    frames = (_FRAME.fullmatch(line.rstrip()) for line in text.splitlines())
    return stack_at([(frame[1], int(frame[2])) if frame is not None else None for frame in frames], cache)


def stack_at(places: Sequence[tuple[str, int] | None], cache: Path) -> Iterator[CppFunction]:
    """The functions of torch's libraries, and of extensions, at places of libraries (file, address), innermost first.

    Returns nothing for a place that is not known. `cache` is the folder where function tables are kept by build id.
    """
    libraries: dict[str, Elf | None] = {}

    def is_told(path: str) -> bool:
        if path not in libraries:
            libraries[path] = _told_library(path, cache)
        return _is_ours(path) or libraries[path] is not None

    for place, caller in zip_longest(places, places[1:]):
        if place is None or not is_told(place[0]):
            continue
        elf = libraries[place[0]]
        # The address is the one that the call returns to: it may be behind the function's end.
        if elf is not None:
            function = elf.at(place[1] - 1)
            # What cannot be read may be torch's.
            entered = caller is not None and not is_told(caller[0]) and not _calls_back(caller[0])
            yield _told(function, entered=entered)


def _told(function: FunctionAddress, *, entered: bool = False) -> CppFunction:
    shared, jumpers = (tuple(map(demangle, names)) for names in (function.others, function.jumpers))
    return CppFunction(function.library, demangle(function.mangled), function.unit, entered, shared, jumpers)


def _told_library(path: str, cache: Path) -> Elf | None:
    """The library, if it is torch's or an extension's; None for any other, and for one that cannot be read."""
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
    """Whether a library runs functions that it is given: a loop's part in OpenMP's, a thread in that of C."""
    return os.path.basename(path).startswith(CALL_BACK)


def _throws(name: str) -> bool:
    """Whether a function is one of those that make the error."""
    return name.startswith(THROWING) or _CLASS.match(name) is not None
