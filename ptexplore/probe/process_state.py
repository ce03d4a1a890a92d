"""Changes that code makes to its process and that outlive it: modes, hooks, operators, replaced functions.

If this code runs a second time, the changes of the first run are in effect. The second run may then take another way
than a program that runs the code once. A comparison of the process before and after the second run shows these changes.
Settings of torch that an evaluation changed are put back before the next evaluation, if torch can do that.
"""

from __future__ import annotations

import atexit
import gc
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from . import torch_api as api
from .reasons import Said, reason

OURS = "__ptexplore__"

# By reason: a function that counts. The code is the reason if the count has changed.
COUNTED: dict[str, Callable[[], int]] = {
    "enters-mode": api.modes_entered,
    "enters-level": api.levels_entered,
    "registers-global-hook": api.global_hooks,
    "sets-saved-hooks": api.saved_hooks_set,
    "registers-operators": api.registered,
    "starts-thread": threading.active_count,
    "registers-at-exit": getattr(atexit, "_ncallbacks", int),
    "registers-gc-callback": lambda: len(gc.callbacks),
    "adds-meta-path": lambda: len(sys.meta_path),
    "adds-path-hooks": lambda: len(sys.path_hooks),
}
# Settings that an evaluation may leave on and torch cannot put back, by the state in which the next evaluation would
# run.
STAYS: dict[str, Callable[[], int]] = {
    "a transform or a level of forward-mode differentiation": api.levels_entered,
    "hooks on saved tensors": api.saved_hooks_set,
    "inference mode": api.inference_entered,
    "another state of __torch_function__": api.functions_disabled,
}


class ProcessState:
    """The state of this process when the object was made."""

    def __init__(self) -> None:
        self._counts = {what: count() for what, count in COUNTED.items()}
        self._functions = dict(_functions())

    def changes(self) -> list[Said]:
        """Return the changes since then, as reasons."""
        done = [reason(what) for what, count in COUNTED.items() if count() != self._counts[what]]
        now = dict(_functions())
        replaced = (name for name, function in self._functions.items() if now.get(name, function) is not function)
        return done + [reason("replaces-function", name=name) for name in replaced]


class TorchSettings:
    """The settings of torch for this process or thread: modes, grad mode, the default dtype, autocast, …."""

    def __init__(self) -> None:
        self._settings = {what: (read(), read, write) for what, (read, write) in api.settings().items()}
        self._stays = {what: count() for what, count in STAYS.items()}

    def put_back(self) -> list[str]:
        """Put back each setting that has changed. Return the others, in words that follow "left on"."""
        left = [what for what, count in STAYS.items() if count() != self._stays[what]]
        for what, (held, read, write) in self._settings.items():
            if _same(held, read()):
                continue
            with suppress(Exception):  # torch may refuse: the value read next shows it
                write(held)
            if not _same(held, read()):
                left.append(what)
        return left


def _same(held: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    """Return whether two readings are equal, compared by identity, because the class of a mode may define `==`.

    Only int and str are compared by value.
    """
    return len(held) == len(now) and all(
        a is b or (type(a) in (int, str) and a == b) for a, b in zip(held, now, strict=True)
    )


def _functions() -> Iterator[tuple[str, Any]]:
    """Yield the functions of every module and of its classes with their full names, except those of --setup."""
    kinds = (types.FunctionType, types.BuiltinFunctionType, type)
    for module_name, module in list(sys.modules.items()):
        if module_name == OURS or type(module) is not types.ModuleType:
            continue
        for name, value in list(vars(module).items()):
            if type(value) in kinds:
                yield f"{module_name}.{name}", value
            if issubclass(type(value), type) and value.__module__ == module_name:
                for inner, function in list(vars(value).items()):
                    if type(function) is types.FunctionType:
                        yield f"{module_name}.{name}.{inner}", function
