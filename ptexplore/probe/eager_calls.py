"""Count the calls of functions that Dynamo has given up: Python runs these calls without a compiled graph.

A profile function counts them. It is set only after Dynamo gives up the first function, and not while Dynamo compiles.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from . import torch_api as api
from .taken import sys, threading


class EagerCallCounter:
    """The number of calls of each watched function, from the time when the watch begins."""

    def __init__(self) -> None:
        self._calls: dict[CodeType, int] = {}
        self._keys: dict[CodeType, str] = {}
        self._compiling: set[str] = set()  # compilations that have begun and not ended
        self._is_set = False
        self._is_lost = False  # whether a call may have been missed

    def watch(self, code: CodeType, key: str) -> None:
        """Count the calls of a function from now on. `key` is the compilation that was given up."""
        self._keys.setdefault(code, key)
        self._calls.setdefault(code, 0)

    def begins(self, key: str) -> None:
        """Count nothing while Dynamo compiles."""
        self._compiling.add(key)
        self._stop()

    def ends(self, key: str) -> None:
        """A compilation ended. Count, if there is a function to watch."""
        self._compiling.discard(key)
        if not self._calls or self._compiling or self._is_set:
            return
        if sys.getprofile() is not None or api.other_threads_run_code():  # the program's own profile function
            self._is_lost = True
            return
        api.compile_never(EagerCallCounter._count.__code__)  # it runs while Dynamo handles new frames
        self._is_set = True
        threading.setprofile(self._count)
        sys.setprofile(self._count)

    def finish(self) -> None:
        """Count no more calls."""
        self._stop()

    def data(self) -> list[tuple[str, int | None]]:
        """Return the compilation of each watched function, and the number of calls; None if some may be missing."""
        is_lost = self._is_lost or (self._is_set and sys.getprofile() != self._count)
        return [(key, None if is_lost else self._calls[code]) for code, key in list(self._keys.items())]

    def _stop(self) -> None:
        if not self._is_set:
            return
        self._is_set = False
        if sys.getprofile() != self._count:  # the program has set its own since then
            self._is_lost = True
            return
        sys.setprofile(None)
        threading.setprofile(None)

    def _count(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in self._calls:
            self._calls[frame.f_code] += 1
