"""Readers of files that do what no file should make them do; workers import them, so they are in a module."""

from __future__ import annotations

import os
import signal
import time

from ptexplore.cpp.macros import MacroTable
from ptexplore.index.workers import Task


def read(task: Task, macros: MacroTable) -> str:
    """The path; the process ends at once where that says so, as it does when the system or a budget ends it."""
    del macros
    for name in ("SIGKILL", "SIGPROF", "SIGABRT"):
        if name in task.path:
            os.kill(os.getpid(), getattr(signal, name))
            time.sleep(60)
    if "forever" in task.path:
        while True:  # as a parser that does not end
            time.sleep(60)
    return task.path
