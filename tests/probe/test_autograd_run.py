"""What backward did, against torch: the order by the profiler, gradients by hooks of tensors, and `.grad`."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

from tests.probe.test_autograd_graph import models, samples

torch = pytest.importorskip("torch")
autograd_graph = importlib.import_module("ptexplore.probe.autograd_graph")
autograd_run = importlib.import_module("ptexplore.probe.autograd_run")
pytestmark = pytest.mark.filterwarnings("ignore")  # of deprecated operators
OPERATORS = int(os.environ.get("PTEXPLORE_TEST_RUNS", "60"))  # samples that are compared
EVALUATES = "autograd::engine::evaluate_function: "


def ran(value: Any) -> tuple[Any, dict[str, Any]]:
    reader = autograd_graph.GraphReader(value)
    return reader, dict(autograd_run.BackwardRun(reader).data())


def in_profile(value: Any) -> list[str]:
    """The names of the nodes that backward runs, without any hook, by the profiler."""
    starts = [t for t in autograd_graph.tensors(value) if t.requires_grad]
    with torch.autograd.profiler.profile() as profile:
        torch.autograd.backward(starts, [torch.ones_like(t) for t in starts])
    events = [e for e in profile.function_events if e.name.startswith(EVALUATES)]
    events.sort(key=lambda e: e.time_range.start)
    names = [e.name.removeprefix(EVALUATES) for e in events]
    return [name for name in names if not name.endswith("GraphRoot")]  # the engine's own, for several starts


def test_the_order_is_that_of_the_profiler() -> None:
    compared, differs = 0, []
    for name, run in samples():
        if compared == OPERATORS:
            break
        try:
            value, again = run(), run()
            if not any(t.requires_grad for t in autograd_graph.tensors(value)):
                continue
            wanted = in_profile(again)
        except Exception:
            continue
        reader, data = ran(value)
        compared += 1
        names = [reader.nodes[node["node"]].name() for node in data["ran"]]
        if names != wanted or data["error"] or data["unfinished"]:
            differs.append((name, names, wanted))
    assert differs == []
    assert compared == OPERATORS


@pytest.mark.parametrize("name", models())
def test_models(name: str) -> None:
    def run() -> Any:
        model, given = models()[name]
        return model.train()(given)

    wanted = in_profile(run())
    value = run()
    reader, data = ran(value)
    assert [reader.nodes[node["node"]].name() for node in data["ran"]] == wanted
    for node in data["ran"]:
        target = reader.nodes[node["node"]]
        assert len(node["sent"]) == (0 if hasattr(target, "variable") else len(target.next_functions))
        if hasattr(target, "variable"):
            assert node["received"][0]["sizes"] == list(target.variable.grad.shape)


def test_gradients_are_those_that_hooks_of_tensors_see() -> None:
    a = torch.randn(3, 4, requires_grad=True)
    b = a * 2
    c, d = b.unbind(0)[:2]
    seen = {}
    for name, tensor in {"b": b, "c": c, "d": d}.items():
        tensor.register_hook(lambda gradient, name=name: seen.update({name: gradient is not None and gradient.shape}))
    reader, data = ran(c.sum() + (b * a).sum())
    received = {reader.nodes[node["node"]].name(): node["received"] for node in data["ran"]}
    assert seen == {"b": (3, 4), "c": (4,), "d": False}
    assert [gradient and gradient["sizes"] for gradient in received["UnbindBackward0"]] == [[4], None, None]
    assert a.grad is not None
    assert data["had_grad"] == []
    _, again = ran((a * 2).sum())
    assert len(again["had_grad"]) == 1


def test_an_undefined_gradient_and_an_error() -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient, None

    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    reader, data = ran(Half.apply(a, b * 2))
    (first, *further) = data["ran"]
    assert [gradient and gradient["sizes"] for gradient in first["sent"]] == [[2], None]
    behind = {reader.nodes[node["node"]].name(): node for node in further}
    assert behind["MulBackward0"]["received"] == [None]
    assert b.grad is None
    c = a.exp()
    value = (c * c).sum()
    c.add_(1)
    reader, data = ran(value)
    assert data["error"] == "RuntimeError"
    assert "modified by an inplace operation" in data["message"]
    assert [reader.nodes[number].name() for number in data["unfinished"]] == ["MulBackward0"]


def test_hooks_are_gone_afterwards() -> None:
    a = torch.ones(2, requires_grad=True)
    value = a.exp().sum()
    reader = autograd_graph.GraphReader(value)
    run = autograd_run.BackwardRun(reader)
    run.data()
    again = run.data()["ran"]  # the graph is freed, so its second node raises; each node is seen once
    assert [node["node"] for node in again] == [0, 1, 2, 0, 1]
