"""The parts of Python that the recorders need, kept from before the traced code runs: it may replace any of them.

A program may replace `len`, `open`, `json.dumps` or `time.time` (by a mock, a shim, a fake clock), and lower its own
limits. While it runs, the recorders' own modules use what `main` and `taken` keep for them. Python functions that their
hooks call use the kept versions inside `ours`. After the traced code has ended, only our answer is left to send. For
that, the replaced parts of the standard library and the lowered limits are put back.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import functools
import importlib
import resource
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .taken import os, sys

_BUILTINS: dict[str, Any] = dict(vars(builtins))
SPARE, HIGH = 4, 1000  # how many descriptors are kept, and the lowest number for them
_SHARED = {"sys", "builtins"}  # their variables belong to the process: sys.stdout, sys.argv
_LIMITS = ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_STACK")


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names and name not in _SHARED


@functools.cache
def _functions() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the variables of each of Python's own modules, with their original functions and classes."""
    standard = (module for name, module in list(sys.modules.items()) if _is_standard(name))
    modules = [module for module in standard if type(module) is ModuleType]
    return [
        (vars(builtins), _BUILTINS),
        *(
            (vars(m), {name: value for name, value in vars(m).items() if isinstance(value, _FUNCTIONS)})
            for m in modules
        ),
    ]


# Names in modules that functions of Python and torch look up when the recorders call them: for example in
# `os.path.realpath`, and in torch's profiler, which names each profile by a uuid. These functions only compute, ask or
# name something. So no harm is done if another thread of the program calls one while the originals are back. An empty
# tuple means all functions and classes of the module.
_OF_RE = ("re._compiler", "re._parser") if sys.version_info >= (3, 11) else ("sre_compile", "sre_parse")
_LOOKED_UP: dict[str, tuple[str, ...]] = {
    "posixpath": (), "genericpath": (), "stat": (), "signal": ("_int_to_enum", "_enum_to_int"),
    "_signal": ("getsignal",), "json": (), "json.encoder": (),
    "struct": (), "math": (), "zlib": (), "base64": (), "binascii": (), "uuid": (),
    "re": (), **dict.fromkeys(_OF_RE, ()), "_sre": (),
    "abc": (), "copy": (), "dataclasses": (), "operator": (), "functools": (), "contextlib": (), "inspect": (),
    "ctypes": ("_dlopen", "cast", "create_string_buffer"), "select": ("poll",),
    "os": ("fspath", "lstat", "stat", "readlink", "urandom", "pread", "getpid", "fsdecode", "fsencode"),
    "importlib._bootstrap": ("_handle_fromlist", "_call_with_frames_removed"),
    "warnings": ("simplefilter", "_add_filter", "_filters_mutated"),
}  # fmt: skip
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type)


def _looked_up() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the variables of each module, with their values before any traced code."""
    yield vars(builtins), _BUILTINS
    for name, only in _LOOKED_UP.items():
        with contextlib.suppress(ImportError):  # which modules exist depends on the Python version
            held = vars(importlib.import_module(name))
            yield held, {key: held[key] for key in only or held if isinstance(held.get(key), _FUNCTIONS)}


_OWN = list(_looked_up())


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """Put the original functions back inside this block, in which we call functions of Python or torch."""
    replaced: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for variables, kept in _OWN:
        now = {name: variables[name] for name, value in kept.items() if variables.get(name, value) is not value}
        if now:
            replaced.append((variables, now))
            variables.update({name: kept[name] for name in now})
    try:
        yield
    finally:
        for variables, now in replaced:
            variables.update(now)


_limits: dict[int, int] = {}
_spare: list[int] = []


def keep() -> None:
    """Remember Python's own functions, the first time, and this process's limits, for `put_back`."""
    _functions()
    for name in _LIMITS:
        number = getattr(resource, name, None)  # not every system has each
        if number is not None:
            _limits[number] = resource.getrlimit(number)[0]


def keep_spare() -> None:
    """Open spare descriptors, in case the traced code uses up all others. Their numbers are above those it gets."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    null = os.open(os.devnull, os.O_RDONLY)
    with contextlib.suppress(OSError):
        above = min(max(most - 2 * SPARE, 0), HIGH)
        _spare.extend(fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, above) for _ in range(SPARE))
    os.close(null)


def _give_up_spare() -> None:
    """Close the spare descriptors. If the traced code closed one, its number may now belong to another file."""
    with contextlib.suppress(OSError):
        null = os.stat(os.devnull).st_rdev
        for descriptor in _spare:
            with contextlib.suppress(OSError):
                if os.fstat(descriptor).st_rdev == null:
                    os.close(descriptor)
    _spare.clear()


def put_back() -> None:
    """Put back the replaced functions and classes, and the lowered limits, if the system allows it.

    The traced code may also have used up all open files: their limit is set as high as possible.
    """
    _give_up_spare()
    for variables, values in _functions():
        for name, value in values.items():
            if variables.get(name) is not value:
                variables[name] = value
    for number, before in _limits.items():
        soft, hard = resource.getrlimit(number)
        wanted = hard if number == resource.RLIMIT_NOFILE or before < 0 else before if hard < 0 else min(before, hard)
        if soft != wanted:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(number, (wanted, hard))
