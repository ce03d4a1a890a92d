"""Threads that are in the program's process by us alone: Python warns of no fork because of them.

From 3.12 on it warns of a fork where the process has another thread, as the system counts them. The recorder's own
watcher is one, and the first use of torch's profiler begins one that stays until the process ends. So while the program
forks, a filter of ours stands before those of the `warnings` module. It holds for that warning, and only where every
other thread is of ours; no other filter is changed, and no warning that was shown before is shown again.
"""

from __future__ import annotations

import _thread
import ctypes
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from .taken import os, sys, threading, time

FORK_COUNTS_THREADS = sys.version_info >= (3, 12)
TASKS = "/proc/self/task"  # the system's numbers of all threads of this process
BEGINS = 10.0  # seconds that a thread has until it sleeps: a net, as it takes a millisecond
WARNING = "This process (pid=", ") is multi-threaded, use of "  # what it begins with, and goes on with
_get_ident, _get_native_id = _thread.get_ident, _thread.get_native_id
_watching: set[str] = set()
_begun: set[str] = set()


@contextmanager
def this_one() -> Iterator[None]:
    """This thread is of ours meanwhile."""
    number = str(_get_native_id())
    _watching.add(number)
    try:
        yield
    finally:
        _watching.discard(number)


@contextmanager
def what_begins() -> Iterator[None]:
    """Threads that begin meanwhile are of ours until `are_the_programs`. They have begun when this is over.

    The thread of libkineto that reads its configuration (ConfigLoader.cpp) takes memory for all thread-local variables
    of libtorch_cpu first, 31 KB, and the C library ends the process where there is none. The program may have set a
    limit by the time at which a busy machine lets that thread begin: it is waited for.
    """
    before = _tasks()
    try:
        yield
    finally:
        begun = _tasks() - before
        _begun.update(begun)
        until = time.monotonic() + BEGINS
        while not all(map(_sleeps, begun)) and time.monotonic() < until:
            time.sleep(0.0002)


def are_the_programs() -> None:
    """The program begins by itself what began threads: it would have them without us too."""
    _begun.clear()


def _tasks() -> set[str]:
    """None where the system does not tell: Python asks it the same way, and then counts those of `threading` alone."""
    with suppress(OSError):
        return set(os.listdir(TASKS))
    return set()


def _sleeps(task: str) -> bool:
    """Whether a thread waits for something, as it does once it has begun, or is gone; True if the system says nothing.

    By its state in proc_pid_stat(5).
    """
    with suppress(OSError):
        state = os.open(f"{TASKS}/{task}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(state, 1 << 10).rpartition(b") ")[2][:1] not in (b"R", b"D")
        finally:
            os.close(state)
    return True


class _ForkBesideOurs:
    """Among the patterns of filters: that of the warning, where all other threads are of ours."""

    def match(self, text: str) -> bool:
        """Whether to leave a warning of this text out."""
        return (
            text.startswith(WARNING[0])
            and WARNING[1] in text
            and _tasks() <= {str(_get_native_id()), *_watching, *_begun}
        )


FILTER = ("ignore", _ForkBesideOurs(), DeprecationWarning, None, 0)  # a row of `warnings.filters`
_filters: Any = None  # the list that it is in
_forking: tuple[FrameType, int] | None = None  # the function that forks, and where in it


def _before_fork() -> None:
    """Put the filter in. In another thread than the main one it has nothing to do: the main one is the program's."""
    global _filters, _forking  # noqa: PLW0603
    if (_watching or _begun) and _filters is None and _get_ident() == threading.main_thread().ident:
        with suppress(Exception):  # what the program put in its place is no list
            warnings.filters.insert(0, FILTER)  # type: ignore[attr-defined]
            _filters = warnings.filters
            frame = sys._getframe(1)
            _forking = frame, frame.f_lasti


def _after_fork() -> None:
    """Some versions of Python warn after this: the filter is taken out when the main thread goes on."""
    if _filters is not None and _get_ident() == threading.main_thread().ident:
        ctypes.pythonapi.Py_AddPendingCall(_TAKE_OUT, None)


def _in_child() -> None:
    _watching.clear()
    _begun.clear()
    _take_out()


def _take_out() -> None:
    global _filters, _forking
    filters, _filters, _forking = _filters, None, None
    with suppress(Exception):
        filters.remove(FILTER)


def _take_out_if_over(_: object) -> int:
    """Called by the main thread; first where other functions that are called at a fork begin, and `match` may too."""
    frame = sys._getframe(0).f_back
    if _forking is not None and frame is not _forking[0]:
        while frame is not None and frame is not _forking[0]:
            frame = frame.f_back
        if frame is not None and frame.f_lasti == _forking[1]:
            return int(ctypes.pythonapi.Py_AddPendingCall(_TAKE_OUT, None))
    _take_out()
    return 0


_TAKE_OUT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_take_out_if_over)  # never freed: Python may call it late
if FORK_COUNTS_THREADS:
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
