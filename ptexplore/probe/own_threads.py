"""Suppress Python's warning about a fork if every other thread of the process is a thread of ptexplore.

From 3.12 on, Python warns about a fork if the process has another thread, as the system counts threads. The watcher of
the recorder is a thread. The first use of torch's profiler also starts a thread, which stays until the process ends. So
while the program forks, a filter of ours comes before the filters of the `warnings` module. The filter matches only
this warning, and only if every other thread is ours. No other filter is changed, and no warning that was shown before
is shown again.
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
BEGINS = 10.0  # seconds to wait until a new thread sleeps: an upper bound, since it takes a millisecond
WARNING = "This process (pid=", ") is multi-threaded, use of "  # its beginning, and the text after the number
_get_ident, _get_native_id = _thread.get_ident, _thread.get_native_id
_watching: set[str] = set()
_begun: set[str] = set()


@contextmanager
def this_one() -> Iterator[None]:
    """Count the current thread as ours inside this block."""
    number = str(_get_native_id())
    _watching.add(number)
    try:
        yield
    finally:
        _watching.discard(number)


@contextmanager
def what_begins() -> Iterator[None]:
    """Count threads that start inside this block as ours, until `are_the_programs`; wait until they have started.

    A thread of libkineto reads its configuration (ConfigLoader.cpp). First, this thread takes 31 KB for all
    thread-local variables of libtorch_cpu. If there is no memory for them, the C library ends the process. On a busy
    machine the program could set a memory limit before this thread has started: so the block waits for the thread.
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
    """Count the started threads as the program's: the program now starts torch's profiler, which needs them too."""
    _begun.clear()


def _tasks() -> set[str]:
    """Return the numbers of all threads of this process; an empty set if the system does not say.

    Python asks the system in the same way. Without an answer, Python counts only the threads of `threading`.
    """
    with suppress(OSError):
        return set(os.listdir(TASKS))
    return set()


def _sleeps(task: str) -> bool:
    """Return whether a thread waits for something, as it does after its start, or has ended.

    The state of the thread comes from proc_pid_stat(5). Returns True if the system says nothing.
    """
    with suppress(OSError):
        state = os.open(f"{TASKS}/{task}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(state, 1 << 10).rpartition(b") ")[2][:1] not in (b"R", b"D")
        finally:
            os.close(state)
    return True


class _ForkBesideOurs:
    """A pattern of a filter: it matches the warning if all other threads are ours."""

    def match(self, text: str) -> bool:
        """Return whether to suppress a warning with this text."""
        return (
            text.startswith(WARNING[0])
            and WARNING[1] in text
            and _tasks() <= {str(_get_native_id()), *_watching, *_begun}
        )


FILTER = ("ignore", _ForkBesideOurs(), DeprecationWarning, None, 0)  # a row of `warnings.filters`
_filters: Any = None  # the list that contains the filter now
_forking: tuple[FrameType, int] | None = None  # the frame that forks, and its instruction


def _before_fork() -> None:
    """Insert the filter, if the main thread forks.

    If another thread forks, the main thread is a thread of the program, and the warning is right.
    """
    global _filters, _forking  # noqa: PLW0603
    if (_watching or _begun) and _filters is None and _get_ident() == threading.main_thread().ident:
        with suppress(Exception):  # the program may have replaced the list by something else
            warnings.filters.insert(0, FILTER)  # type: ignore[attr-defined]
            _filters = warnings.filters
            frame = sys._getframe(1)
            _forking = frame, frame.f_lasti


def _after_fork() -> None:
    """Ask the main thread to remove the filter when it goes on: some versions of Python warn after this function."""
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
    """Remove the filter, unless the fork is not over yet: then ask again. The main thread calls this.

    Python may call this too early: when another function registered for forks begins, or when `match` begins.
    """
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
