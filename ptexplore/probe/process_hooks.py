"""Hooks that exist only once in a process, for all recordings: the functions called at a fork, and the tick.

Neither can be removed. A function that is called at a fork stays (os.register_at_fork), and a requested call may come
late. So both are set once, and ask each time which recording is active. At most one is active: torch's profiler, the
replacement for importlib's function and the profile function of new threads also exist once in a process.
"""

from __future__ import annotations

import ctypes
from typing import Protocol

from . import own_threads  # noqa: F401  (Python calls its functions at a fork before these)
from . import torch_api as api
from .held_signals import HeldSignals
from .taken import os


class RecordedProcess(Protocol):
    """A recording, as these hooks call it."""

    def forks(self) -> None:
        """The process has forked, and goes on."""

    def forked(self) -> bool:
        """This process is a fork, without the other threads. Return whether torch's profiler stays as it is."""

    def tick(self) -> None:
        """The main thread is between two of its instructions."""

    def failed(self, error: BaseException) -> None:
        """A tick failed."""

    def hold_back(self, signals: dict[int, object]) -> None:
        """Take the signals that came during a tick, in which nothing can be raised."""


class ProcessHooks:
    """The hooks of this process. `recorded` is the active recording, if there is one."""

    def __init__(self) -> None:
        self.recorded: RecordedProcess | None = None

    def forks(self) -> None:
        """Called in a process that has forked."""
        if self.recorded is not None:
            self.recorded.forks()

    def forked(self) -> None:
        """Called in a fork, which is not recorded."""
        recorded, self.recorded = self.recorded, None
        if recorded is None or not recorded.forked():
            api.end_without_profiler()

    def tick(self, _: object) -> int:
        """Called by the main thread. An error raised here does not reach the program, so signals wait until the end."""
        recorded = self.recorded
        if recorded is not None:
            held = HeldSignals()
            try:
                held.hold()
                recorded.tick()
            except Exception as error:
                recorded.failed(error)
            finally:
                held.put_back()
                recorded.hold_back(held.came)
        return 0


THIS_PROCESS = ProcessHooks()
os.register_at_fork(after_in_child=THIS_PROCESS.forked, after_in_parent=THIS_PROCESS.forks)
PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(THIS_PROCESS.tick)  # never freed: Python may call it late


def ask_for_tick() -> None:
    """Ask the main thread to call the tick soon."""
    ctypes.pythonapi.Py_AddPendingCall(PENDING, None)
