"""Two runs of one command print the same, but for clocks; where both may vary, only that they do is said."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.harness import THOROUGH, Cli, InProcess

stepper = importlib.import_module("ptexplore.probe.stepper")
pytestmark = pytest.mark.skipif(stepper.why_not() is not None, reason=str(stepper.why_not()))
CLOCKS = ("time", "took")
FUNCTION = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
"""
MODE = """
from torch.utils._python_dispatch import TorchDispatchMode
class Seen(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
"""
COMMANDS = {
    "add": ("torch.add(a, b)",),
    "backward": ("F.layer_norm(a, (3,))", "--backward"),
    "a function with a backward of its own": ("Twice.apply(a)", "--setup", FUNCTION, "--backward"),
    "a mode, which imports modules": ("torch.add(a, b)", "--setup", MODE, "--with", "Seen()"),
    "one operator": ("torch.randn(256, 256) @ torch.randn(256, 256)",),
}


def without_clocks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_clocks(inner) for name, inner in value.items() if name not in CLOCKS}
    return [without_clocks(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", COMMANDS if THOROUGH else ("backward", "a mode, which imports modules"))
def test_two_runs_print_the_same(cli: Cli, name: str) -> None:
    """In processes of their own: a fork of one that ran before has another memory."""
    first, second = (cli("trace", *COMMANDS[name], "--json") for _ in range(2))
    assert first.code == second.code == 0
    assert not [f for f in json.loads(first.out)["findings"] if f["kind"] == "varies"]
    assert without_clocks(json.loads(first.out)) == without_clocks(json.loads(second.out))


# A Python under a filter of system calls, as containers have one: personality(2) is refused, whole or but for asking.
REFUSING = """\
#!{python}
import ctypes, os, struct, sys
rows = [(0x20, 0, 0, 4), (0x15, 0, 5, 0xC000003E)]  # load the architecture; not x86-64: allowed
rows += [(0x20, 0, 0, 0), (0x15, 0, 3, 135)]  # load the call's number; not personality: allowed
rows += [(0x20, 0, 0, 16), (0x15, {may_ask:d}, 0, 0xFFFFFFFF)]  # load what it asks for
rows += [(0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]  # EPERM; allowed
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *row) for row in rows))
program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(rows), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
    sys.exit(77)
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


@pytest.mark.parametrize("may_ask", [True, False])
def test_where_the_system_refuses_it_goes_on_and_says_so(cli: Cli, tmp_path: Path, may_ask: bool) -> None:
    """On the screen and in --json: addresses are drawn at random there."""
    python = tmp_path / "python"
    python.write_text(REFUSING.format(python=cli.python, may_ask=may_ask))
    python.chmod(0o755)
    refused = replace(cli, python=str(python))
    told = refused("trace", "torch.add(a, b)", "--json")
    if told.code == 77:
        pytest.skip("this system has no filters of system calls")
    text = "another run may give slightly different counts: addresses cannot be fixed on this system"
    assert [f["text"] for f in told.data["findings"] if f["kind"] == "varies"] == [text]
    assert any(hop["instructions"] for hop in told.data["hops"])
    assert text in " ".join(refused("trace", "torch.add(a, b)").out.split())


def test_what_is_left_to_chance_is_said(cli: Cli) -> None:
    told = cli("trace", "torch.add(a, b)", "--no-native", "--vary", "--json")
    text = "another run may give slightly different counts: --vary leaves addresses and Python's hashes to chance"
    assert [f["text"] for f in told.data["findings"] if f["kind"] == "varies"] == [text]


ADD = "b = torch.add(a, a)\n"
SHORT = {
    "three lines": ADD + ADD,
    "a loop": f"for _ in range(10):\n    {ADD}",
    "modules": "m = torch.nn.Linear(3, 3)\nfor _ in range(5):\n    m(a)\n",
}


@pytest.mark.parametrize("name", SHORT)
def test_a_short_program_is_stepped(command: InProcess, tmp_path: Any, name: str) -> None:
    """The second call of it: a first call is never stepped, and no further one need come."""
    file = tmp_path / "short.py"
    file.write_text(f"import torch\na = torch.ones(3, 3)\n{SHORT[name]}")
    result = command("trace", "--script", str(file), "--json")
    assert result.data["captured"]["reason"] is None
    op = "aten::linear" if name == "modules" else "aten::add"
    assert op in {route_name(result.data["program"], route) for route in stepped_routes(result.data["program"])}


def stepped_routes(program: dict[str, Any]) -> list[dict[str, Any]]:
    return [route for route in program["routes"] if route.get("represented") is not None]


def route_name(program: dict[str, Any], route: dict[str, Any]) -> str:
    return str(program["kinds"][route["kind"]]["name"])


def test_a_program_of_first_calls_says_so(command: InProcess, tmp_path: Any) -> None:
    file = tmp_path / "once.py"
    file.write_text(f"import torch\na = torch.ones(3, 3)\n{ADD}")
    result = command("trace", "--script", str(file), "--json")
    assert (
        result.data["captured"]["reason"]["text"]
        == "2 kinds of calls: it was called once, and a first call is not stepped"
    )


def test_the_limit_that_is_told_is_the_one_that_was_met(cli: Cli) -> None:
    """Both are counts: that of the whole lies below that of one call, and no time is told."""
    shown = cli("trace", "torch.randn(256, 256) @ torch.randn(256, 256)", "--view", "path")
    text = " ".join(shown.out.split())
    assert "the whole run has more than 1,500,000 instructions" in text
    assert "would take about" not in text
