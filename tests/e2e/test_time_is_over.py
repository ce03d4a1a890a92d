"""A run that `--timeout` ends: what ran until then is shown, and where it was, whatever it was at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness import InProcess, Result

pytest.importorskip("torch")

SECONDS = (4, 40)  # on a machine that stands still for a moment, 4 may be over before anything ran
SETUP = """
import itertools, time

def in_operators(x):
    while True: x = torch.sin(x)

def asleep(x):
    time.sleep(1000)

def in_c(x):
    return sum(itertools.repeat(1))

def caught(x):
    while True:
        try:
            asleep(x)
        except BaseException:
            pass

def f(x, how):
    return how(x.cos())
"""
# By the function that never ends: the lines that are at work, innermost first.
AT = {"in_operators": (5, 21), "asleep": (8, 21), "in_c": (11, 21), "caught": (8, 16, 21)}
OPERATOR = """import torch
lib = torch.library.Library("mine", "DEF")
lib.define("slow(Tensor x) -> Tensor")
def slow(x):
    while True: x = x + 1
lib.impl("slow", slow, "CPU")
torch.ops.mine.slow(torch.zeros(3))
"""


def ended_by(command: InProcess, *asked: str) -> Result:
    """What a command says whose run was ended: the status is 1, and something ran before."""
    for seconds in SECONDS:
        result = command(*asked, "--timeout", str(seconds))
        assert result.code == 1, result
        if result.out:
            break
    assert result.out, result
    return result


def ended(command: InProcess, *asked: str) -> dict[str, Any]:
    """The trace of a run that was ended."""
    result = ended_by(command, *asked, "--json")
    trace: dict[str, Any] = json.loads(result.out)
    ending = trace["ending"]
    assert (ending["exception"], ending["by"]) == ("timeout", "timeout")
    assert ending["over"]["code"] == "all-runs-over"
    assert ending["over"]["seconds"] in SECONDS
    return trace


def lines(trace: dict[str, Any]) -> tuple[int, ...]:
    """The lines at which your functions were, innermost first."""
    return tuple(left["source"]["line"] for left in trace["ending"]["python"] if left["source"]["path"] is None)


@pytest.mark.parametrize("how", AT)
def test_an_expression_tells_what_it_did(command: InProcess, how: str) -> None:
    trace = ended(command, "trace", f"f(a, {how})", "--setup", SETUP)
    assert lines(trace) == AT[how]
    # Before torch 2.7 the profiler tells no overload, and no other pass had time to tell it.
    called = [hop["op"] or hop["name"] for hop in trace["hops"] if hop["kind"] == "op"]
    assert called[0] == "aten::cos"
    assert set(called[1:]) == ({"aten::sin"} if how == "in_operators" else set())
    assert trace["captured"]["reason"]["code"] == "time-was-over"
    assert not trace["captured"]["frames"]


@pytest.mark.parametrize("how", AT)
def test_a_script_tells_what_it_did(command: InProcess, tmp_path: Path, how: str) -> None:
    script = tmp_path / "long.py"
    script.write_text(f"import torch{SETUP}\nf(torch.ones(3), {how})\n")
    trace = ended(command, "trace", "--script", str(script))
    own = lines(trace)
    # What catches the interrupt is asked again, and harder: it is then wherever that comes.
    assert own[-2:] == (21, 23) if how == "caught" else own == (*AT[how], 23)
    called = {hop["op"] for hop in trace["hops"] if hop["kind"] == "op"}
    assert {"aten::ones", "aten::cos"} <= called


def test_an_operator_that_is_written_in_python(command: InProcess, tmp_path: Path) -> None:
    """The profiler cannot be stopped in it: what it holds would be too much to be read in time."""
    script = tmp_path / "operator.py"
    script.write_text(OPERATOR)
    trace = ended(command, "trace", "--script", str(script))
    assert lines(trace) == (5, 7)
    ops = {kind["name"] for kind in trace["program"]["kinds"] if kind["type"] == "op"}
    assert {"mine::slow", "aten::add"} <= ops


def test_where_it_was_is_shown(command: InProcess) -> None:
    result = ended_by(command, "trace", "f(a, in_operators)", "--setup", SETUP)
    assert "the expression was ended by --timeout" in result.out
    assert "in_operators()" in result.out
