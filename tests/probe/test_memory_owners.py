"""Who holds memory, against torch: sums by the profiler's memory events, and planted leaks with their references."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
autograd_graph = importlib.import_module("ptexplore.probe.autograd_graph")
memory = importlib.import_module("ptexplore.probe.memory_owners")
api = importlib.import_module("ptexplore.probe.torch_api")
nn = torch.nn
READS_SAVED = api.tells_saved_unread()
SIZES = iter(range(10_001, 20_000, 7))  # each planted tensor has a size that no other tensor has
CACHE: dict[str, Any] = {}
HISTORY: list[Any] = []


@pytest.fixture(autouse=True)
def seen_by_the_collector() -> Iterator[None]:
    """The test run freezes the objects of imports: the collector does not see them, and so no reference of theirs."""
    gc.unfreeze()
    yield
    HISTORY.clear()
    CACHE.clear()
    gc.freeze()


def owned(value: Any, **names: Any) -> list[dict[str, Any]]:
    reader = autograd_graph.GraphReader(value, autograd_graph.named_tensors(names))
    return list(memory.memory_owners(reader))


def total(value: Any) -> int:
    return sum(owner["bytes"] for owner in owned(value))


def holder(held: Callable[[Any], Any]) -> tuple[str, str]:
    """Plant a tensor, and return the owner and name that it gets."""
    size = next(SIZES)
    kept = held(torch.zeros(size))
    found = [(o["owner"], o["name"]) for o in owned(torch.ones(1)) if o["bytes"] == 4 * size]
    del kept
    assert len(found) == 1
    return found[0]


class Trainer:
    def __init__(self, tensor: Any) -> None:
        self.seen = {"last": (tensor,)}


def generator(tensor: Any) -> Iterator[int]:
    yield 1
    yield tensor.numel()


def started(tensor: Any) -> Any:
    made = generator(tensor)
    next(made)
    return made


def with_hook(tensor: Any) -> Any:
    leaf = torch.ones(1, requires_grad=True)
    leaf.register_hook(lambda gradient: gradient + tensor.sum())
    return leaf


def function(tensor: Any) -> Callable[[], Any]:
    def use() -> Any:
        return tensor

    return use


def kept_in(place: Any, key: Any) -> Callable[[Any], Any]:
    return lambda tensor: place.append(tensor) if key is None else place.__setitem__(key, [tensor])


def test_planted_leaks_are_named() -> None:
    where = __name__
    assert holder(kept_in(HISTORY, None)) == ("python", f"{where}.HISTORY[0]")
    assert holder(kept_in(CACHE, "big")) == ("python", f"{where}.CACHE['big'][0]")
    assert holder(started) == ("python", "holder: kept.gi_frame.f_locals['tensor']")
    assert holder(function) == ("python", "holder: kept.__closure__[0].cell_contents")
    owner, name = holder(with_hook)
    assert (owner, name.startswith("holder: kept._backward_hooks[")) == ("python", True)
    CACHE["trainer"] = None
    assert holder(lambda tensor: CACHE.update(trainer=Trainer(tensor))) == (
        "python",
        f"{where}.CACHE['trainer'].seen['last'][0]",
    )


def test_memory_in_a_reference_cycle_is_said_to_be() -> None:
    gc.disable()
    try:
        trainer = Trainer(torch.zeros(size := next(SIZES)))
        trainer.seen["me"] = trainer
        del trainer
        found = [o["owner"] for o in owned(torch.ones(1)) if o["bytes"] == 4 * size]
        assert found == ["cycle"]
        gc.collect()
        assert not [o for o in owned(torch.ones(1)) if o["bytes"] == 4 * size]
    finally:
        gc.enable()


@pytest.mark.skipif(not READS_SAVED, reason="this torch does not say what a node saved")
def test_a_list_of_losses_keeps_its_graphs() -> None:
    size = next(SIZES)
    for _ in range(3):
        x = torch.ones(size, requires_grad=True)
        HISTORY.append(x.exp().sum())
    found = [o for o in owned(torch.ones(1)) if o["bytes"] == 4 * size and o["owner"] == "graph"]
    # Of each loss: the result that exp saved, and the leaf, which its AccumulateGrad holds. The last leaf is still `x`.
    assert [o["name"] for o in found] == [f"{__name__}.HISTORY[{number}]" for number in (0, 0, 1, 1, 2)]


@pytest.mark.skipif(not READS_SAVED, reason="this torch does not say what a node saved")
def test_a_training_step() -> None:
    gc.collect()
    others = sum(owner["bytes"] for owner in owned(torch.ones(1)) if owner["owner"] == "optimizer")  # of other tests
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(5, 16)
    model(x).sum().backward()
    optimizer.step()
    loss = model(x).pow(2).sum()
    sums: dict[str, int] = {}
    for owner in owned(loss, model=model, x=x):
        if owner["name"].startswith(("model", "x", "torch.optim")) or owner["owner"] == "saved":
            sums[owner["owner"]] = sums.get(owner["owner"], 0) + owner["bytes"]
    parameters = sum(p.numel() * 4 for p in model.parameters())
    assert sums["parameter"] == parameters == sums["gradient"]
    assert sums["buffer"] == 3 * 4 * 2 + 8
    assert sums["optimizer"] - others == 2 * parameters + 4 * len(list(model.parameters()))
    assert sums["name"] == x.numel() * 4
    graph = dict(autograd_graph.GraphReader(loss, autograd_graph.named_tensors({"model": model, "x": x})).data())
    assert sums["saved"] == sum(storage["bytes"] for storage in graph["storages"] if not storage["holders"])


@pytest.mark.skipif(not READS_SAVED, reason="this torch does not say what a node saved")
@pytest.mark.parametrize("steps", [1, 4])
def test_the_sum_is_that_of_the_profiler(steps: int) -> None:
    """Memory that the profiler saw allocated and not freed is the memory that is new in the sum."""
    torch.randn(3, 3).mm(torch.randn(3, 3))  # what a first call allocates for good
    before = total(torch.ones(1))
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 3))
        optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
        kept = []
        for _ in range(steps):
            loss = model(torch.randn(5, 16)).exp().sum()
            kept.append(loss)
            loss.backward(retain_graph=True)
            optimizer.step()
    allocated = sum(e.nbytes() for e in profile.kineto_results.events() if e.name() == "[memory]")
    assert allocated > 5_000
    assert total(torch.ones(1)) - before == allocated
