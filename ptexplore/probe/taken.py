"""Copies of the modules that recorders use during a program: the program may replace functions in the originals.

A test that mocks `time.perf_counter`, or that counts the calls of `os.getpid`, must not see the calls of a recorder.
"""

from __future__ import annotations

import dis
import gc
import importlib.util
import os
import signal
import sys
import threading
import time
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["dis", "gc", "os", "signal", "sys", "threading", "time"]

if not TYPE_CHECKING:

    def _taken(module: ModuleType) -> ModuleType:
        copy = ModuleType(module.__name__)
        vars(copy).update(vars(module))
        return copy

    def _own(module: ModuleType) -> ModuleType:
        """Return a second instance of a module in Python, whose functions call each other and not the replaced ones."""
        copy = importlib.util.module_from_spec(module.__spec__)
        module.__spec__.loader.exec_module(copy)
        return copy

    dis = _own(dis)
    _path = _taken(os.path)
    gc, os, signal, sys, threading, time = map(_taken, (gc, os, signal, sys, threading, time))
    os.path = _path
