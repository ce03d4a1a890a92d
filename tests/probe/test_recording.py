"""A recorded program holds what the plain profiler, hooks of modules and the sequence numbers of autograd tell."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ptexplore.capture.program import flaw_of, in_order, program_of
from ptexplore.model.program import Program

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    before = held()
    yield
    assert held() == before


def held() -> tuple[object, ...]:
    """What a recorder hooks: Python's own functions, and torch's profiler and thread-local sets."""
    return (
        sys.getprofile(), sys.gettrace(), threading.getprofile(), importlib._bootstrap._find_and_load,
        torch._C._autograd._profiler_enabled(), repr(torch._C._dispatch_tls_local_include_set()),
        repr(torch._C._dispatch_tls_local_exclude_set()), threading.active_count(),
    )  # fmt: skip


def recorder() -> Any:
    return importlib.import_module("ptexplore.probe.recording")


def recorded(run: Callable[[], object]) -> Program:
    torch.manual_seed(0)
    with recorder().recording() as seen:
        run()
    program = program_of(seen.told())
    assert flaw_of(program) is None
    return program


def plain(run: Callable[[], object]) -> list[str]:
    """The operators and nodes that the profiler alone records, in order."""
    torch.manual_seed(0)
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        run()
    roots = list(profile.kineto_results.experimental_event_tree())
    roots.sort(key=lambda event: event.start_time_ns)
    return list(_names(roots))


def _names(events: list[Any]) -> Iterator[str]:
    for event in events:
        if getattr(event.tag, "name", "") == "TorchOp" and "USER_SCOPE" not in str(event.extra_fields.scope):
            yield event.name
        yield from _names(event.children)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 + x.detach() * 0


class Net(nn.Module):
    """A module called twice, a module inside of another one's list, operators of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = self.norm(layer(x)).relu() + x
        return x


def step(model: Any, *given: Any) -> Callable[[], None]:
    def run() -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(*given).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return run


def hooked() -> None:
    model = nn.Linear(3, 3)
    model.register_forward_hook(lambda _m, _i, out: out * 2)
    model.weight.register_hook(lambda grad: grad.clone())
    model(torch.ones(2, 3)).sum().backward()


def checkpointed() -> None:
    model = Net()
    x = torch.ones(2, 4, requires_grad=True)
    torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).sum().backward()


def twice() -> None:
    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        Twice.apply(x * 1).sum().backward()


def double() -> None:
    x = torch.ones(3, requires_grad=True)
    (grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    grad.sum().backward()


def loaded() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(6.0).view(6, 1))
    for (x,) in torch.utils.data.DataLoader(data, batch_size=2):
        x + 1


def mapped() -> None:
    torch.func.vmap(lambda x: torch.sin(x) + 1)(torch.ones(2, 3))


def slots() -> None:
    x = torch.ones(4)
    for _ in range(300):
        x = (x + 1) * 0.5


def raised() -> None:
    with contextlib.suppress(RuntimeError):
        torch.ones(2) @ torch.ones(3)
    torch.ones(2) + 1


PROGRAMS = {
    "net": step(Net(), torch.ones(2, 4)),
    "encoder": step(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.ones(1, 3, 8)),
    "lstm": lambda: nn.LSTM(3, 4)(torch.ones(5, 1, 3))[0].sum().backward(),
    **{run.__name__: run for run in (hooked, checkpointed, twice, double, loaded, mapped, slots, raised)},
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", ["whole", "sliced"])
def test_operators_are_those_of_the_plain_profiler_in_order(name: str, size: str, monkeypatch) -> None:
    run = PROGRAMS[name]
    run()  # what only a first call does is done
    if size == "sliced":
        monkeypatch.setattr(recorder(), "SLICE", 5)
    assert [kind.name for kind in in_order(recorded(run))] == plain(run)


def test_standard_error_is_left_alone(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The profiler tells it each start and end, and the recorder starts one for every slice."""
    monkeypatch.setattr(recorder(), "SLICE", 50)
    recorded(slots)  # the very first start may tell
    capfd.readouterr()
    recorded(step(Net(), torch.ones(2, 4)))
    assert capfd.readouterr() == ("", "")


def test_every_call_of_a_builtin_is_told_by_its_name() -> None:
    """Where no builtin is told, the operator is said to come by operator syntax."""

    def run() -> None:
        x = torch.ones(3)
        for _ in range(200):
            x.neg()

    program = recorded(run)
    calls = {(program.routes[call.route].method, call.calls) for call in program.calls}
    assert calls == {("ones", 1), ("neg", 200)}


def test_overhead_is_part_of_the_run() -> None:
    program = recorded(step(Net(), torch.ones(2, 4)))
    assert 0 < program.overhead < program.wall
