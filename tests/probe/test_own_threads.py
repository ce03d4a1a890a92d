"""Threads that are in the program's process by the recorder alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")

# One processor, and a main thread that no other one may interrupt: another begins only where this one waits.
BEGINS = """
import _thread, os, sys
from ptexplore.capture import own_process
threads = own_process.probe_module("own_threads")
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
try:
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
except PermissionError:
    sys.exit(77)
began, lock = [], _thread.allocate_lock()
lock.acquire()
def beside():
    began.append(1)
    lock.acquire()
with threads.what_begins():
    _thread.start_new_thread(beside, ())
print(began)
"""


def test_what_begins_has_begun_when_the_program_goes_on() -> None:
    """What a thread takes at its begin, it has by then: the program may forbid more memory next."""
    done = subprocess.run([sys.executable, "-c", BEGINS], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("the scheduler's rules cannot be changed here")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1]\n", "")
