"""A run that a signal ends, or `os._exit`: what ran until then is kept, and where it was; nothing untrue is said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET, Cli, InProcess, Result

pytest.importorskip("torch")

PYTHON = TARGET or sys.executable
# PyTorch reads a null pointer here: the view has no dict of hooks for its new history.
HISTORY = "h = torch.zeros(3, requires_grad=True).exp().view(3); h[:].mul_(2)"
HOOK = f"import torch\n{HISTORY}\n\nh.register_hook(print)\n"
SCRIPT = """
import ctypes, os, resource, signal, sys, torch

def ends(how):
    torch.cos(torch.ones(3))
    {how}

x = torch.ones(3).sin()
ends("it")
"""
FAULT = """Fatal Python error: Segmentation fault

Current thread 0x01 (most recent call first):
  File "/x/site-packages/torch/_tensor.py", line 697 in register_hook
  File "/x/mine.py", line 4 in inner
  File "/x/mine.py", line 9 in <module>
"""
HOW = {
    "ctypes.string_at(0)": "SIGSEGV",
    "os.abort()": "SIGABRT",
    "os.kill(os.getpid(), signal.SIGBUS)": "SIGBUS",
    "os.kill(os.getpid(), signal.SIGTERM)": "SIGTERM",
    "import faulthandler; faulthandler.enable(); ctypes.string_at(0)": "SIGSEGV",
    "os._exit(3)": "os._exit",
}


def told(result: Result) -> dict[str, Any]:
    """The trace that a command printed, which says by its status that the run did not end well."""
    assert result.code == 1, result
    trace: dict[str, Any] = json.loads(result.out)
    return trace


def operators(trace: dict[str, Any]) -> list[str]:
    """The operators that no other one called, in their order."""
    hops = {hop["id"]: hop for hop in trace["hops"]}

    def is_inside(hop: dict[str, Any]) -> bool:
        parent = hops.get(hop["parent"])
        return parent is not None and (parent["kind"] == "op" or is_inside(parent))

    outer = [hop for hop in hops.values() if hop["kind"] == "op" and not is_inside(hop)]
    return [hop["name"].partition(".")[0].removeprefix("aten::") for hop in outer]


def faults(script: Path) -> list[tuple[int, str]]:
    """Line and function of each frame that Python's own faulthandler tells, innermost first; [] if nothing dies."""
    ended = subprocess.run(
        [PYTHON, "-X", "faulthandler", str(script)], capture_output=True, text=True, check=False, timeout=240
    )
    return [(int(line), name) for line, name in re.findall(r'^  File ".*", line (\d+) in (\S+)$', ended.stderr, re.M)]


def test_a_null_pointer_of_torchs_own(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(HOOK)
    told_by_python = faults(script)
    if not told_by_python:
        pytest.skip("this torch does not die of it")
    trace = told(command("trace", "--script", str(script), "--json"))
    ending = trace["ending"]
    assert (ending["exception"], ending["by"]) == ("SIGSEGV", "signal")
    assert [(left["source"]["line"], left["name"]) for left in ending["python"]] == told_by_python
    assert ending["stack"][0].startswith("torch::autograd::PyFunctionTensorPreHook::PyFunctionTensorPreHook")
    assert "null pointer" in ending["cause"]["why"]
    assert operators(trace) == ["zeros", "exp", "view", "slice", "mul_"]
    shown = command("trace", "--script", str(script)).out
    assert "the script was killed by SIGSEGV" in shown
    assert "raised" not in shown
    trace = told(command("trace", "h.register_hook(print)", "--setup", HISTORY, "--no-native", "--json"))
    ending = trace["ending"]
    assert (ending["exception"], ending["stage"]) == ("SIGSEGV", "expression")
    assert (ending["python"][0]["source"]["line"], ending["python"][0]["name"]) == told_by_python[0]
    assert ending["stack"][0].startswith("torch::autograd::PyFunctionTensorPreHook::")


@pytest.mark.parametrize("how", HOW)
def test_a_script_keeps_what_ran(command: InProcess, tmp_path: Path, how: str) -> None:
    script = tmp_path / "dies.py"
    script.write_text(SCRIPT.format(how=how))
    trace = told(command("trace", "--script", str(script), "--json"))
    ending = trace["ending"]
    assert (ending["exception"], ending["message"]) == (HOW[how], "status 3" if "_exit" in how else "")
    yours = [(left["source"]["line"], left["name"]) for left in ending["python"] if left["source"]["path"] is None]
    assert yours == [(6, "ends"), (9, "<module>")]
    assert operators(trace) == ["ones", "sin", "cos"], "each route once"


@pytest.mark.parametrize("how", [how for how in HOW if "import" not in how])
def test_an_expression_keeps_what_ran(command: InProcess, how: str) -> None:
    asked = ("trace", f"[torch.ones(3).cos(), {how}]", "--setup", "import ctypes, os, signal", "--no-native", "--json")
    trace = told(command(*asked))
    ending = trace["ending"]
    assert (ending["exception"], ending["stage"]) == (HOW[how], "expression")
    assert operators(trace) == ["ones", "cos"]


KILLS = {
    "os.kill(os.getpid(), signal.SIGKILL)": "in os.kill()",
    "signal.raise_signal(9)": "in signal.raise_signal()",
    # Somebody else: no call of its own tells of it. A call before, of which it did not die, is not where it died.
    "(os.kill(os.getpid(), 0), subprocess.run(['sh', '-c', f'kill -9 {os.getpid()}; sleep 9']))": "",
}


@pytest.mark.parametrize("how", KILLS)
def test_an_expression_that_is_killed_keeps_what_ran(command: InProcess, how: str) -> None:
    """In its very first run already. Where it was is told where that is known, and nothing about it where it is not."""
    setup = f"import os, signal, subprocess\n\ndef f():\n    x = torch.ones(3).cos()\n    {how}\n    return x"
    trace = told(command("trace", "f()", "--setup", setup, "--no-native", "--json"))
    ending = trace["ending"]
    assert (ending["exception"], ending["by"], ending["message"]) == ("SIGKILL", "signal", KILLS[how])
    assert operators(trace) == ["ones", "cos"]
    assert [(left["source"]["line"], left["name"]) for left in ending["python"]] == ([(5, "f")] if KILLS[how] else [])
    said = "sent this signal to itself" if KILLS[how] else "when memory runs out, or a person did it"
    assert said in ending["cause"]["why"]
    assert KILLS[how] or "without a message" in json.dumps(trace)


def test_a_kill_keeps_what_was_folded(command: InProcess, tmp_path: Path) -> None:
    """Nothing can be said at that moment: what was kept last is told, and that more may have run."""
    script = tmp_path / "killed.py"
    lines = ("import os, torch", "x = torch.ones(3)", "for _ in range(9000):", "    x = torch.sin(x)")
    script.write_text("\n".join((*lines, "os.kill(os.getpid(), 9)")))
    trace = told(command("trace", "--script", str(script), "--json"))
    assert trace["ending"]["exception"] == "SIGKILL"
    assert any(cut["code"] == "cut-by-silent-end" for cut in trace["program"]["cuts"])
    assert operators(trace) == ["ones", "sin"]


def test_a_kill_in_a_later_pass_keeps_what_the_earlier_saw(command: InProcess, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    dies = f"os.path.exists({str(mark)!r}) and os.kill(os.getpid(), 9) or open({str(mark)!r}, 'w')"
    trace = told(command("trace", f"[torch.ones(3).cos(), {dies}]", "--setup", "import os", "--first", "--json"))
    ending = trace["ending"]
    assert (ending["exception"], ending["by"]) == ("SIGKILL", "signal")
    assert operators(trace) == ["ones", "cos"]


def test_what_dies_is_not_stepped(command: InProcess) -> None:
    trace = told(command("trace", "[torch.ones(3), os.abort()]", "--setup", "import os", "--json"))
    assert trace["captured"]["reason"]["code"] == "ends-itself"


def test_it_is_said_to_end_alone_only_where_it_was_tried(command: InProcess, tmp_path: Path) -> None:
    kill = "ctypes.CDLL(None).kill(os.getpid(), 9)"  # a call that no profile function sees
    result = command("trace", kill, "--setup", "import ctypes, os", "--no-native")
    assert "without recorders it ends the same way" in result.err
    script = tmp_path / "killed.py"
    script.write_text("import os\nos.kill(os.getpid(), 9)\n")
    said = command("trace", "--script", str(script)).err
    assert "to see whether it ends there too" in said, "a script is not run again"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Segmentation fault (core dumped)", None),
        ("bash: line 1:  5851 Aborted                 (core dumped) python x.py", None),
        ("Bus error", None),
        (
            FAULT,
            "/x/mine.py:4",
        ),
    ],
)
def test_the_text_of_a_death_is_explained(command: InProcess, tmp_path: Path, text: str, line: str | None) -> None:
    file = tmp_path / "text"
    file.write_text(text)
    result = command("explain-error", str(file))
    assert result.code == 0, result
    assert "a signal killed the process" in result.out
    assert line is None or line in result.out


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (("--setup", "import ctypes\ndef g():\n    ctypes.string_at(0)\n\ng()"), "called at line 3 of --setup 1"),
        (("--var", "a=__import__('ctypes').string_at(0)"), "called at line 1 of --var a"),
        (("--with", "__import__('ctypes').string_at(0)"), "called at line 1 of --with"),
    ],
)
def test_what_dies_before_the_expression_says_where(command: InProcess, given: tuple[str, ...], place: str) -> None:
    result = command("trace", "torch.add(a, b)", *given).three_parts(1)
    assert f"it was killed by SIGSEGV in the ops run, in string_at(), {place}" in result.err


def test_faulthandler_that_was_on_before_has_its_say(cli: Cli, tmp_path: Path) -> None:
    """PYTHONFAULTHANDLER=1: the trace has what ran all the same, and Python's own text has the program's frames."""
    script = tmp_path / "dies.py"
    script.write_text(SCRIPT.format(how="ctypes.string_at(0)"))
    asked = ("trace", "--script", str(script))
    trace = told(cli(*asked, "--json", env={"PYTHONFAULTHANDLER": "1"}))
    assert [left["source"]["line"] for left in trace["ending"]["python"] if left["source"]["path"] is None] == [6, 9]
    assert operators(trace) == ["ones", "sin", "cos"]
    printed = " ".join(cli(*asked, env={"PYTHONFAULTHANDLER": "1"}).err.split())
    assert "Fatal Python error: Segmentation fault" in printed
    own = faults(script)
    places = [f"line {line} in {name}" for line, name in own]
    at = [printed.index(place) for place in places]
    assert at == sorted(at), "innermost first, as Python alone prints them"
    assert "last_words.py" not in printed
