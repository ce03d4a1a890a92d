# ruff: noqa: PLC0414  (what is named anew is meant to be imported from here)
"""Modules that recorders use while a program runs, as they were before it: a program may replace what is in them.

A test that mocks `time.perf_counter`, or counts how often `os.getpid` is called, must not meet a recorder's calls.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gc as gc
    import os as os
    import signal as signal
    import sys as sys
    import threading as threading
    import time as time
else:
    import gc
    import os
    import signal
    import sys
    import threading
    import time

    def _taken(module: ModuleType) -> ModuleType:
        copy = ModuleType(module.__name__)
        vars(copy).update(vars(module))
        return copy

    _path = _taken(os.path)
    gc, os, signal, sys, threading, time = map(_taken, (gc, os, signal, sys, threading, time))
    os.path = _path
