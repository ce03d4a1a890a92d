"""`ptexplore exercise`: each judge knows a right solution, a nearly right one, and a hostile one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ptexplore.annotations.exercises import parse
from tests.harness import REPOSITORY, Cli

pytestmark = pytest.mark.e2e
FOLDER = REPOSITORY / "annotations/exercises"
# A small mistake in each model solution: what is replaced, and by what.
NEARLY = {
    "view": ("or shape[at] == 1)", "or False)"),  # ones in front of a full chunk
    "dispatch": ("- {PARTS.get(key, key) for key in excluded}", "- set(excluded)"),  # keys, not functionalities
    "engine": (
        'float("inf") if isinstance(ready, str) else numbers[ready]',
        "numbers[ready] if isinstance(ready, int) else -1",
    ),
    "asked": ("seen.insert(place, name)", "seen.append(name)"),
    "promote": ('"float": "float32"', '"float": "float64"'),
    "saved-file": ("offset * size)", "0)"),  # the first element of the storage, not of the tensor
    "saved": ('("new", "data", "clone")', '("new", "data", "clone", "detach")'),
    "broadcast": ("if shape[first] > shape[second]:", "if False:"),  # equal strides
    "module-call": ("if hook[2]:", "if hook[2] and hook in module['post']:"),  # hooks of all modules, after an error
    "sgd": (
        "buffers[number] = gradient\n",
        "buffers[number] = (1 - settings['dampening']) * gradient\n",
    ),  # at first
    "loader": (
        "worker = sent % workers",
        "worker = free.index(min(free))",
    ),  # the next idle worker, not the next in turn
    "collate": ('"float32" if float in kinds', '"float64" if float in kinds'),  # an int first, then a float
    "alive": ("saved[name] = names[source[0]]", "saved[name] = value"),  # the product instead of the factor
    "cache": ("rest > SMALL", "rest >= SMALLEST"),  # when a large block is split
    "registrations": (
        "registered[:] = [other for other in registered if other != library]",
        "registered[:] = [] if registered[:1] == [library] else registered",
    ),  # an older kernel does not come back
    "schema": ("(a{number}!)", "(a{len(mutates) - 1}!)"),  # counts marks, not parameters
    "refused": ("            if strides != other[1]:", "            if False:"),  # the same range in another order
    "template": ("if not items:", "if False:"),  # the comma of an empty list
    "spellings": ('base.removesuffix("_functional")', "base"),
}
HOSTILE = {
    "import torch\n": "a solution has no torch",
    "import torchgen\n": "a solution has no torchgen",
    "import ctypes\n": "a solution has no ctypes",
    "open('/etc/passwd')\n": "a solution may not open files",
    "import os\nos.fork()\n": "a solution may not do this: os.fork",
    "import os\nos._exit(0)\n": "its process ended without a result",
    "x = [bytearray(1 << 28) for _ in range(9)]\n": "MemoryError",
}


def solution(name: str) -> str:
    return parse((FOLDER / f"{name}.md").read_bytes(), name).solution


@pytest.fixture
def judge(own_cache: Path, tmp_path: Path):
    cli = Cli(own_cache, tmp_path)

    def run(name: str, text: str, *further: str):
        (tmp_path / "mine.py").write_text(text)
        return cli("exercise", name, "mine.py", *further, env={"PTEXPLORE_DATA": str(tmp_path / "data")})

    return run


@pytest.mark.parametrize("name", NEARLY)
def test_the_judge_knows_right_and_nearly_right(judge, name: str) -> None:
    done = judge(name, solution(name))
    assert done.code == 0, done
    assert "built; the model solution" in done.out
    before, after = NEARLY[name]
    assert before in solution(name)
    done = judge(name, solution(name).replace(before, after), "--json")
    data = json.loads(done.out)
    assert (done.code, data["passed"], data["raised"]) == (1, False, "")
    assert 0 < data["right"] < data["cases"]
    assert data["first"]["result"] != data["first"]["wanted"]


def test_a_hostile_solution_is_stopped_and_says_why(judge) -> None:
    for code, words in HOSTILE.items():
        done = judge("view", code + solution("view"))
        assert done.code == 1, (code, done)
        assert words in done.out, (code, done)
        assert "0 of 10,000 cases right" in done.out


def test_one_without_end_is_ended(judge) -> None:
    done = judge("saved", "def uses(steps):\n    while True: pass\n")
    assert done.code == 1
    assert "it did not end in time" in done.out


def test_a_solution_finds_no_answer_in_its_process(judge) -> None:
    text = """
import sys
def view(sizes, strides, shape):
    frame = sys._getframe(1)
    known = sorted(name for name in sys.modules if "torch" in name or "judge" in name)
    print(known, "wan" + "ted" in str(frame.f_locals))
    raise SystemExit
"""
    done = judge("view", text)
    assert re.search(r"\[\] False", done.out), done


def test_opened_hinted_and_listed(own_cache: Path, tmp_path: Path) -> None:
    cli = Cli(own_cache, tmp_path)
    env = {"PTEXPLORE_DATA": str(tmp_path / "data")}
    assert "[ ] view" in cli("exercise", env=env).out
    assert "exercise_view.py is written" in cli("exercise", "view", env=env).out
    assert "def view(sizes, strides, shape)" in (tmp_path / "exercise_view.py").read_text()
    (tmp_path / "exercise_view.py").write_text("mine")
    assert "exercise_view.py is here already" in cli("exercise", "view", env=env).out
    assert (tmp_path / "exercise_view.py").read_text() == "mine"
    assert cli("exercise", "view", "--hint", "1", env=env).out.startswith("1/4  Walk the old shape")
    cli("exercise", "view", "--hint", "5", env=env).three_parts(2)
    cli("exercise", "view", "--solution", env=env).three_parts(2)
    cli("exercise", "vew", env=env).three_parts(2)
    cli("exercise", "view", "nowhere.py", env=env).three_parts(2)
    cli("exercise", "view", "--watch", env=env).three_parts(2)
