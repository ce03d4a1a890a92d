"""Reading a graph and the owners of memory changes nothing that a program can notice."""

from __future__ import annotations

import gc
import importlib
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
autograd_graph = importlib.import_module("ptexplore.probe.autograd_graph")
memory = importlib.import_module("ptexplore.probe.memory_owners")
nn = torch.nn


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.note = [1]
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2


CALLED: list[str] = []


def noting(name: str) -> Callable[..., None]:
    return lambda *_: CALLED.append(name)


def made() -> dict[str, Any]:
    """A model, a retained middle, a hook of each kind, a view that was written to, hooks on saved tensors."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 3))
    x = torch.randn(5, 4, requires_grad=True)
    x.register_hook(noting("tensor"))
    model[0].weight.register_post_accumulate_grad_hook(noting("accumulated"))
    middle = model(x)
    middle.retain_grad()
    base = middle.clone()
    view = base[1:3]
    view.mul_(2)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (CALLED.append("pack"), t)[1], lambda t: (CALLED.append("unpack"), t)[1]
    ):
        packed = base.exp()
    loss = Doubled.apply(packed).sum() + nn.functional.dropout(x, 0.5).sum()
    return {"model": model, "x": x, "middle": middle, "base": base, "view": view, "packed": packed, "loss": loss}


def state(values: dict[str, Any]) -> dict[str, Any]:
    """Everything that is compared. Reading the node of a view may make it anew: so the view's is not read here."""
    tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    tensors |= dict(values["model"].named_parameters())
    return {
        "versions": {name: tensor._version for name, tensor in tensors.items()},
        "counts": {name: sys.getrefcount(tensor) for name, tensor in tensors.items()},
        "model": sys.getrefcount(values["model"]),
        "grads": {name: tensor.grad is None for name, tensor in tensors.items() if tensor.is_leaf},
        "retains": {name: tensor.retains_grad for name, tensor in tensors.items()},
        "hooks": {name: list(tensor._backward_hooks or ()) for name, tensor in tensors.items()},
        "attributes": {name: sorted(vars(tensor)) for name, tensor in tensors.items()},
        "places": {name: (tensor.data_ptr(), tensor.stride()) for name, tensor in tensors.items()},
        "random": (torch.get_rng_state().tolist(), random.getstate()),
        "modes": (torch.is_grad_enabled(), torch.is_anomaly_enabled(), sys.getprofile(), sys.gettrace()),
        "frozen": gc.get_freeze_count(),
        "called": list(CALLED),
    }


def results(values: dict[str, Any]) -> list[list[float]]:
    values["loss"].backward()
    leaves = [values["x"], values["middle"], *values["model"].parameters()]
    return [leaf.grad.flatten().tolist() for leaf in leaves]


def read_graph(values: dict[str, Any]) -> None:
    autograd_graph.GraphReader(values["loss"], autograd_graph.named_tensors(values)).data()


def read_own_process(values: dict[str, Any]) -> None:
    frame = sys._getframe()
    autograd_graph.of_your_process(values["loss"], frame)
    del frame


def read_owners(values: dict[str, Any]) -> None:
    memory.memory_owners(autograd_graph.GraphReader(values["loss"], autograd_graph.named_tensors(values)))


@pytest.mark.parametrize("read", [read_graph, read_own_process, read_owners], ids=lambda read: str(read.__name__))
def test_reading_changes_nothing(read: Callable[[dict[str, Any]], None]) -> None:
    CALLED.clear()
    plain = made()
    expected, hooks = results(plain), list(CALLED)
    del plain
    CALLED.clear()
    values = made()
    gc.collect()
    before = state(values)
    read(values)
    gc.collect()
    after = state(values)
    assert {name: value for name, value in after.items() if value != before[name]} == {}
    assert results(values) == expected
    assert hooks == CALLED, "backward calls the same hooks in the same order"


def test_what_is_read_is_freed_as_before() -> None:
    """A reader that is gone keeps neither tensors nor nodes."""
    values = made()
    read_graph(values)
    read_owners(values)
    alive = [item for item in gc.get_objects() if isinstance(item, torch.Tensor)]
    count = len(alive)
    del alive
    values.clear()
    gc.collect()
    assert sum(isinstance(item, torch.Tensor) for item in gc.get_objects()) < count
    assert not any(type(item).__name__ in ("GraphReader", "Chains", "_Memory") for item in gc.get_objects())
