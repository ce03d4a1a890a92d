"""For a message without a cause: the check in torch's source. It is evaluated in the frame that really raised."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from tests.harness import InProcess

pytestmark = pytest.mark.e2e


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)


def sequential() -> None:
    first = optimizer()
    lr_scheduler.SequentialLR(first, [lr_scheduler.ConstantLR(first)], milestones=[1, 2])


RAISING: dict[str, Callable[[], object]] = {
    "schedulers": sequential,
    "steps": lambda: lr_scheduler.OneCycleLR(optimizer(), 0.1),
    "grad of a number": lambda: torch.func.grad(lambda x: 3)(torch.ones(())),
    "a subset's index": lambda: torch.utils.data.ConcatDataset([]),
    "no model": lambda: torch.func.stack_module_state([]),
    "rates": lambda: lr_scheduler.ReduceLROnPlateau(optimizer(), min_lr=[0.1, 0.2]),
    "a norm": lambda: torch.nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0),
    "a datasets' size": lambda: torch.utils.data.TensorDataset(torch.ones(2), torch.ones(3)),
}


def raising_frame(error: BaseException) -> FrameType:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1]


@pytest.mark.parametrize("name", RAISING)
def test_the_condition_is_so_in_the_frame_that_raised(command: InProcess, tmp_path: Path, name: str) -> None:
    file = tmp_path / "pasted.txt"
    with pytest.raises((ValueError, RuntimeError, AssertionError)) as caught:
        RAISING[name]()
    file.write_text(f"{caught.type.__name__}: {caught.value}", encoding="utf-8")
    told = json.loads(command("explain-error", str(file), "--json").out)
    if told["cause"] is not None:
        assert told["check"] is None, "a cause says more"
        return
    check, frame = told["check"], raising_frame(caught.value)
    assert check["function"].split(".")[-1] in ("", frame.f_code.co_name)
    holds = eval(check["condition"], frame.f_globals, frame.f_locals)
    assert bool(holds) is check["holds"], check


def test_it_is_the_answer_of_a_message_without_a_cause(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "pasted.txt"
    with pytest.raises(ValueError, match="Sequential") as caught:
        sequential()
    file.write_text(f"ValueError: {caught.value}", encoding="utf-8")
    shown = " ".join(command("explain-error", str(file)).out.split())
    assert "why raised by SequentialLR.__init__() where this holds: len(milestones)" in shown
    assert "not known" not in shown


def test_the_check_of_another_function_is_no_cause(command: InProcess, tmp_path: Path) -> None:
    """This torch has the words in `__init__`, and the traceback is of a release that has them elsewhere."""
    file = tmp_path / "pasted.txt"
    with pytest.raises(ValueError, match="Sequential") as caught:
        sequential()
    frame = '  File "/x/site-packages/torch/optim/lr_scheduler.py", line 853, in {}\n    raise ValueError(\n'
    for function, is_possible in (("__init__", True), ("_of_another_release", False)):
        frames = f"Traceback (most recent call last):\n{frame.format(function)}"
        file.write_text(f"{frames}ValueError: {caught.value}", encoding="utf-8")
        check = json.loads(command("explain-error", str(file), "--json").out)["check"]
        assert (check is not None) is is_possible


def test_a_check_in_cpp_has_its_condition(sourced_command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "pasted.txt"
    with pytest.raises(RuntimeError) as caught:
        torch.nn.functional.channel_shuffle(torch.ones(1, 3, 2, 2), 2)
    file.write_text(f"RuntimeError: {caught.value}", encoding="utf-8")
    told = json.loads(sourced_command("explain-error", str(file), "--json").out)
    assert told["check"] == {"function": told["check"]["function"], "condition": "(c % groups) == 0", "holds": False}


def test_a_message_that_cpp_has_too_is_of_no_python_function(command: InProcess, tmp_path: Path) -> None:
    """C++ raises it here; the meta function, which runs for fake tensors, has the same words."""
    file = tmp_path / "pasted.txt"
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2).kthvalue(9)
    assert raising_frame(caught.value).f_code is test_a_message_that_cpp_has_too_is_of_no_python_function.__code__
    file.write_text(f"RuntimeError: {caught.value}", encoding="utf-8")
    told = json.loads(command("explain-error", str(file), "--json").out)
    assert told["check"] is None
    assert told["words"]["places"]
    assert told["words"]["libraries"][:1] == ["libtorch_cpu.so"]  # a build for CUDA has another one with these words
