"""A process that is abused does under `record()` what it does alone: its output, exit status, hooks, handlers, limits.

`scripts/abuse` runs all programs, moments and lines; here is a choice of each.
"""

from __future__ import annotations

import importlib.util
import json
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
        (
            "a profile function set inside",
            "a profile function of threads",
            "cProfile inside",
            "a trace function inside",
        ),
        ("no descriptor left", "descriptors closed", "memory used up", "relative file names", "a NUL in a file name"),
        ("builtins replaced", "mocks that count", "os, json and time emptied"),
        ("near the limit of recursion", "deep recursion", "an alarm that raises", "an alarm that counts"),
    ],
    ids=lambda names: names[0],
)
def test_a_program_does_what_it_does_alone(names: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAMS), "programs", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert dict(map(json.loads, done.stdout.splitlines())) == dict.fromkeys(names, "")


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
