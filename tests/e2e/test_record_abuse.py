"""A process that is abused does under `record()` what it does alone: its output, exit status, hooks, handlers, limits.

`scripts/abuse` runs all programs, moments and lines; here is a choice of each.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import TARGET

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "scripts" / "lib" / "abuse_programs.py"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(TARGET is not None, reason="it records the torch of the Python that runs the tests"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch"),
    pytest.mark.skipif(sys.platform != "linux", reason="it forks"),
]


@pytest.mark.parametrize(
    "names",
    [
        ("left open", "left open in a generator", "left open, and raises", "left open, with functions at exit"),
        ("ended in another thread", "threads are counted", "a failed import", "the environment"),
        ("a fork leaves the block", "a fork falls out of the block", "a fork after the block"),
        ("forks beside filters of warnings",),
        (
            "a profile function set inside",
            "a profile function of threads",
            "cProfile inside",
            "a trace function inside",
        ),
        (
            "no descriptor left",
            "descriptors closed",
            "memory used up",
            "memory used up, none free in the heap",
            "relative file names",
            "a NUL in a file name",
        ),
        ("builtins replaced", "mocks that count", "os, json and time emptied"),
        ("standard functions counted", "standard functions replaced before", "standard functions counted: stepped"),
        ("a tensor is freed at once", "a tensor is freed at once: stepped", "objects that tell when they go"),
        ("torch's profiler inside", "a profiler in another thread", "a low limit of recursion"),
        ("near the limit of recursion", "deep recursion", "an alarm that raises", "an alarm that counts"),
    ],
    ids=lambda names: names[0],
)
def test_a_program_does_what_it_does_alone(names: tuple[str, ...], tmp_path: Path) -> None:
    assert_the_same("programs", names, tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ("left open by a stopped loop", "left open, and exits", "ends at once", "killed by a signal"),
        ("a fork leaves the block", "a fork raises", "a pool of processes", "files, folder, mask and environment"),
        ("forks beside filters of warnings",),
        ("near the limit of recursion", "standard functions counted", "a tensor is freed at once: stepped"),
        ("hooks of exceptions", "output replaced and closed", "a profiler in another thread", "no file may grow"),
        ("left open, and raises: in a fork", "a NUL in a file name: in a fork"),
    ],
    ids=lambda names: names[0],
)
def test_a_script_does_what_it_does_alone(names: tuple[str, ...], tmp_path: Path) -> None:
    """Under `ptexplore trace --script`: the same output, exit status and files."""
    assert_the_same("scripts", names, tmp_path)


def assert_the_same(what: str, names: tuple[str, ...], folder: Path) -> None:
    """Run programs of `scripts/abuse`, alone and recorded."""
    command = [sys.executable, str(PROGRAMS), what, *names]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    told = list(map(json.loads, done.stdout.splitlines()))
    assert [name for name, _, _ in told] == list(names)
    assert {name: how for name, how, why in told if how and why is None} == {}


def test_with_every_warning_an_error_nothing_is_told_of_a_recording(warm_cache: Path, tmp_path: Path) -> None:
    """No file is left open, nothing deprecated is used: Python's development mode would say it on standard error."""
    program = (
        "import torch, ptexplore\n"
        "with ptexplore.record(native_budget='3M') as recording: torch.neg(torch.ones(2))\n"
        "recording.save('x.trace'); print(len(recording.trace.hops) > 0)"
    )
    environment = {**os.environ, "PTEXPLORE_CACHE": str(warm_cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


MOMENTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from lib import abuse_moments as abuse
said = []
said += [f"{text} ({n})" for text, n in abuse.moments(int(sys.argv[2]), 3, int(sys.argv[3]), said.append).items()]
print(json.dumps(said))
"""
LINES = """
import json, sys
sys.path.insert(0, sys.argv[1])
from lib import abuse_moments as abuse
for _ in range(2):
    with abuse.ptexplore.record():
        abuse.work()
first = {}
for number, place in enumerate(abuse.count_lines(), 1):
    first.setdefault(place, number)
numbers = sorted(first.values())
said = [abuse.line(number, fault) for fault in abuse.FAULTS for number in numbers[:: int(sys.argv[2])]]
print(json.dumps([text for text in said if text]))
"""


def said_by(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, str(ROOT / "scripts"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("budget", ["0", "3000000"], ids=["recorded", "stepped"])
def test_a_signal_at_any_moment_is_the_programs(budget: str) -> None:
    """Nothing is stuck, no hook stays, the exception comes out, what ran is kept, and recording works again."""
    assert said_by(MOMENTS, "24", budget) == []


def test_an_exception_at_any_line_of_start_and_end_leaves_all_or_nothing() -> None:
    assert said_by(LINES, "40") == []
