"""A fork of a process that adopts, or that has workers of its own, leaves them to that process."""

from __future__ import annotations

import multiprocessing
import os
import select
import subprocess
from collections.abc import Callable

import pytest

from ptexplore.probe import isolate

SECONDS = 60.0  # that a busy machine may take for what comes at once


def _in_a_fork(work: Callable[[], bytes]) -> bytes:
    """What `work` answers in a pass: a fork, as the probe makes one."""
    reading, guard = os.pipe()
    try:
        outcome = isolate.isolated(work, guard, isolate.TimeLimit(SECONDS))
    finally:
        os.close(reading)
        os.close(guard)
    assert outcome.status == 0, outcome.printed
    return bytes(outcome.answer)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forks of a process with threads, in later Pythons
def test_a_fork_of_a_pass_leaves_the_workers_of_that_pass_alone() -> None:
    """A pass ends its own daemonic workers, and a fork of the pass does not."""
    ended, held = os.pipe()  # at its end as soon as the worker is gone

    def work() -> bytes:
        ours, theirs = multiprocessing.Pipe()

        def answer() -> None:
            theirs.send("alive")
            while theirs.poll(2 * SECONDS):  # no longer, where the pass does not end it
                theirs.send(theirs.recv())

        worker = multiprocessing.get_context("fork").Process(target=answer, daemon=True)
        worker.start()
        theirs.close()
        assert ours.recv() == "alive"
        assert _in_a_fork(lambda: b"a fork of the pass") == b"a fork of the pass"
        ours.send("still alive")
        return str(ours.recv()).encode()

    try:
        assert _in_a_fork(work) == b"still alive"
        os.close(held)
        assert select.select([ended], [], [], SECONDS)[0] == [ended], "the pass has ended its worker"
        assert os.read(ended, 1) == b""
    finally:
        os.close(ended)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_only_the_process_that_adopts_reaps() -> None:
    """Whoever adopts reaps what has ended; a fork of it leaves its children to the code that started them."""

    def ended_child() -> int:
        """The exit code of a child that has ended before a fork, asked for after it."""
        child = subprocess.Popen(["sh", "-c", "exit 7"])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        _in_a_fork(lambda: b"")
        return child.wait()

    def adopts() -> bytes:
        isolate.adopt()
        return f"{ended_child()} {_in_a_fork(lambda: str(ended_child()).encode()).decode()}".encode()

    assert _in_a_fork(adopts) == b"0 7"  # 0 is Python's word for a child that somebody else has reaped
