"""Forks of a process: what they leave to it, what they answer, and where their memory lies."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ptexplore import processes
from ptexplore.probe import isolate
from ptexplore.probe.system_numbers import number_in, text_in

FIXED = pytest.mark.skipif(processes._personality(0xFFFFFFFF) < 0, reason="addresses are drawn at random here")
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


@contextmanager
def _served(work: Callable[[dict[str, Any]], bytes]) -> Iterator[isolate.Forks]:
    reading, guard = os.pipe()
    forks = isolate.Forks(work, guard)
    try:
        yield forks
    finally:
        forks.close()
        os.close(reading)
        os.close(guard)


# Prints where new objects of each size lie, in runs that one process has after each other, or in this one.
LAID_OUT = """
import json, os, sys, time
from ptexplore import processes
from ptexplore.probe import isolate
from ptexplore.probe.system_numbers import number_in
what, given = sys.argv[1:]

def laid_out():
    return [id(bytes(16 * size - 33)) for size in range(3, 33)] + [id(0.5 * len(given))]

def work(asked):
    seen = laid_out()
    for _ in range(int(open(given).read())):
        os.write(1, b"printed\\n")
        time.sleep(0.002)
    return json.dumps(seen).encode()

if what == "number":
    number_in(given, b"Available:")
    print(laid_out())
else:
    reading, guard = os.pipe()
    isolate.adopt()
    forks = isolate.Forks(work, guard)
    print([json.loads(forks.isolated({}).answer) for _ in range(4)])
"""


def _laid_out(what: str, file: Path, text: str) -> str:
    """What a process says of its memory, or of that of its runs, which the system begins to lay out in one way."""
    file.write_text(text)
    words = [sys.executable, "-B", "-c", LAID_OUT, what, str(file)]
    with processes.repeating(words, os.environ) as environment:
        return subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout


@FIXED
def test_what_a_process_does_while_its_runs_go_on_is_not_in_the_next_one(tmp_path: Path) -> None:
    """A run prints some lines, and ends later: the memory of the next one is laid out the same."""
    assert len({_laid_out("runs", tmp_path / "lines", lines) for lines in ("0", "1", "3", "9")}) == 1


@FIXED
def test_a_number_of_the_system_s_leaves_no_trace_in_memory(tmp_path: Path) -> None:
    """However long it is, what is allocated after it lies in the same place."""
    texts = ["Free: 1 kB\nAvailable: " + "7" * digits + " kB\n" for digits in (1, 7, 8, 12, 16)]
    assert len({_laid_out("number", tmp_path / "told", text) for text in texts}) == 1


def test_a_number_of_the_system_s(tmp_path: Path) -> None:
    file = tmp_path / "told"
    for number in (0, 7, 12_345_678, 9_223_372_036_854_771_712):
        file.write_text(f"Free: 1 kB\nAvailable:   {number} kB\n")
        assert number_in(str(file), b"Available:") == number
    assert number_in(str(tmp_path / "none")) == 0
    file.write_text("max\n")
    assert number_in(str(file)) == 0
    assert number_in(str(file), b"Available:") == 0, "nothing is left of the file before"


def test_a_text_of_the_system_s_ends_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "told"
    file.write_text("features:\tshstk wrss \nTracerPid:\t0\n")
    assert text_in(str(file), b"features:") == b"shstk wrss"
    assert text_in(str(file), b"Name:") == b""


def test_a_child_gets_its_parent_s_number_in_as_many_digits_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    for number in (7, 12_345, 4_194_303):
        monkeypatch.setattr(os, "getpid", lambda number=number: number)
        (text,) = processes._ends_with_us().values()
        assert int(text) == number
        given.append(len(text))
    assert len(set(given)) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_run_of_one_that_forks_ends_as_any_other() -> None:
    """Its status, a signal, its limit, and that of the next one, whose answer is its own."""

    def work(asked: dict[str, Any]) -> bytes:
        if "signal" in asked:
            os.kill(os.getpid(), asked["signal"])
        if "seconds" in asked:
            time.sleep(asked["seconds"])
        if "exit" in asked:
            os._exit(asked["exit"])
        return b"answered"

    with _served(work) as forks:
        assert bytes(forks.isolated({}).answer) == b"answered"
        killed = forks.isolated({"signal": int(signal.SIGKILL)})
        assert (killed.signal, bytes(killed.answer)) == ("SIGKILL", b"")
        assert forks.isolated({"exit": 3}).exit_code == 3
        late = forks.isolated({"seconds": SECONDS}, isolate.TimeLimit(0.05))
        assert (late.late, late.signal) == (True, "SIGKILL")
        assert bytes(forks.isolated({}).answer) == b"answered"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_where_the_one_that_forks_is_killed_its_run_counts_as_killed(tmp_path: Path) -> None:
    def work(_: dict[str, Any]) -> bytes:
        (tmp_path / "child").write_text(str(os.getpid()))
        time.sleep(0.5)  # until it has told who this is
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(SECONDS)
        return b""

    with _served(work) as forks:
        assert forks.isolated({}).signal == "SIGKILL"
    child = int((tmp_path / "child").read_text())
    for _ in range(int(SECONDS / 0.01)):
        if not Path(f"/proc/{child}/stat").exists() or ") Z " in Path(f"/proc/{child}/stat").read_text():
            break
        time.sleep(0.01)
    else:
        pytest.fail("what it had forked runs on")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what Linux tells")
def test_the_memory_there_is(tmp_path: Path) -> None:
    words = Path("/proc/meminfo").read_text().split()
    there_is = int(words[words.index("MemAvailable:") + 1]) * 1024
    available = isolate.available_memory()
    assert available is not None
    assert 0 < available < 1.2 * there_is


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_work_that_is_done_apart() -> None:
    """Its answer, whatever it printed; nothing where it raises or is killed."""
    assert isolate.apart(lambda: print("printed") or b"answered") == b"answered"  # type: ignore[func-returns-value]
    assert isolate.apart(lambda: bytes(1 // 0)) is None
    assert isolate.apart(lambda: os.kill(os.getpid(), signal.SIGKILL) or b"") is None  # type: ignore[func-returns-value]
