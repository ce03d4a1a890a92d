"""The native pass of expressions that nobody can step to their end: a right tree, a cut one that says so, or a reason.

As the probe runs it, in a child of its own; what the parent makes of its message is tested end to end.
"""

from __future__ import annotations

import importlib
import json
import platform
import re
from typing import Any

import pytest

from tests.stepping import Forks

stepper = importlib.import_module("ptexplore.probe.stepper")
pytestmark = pytest.mark.skipif(stepper.why_not() is not None, reason=str(stepper.why_not()))

PASS = """
import importlib, json, os
trace, isolate = (importlib.import_module("ptexplore.probe." + name) for name in ("trace", "isolate"))
reader, guard = os.pipe()
outcome = isolate.isolated(lambda: trace.answer("native", request, {}), guard)
message = json.loads(outcome.answer) if outcome.answer else {"type": "died", "signal": outcome.signal}
print(json.dumps(message))
"""
PLAIN: dict[str, Any] = {
    "variables": [], "contexts": [], "arguments": [], "grad": False, "backward": False, "once": False, "timeout": 60.0,
    "native_op": None, "script": None, "repeat": "again",
}  # fmt: skip


def native(child: Forks, expression: str, *setup: str, **more: Any) -> dict[str, Any]:
    """The native pass's message."""
    request = PLAIN | {"expression": expression, "setup": list(setup)} | more
    message: dict[str, Any] = json.loads(child(f"request = {request!r}\n{PASS}").split("\n")[-1])
    return message


def parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """What was stepped, where the stepped run gave what the one before it gave."""
    assert message["type"] == "pass", message
    found = {seen["kind"]: seen["data"] for seen in message["observations"]}
    assert found["result"] == {"equal": True}
    stepped = [seen["data"] for seen in message["observations"] if seen["kind"] == "steps"]
    assert all(part["rows"] and part["instructions"] > 500 for part in stepped)
    return stepped


FORK = "def f():\n p = os.fork()\n if not p: os._exit(0)\n os.waitpid(p, 0); return torch.add(a, b)"
EXEC = "def f():\n p = os.fork()\n if not p: os.execv('/bin/true', ['true'])\n os.waitpid(p, 0); return torch.add(a, b)"
RUN = "def f():\n os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0); return torch.add(a, b)"
HANDLE = "def f():\n signal.signal(5, lambda *_: met.append(1)); signal.raise_signal(5); return len(met)\nmet = []"
RAISE = "signal.signal(5, lambda *_: met.append(1)); met = []"
BLOCK = "def f():\n signal.pthread_sigmask(0, {5}); signal.pthread_sigmask(1, {5}); return torch.add(a, b)"
NAMES = "import os, signal, sys, threading, ctypes, resource\na, b = torch.ones(3), torch.ones(3)"


@pytest.mark.parametrize(
    ("setup", "expression", "why"),
    [
        (FORK, "f()", "starts-another"),
        (EXEC, "f()", "starts-another"),
        (RUN, "f()", "blocks-trap"),
        (HANDLE, "f()", "handles-trap"),
        (RAISE, "[torch.add(a, b), signal.raise_signal(5), len(met)]", "handles-trap"),
        (RAISE, "[torch.add(a, b), os.kill(os.getpid(), 5), len(met)]", "handles-trap"),
        (BLOCK, "f()", "blocks-trap"),
    ],
)
def test_what_cannot_be_stepped_is_where_the_tree_ends(child: Forks, setup: str, expression: str, why: str) -> None:
    """The call itself goes on to its end: its result is the one it has at full speed."""
    (part,) = parts(native(child, expression, NAMES, setup))
    assert part["what"] == "forward"
    assert part["cut"] == {"code": why}


STORM = "met = []; signal.signal(14, lambda *_: met.append(1)); signal.setitimer(0, 0.001, 0.001)"
COUNT = "os.environ.__setitem__('N', os.environ.get('N', '') + 'x')"  # evaluations: outside of what --setup made


@pytest.mark.parametrize(
    ("setup", "expression"),
    [
        ("faulthandler = __import__('faulthandler'); faulthandler.enable()", "torch.add(a, b)"),
        (STORM, "torch.add(a, b)"),
        ("signal.signal(5, lambda *_: met.append(1)); met = []", "torch.add(a, b)"),
        ("sys.settrace(lambda *_: None)", "torch.add(a, b)"),
        ("sys.setprofile(lambda *_: None)", "torch.add(a, b)"),
        ("def f():\n try: torch.mm(a, b)\n except RuntimeError: return torch.add(a, b)", "f()"),
        ("def f():\n try: [].pop()\n except IndexError: return torch.add(a, b)", "f()"),
    ],
)
def test_what_does_not_disturb_it(child: Forks, setup: str, expression: str) -> None:
    (part,) = parts(native(child, expression, NAMES, setup))
    assert (part["what"], part["cut"], part["threads"]) == ("forward", None, 1)
    assert 2 <= part["warm_ups"] <= 6


def test_threads_of_the_users_own_choice_are_counted(child: Forks) -> None:
    """The pool is there when it is stepped: the warm-ups have made it."""
    (part,) = parts(native(child, "torch.sum(c)", NAMES, "torch.set_num_threads(2)", "c = torch.ones(70_000)"))
    assert (part["cut"], part["threads"]) == (None, 2)


@pytest.mark.parametrize(
    ("setup", "expression", "kind", "text"),
    [
        ("", "[].pop()", "raised", "pop from empty list"),
        ("", "torch.mm(a, b)", "raised", "must be matrices|must be a matrix"),
        ("", "breakpoint()", "raised", ""),
        ("", f"[{COUNT}, torch.add(a, b) if len(os.environ['N']) < 2 else [].pop()]", "raised", "pop from empty list"),
        ("signal.pthread_sigmask(0, {5})", "torch.add(a, b)", "unavailable", "trap-blocked"),
        ("ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)", "torch.add(a, b)", "unavailable", "no-executable-memory"),
        (
            "resource.setrlimit(9, (int(open('/proc/self/statm').read().split()[0]) * 4096 + (30 << 20), -1))",
            "torch.add(a, b)",
            "unavailable",
            "no-memory-for-log",
        ),
        (
            "",
            "sum(range(10_000_000))",
            "unavailable",
            r"'most': 1500000.*'calls-no-operator'",
        ),
        ("", f"[{COUNT}, os._exit(0) if len(os.environ['N']) > 1 else torch.add(a, b)]", "died", ""),
        ("", f"[{COUNT}, os.execv('/bin/true', ['t']) if len(os.environ['N']) > 1 else torch.add(a, b)]", "died", ""),
    ],
)
def test_where_nothing_can_be_stepped_it_is_said_why(
    child: Forks, setup: str, expression: str, kind: str, text: str
) -> None:
    if "prctl" in setup and tuple(map(int, platform.release().split(".")[:2])) < (6, 3):
        pytest.skip("this Linux cannot be told to refuse executable memory (PR_SET_MDWE, 6.3)")
    message = native(child, expression, NAMES, setup)
    assert message["type"] == kind, message
    assert re.search(text, str(message.get("told") or message.get("message", ""))), message


def test_ten_million_elements_are_cut(child: Forks) -> None:
    setup = "c = torch.ones(10_000_000)"
    (part,) = parts(native(child, "torch.add(c, 1)", setup))
    assert (part["what"], part["op"], part["number"]) == ("operator", "add.Tensor", 1)
    assert part["cut"] == {"code": "many-instructions", "most": 3_000_000}


@pytest.mark.parametrize(
    ("wanted", "kind", "text"),
    [
        ("add.Tensor#2", "pass", ("add.Tensor", 2)),
        ("aten::add#3", "pass", ("add.Tensor", 3)),
        ("mul", "pass", ("mul.Tensor", 1)),
        ("add#4", "refused", {"code": "called-fewer-times", "op": "add", "called": 3, "wanted": 4}),
        ("add#0", "refused", {"code": "call-number-wanted", "given": "add#0"}),
        ("adt", "refused", {"code": "no-such-operator", "op": "adt"}),
        ("quantized_gru.data", "refused", {"code": "no-entry-of", "op": "quantized_gru.data"}),
    ],
)
def test_one_operator_call(child: Forks, wanted: str, kind: str, text: Any) -> None:
    message = native(child, "torch.add(torch.add(torch.add(torch.mul(a, b), b), b), b)", NAMES, native_op=wanted)
    assert message["type"] == kind, message
    if kind == "pass":
        (part,) = parts(message)
        assert (part["what"], part["op"], part["number"], part["cut"]) == ("operator", *text, None)
    else:
        assert text.items() <= message["told"].items()


def test_calls_that_do_not_come_through_the_entry_point_leave_the_number_open(child: Forks) -> None:
    """The second of three is the first that comes through at::_ops: which of the profiler's it is nobody knows."""
    message = native(child, "torch.add(torch.ops.aten.add.Tensor(a, b), b)", NAMES, native_op="add")
    (part,) = parts(message)
    assert (part["op"], part["number"]) == ("add.Tensor", None)


def test_what_is_never_stepped_whole(child: Forks, tmp_path: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\nfor _ in range(3): torch.add(torch.ones(2), 1)\n", encoding="utf-8")
    answer = native(child, "", script=str(script))
    assert (answer["type"], answer["told"]) == ("unavailable", {"code": "script-not-stepped"})
    (part,) = parts(native(child, "", script=str(script), native_op="add.Tensor#2"))
    assert (part["what"], part["op"], part["number"], part["cut"]) == ("operator", "add.Tensor", 2, None)
    answer = native(child, "torch.add(a, b)", NAMES, once=True)
    assert (answer["type"], answer["told"]) == ("unavailable", {"code": "runs-once"})


def test_backward_is_a_part_of_its_own(child: Forks, tmp_path: Any) -> None:
    """The engine is stepped: its frames are there, down to where the gradient is added up."""
    from ptexplore.capture.native.record import calls
    from ptexplore.capture.seen import seen_in
    from ptexplore.model.observed import SteppedCalls

    message = native(child, "torch.mul(a, b)", grad=True, backward=True)
    assert [part["cut"] for part in parts(message)] == [None, None]
    read = calls(seen_in(message["observations"]), tmp_path)
    forward, backward = [one.data for one in read if isinstance(one.data, SteppedCalls)]
    assert (forward.part, backward.part) == ("forward", "backward")
    names = [[part.functions[n][3].partition("(")[0] for n in part.function] for part in (forward, backward)]
    assert "at::_ops::mul_Tensor::call" in names[0]
    for name in (
        "torch::autograd::Engine::execute",
        "torch::autograd::Engine::evaluate_function",
        "torch::autograd::generated::MulBackward0::apply",
        "torch::autograd::AccumulateGrad::apply",
    ):
        assert name in names[1], name
        assert name not in names[0], name
