"""Errors noted as C++ makes them: place and stack are those that torch itself writes into the text of each.

One process asks torch to (TORCH_SHOW_CPP_STACKTRACES), and notes the same errors.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET

EXPRESSIONS = (
    "torch.ones(2) + torch.ones(3)",
    "torch.ones(2)[3]",
    "torch.ones(2)[0, 1]",
    "torch.ones(2, requires_grad=True).add_(1)",
    "torch.ones(2, device='meta').cpu()",
    "torch.ones(2, 3) @ torch.ones(2, 3)",
    "torch.ones(2).to_sparse().cumsum(0)",
    "torch.ones(3).sum(dim=4)",
    "torch.nn.functional.conv2d(torch.ones(1, 2, 3, 3), torch.ones(1, 3, 2, 2))",
    "torch.ones(2).sum().backward()",
    "spent()",
    "written()",
    "torch.linalg.inv(torch.zeros(2, 2))",
    "torch.gather(torch.ones(2, 2), 0, torch.tensor([[7]]))",
    "torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8) + 1",
    "torch.func.vmap(lambda x: x.item())(torch.ones(3))",
    "in_thread(lambda: torch.ones(4).view(3))",
)
CODE = """
import importlib, json, os, sys, threading
sys.path.insert(0, ROOT)
import torch
throws = importlib.import_module("ptexplore.probe.throws")

def spent():
    y = torch.ones(2, requires_grad=True).exp().sum()
    y.backward()
    y.backward()

def written():
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()

def in_thread(call):
    kept = []
    def run():
        try:
            call()
        except Exception as error:
            kept.append(error)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    raise kept[0]

IN_TEXT = "\\nException raised from "
log = throws.ThrowLog.of_this_process()
entries = [entry for entry, _ in log._entries()]
words = lambda: [throws.ctypes.c_uint64.from_address(entry).value for entry in entries]
try:
    eval("torch.ones(2).view(7)")  # binds what is bound late
except RuntimeError as error:
    before = str(error)
was = words()
log.on()
is_off = [word not in log._hooks.values() for word in words()]
told = {"entries": len(entries), "late": log.data_of(before), "on": is_off, "cases": []}
for expression in EXPRESSIONS:
    try:
        eval(expression)
    except Exception as error:
        text = str(error)
        data = log.data_of(text.partition(IN_TEXT)[0])
        told["cases"].append([expression, text, data and data["text"]])
child = os.fork()
if child == 0:
    try:
        torch.ones(5).view(3)
    except RuntimeError:
        os._exit(0)
os.waitpid(child, 0)
words_of_child = "RuntimeError: shape '[3]' is invalid for input of size 5"
told["elsewhere"] = log.data_of(f"Caught RuntimeError in DataLoader worker process 0.\\n{words_of_child}\\n")
log.off()
told["as_before"] = words() == was
try:
    torch.ones(6).view(5)
except RuntimeError as error:
    told["off"] = log.data_of(str(error).partition(IN_TEXT)[0])
print(json.dumps(told))
"""
ROOT = Path(__file__).resolve().parents[2]
PLACE = re.compile(r"\nException raised from (.+) at (.+):(\d+) \(most recent call first\):\n")
FRAME = re.compile(r"#\d+ .* from (/.+):(\d+)$", re.MULTILINE)
# Thrown as C++'s own exceptions by 2.6, which keep no line (aten/src/ATen/InferSize.h).
WITHOUT_LINE = ("in_thread(lambda: torch.ones(4).view(3))",)


@pytest.fixture(scope="module")
def noted() -> dict[str, Any]:
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip("errors are noted on x86-64 Linux")
    asks = {**os.environ, "TORCH_SHOW_CPP_STACKTRACES": "1", "TORCH_DISABLE_ADDR2LINE": "1"}
    code = f"ROOT = {str(ROOT)!r}\nEXPRESSIONS = {EXPRESSIONS!r}\n{CODE}"
    run = subprocess.run(
        [TARGET or sys.executable, "-c", code], env=asks, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=EXPRESSIONS)
def test_place_and_stack_are_those_of_torchs_own_text(noted: dict[str, Any], number: int) -> None:
    expression, text, of_ours = noted["cases"][number]
    place = PLACE.search(text)
    if place is None and expression in WITHOUT_LINE:
        assert of_ours is None
        return
    assert place is not None
    assert of_ours is not None, text[:300]
    ours = PLACE.search(of_ours)
    assert ours is not None
    assert ours.groups() == place.groups()
    frames = FRAME.findall(of_ours[ours.end() :])
    # Torch's own has the constructor, and what makes the stack, in front; ours goes no deeper than it has room for.
    of_torch = FRAME.findall(text[place.end() :])
    begin = of_torch.index(frames[0])
    assert begin <= 3
    assert len(frames) > 10
    assert frames == of_torch[begin : begin + len(frames)]


def test_every_entry_leads_to_the_notes_and_back(noted: dict[str, Any]) -> None:
    assert noted["entries"] == len(noted["on"]) >= 2
    assert not any(noted["on"])
    assert noted["as_before"]


def test_what_was_thrown_before_or_after_is_not_reported(noted: dict[str, Any]) -> None:
    assert noted["late"] is None
    assert noted["off"] is None


def test_a_fork_tells_its_own(noted: dict[str, Any]) -> None:
    """Its place, and not its stack, which is none of this process."""
    if noted["elsewhere"] is None:
        pytest.skip("this torch keeps no line of it")  # see WITHOUT_LINE
    assert noted["elsewhere"]["elsewhere"]
    assert "Exception raised from infer_size_impl at" in noted["elsewhere"]["text"]
    assert not FRAME.findall(noted["elsewhere"]["text"])
