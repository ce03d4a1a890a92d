"""Record Python frames inside torch and calls of torch's builtins, as markers in the profiler's own event tree.

A marker is opened when a frame or builtin is entered and closed when it is left, so operators nest in
frames exactly, without comparing clocks. The hook is restored by leaving the context.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from . import torch_api as api

LIMIT = 100_000  # markers of one pass


class Recorder:
    """What the hook saw: `marked` by marker name, and `cut` when the limit was reached."""

    def __init__(self, user_files: tuple[str, ...]) -> None:
        self.marked: dict[str, dict[str, Any]] = {}
        self.cut = False
        self._prefix = api.torch_dir() + os.sep
        self._user_files = user_files
        self._wanted: dict[CodeType, bool] = {}
        self._open: list[tuple[object, Any]] = []

    def hook(self, frame: FrameType, event: str, argument: Any) -> None:
        """The profile function: enter and leave markers in step with Python."""
        if event == "call":
            if self._is_wanted(frame.f_code):
                self._enter(frame, self._frame(frame))
        elif event == "return":
            self._leave(frame)
        elif event == "c_call":
            known = api.identify(argument)
            if known is not None:
                self._enter(argument, self._builtin(argument, known))
        else:  # c_return, c_exception
            self._leave(argument)

    def close(self) -> None:
        """Close what an exception left open."""
        while self._open:
            self._open.pop()[1].__exit__(None, None, None)

    def _is_wanted(self, code: CodeType) -> bool:
        wanted = self._wanted.get(code)
        if wanted is None:
            wanted = code.co_filename.startswith(self._prefix) or code.co_filename in self._user_files
            self._wanted[code] = wanted
        return wanted

    def _enter(self, owner: object, data: dict[str, Any]) -> None:
        if len(self.marked) >= LIMIT:
            self.cut = True
            return
        name = f"f:{len(self.marked)}"
        self.marked[name] = data
        mark = api.marker(name)
        mark.__enter__()
        self._open.append((owner, mark))

    def _leave(self, owner: object) -> None:
        # A builtin bound anew for the return event is equal, not identical.
        if self._open and (self._open[-1][0] is owner or self._same_builtin(self._open[-1][0], owner)):
            self._open.pop()[1].__exit__(None, None, None)

    @staticmethod
    def _same_builtin(one: object, other: object) -> bool:
        return type(one) is type(other) and not isinstance(one, FrameType) and _identity(one) == _identity(other)

    def _frame(self, frame: FrameType) -> dict[str, Any]:
        code, back = frame.f_code, frame.f_back
        caller = back.f_lineno if back is not None and self._is_wanted(back.f_code) else None
        return {
            "type": "frame",
            "file": code.co_filename,
            "line": code.co_firstlineno,
            "function": code.co_name,
            "qualname": getattr(code, "co_qualname", code.co_name),
            "caller_line": caller,
        }

    def _builtin(self, builtin: Any, known: tuple[str, str]) -> dict[str, Any]:
        (include, _), (exclude, _) = api.local_sets()
        owner = getattr(builtin, "__self__", None)
        bound = None
        if issubclass(type(owner), api.TENSOR_BASE):
            bound = {"impl": api.address(owner), "raw": api.key_set(owner)[0]}
        table, method = known
        return {
            "type": "builtin",
            "table": table,
            "method": method,
            "qualname": api.public_name(table, method),
            "self": bound,
            "tls_include": include,
            "tls_exclude": exclude,
        }


def _identity(builtin: Any) -> tuple[int, str]:
    return id(getattr(builtin, "__self__", None)), str(getattr(builtin, "__name__", ""))


@contextmanager
def recording(user_files: tuple[str, ...] = ()) -> Iterator[Recorder]:
    """Hook this thread's calls while the context is open; the hook found before is put back."""
    recorder = Recorder(user_files)
    before = sys.getprofile()
    sys.setprofile(recorder.hook)
    try:
        yield recorder
    finally:
        sys.setprofile(before)
        recorder.close()
