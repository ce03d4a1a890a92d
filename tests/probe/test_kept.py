"""What --setup made is put back after an evaluation, in the same objects; what cannot be is told."""

from __future__ import annotations

import collections
import copy
import functools
import importlib
import io
import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
forward_ad = importlib.import_module("torch.autograd.forward_ad")
python_dispatch = importlib.import_module("torch.utils._python_dispatch")
overrides = importlib.import_module("torch.overrides")
TorchDispatchMode: Any = python_dispatch.TorchDispatchMode
TorchFunctionMode: Any = overrides.TorchFunctionMode
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
        (gone_on(), next, {"code": "gone-on", "type": "generator"}),
        (iter([1, 2, 3]), next, {"code": "gone-on", "type": "list_iterator"}),
        (zip([1, 2], [3, 4], strict=True), next, {"code": "gone-on", "type": "list_iterator"}),
        (torch.ones(3), lambda v: v.resize_(5), {"code": "other-memory"}),
        (torch.ones(2, requires_grad=True) * 2, lambda v: v.add_(1), {"code": "made-by-another"}),
    ],
    ids=["generator", "iterator", "zip", "resized", "other node"],
)
def test_what_cannot_be_put_back_is_reported(value: Any, change: Any, why: str) -> None:
    state = kept.Kept({"it": value})
    assert state.put_back() == []
    change(value)
    assert why in [lost["because"] for lost in state.put_back()]


def request(**given: Any) -> dict[str, Any]:
    """What a probe is asked."""
    return {"expression": "a", "variables": [], "setup": [], "contexts": [], "grad": False, "seed": 0, **given}


def test_names_random_numbers_and_inputs_are_the_same_each_time() -> None:
    asked = request(setup=["n = 0", "w = torch.rand(3)"], variables=[["v", "torch.rand(2)"]], expression="a + v")
    names = expression.Namespace(asked)
    tree = expression.parse(asked["expression"], expression.EXPRESSION)
    names.fill(tree, keeps=True)
    first = [names.values[name].tolist() for name in ("a", "v", "w")] + [torch.rand(1).item(), random.random()]
    names.values.update(n=5, new=1)
    names.values["a"].add_(1)
    names.values["w"].add_(1)
    names.renew(tree)
    second = [names.values[name].tolist() for name in ("a", "v", "w")] + [torch.rand(1).item(), random.random()]
    assert first == second
    assert (names.values["n"], "new" in names.values) == (0, False)
    assert [entry["how"] for entry in names.bound] == ["seeded", "variable"]


def test_setup_is_run_again_only_where_it_does_nothing_to_the_process() -> None:
    asked = request(setup=["import torch.nn.modules.module as m", "h = m.register_module_forward_hook(print)"])
    tree = expression.parse("a", expression.EXPRESSION)
    first = expression.Namespace(asked)
    first.fill(tree)
    hook = first.values["h"]  # where Dynamo is loaded, the second namespace is the first one's, emptied
    try:
        second = expression.Namespace(asked)
        with pytest.raises(expression.Unrepeatable, match="registers-global-hook"):
            second.fill_again(tree, first)
        second.values["h"].remove()
    finally:
        hook.remove()
    harmless = expression.Namespace(request(setup=["x = torch.ones(3)"]))
    harmless.fill_again(tree, first)


def test_a_function_that_is_replaced_is_seen() -> None:
    state, before = process_state.ProcessState(), F.gelu
    assert state.changes() == []
    F.gelu = F.relu
    try:
        assert {"code": "replaces-function", "name": "torch.nn.functional.gelu"} in state.changes()
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


class Dispatched(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operator."""
        return func(*args, **(kwargs or {}))

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Overridden(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


def dispatch_modes() -> list[Any]:
    """The modes that are on."""
    return list(python_dispatch._get_current_dispatch_mode_stack())


def function_modes() -> list[Any]:
    """The modes that are on."""
    return list(overrides._get_current_function_mode_stack())


def hooks() -> list[Any]:
    """The hooks of all modules."""
    return list(nn.modules.module._global_forward_hooks.values())


def autocast() -> tuple[Any, ...]:
    """Whether it is on, in which dtype, and what a product then has."""
    on = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    return (*on, torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype)


# Each is left set by the first, and told by the second.
LEFT_SET: dict[str, tuple[Any, Any]] = {
    "dispatch mode": (lambda: Dispatched().__enter__(), dispatch_modes),
    "function mode": (lambda: Overridden().__enter__(), function_modes),
    "default device": (lambda: torch.set_default_device("meta"), lambda: torch.empty(1).device),
    "grad mode": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
    "default dtype": (lambda: torch.set_default_dtype(torch.float64), lambda: torch.ones(1).dtype),
    "autocast": (lambda: torch.autocast("cpu").__enter__(), autocast),
    "autocast's dtype": (lambda: torch.set_autocast_dtype("cpu", torch.float16), autocast),
    "deterministic": (
        lambda: torch.use_deterministic_algorithms(True, warn_only=True),
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
    ),
    "anomaly": (lambda: torch.autograd.set_detect_anomaly(True), torch.is_anomaly_enabled),
    "threads": (lambda: torch.set_num_threads(torch.get_num_threads() + 1), torch.get_num_threads),
    "warnings": (lambda: torch.set_warn_always(True), torch.is_warn_always_enabled),
    "oneDNN": (lambda: torch.backends.mkldnn.set_flags(False), torch._C._get_mkldnn_enabled),
    "a hook": (lambda: nn.modules.module.register_module_forward_hook(lambda *_: None), hooks),
}


@pytest.mark.parametrize("name", LEFT_SET)
def test_what_an_evaluation_leaves_set_in_torch_is_put_back(name: str) -> None:
    leave, read = LEFT_SET[name]
    before, state = read(), process_state.TorchSettings()
    leave()
    leave()
    assert len(now := read()) != len(before) if type(before) is list else read() != before
    assert state.put_back() == []
    now = read()
    assert list(map(id, now)) == list(map(id, before)) if type(before) is list else now == before


def test_a_mode_that_was_left_is_entered_again() -> None:
    """An evaluation may leave what --setup entered; what it entered instead is left."""
    with Dispatched() as outer, Overridden() as inner:
        state = process_state.TorchSettings()
        attributes = copy.deepcopy(vars(outer))
        inner.__exit__(None, None, None)
        outer.__exit__(None, None, None)
        Dispatched().__enter__()
        other = Overridden().__enter__()
        assert function_modes() == [other]
        vars(outer).update(attributes)  # `Kept` puts back what an object of --setup has
        assert state.put_back() == []
        assert ([id(mode) for mode in dispatch_modes()], function_modes()) == ([id(outer)], [inner])
        assert python_dispatch._is_in_torch_dispatch_mode
    assert (dispatch_modes(), function_modes(), python_dispatch._is_in_torch_dispatch_mode) == ([], [], False)


def test_what_torch_cannot_take_back_is_reported() -> None:
    state = process_state.TorchSettings()
    with forward_ad.dual_level():
        assert state.put_back() == ["a transform or a level of forward-mode differentiation"]
    with torch.inference_mode():
        assert "inference mode" in state.put_back()
        torch._C._set_grad_enabled(False)  # as inference mode has it: that leaves it as it found it
    assert process_state.TorchSettings().put_back() == []
