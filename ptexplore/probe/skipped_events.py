"""Which events the profile function skips: of code that has no path. It is decided once for each code and builtin."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from types import CodeType, ModuleType
from typing import Any

from . import at_work, event_filter, python_calls
from . import torch_api as api
from .taken import sys

NEVER = frozenset({sys.setprofile})  # the profile function must see these calls
# How the classes of the objects of pybind11's functions begin. Such an object says nothing about the function.
PYBIND11 = ("PyCapsule", "pybind11_")
BUILTINS, FRAMES = 0, 1  # in `counts`: events of builtins, and of Python functions


class SkippedEvents:
    """The code, the types and the builtins whose events are skipped.

    A function of a module is skipped by itself, and a method by the type of its object. `codes` has the addresses of
    code objects, since the hash of a code object takes long; `Labels` keeps the objects. `counts` are the skipped
    events so far.
    """

    __slots__ = ("_filter", "builtins", "codes", "counts", "owners")

    def __init__(self) -> None:
        self._filter = event_filter.of_this_process()
        self.codes: set[int] = set()
        self.owners: set[type] = set()
        self.builtins: set[Any] = set()
        self.counts: MutableSequence[int] | memoryview = self._filter.counts if self._filter is not None else [0, 0]

    def setter(self, function: Callable[..., Any]) -> Callable[[], None]:
        """Return what sets `function` as the profile function of the calling thread."""
        return self._filter.setter(function) if self._filter is not None else event_filter.set_directly(function)

    def skip_code(self, code: CodeType) -> None:
        """Skip the events of a function without a path."""
        self.codes.add(id(code))
        if self._filter is not None:
            self._filter.skip(id(code))

    def skip_builtin(self, builtin: Any) -> None:
        """Skip the calls of a builtin without a path, if no other builtin would be skipped that has one.

        Functions that wait are not skipped: where another thread waits is known from its last call.
        """
        owner = builtin.__self__
        kind = type(owner)
        if builtin in NEVER or at_work.only_waits(builtin):
            return
        if owner is None or kind is ModuleType or kind.__name__.startswith(PYBIND11):
            self.builtins.add(builtin)
            if self._filter is not None:
                self._filter.skip(python_calls.row_of(builtin))
        elif _has_no_path(kind):
            self.owners.add(kind)
            if self._filter is not None:
                self._filter.skip(id(kind))

    def forget(self) -> None:
        """Skip nothing from here on: a thread that goes on after the recording must come to the profile function."""
        for skipped in (self.codes, self.owners, self.builtins):
            skipped.clear()
        if self._filter is not None:
            self._filter.forget()


def _has_no_path(kind: type) -> bool:
    """Return whether no method of a type, written in C, has a path (`torch_api.identify`): it is not torch's."""
    if kind is api.FAST_RANGE or issubclass(kind, type):
        return False
    return not any(map(api.is_torchs, api.bases_of(kind)))
