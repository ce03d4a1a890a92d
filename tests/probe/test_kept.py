"""What --setup made is put back after an evaluation, in the same objects; what cannot be is told."""

from __future__ import annotations

import collections
import functools
import importlib
import io
import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
kept = importlib.import_module("ptexplore.probe.kept")
expression = importlib.import_module("ptexplore.probe.expression")
process_state = importlib.import_module("ptexplore.probe.process_state")
F, nn = torch.nn.functional, torch.nn


class Counter:
    """A class whose instances count."""

    __slots__ = ("calls", "seen")

    def __init__(self) -> None:
        self.calls = 0
        self.seen: list[int] = []

    def call(self) -> None:
        """Count."""
        self.calls += 1
        self.seen.append(self.calls)


def counting() -> Any:
    """A function with a variable that it changes."""
    calls = 0

    def count() -> int:
        nonlocal calls
        calls += 1
        return calls

    return count


def model() -> Any:
    """A model whose every layer keeps something from call to call, and an optimizer with momentum."""
    made = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    return made, torch.optim.Adam(made.parameters())


def train(made: Any, optimizer: Any) -> Any:
    """One step of training."""
    optimizer.zero_grad()
    loss = made(torch.ones(4, 3)).square().sum()
    loss.backward()
    optimizer.step()
    return loss.detach()


CONTAINERS: dict[str, tuple[Any, Any, Any]] = {  # made by, changed by, read by
    "list": (lambda: [1, 2], lambda v: v.append(3), list),
    "dict": (lambda: {"a": 1, "b": 2}, lambda v: (v.pop("a"), v.update(c=3)), lambda v: list(v.items())),
    "ordered": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda v: (v.move_to_end("a"), v.update(c=3)),
        lambda v: list(v.items()),
    ),
    "default": (lambda: collections.defaultdict(list), lambda v: v["new"].append(1), dict),
    "inner": (lambda: {"a": [1]}, lambda v: v["a"].append(2), lambda v: list(v["a"])),
    "set": (lambda: {1, 2}, lambda v: v.add(3), set),
    "deque": (lambda: collections.deque([1, 2], maxlen=2), lambda v: v.append(3), list),
    "bytearray": (lambda: bytearray(b"ab"), lambda v: v.extend(b"c"), bytes),
    "closure": (counting, lambda v: (v(), v()), lambda v: v.__closure__[0].cell_contents),
    "slots": (Counter, lambda v: v.call(), lambda v: (v.calls, list(v.seen))),
    "method": (lambda: Counter().call, lambda v: v(), lambda v: (v.__self__.calls, list(v.__self__.seen))),
    "partial": (lambda: functools.partial([1].append, 2), lambda v: v(), lambda v: v.func.__self__),
    "cache": (lambda: functools.cache(lambda n: [n]), lambda v: v(1), lambda v: v.cache_info().currsize),
    "buffer": (lambda: io.BytesIO(b"ab"), lambda v: (v.read(), v.write(b"c")), lambda v: (v.getvalue(), v.tell())),
    "random": (lambda: random.Random(1), lambda v: v.random(), lambda v: v.getstate()),
    "generator": (
        lambda: torch.Generator().manual_seed(3),
        lambda v: torch.rand(3, generator=v),
        lambda v: v.get_state().tolist(),
    ),
    "tensor": (lambda: torch.ones(3), lambda v: v.add_(1), lambda v: (v.tolist(), v._version)),
    "data": (lambda: torch.ones(3), lambda v: v.data.add_(1), lambda v: v.tolist()),
    "view": (lambda: torch.ones(4)[1:3], lambda v: v.fill_(2), lambda v: v._base.tolist()),
    "gradient": (
        lambda: torch.ones(3, requires_grad=True),
        lambda v: (v * v).sum().backward(),
        lambda v: (v.grad, v.requires_grad),
    ),
    "attribute": (lambda: torch.ones(3), lambda v: setattr(v, "mine", 1), lambda v: hasattr(v, "mine")),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_what_an_evaluation_changes_is_put_back(name: str) -> None:
    make, change, read = CONTAINERS[name]
    value = make()
    before = read(value)
    state = kept.Kept({"v": value})
    for _ in range(2):
        change(value)
        assert state.put_back() == []
        assert repr(read(value)) == repr(before)


def test_training_begins_anew_on_the_same_objects() -> None:
    """Each step from the start: weights, statistics, moments and gradients are those of the first one's beginning."""
    made, optimizer = model()
    state = kept.Kept({"m": made, "opt": optimizer})
    parameters = list(made.parameters())
    losses, after = [], []
    for _ in range(3):
        torch.manual_seed(0)
        losses.append(float(train(made, optimizer)))
        after.append([tensor.tolist() for tensor in made.state_dict().values()])
        assert state.put_back() == []
        assert optimizer.state == {}
        assert made[1].num_batches_tracked == 0
        assert all(parameter.grad is None for parameter in parameters)
    assert losses[0] == losses[1] == losses[2]
    assert after[0] == after[1] == after[2]
    assert [id(parameter) for parameter in made.parameters()] == [id(parameter) for parameter in parameters]
    train(made, optimizer)
    assert [float(train(made, optimizer)) for _ in range(2)] != losses[:2]  # without that they go on


def gone_on() -> Any:
    """A generator that is between its items."""
    yield from (1, 2, 3)


@pytest.mark.parametrize(
    ("value", "change", "why"),
    [
        (gone_on(), next, "the generator has gone on"),
        (iter([1, 2, 3]), next, "the list_iterator has gone on"),
        (zip([1, 2], [3, 4], strict=True), next, "the list_iterator has gone on"),
        (torch.ones(3), lambda v: v.resize_(5), "other memory"),
        (torch.ones(2, requires_grad=True) * 2, lambda v: v.add_(1), "another operator made"),
    ],
    ids=["generator", "iterator", "zip", "resized", "other node"],
)
def test_what_cannot_be_put_back_is_told(value: Any, change: Any, why: str) -> None:
    state = kept.Kept({"it": value})
    assert state.put_back() == []
    change(value)
    assert any(why in told for told in state.put_back())


def request(**given: Any) -> dict[str, Any]:
    """What a probe is asked."""
    return {"expression": "a", "variables": [], "setup": [], "contexts": [], "grad": False, "seed": 0, **given}


def test_names_random_numbers_and_inputs_are_the_same_each_time() -> None:
    asked = request(setup=["n = 0", "w = torch.rand(3)"], variables=[["v", "torch.rand(2)"]], expression="a + v")
    names = expression.Namespace(asked)
    tree = expression.parse(asked["expression"], "the expression")
    names.fill(tree, keeps=True)
    first = [names.values[name].tolist() for name in ("a", "v", "w")] + [torch.rand(1).item(), random.random()]
    names.values.update(n=5, new=1)
    names.values["a"].add_(1)
    names.values["w"].add_(1)
    names.renew(tree)
    second = [names.values[name].tolist() for name in ("a", "v", "w")] + [torch.rand(1).item(), random.random()]
    assert first == second
    assert (names.values["n"], "new" in names.values) == (0, False)
    assert [entry["how"] for entry in names.bound] == ["seeded", "--var"]


def test_setup_is_run_again_only_where_it_does_nothing_to_the_process() -> None:
    asked = request(setup=["import torch.nn.modules.module as m", "h = m.register_module_forward_hook(print)"])
    tree = expression.parse("a", "the expression")
    first = expression.Namespace(asked)
    first.fill(tree)
    hook = first.values["h"]  # where Dynamo is loaded, the second namespace is the first one's, emptied
    try:
        second = expression.Namespace(asked)
        with pytest.raises(expression.Unrepeatable, match="registers a hook of all modules"):
            second.fill_again(tree, looks=True)
        second.values["h"].remove()
    finally:
        hook.remove()
    harmless = expression.Namespace(request(setup=["x = torch.ones(3)"]))
    harmless.fill_again(tree, looks=True)


def test_a_function_that_is_replaced_is_seen() -> None:
    state, before = process_state.ProcessState(), F.gelu
    assert state.changes() == []
    F.gelu = F.relu
    try:
        assert "replaces torch.nn.functional.gelu" in state.changes()
    finally:
        F.gelu = before


def test_random_numbers_that_all_draw_from_are_nobodys_of_setup() -> None:
    """Functions hold torch's default generator as a default, and none of them has changed by that."""
    from torch.utils.data import random_split

    assert any(default is torch.default_generator for default in random_split.__defaults__)
    held = kept.Kept({"random_split": random_split, "draw": random.random, "own": torch.Generator()})
    torch.randn(1)
    random.random()
    assert held.put_back() == []
    assert not held.changed
