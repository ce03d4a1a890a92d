"""How long the main thread waited for a processor: recording waits in proportion, and its time is processor time."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ptexplore.probe.paths import Label, Path
from ptexplore.probe.run_times import RunTimes

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/thread-self/schedstat"), reason="the kernel counts no waiting"
)


def ran(processor_time: float) -> RunTimes:
    times = RunTimes()
    times.begin()
    until = time.thread_time() + processor_time
    while time.thread_time() < until:
        pass
    times.end()
    return times


def test_another_program_on_the_same_processor_makes_all_times_longer() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])  # it inherits the processor
    try:
        times = ran(0.3)
    finally:
        other.kill()
        other.wait()
        os.sched_setaffinity(0, allowed)
    assert times.waiting > 1.3
    assert (times.ended - times.began) / 0.3e9 == pytest.approx(times.waiting, rel=0.3)


def test_sleeping_is_no_waiting_for_a_processor() -> None:
    times = RunTimes()
    times.begin()
    time.sleep(0.3)
    until = time.thread_time() + 0.05
    while time.thread_time() < until:
        pass
    times.end()
    assert times.waiting * 0.05e9 < times.ended - times.began - 0.2e9


def test_the_time_of_recording_is_longer_by_that_factor() -> None:
    path = Path(0, None, Label("user", "f"), None)
    path.time, path.recording = 1_000, 100
    data = path.data(2.5)
    assert (data["time"], data["recording"]) == (1_000, 250)
    times = RunTimes()
    times.began, times.ended, times.hook, times.waiting = 0, 10_000, 200, 2.5
    assert times.overhead == 500
