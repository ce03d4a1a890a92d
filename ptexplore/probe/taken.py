"""Modules that recorders use while a program runs, as they were before it: a program may replace what is in them.

A test that mocks `time.perf_counter`, or counts how often `os.getpid` is called, must not meet a recorder's calls.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["gc", "os", "signal", "sys", "threading", "time"]

if not TYPE_CHECKING:

    def _taken(module: ModuleType) -> ModuleType:
        copy = ModuleType(module.__name__)
        vars(copy).update(vars(module))
        return copy

    _path = _taken(os.path)
    gc, os, signal, sys, threading, time = map(_taken, (gc, os, signal, sys, threading, time))
    os.path = _path
