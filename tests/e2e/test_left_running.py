"""A process that traced code starts and leaves running: the trace names it, waits for none, and ends no daemon."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptexplore.capture import left_running
from tests.harness import InProcess

pytest.importorskip("torch")

# A daemon as the textbook has it: its parent is gone, its session is its own. Its number goes into a file.
SCRIPT = """
import os, torch
torch.ones(3).add(1)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("number", "w").write(str(os.getpid()))
        os.execlp("sleep", "sleep", "{seconds}")
    os._exit(0)
os.wait()
while not os.path.exists("number"):
    pass
"""
# Whoever waits for a daemon of theirs to be gone must come to an end, which takes somebody who reaps it.
ENDS = """
import os, time
def ends():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if daemon := os.fork():
            os.write(writing, b"%d" % daemon)
        os._exit(0)
    os.wait()
    daemon = int(os.read(reading, 16))
    try:
        while True:
            os.kill(daemon, 0)
            time.sleep(0.001)
    except ProcessLookupError:
        return daemon > 0
"""


@pytest.fixture
def seconds() -> Iterator[str]:
    """How long a `sleep` of this test sleeps: its mark among all processes, which are ended behind the test."""
    mark = f"{1000 + time.monotonic_ns() % 10**6}.{os.getpid()}"
    yield mark
    for number in running(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def running(seconds: str) -> set[int]:
    """The processes that sleep so long, by the system's own list."""
    numbers = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and (entry / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                numbers.add(int(entry.name))
    return numbers


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests leave running does not end by itself: waiting for it would show nothing."""
    monkeypatch.setattr(left_running, "PATIENCE", 0.0)


def test_a_daemon_of_an_expression_is_told_and_lives_on(command: InProcess, seconds: str) -> None:
    daemon = f"subprocess.Popen(['sleep', '{seconds}'], start_new_session=True)"
    asked = ("trace", f"{daemon} and torch.add(a, b)", "--setup", "import subprocess", "--once", "--view", "path")
    result = command(*asked)
    assert result.code == 0, result
    (number,) = running(seconds)
    told = re.sub(r"\n  ", " ", result.out)
    assert (
        f"! left-running: the expression started 1 process that still runs: sleep {seconds} (process {number})" in told
    )


def test_a_daemon_of_a_script_is_told_by_its_number(command: InProcess, seconds: str) -> None:
    Path("daemon.py").write_text(SCRIPT.format(seconds=seconds))
    told = command("trace", "--script", "daemon.py", "--no-native", "--json").data["findings"]
    number = int(Path("number").read_text())
    assert running(seconds) == {number}, "it lives on"
    texts = [finding["text"] for finding in told if finding["kind"] == "left-running"]
    assert texts == [
        f"the script started 1 process that still runs: sleep {seconds} (process {number}); ptexplore does not end it"
    ]


@pytest.mark.parametrize(
    ("end", "limits"),
    [
        ("torch.add(a, torch.ones(7))", ["60"]),
        ("os.abort()", ["60"]),
        ("time.sleep(1000)", ("2", "10", "50")),  # seconds, in which a busy machine may not come to the daemon
    ],
)
def test_a_daemon_of_what_fails_is_told_too(
    command: InProcess, seconds: str, end: str, limits: tuple[str, ...]
) -> None:
    daemon = f"subprocess.Popen(['sleep', '{seconds}'], start_new_session=True)"
    asked = ("trace", f"{daemon} and {end}", "--setup", "import os, subprocess, time", "--once", "--timeout")
    for limit in limits:
        result = command(*asked, limit)
        assert result.code == 1, result
        if numbers := running(seconds):
            break
    (number,) = numbers
    assert f"sleep {seconds} (process {number})" in " ".join((result.out + result.err).split()), "on one line or two"


def test_what_stays_in_the_group_ends_with_the_trace(command: InProcess, seconds: str) -> None:
    child = f"subprocess.Popen(['sleep', '{seconds}'])"
    result = command("trace", f"{child} and a", "--setup", "import subprocess", "--once", "--json")
    (told,) = (finding["text"] for finding in result.data["findings"] if finding["kind"] == "left-running")
    pattern = rf"the expression started 1 process that still ran at its end, .*: sleep {seconds} \(process \d+\)"
    assert re.fullmatch(pattern, told)
    assert not running(seconds)


def test_what_ends_in_time_is_not_told(command: InProcess) -> None:
    """A child that is waited for, a daemon that is, a thread, and workers that Python ends at its own end."""
    setup = f"import subprocess, threading\n{ENDS}"
    parts = (
        "subprocess.run(['true'])",
        "ends()",
        "threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "torch.add(a, b)",
    )
    result = command("trace", f"[{', '.join(parts)}]", "--setup", setup, "--once", "--json")
    assert result.code == 0, result
    assert not [finding for finding in result.data["findings"] if finding["kind"] == "left-running"]
