"""The native pass through the command: what cannot be stepped costs the native tree, never the trace."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET, THOROUGH, Cli, InProcess, Result

stepper = importlib.import_module("ptexplore.probe.stepper")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(stepper.why_not() is not None, reason=str(stepper.why_not())),
]
IMPORTS = "import os"
LOOP = "import re; loop = lambda: re.match('(a+)+b', 'a' * 64)"  # in C, for longer than anybody waits


def calls(saved: Path) -> list[dict[str, Any]]:
    """The stepped parts of a saved trace."""
    session = json.loads(saved.read_text(encoding="utf-8"))["session"]
    return [seen["data"] for seen in session["observations"] if seen["kind"] == "calls"]


def reason(result: Result) -> str:
    """Why there is no native tree; all else is there."""
    captured = result.data["captured"]
    assert {name: captured[name] for name in ("ops", "frames", "dispatch", "native")} == {
        "ops": True, "frames": True, "dispatch": True, "native": False,
    }  # fmt: skip
    assert any(hop["name"] == "aten::add.Tensor" or hop["op"] == "aten::add.Tensor" for hop in result.hops)
    return str(captured["reason"])


@pytest.mark.parametrize("threads", ["1", "4"] if THOROUGH else ["4"])
def test_omp_num_threads(cli: Cli, tmp_path: Path, threads: str) -> None:
    """What is stepped runs on one thread, whatever is set."""
    result = cli("trace", "torch.add(a, b)", "--json", "--save", str(tmp_path / "s"), env={"OMP_NUM_THREADS": threads})
    assert result.data["captured"]["native"] is True
    (part,) = calls(tmp_path / "s")
    assert (part["threads"], part["cut"]) == (1, None)


def test_a_thread_is_where_the_tree_ends(command: InProcess, tmp_path: Path) -> None:
    setup = "import threading\ndef f():\n t = threading.Thread(target=len, args=('',)); t.start(); t.join()"
    expression = "[torch.add(a, b), f()]"
    result = command("trace", expression, "--setup", setup, "--json", "--save", str(tmp_path / "s"))
    assert result.data["captured"]["native"] is True
    (part,) = calls(tmp_path / "s")
    names = [part["functions"][number][3].partition("(")[0] for number in part["function"]]
    assert "at::_ops::add_Tensor::call" in names
    if part["part"] == "forward":  # on a busy machine one operator alone
        assert part["cut"]["code"] == "blocks-trap"


WORKER = "from torch.utils.data import DataLoader"
COVERED = "import sys\ndef seen(*_): return seen\nsys.settrace(seen)"  # as coverage does


@pytest.mark.parametrize(
    ("setup", "expression", "ops"),
    [
        (WORKER, "[torch.add(a, x) for x in DataLoader(torch.ones(2, 3), num_workers=1)]", ["aten::add.Tensor"] * 2),
        (COVERED, "torch.add(a, b)", ["aten::add.Tensor"]),
    ],
    ids=["a worker of a DataLoader", "every line looked at"],
)
def test_what_stands_beside_torch(
    command: InProcess, tmp_path: Path, setup: str, expression: str, ops: list[str]
) -> None:
    result = command("trace", expression, "--setup", setup, "--json", "--save", str(tmp_path / "s"))
    assert result.data["captured"]["native"] is True
    assert not [one for one in result.data["findings"] if one["kind"] in ("nondeterministic", "perturbed")]
    called = [hop["op"] for hop in result.hops if hop["kind"] == "op" and hop["op"] == "aten::add.Tensor"]
    assert called == ops
    (part,) = calls(tmp_path / "s")
    assert part["part"] == "operator" or part["cut"] is None or "thread" in part["cut"]
    names = [part["functions"][number][3].partition("(")[0] for number in part["function"]]
    assert any(re.fullmatch(r"at::_ops::\w+::call", name) for name in names)


def test_a_library_without_symbols_is_told(command: InProcess, tmp_path: Path) -> None:
    saved = tmp_path / "s"
    command("trace", "torch.add(a, b)", "--save", str(saved))
    document = json.loads(saved.read_text(encoding="utf-8"))
    seen = document["session"]["observations"]
    told = {"libraries": {"libc10.so": "it is stripped", "libc.so.6": "it is stripped"}}
    seen.append({"id": len(seen) + 1, "recorder": "native", "kind": "unreadable", "data": told})
    saved.write_text(json.dumps(document), encoding="utf-8")
    lines = command("trace", "--load", str(saved)).out.split("\n")
    assert [line for line in lines if line.endswith("it is stripped")] == ["libc10.so: it is stripped"]


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("torch.add(a, b) if torch.get_num_threads() > 1 else os._exit(3)", "ended"),
        ("torch.add(a, b) if torch.get_num_threads() > 1 else os.kill(os.getpid(), 5)", "SIGTRAP"),
        ("torch.add(a, b) if torch.get_num_threads() > 1 else os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("torch.add(a, b) if torch.get_num_threads() > 1 else [].pop()", "IndexError: pop from empty list"),
    ],
)
def test_what_goes_wrong_in_the_native_pass_alone(
    command: InProcess, expression: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs on one thread, which other passes do not."""
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert why in reason(command("trace", expression, "--setup", IMPORTS, "--json"))


def test_what_never_ends_in_the_native_pass_alone(command: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    setup = f"{IMPORTS}\n{LOOP}"
    result = command(
        "trace",
        "torch.add(a, b) if torch.get_num_threads() > 1 else loop()",
        "--setup",
        setup,
        "--timeout",
        "3",
        "--json",
    )
    assert (
        "native run was stopped, with everything that it had started: the 3 s for all runs together were over"
        in reason(result)
    )


def test_a_kernel_that_refuses_executable_memory(command: InProcess) -> None:
    """As such kernels do: PR_SET_MDWE, from Linux 6.3 on."""
    setup = "import ctypes; refused = ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)"
    result = command("trace", "torch.add(a, b)", "--setup", setup, "--json")
    if result.data["captured"]["native"]:
        pytest.skip("this Linux cannot be told to refuse executable memory")
    assert "this system refuses memory that can be executed" in reason(result)


def test_signals_by_the_millisecond(command: InProcess, tmp_path: Path) -> None:
    setup = "import signal; signal.signal(14, lambda *_: None); signal.setitimer(0, 0.001, 0.001)"
    result = command("trace", "torch.add(a, b)", "--setup", setup, "--json", "--save", str(tmp_path / "s"))
    assert result.data["captured"]["native"] is True
    assert [part["cut"] for part in calls(tmp_path / "s")] == [None]


def test_under_a_debugger(cli: Cli, tmp_path: Path) -> None:
    """A debugger of the command lets its children go: all is there. One of the process itself: that is the reason."""
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("needs gdb (scripts/test installs it where it can)")
    saved, quiet = tmp_path / "s", [gdb, "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "run", "--args"]
    traced = [sys.executable, "-m", "ptexplore", "trace", "torch.add(a, b)", "--save", str(saved)]
    options = ["--python", TARGET] if TARGET else []
    environment = cli.environment()
    done = subprocess.run(
        [*quiet, *traced, *options],
        env=environment,
        cwd=cli.cwd,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert "exited normally" in done.stdout, done
    assert calls(saved)
    code = "import importlib; print(importlib.import_module('ptexplore.probe.stepper').why_not())"
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*quiet, sys.executable, "-c", code],
        env=environment,
        cwd=cli.cwd,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert "already-traced" in done.stdout, done
