"""What the recorders need of Python, kept from before the traced code runs: that may replace any of it.

A program may put something else in the place of `len`, `open`, `json.dumps` or `time.time` (a mock, a shim, a fake
clock), and lower its own limits. The recorders' modules have builtins and modules of the standard library of their own,
so that their hooks call neither a mock nor what is broken. Where the traced code is over, and only our answer is left
to give, what it replaced in the standard library, and what it lowered, is put back for that.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import functools
import importlib.machinery
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_BUILTINS = dict(vars(builtins))
SPARE, HIGH = 4, 1000  # descriptors that are kept, and from which number on
_SHARED = {"sys", "builtins"}  # whose variables are the process's own: sys.stdout, sys.argv
_LIMITS = ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_STACK")
_copies: dict[str, ModuleType] = {}


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of the recorders."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with builtins, and modules of the standard library, of its own."""
        vars(module)["__builtins__"] = _BUILTINS
        super().exec_module(module)
        for name, value in list(vars(module).items()):
            if type(value) is ModuleType and _is_standard(value.__name__) and not name.startswith("__"):
                setattr(module, name, _copy(value))


class _Finder:
    """Finds the modules of the recorders' package."""

    def __init__(self, package: str) -> None:
        self._prefix = package + "."

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """As Python asks a finder."""
        if not name.startswith(self._prefix) or path is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def keep_for(package: str) -> None:
    """Have the modules of this package, which are imported from now on, see Python as it is now."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package))


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names and name not in _SHARED


def _copy(module: ModuleType) -> ModuleType:
    """A module with the same variables, which nobody else knows."""
    known = _copies.get(module.__name__)
    if known is None:
        known = _copies[module.__name__] = ModuleType(module.__name__)
    for name, value in vars(module).items():
        vars(known).setdefault(name, value)
    if module.__name__ == "os":
        known.path = _copy(module.path)  # type: ignore[attr-defined]
    return known


@functools.cache
def _functions() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The functions and classes of Python's own modules, each module's variables first."""
    kinds = (FunctionType, BuiltinFunctionType, type)
    modules = [module for name, module in list(sys.modules.items()) if _is_standard(name) and type(module) is ModuleType]
    return [
        (vars(builtins), _BUILTINS),
        *((vars(m), {name: value for name, value in vars(m).items() if isinstance(value, kinds)}) for m in modules),
    ]


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """Where a hook calls functions of Python's or torch's, which look for builtins: those that were there before."""
    current = vars(builtins)
    replaced = {name: current[name] for name, value in _BUILTINS.items() if current.get(name, value) is not value}
    current.update({name: _BUILTINS[name] for name in replaced})
    try:
        yield
    finally:
        current.update(replaced)


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
    """Open descriptors that can be given up when the traced code has used up all, above those that it gets itself."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    null = os.open(os.devnull, os.O_RDONLY)
    with contextlib.suppress(OSError):
        for _ in range(SPARE):
            _spare.append(fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, min(max(most - 2 * SPARE, 0), HIGH)))
    os.close(null)


def _give_up_spare() -> None:
    """Close what was kept for now; a descriptor that the traced code has closed may be one of its own by now."""
    with contextlib.suppress(OSError):
        null = os.stat(os.devnull).st_rdev
        for descriptor in _spare:
            with contextlib.suppress(OSError):
                if os.fstat(descriptor).st_rdev == null:
                    os.close(descriptor)
    _spare.clear()


def put_back() -> None:
    """Put back the functions and classes that were replaced, and the limits that were lowered, if the system lets.

    Files may be used up as well: as many more as may be can be opened.
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
