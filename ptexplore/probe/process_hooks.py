"""What Python calls by a function that a process has one of, for whatever is recorded in it: at a fork, and at a tick.

Neither can be undone: a function that is called at a fork stays (os.register_at_fork), and a call that was asked for
may come late. So both are set once, and ask who is recorded then. That is one at most: torch's profiler, what stands in
for importlib's function and the profile function of new threads are each one a process, too.
"""

from __future__ import annotations

import ctypes
from typing import Protocol

from . import own_threads  # noqa: F401  (its functions are called at a fork before these)
from . import torch_api as api
from .held_signals import HeldSignals
from .taken import os


class RecordedProcess(Protocol):
    """A recording, as it is asked by these hooks."""

    def forks(self) -> None:
        """The process has forked, and goes on."""

    def forked(self) -> bool:
        """This is a fork of the process, without its other threads. Whether torch's profiler stays as it is."""

    def tick(self) -> None:
        """The main thread is between two of its instructions."""

    def failed(self, error: BaseException) -> None:
        """A tick failed."""

    def hold_back(self, signals: dict[int, object]) -> None:
        """Signals that came meanwhile: nothing can be raised here."""


class ProcessHooks:
    """The hooks of this process. `recorded`: what is recorded in it now."""

    def __init__(self) -> None:
        self.recorded: RecordedProcess | None = None

    def forks(self) -> None:
        """Called in a process that has forked."""
        if self.recorded is not None:
            self.recorded.forks()

    def forked(self) -> None:
        """Called in a fork: it is not recorded."""
        recorded, self.recorded = self.recorded, None
        if recorded is None or not recorded.forked():
            api.end_without_profiler()

    def tick(self, _: object) -> int:
        """Called by the main thread: nothing that is raised here reaches the program, so signals wait for its end."""
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
    """Have the main thread call the tick soon."""
    ctypes.pythonapi.Py_AddPendingCall(PENDING, None)
