"""A recorded program holds what the plain profiler, hooks of modules and the sequence numbers of autograd tell."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.codes import convert
from ptexplore.model.program import Program
from ptexplore.model.program_order import units
from ptexplore.model.reasons import (
    ClockWasSet,
    InterruptedInHook,
    OtherThreadsWentOn,
    PathsTooDeep,
    RecordingFailed,
    ThreadsInsideAtEnd,
    reason_of,
)
from ptexplore.saved.program import flaw_of
from ptexplore.view.trace.program_parts import run_of
from ptexplore.view.trace.stacks import _threads

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")
nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    before = held()
    yield
    assert held() == before


def held() -> tuple[object, ...]:
    """What a recorder hooks: Python's own functions, and torch's profiler and thread-local sets."""
    return (
        sys.getprofile(), sys.gettrace(), threading.getprofile(), importlib._bootstrap._find_and_load,  # type: ignore[attr-defined]
        torch._C._autograd._profiler_enabled(), repr(torch._C._dispatch_tls_local_include_set()),
        repr(torch._C._dispatch_tls_local_exclude_set()), threading.active_count(),
    )  # fmt: skip


def of_probe(name: str) -> Any:
    return importlib.import_module(f"ptexplore.probe.{name}")


def recorder() -> Any:
    return of_probe("recording")


def recorded(run: Callable[[], object]) -> Program:
    torch.manual_seed(0)
    with recorder().recording() as seen:
        run()
    program = convert(seen.data(), Program)
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


def small(tensor: Any) -> Any:
    """What a hook packs: builtins enough for a slice to end among them."""
    for _ in range(4):
        torch.ones(2)
    return tensor.half()


def packed_by_syntax() -> None:
    """An operator that no builtin calls, which calls Python before it goes on: aten::mm packs, then computes."""
    w = torch.ones(3, 3, requires_grad=True)
    for _ in range(3):
        with torch.autograd.graph.saved_tensors_hooks(small, lambda packed: packed.float()):
            y = (w @ w).tanh()
        y.sum().backward()


def packed_by_c() -> None:
    """A builtin that C calls: Python's profile function is not told of it."""
    w = torch.ones(3, 3, requires_grad=True)
    for _ in range(3):
        with torch.autograd.graph.saved_tensors_hooks(small, lambda packed: packed.float()):
            functools.partial(torch.matmul, w)(w)


PROGRAMS = {
    "net": step(Net(), torch.ones(2, 4)),
    "encoder": step(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.ones(1, 3, 8)),
    "lstm": lambda: nn.LSTM(3, 4)(torch.ones(5, 1, 3))[0].sum().backward(),
    **{run.__name__: run for run in (hooked, checkpointed, twice, double, loaded, mapped, slots, raised)},
    **{run.__name__: run for run in (packed_by_c, packed_by_syntax)},
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", ["whole", "sliced"])
def test_operators_are_those_of_the_plain_profiler_in_order(name: str, size: str, monkeypatch) -> None:
    run = PROGRAMS[name]
    run()  # what only a first call does is done
    if size == "sliced":
        monkeypatch.setattr(of_probe("slices"), "SLICE", 5)
    assert [kind.name for unit in units(recorded(run)) for _, kind in unit] == plain(run)


@pytest.mark.parametrize("name", ["packed_by_c", "packed_by_syntax"])
def test_an_operator_that_calls_python_keeps_what_it_calls_after_it(name: str, monkeypatch) -> None:
    run = PROGRAMS[name]
    monkeypatch.setattr(of_probe("slices"), "SLICE", 5)
    program = recorded(run)
    seen: Counter[tuple[str, str]] = Counter()

    def count(number: int, calls: int) -> None:
        kind = program.kinds[number]
        for inner, _ in kind.inside:
            if inner >= 0:
                seen[kind.name, program.kinds[inner].name] += calls
                count(inner, calls)

    for calls in program.calls:
        count(program.routes[calls.route].kind, calls.calls)
    with torch.autograd.profiler.profile() as profile:
        run()
    pairs: Counter[tuple[str, str]] = Counter()
    pending = list(profile.kineto_results.experimental_event_tree())
    for event in pending:
        pending += event.children
        pairs.update((event.name, child.name) for child in event.children)
    (outer, inner) = last = ("aten::mm", "aten::resolve_conj")
    assert seen[last] == pairs[last] > 0
    assert {names[0] for names in seen if names[1] == inner} == {outer}
    owners = {
        program.paths[calls.path].name
        for calls in program.calls
        if program.kinds[program.routes[calls.route].kind].name == inner
    }
    assert not owners, "what aten::mm calls is in it, and in no function of Python's"


def test_an_operator_stands_before_the_python_that_it_called() -> None:
    program = recorded(packed_by_syntax)
    whole = run_of(program, "x").whole
    (packer,) = (part for part in whole.walk() if part.name == "small")
    (outer,) = (part for part in whole.walk() if packer in part.parts)
    rows = sorted([*((own.first, own.name) for own in outer.own), *((part.first, part.name) for part in outer.parts)])
    names = [name for _, name in rows if name in ("ones", "matmul", "small")]
    with torch.autograd.profiler.profile() as profile:
        packed_by_syntax()
    events = sorted(profile.function_events, key=lambda event: event.time_range.start)
    began = [event.name.removeprefix("aten::") for event in events]
    assert began.index("matmul") < began.index("ones", 1), "the first of all is made outside of the hook"
    assert names == ["ones", "matmul", "small"]


def test_what_is_saved_by_a_forward_inside_of_a_backward_is_its_operators() -> None:
    kept: dict[str, int] = {}

    def again(_: Any) -> None:
        with torch.enable_grad():
            inner = torch.ones(2, 6).requires_grad_().sigmoid().exp().sum()
        exp = inner.grad_fn.next_functions[0][0]
        for node in (exp, exp.next_functions[0][0]):
            kept[node.name()] = node._raw_saved_result.data.untyped_storage().nbytes()
        inner.backward()

    def run() -> None:
        x = torch.ones(2, 6, requires_grad=True).mul(2)
        x.register_hook(again)
        x.sum().backward()

    program = recorded(run)
    saved: Counter[str] = Counter()
    for calls in program.calls:
        saved[program.kinds[program.routes[calls.route].kind].name] += (calls.weights or {}).get("saved", 0)
    assert kept == {"ExpBackward0": 48, "SigmoidBackward0": 48}
    assert (saved["aten::exp"], saved["aten::sigmoid"]) == (48, 48)
    assert program.saved_elsewhere == 0


def ranged() -> None:
    with torch.autograd.profiler.record_function("a range"):
        for _ in range(20):
            torch.ones(2)
        with torch.autograd.profiler.record_function("another"):
            for _ in range(20):
                torch.ones(2)


def in_a_generator() -> None:
    """A range stays open while the function that opened it does not run."""

    def numbers() -> Any:
        with torch.autograd.profiler.record_function("a range"):
            yield from range(20)

    for _ in numbers():
        torch.ones(2)


def under_a_mode() -> None:
    with torch.overrides.BaseTorchFunctionMode():
        ranged()


def that_goes_on() -> None:
    """Its end comes with a future, and when that is nobody can tell."""
    future: Any = torch.futures.Future()
    with torch.autograd.profiler.record_function("a range") as range_:
        after = range_._call_end_callbacks_on_future(future)
        for _ in range(20):
            torch.ones(2)
    for _ in range(20):
        torch.ones(2)
    future.set_result(None)
    after.wait()


def stepped_by_an_optimizer() -> None:
    weight = nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    torch.optim.Adam([weight]).step()


@pytest.mark.parametrize(
    ("run", "is_stopped"),
    [(ranged, 1), (in_a_generator, 1), (stepped_by_an_optimizer, 1), (under_a_mode, 0), (that_goes_on, 0)],
)
def test_no_range_of_the_program_is_open_when_the_profiler_stops(run, is_stopped: int, monkeypatch: Any) -> None:
    """A range's end writes by a pointer into the profiler that it began under: that one must still be there."""
    module, ranges, at_stops = of_probe("slices"), {"begun": 0, "ended": 0}, []
    fold = module.Slices.fold_profile

    def counted(called: Any, what: str) -> Any:
        def call(*given: Any) -> Any:
            result = called(*given)
            if what == "later":
                result.add_done_callback(lambda _: ranges.update(ended=ranges["ended"] + 1))
            else:
                ranges[what] += 1
            return result

        return call

    def noted(self: Any, **given: Any) -> None:
        at_stops.append(ranges["begun"] - ranges["ended"])
        fold(self, **given)

    operators = torch.ops.profiler
    for owner, name, what in (
        (operators, "_record_function_enter_new", "begun"),
        (operators._record_function_exit, "_RecordFunction", "ended"),
        (operators._call_end_callbacks_on_jit_fut, "_RecordFunction", "later"),
    ):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name), what))
    run()
    of_the_program = ranges["begun"]
    assert of_the_program
    assert of_the_program == ranges["ended"]
    ranges.update(begun=0, ended=0)
    monkeypatch.setattr(module, "SLICE", 5)
    monkeypatch.setattr(module.Slices, "fold_profile", noted)
    recorded(run)
    assert not any(at_stops)
    assert (ranges["begun"] > of_the_program) == bool(is_stopped)


def test_standard_error_is_left_alone(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The profiler tells it each start and end, and the recorder starts one for every slice."""
    monkeypatch.setattr(of_probe("slices"), "SLICE", 50)
    recorded(slots)  # the very first start may tell
    capfd.readouterr()
    recorded(step(Net(), torch.ones(2, 4)))
    assert capfd.readouterr() == ("", "")


def test_every_call_of_a_builtin_is_recorded_by_its_name() -> None:
    """Where no builtin is told, the operator is said to come by operator syntax."""

    def run() -> None:
        x = torch.ones(3)
        for _ in range(200):
            x.neg()

    program = recorded(run)
    calls = {(program.routes[call.route].method, call.calls) for call in program.calls}
    assert calls == {("ones", 1), ("neg", 200)}


class Wrapper(torch.Tensor):
    """A tensor whose class dispatches in Python, around another one."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*(a.inner if isinstance(a, Wrapper) else a for a in args), **(kwargs or {}))


class Noted(torch.overrides.TorchFunctionMode):
    """The key sets of what each function of torch's is given, by the function's name."""

    def __init__(self) -> None:
        self.sets: dict[str, list[tuple[int, ...]]] = {}

    def __torch_function__(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        values = [*args, *(kwargs or {}).values()]
        items = [item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,))]
        with torch._C.DisableTorchFunctionSubclass():
            given = tuple(torch._C._dispatch_keys(i).raw_repr() for i in items if isinstance(i, torch.Tensor))
        self.sets.setdefault(function.__name__, []).append(given)
        return function(*args, **(kwargs or {}))


def of_all_kinds() -> None:
    plain, complex_ = torch.ones(3, 3), torch.ones(3, dtype=torch.complex64)
    conjugate, sparse, meta = torch.conj(complex_), plain.to_sparse(), torch.ones(3, device="meta")
    torch.mul(conjugate, complex_)
    torch.mm(sparse, plain)
    torch.neg(meta)
    torch.cat([plain, plain * 2])  # what is only on Python's stack has no name
    torch.exp(Wrapper(plain))
    wrapped = Wrapper(plain)
    torch.sigmoid(wrapped)
    with torch.inference_mode():
        made = torch.ones(3)
        torch.sin(made)
    torch.func.vmap(cosine)(plain)
    module = nn.Linear(3, 3)
    F.linear(plain, module.weight, module.bias)
    for given in (complex_, conjugate):
        again(given)


def cosine(row: Any) -> Any:
    return torch.cos(row)


def again(given: Any) -> None:
    torch.abs(given)


def test_key_sets_of_arguments_are_those_of_the_very_tensors() -> None:
    program = recorded(of_all_kinds)
    with Noted() as noted:
        of_all_kinds()
    kinds = [program.kinds[route.kind] for route in program.routes]
    read = {
        route.method: [sets for sets, given in zip(route.read[0], kind.inputs, strict=True) if given is not None]
        for route, kind in zip(program.routes, kinds, strict=True)
        if route.method in noted.sets and any(map(any, route.read[:1]))
    }
    by_name = {name: [sets for sets in given if sets] for name, given in read.items()}
    expected = ("mul", "mm", "neg", "sigmoid", "sin", "cos", "linear", "to_sparse", "conj")
    for name in expected:
        assert by_name[name] == [(raw,) for raw in noted.sets[name][0]], name
    assert not {"cat", "exp"} & set(by_name), "no name of Python's held all of their tensors"
    assert by_name["abs"] == [noted.sets["abs"][0]], "the first call from a place stands for those from it"


def test_an_interrupt_inside_of_the_profile_function_is_the_programs_and_recording_goes_on(monkeypatch: Any) -> None:
    """Python takes a profile function away that raises, as it does where a handler of a signal raised in it."""
    at_line, interrupts = of_probe("paths").Paths.at_line, [KeyboardInterrupt()]

    def once(*given: Any) -> Any:
        if interrupts:
            raise interrupts.pop()
        return at_line(*given)

    def run() -> None:
        x = torch.ones(2)
        with pytest.raises(KeyboardInterrupt):
            once_more(x)
        assert sys.getprofile() is None
        while sys.getprofile() is None:
            time.sleep(0.01)
        torch.exp(x)

    def once_more(x: Any) -> None:
        monkeypatch.setattr(of_probe("paths").Paths, "at_line", once)
        torch.neg(x)

    program = recorded(run)
    (exp,) = (path for path in program.paths if path.name == "torch.exp")
    assert program.paths[exp.parent or 0].name.endswith("run")
    assert InterruptedInHook() in program.cuts


def test_no_profile_ends_inside_of_a_range_of_cpp(monkeypatch: Any) -> None:
    """The range's end would write to memory of that profile: torch.compile's own code opens such a range by a call."""
    x, slices, open_range = torch.ones(2), [], [False]
    fold = of_probe("slices").Slices.fold_profile

    def folded(self: Any, **given: Any) -> None:
        slices.append(open_range[0])
        fold(self, **given)

    def ranged(end: bool) -> None:
        range_ = torch._C._profiler._RecordFunctionFast("range of a program")
        range_.__enter__()
        open_range[0] = True
        for _ in range(20):
            torch.neg(x)
        if end:
            range_.__exit__(None, None, None)
        open_range[0] = False

    def run() -> None:
        ranged(end=True)
        for _ in range(20):
            torch.neg(x)
        ranged(end=False)  # given up, as where an error came between
        for _ in range(20):
            torch.neg(x)

    monkeypatch.setattr(of_probe("slices"), "SLICE", 8)
    monkeypatch.setattr(of_probe("slices").Slices, "fold_profile", folded)
    program = recorded(run)
    assert len(slices) > 4
    assert not any(slices)
    negs = [
        calls.calls for calls in program.calls if program.kinds[program.routes[calls.route].kind].name == "aten::neg"
    ]
    assert sum(negs) == 80, negs
    assert not program.cuts


def test_a_clock_that_is_set_meanwhile_is_reported(monkeypatch: Any) -> None:
    """Set back by more than a profile lasts, it turns the order of torch's events round. No test sets the real one."""
    assert not recorded(lambda: torch.neg(torch.ones(2))).cuts
    real, back = time.clock_gettime_ns, [0]
    read = {time.CLOCK_REALTIME: lambda: real(time.CLOCK_REALTIME) - back[0]}
    taken = importlib.import_module(f"{recorder().__package__}.taken").time
    monkeypatch.setattr(taken, "clock_gettime_ns", lambda which: read.get(which, lambda: real(which))())

    def set_back() -> None:
        back[0] += 100_000_000

    (cut,) = recorded(set_back).cuts
    assert cut == ClockWasSet()
    monkeypatch.setattr(torch, "set_back", set_back, raising=False)
    request = {"expression": "torch.set_back()", "script": None, "variables": [], "setup": [], "contexts": [],
               "grad": False, "backward": False, "once": True, "seed": 0}  # fmt: skip
    observations = importlib.import_module("ptexplore.probe.passes").run("once", request, {})["observations"]
    assert cut in [reason_of(seen["data"]["told"]) for seen in observations if seen["kind"] == "cut"]


def test_overhead_is_part_of_the_run() -> None:
    program = recorded(step(Net(), torch.ones(2, 4)))
    assert 0 < program.overhead < program.wall


# --- modules, pairs of forward and backward, saved bytes ---


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 2, 1))
        self.short = nn.Identity()

    def forward(self, x: Any) -> Any:
        return torch.relu(self.body(x) + self.short(x))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(7, 4)
        self.inner = nn.Linear(4, 4)
        self.again = self.inner  # one module under two names
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Any) -> Any:
        return self.head(self.again(torch.tanh(self.inner(self.tokens(ids)))))


class Down(nn.Module):
    """A small U-Net: what the way down keeps is joined on the way up."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(1, 2, 2, stride=2), nn.ConvTranspose2d(2, 1, 2, stride=2)
        self.join = nn.Conv2d(2, 1, 1)

    def forward(self, x: Any) -> Any:
        return self.join(torch.cat([x, self.up(F.gelu(self.down(x)))], 1))


class Recursive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any, depth: int = 2) -> Any:
        return self.linear(x) if depth == 0 else self(x, depth - 1).sigmoid()


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]] = {
    "net": (Net, lambda: (torch.ones(2, 4),)),
    "residual": (Residual, lambda: (torch.ones(1, 2, 4, 4),)),
    "tied": (Tied, lambda: (torch.tensor([[1, 2, 3]]),)),
    "u-net": (Down, lambda: (torch.ones(1, 1, 4, 4),)),
    "recursive": (Recursive, lambda: (torch.ones(2, 3),)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda: (torch.ones(1, 3, 8),)),
    "decoder": (lambda: nn.TransformerDecoderLayer(8, 2, 16), lambda: (torch.ones(3, 1, 8), torch.ones(2, 1, 8))),
    "sequential": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Tanh(), nn.Dropout(0.5)), nn.Linear(4, 1)),
        lambda: (torch.ones(2, 3),),
    ),
    "attention": (lambda: nn.MultiheadAttention(4, 2), lambda: (torch.ones(3, 1, 4),) * 3),
    "bilinear": (lambda: nn.Bilinear(2, 3, 4), lambda: (torch.ones(5, 2), torch.ones(5, 3))),
}


# A Python number that became a tensor is saved too, 8 bytes, and is given to no such hook: SavedVariable's constructor.
NUMBERS = {"attention": 8}


def backward_of(model: Any, given: tuple[Any, ...]) -> None:
    out = model(*given)
    (out[0] if isinstance(out, tuple) else out).sum().backward()


def nodes_by_module(model: Any, given: tuple[Any, ...]) -> Counter[tuple[str, str]]:
    """How often each node ran that a module's own operators recorded: by hooks of modules, and sequence numbers."""
    names = {id(module): name for name, module in model.named_modules()}
    sequence = torch._C._autograd._get_sequence_nr
    running: list[str] = []
    owner: dict[int, str] = {}
    at = [0]

    def so_far() -> None:
        owner.update(dict.fromkeys(range(at[0], sequence()), running[-1] if running else "-"))
        at[0] = sequence()

    def entered(module: Any, _given: Any) -> None:
        so_far()
        running.append(names[id(module)])

    def left(*_: Any) -> None:
        so_far()
        running.pop()

    hooks = torch.nn.modules.module
    held = [hooks.register_module_forward_pre_hook(entered), hooks.register_module_forward_hook(left)]
    at[0] = sequence()
    try:
        with torch.autograd.profiler.profile() as profile:
            backward_of(model, given)
    finally:
        for hook in held:
            hook.remove()
    events = list(profile.kineto_results.experimental_event_tree())
    ran = Counter[tuple[str, str]]()
    while events:
        event = events.pop()
        events += event.children
        fields = event.extra_fields
        if "BACKWARD_FUNCTION" in str(getattr(fields, "scope", "")) and fields.sequence_number in owner:
            ran[owner[fields.sequence_number], event.name] += 1
    return ran


def nodes_of(program: Program) -> Counter[tuple[str, str]]:
    """The same, as the program has it."""
    ran = Counter[tuple[str, str]]()
    for calls in program.calls:
        if calls.recorded is None:
            continue
        pending, nodes = [program.routes[calls.route].kind], []
        while pending:
            kind = program.kinds[pending.pop()]
            nodes += [kind.name] if kind.type == "node" else []
            pending += [inner for inner, _ in kind.inside if kind.type == "engine" and inner >= 0]
        at: int | None = program.calls[calls.recorded].path
        while at is not None and program.paths[at].kind != "module":
            at = program.paths[at].parent
        for node in nodes:
            ran[program.paths[at].name if at is not None else "-", node] += calls.calls
    return ran


def test_a_generator_that_goes_on_is_no_further_call_and_a_package_has_the_line_that_led_to_it() -> None:
    def numbers() -> Iterator[Any]:
        for _ in range(3):
            yield torch.ones(2)

    async def waiting() -> None:
        torch.ones(3)

    @contextlib.contextmanager
    def around() -> Iterator[None]:
        torch.zeros(2)
        yield
        torch.zeros(2)

    def run() -> None:
        for _ in range(2):
            list(numbers())
        with contextlib.suppress(StopIteration):
            waiting().send(None)
        with around():
            pass

    first = run.__code__.co_firstlineno
    called: dict[str, list[tuple[int, int | None]]] = {}
    for path in recorded(run).paths:
        if path.kind == "user" and path.line is not None:
            called.setdefault(path.name.rpartition(".")[2], []).append((path.calls, path.line - first))
    assert called["numbers"] == [(2, 2)]
    assert called["waiting"] == [(1, 4)]
    assert called["around"] == [(1, 5), (0, 5)], "contextlib calls it where the block begins and where it ends"


def tells_all_threads() -> bool:
    api: Any = importlib.import_module("ptexplore.probe.torch_api")
    return bool(api.records_all_threads())


def test_a_thread_that_calls_by_syntax_alone_keeps_its_operators_and_takes_no_others(monkeypatch: Any) -> None:
    """The main thread has the profiler stopped meanwhile: not while an operator is at work in any thread."""
    done, big = [0], torch.ones(20, 20)
    stop = threading.Event()

    def beside() -> None:
        while done[0] < 5 or not stop.is_set():
            big @ big
            done[0] += 1
            time.sleep(0.002)

    def run() -> None:
        thread = threading.Thread(target=beside)
        thread.start()
        x = torch.ones(3)
        for _ in range(400):
            torch.neg(x)
            time.sleep(0.001)
            x + x
        stop.set()
        thread.join()

    folds: list[None] = []
    fold = of_probe("slices").Slices.fold_profile
    monkeypatch.setattr(of_probe("slices"), "SLICE", 4)
    monkeypatch.setattr(
        of_probe("slices").Slices, "fold_profile", lambda self, **given: (folds.append(None), fold(self, **given))
    )
    program = recorded(run)
    assert len(folds) > 3
    counts: Counter[tuple[str, str]] = Counter()
    for calls in program.calls:
        path = program.paths[calls.path]
        counts[path.name.rpartition(".")[2], program.kinds[program.routes[calls.route].kind].name] += calls.calls
    assert counts["run", "aten::add"] == 400
    theirs = counts["beside", "aten::matmul"]
    assert {name: number for name, number in counts.items() if name[1] in ("aten::matmul", "aten::mm")} == (
        {("beside", "aten::matmul"): theirs} if theirs else {}
    )
    if tells_all_threads():
        assert theirs == done[0] or (theirs < done[0] and OtherThreadsWentOn() in program.cuts)
        (path,) = (path for path in program.paths if path.name.endswith("beside"))
        assert path.time > 0.9 * 400 * 1e6, "it ran for as long as the main thread slept"


def test_a_thread_that_is_in_an_operator_as_the_recording_ends_is_reported() -> None:
    big, threads = torch.ones(2500, 2500), []

    def run() -> None:
        threads.append(threading.Thread(target=lambda: [big @ big for _ in range(3)]))
        threads[0].start()
        time.sleep(0.1)

    cuts = recorded(run).cuts
    assert threads[0].is_alive(), "it was in one"
    threads[0].join()
    assert (ThreadsInsideAtEnd() in cuts) == tells_all_threads()


def test_sequence_numbers_count_in_each_thread_by_itself() -> None:
    """A thread's Linear and the main thread's tanh have the same numbers: a node belongs to its own thread's call."""
    layer, kept = nn.Linear(3, 3), {}

    def beside() -> None:
        kept["sum"] = layer(torch.ones(2, 3)).sum()

    def run() -> None:
        for _ in range(2):
            thread = threading.Thread(target=beside)
            thread.start()
            thread.join()
            mine = torch.ones(3, requires_grad=True).tanh().exp()
            kept["sum"].backward()
            mine.sum().backward()

    program = recorded(run)
    kinds = [program.kinds[program.routes[calls.route].kind].name for calls in program.calls]
    makers = {
        (kinds[number].rpartition(" ")[2], kinds[calls.recorded])
        for number, calls in enumerate(program.calls)
        if calls.recorded is not None
    }
    mine = {("TanhBackward0", "aten::tanh"), ("ExpBackward0", "aten::exp"), ("SumBackward0", "aten::sum")}
    theirs = {("AddmmBackward0", "aten::linear"), ("TBackward0", "aten::linear")}
    assert makers == mine | (theirs if tells_all_threads() else set())


@pytest.mark.parametrize("name", MODELS)
def test_nodes_of_backward_belong_to_the_modules_that_recorded_them(name: str) -> None:
    make, inputs = MODELS[name]
    torch.manual_seed(0)
    model, given = make(), inputs()
    expected = nodes_by_module(model, given)
    assert expected
    assert +Counter(
        {k: n for k, n in nodes_of(recorded(lambda: backward_of(model, given))).items() if k[0] != "-"}
    ) == (+Counter({k: n for k, n in expected.items() if k[0] != "-"}))


def test_the_node_of_a_write_through_a_view_belongs_to_the_call_that_wrote() -> None:
    start = torch.ones(3, 3, requires_grad=True)

    def written() -> None:
        copy = start.clone()
        copy[..., -1] = 0
        copy.sum().backward()

    program = recorded(written)
    kinds = program.kinds
    (slices,) = (c for c in program.calls if kinds[program.routes[c.route].kind].name.endswith("CopySlices"))
    assert slices.recorded is not None
    assert kinds[program.routes[program.calls[slices.recorded].route].kind].name == "aten::fill_"
    assert program.saved_slices == slices.calls == 1


def test_operators_are_those_that_python_nodes_and_the_engine_called() -> None:
    weight = torch.ones(2, requires_grad=True)

    def run() -> None:
        (Twice.apply(weight) * weight).sum().backward()  # the engine adds the two gradients up
        torch.autograd.grad((weight * weight).sum(), weight)  # and does not run AccumulateGrad here
        with torch._C._profiler._RecordFunctionFast("marked"):
            scripted(weight)

    scripted = torch.jit.script(of_a_script)
    program = recorded(run)
    with torch.autograd.profiler.profile() as profile:
        run()
    seen = list(profile.function_events)
    outermost = [event for event in seen if event.name.startswith("aten::") and not _inside_operator(event)]
    whole = run_of(program, "run").whole
    assert whole.operators == len(outermost)
    own = {own.name: own for part in whole.walk() for own in part.own}
    assert own["AccumulateGrad"].calls == sum(event.name == "torch::autograd::AccumulateGrad" for event in seen) == 1
    assert (own["Twice"].calls, own["Twice"].operators, own["TwiceBackward"].operators) == (1, 0, 0)
    assert own["relu"].calls == 1
    assert "marked" not in own


def of_a_script(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def _inside_operator(event: Any) -> bool:
    above = event.cpu_parent
    return above is not None and (above.name.startswith("aten::") or _inside_operator(above))


@pytest.mark.parametrize("name", MODELS)
def test_saved_bytes_are_those_of_the_storages_that_autograd_packs(name: str) -> None:
    make, inputs = MODELS[name]
    torch.manual_seed(0)
    model, given = make(), inputs()
    leaves = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    packed: dict[int, int] = {}
    kept = []

    def pack(tensor: Any) -> Any:
        kept.append(tensor)  # so that no address is used twice
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in leaves:
            packed[storage.data_ptr()] = storage.nbytes()
        return tensor

    torch.manual_seed(1)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        backward_of(model, given)
    torch.manual_seed(1)
    program = recorded(lambda: backward_of(model, given))
    saved = sum((calls.weights or {}).get("saved", 0) for calls in program.calls)
    assert saved == sum(packed.values()) + NUMBERS.get(name, 0) > 0


def test_saved_bytes_of_sparse_tensors_and_what_no_figure_has() -> None:
    """A sparse tensor has the bytes of its parts. A second backward of a graph saves nothing new."""
    x = torch.ones(3, 3, requires_grad=True)
    rows, columns = torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csc()

    def trained() -> None:
        result = torch.sparse.mm(rows, x).sum()
        result.backward(retain_graph=True)
        result.backward()
        made_again = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
        (torch.sparse.mm(columns, x) + made_again).sum().backward()
        x.exp().sum().backward()

    program = recorded(trained)
    parts = [rows._indices(), rows._values(), columns.ccol_indices(), columns.row_indices(), columns.values()]
    assert sum((calls.weights or {}).get("saved", 0) for calls in program.calls) == sum(
        part.untyped_storage().nbytes() for part in parts
    )
    assert (program.backwards, program.saved_backwards, program.saved_packed) == (4, 3, 1)


class Imports(torch.autograd.Function):
    """An operator whose forward imports a module that takes its time."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        importlib.import_module("slow_to_import")
        return x + 1


def test_what_is_imported_inside_of_an_operator_is_in_no_operators_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.3)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    x = torch.ones(2, requires_grad=True)
    program = recorded(lambda: Imports.apply(x))
    (imports,) = (path for path in program.paths if path.kind == "imports")
    assert imports.time >= 300_000_000
    rows = [row for row in program.calls if program.kinds[program.routes[row.route].kind].name == "Imports"]
    assert 0 < sum(row.time for row in rows) < imports.time
    assert next(_threads(program, "run")).total == pytest.approx(program.wall, rel=0.02)
    assert sum(path.inside for path in program.paths) == sum(calls.python for calls in program.calls)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_paths_and_operators_take_is_the_whole_run(name: str) -> None:
    """Also where operators run Python, and that calls operators: nothing is counted twice."""
    run = PROGRAMS[name]
    run()
    program = recorded(run)
    main = next(_threads(program, "run"))
    assert main.total == pytest.approx(program.wall, rel=0.02)
    assert sum(path.inside for path in program.paths) == sum(calls.python for calls in program.calls)
    if name in ("twice", "checkpointed", "hooked"):
        assert any(calls.python for calls in program.calls)


@pytest.mark.skipif(torch.version.cuda is not None, reason="a graph of a CUDA build asks for the device")
def test_a_graph_s_capture_is_left_alone_whatever_the_current_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profiler's end waits for the device, which ends a capture on any stream: the program would raise."""
    api = importlib.import_module("ptexplore.probe.torch_api")
    current: list[bool] = [False]
    for name in ("capture_begin", "capture_end"):
        monkeypatch.setattr(torch._C._CUDAGraph, name, lambda *_, **__: None, raising=False)
    monkeypatch.setattr(api, "is_capturing", lambda: current[0])
    folded: list[bool] = []
    slice_now = of_probe("slices").Slices.slice
    captured: list[bool] = [False]

    def noted(self: Any, meanwhile: Any = None, **given: Any) -> None:
        folded.append(captured[0])
        slice_now(self, meanwhile, **given)

    monkeypatch.setattr(of_probe("slices").Slices, "slice", noted)

    def run() -> None:
        graph: Any = object.__new__(torch.cuda.CUDAGraph)
        graph._tracker = None  # torch 2.13 asks for it
        current[0] = captured[0] = True
        graph.capture_begin()
        current[0] = False  # as inside of `with torch.cuda.stream(other)`
        for _ in range(3 * of_probe("slices").SLICE):
            torch.neg(torch.ones(1))
        graph.capture_end()
        captured[0] = False
        for _ in range(3 * of_probe("slices").SLICE):
            torch.neg(torch.ones(1))

    recorded(run)
    assert folded
    assert not any(folded)


def test_a_module_s_names_are_not_asked_for_as_locals_in_python_3_12(monkeypatch: pytest.MonkeyPatch) -> None:
    """There that writes "assigning None to unbound local" into the program's output, for a comprehension that runs."""
    values = importlib.import_module("ptexplore.probe.values")
    seen: dict[str, object] = {}
    code = "own = 1\nnames = ask(frame())"
    apart: dict[str, object] = {"ask": values.names_of, "frame": lambda: sys._getframe(1)}
    for version, namespace in (((3, 12, 3), apart), ((3, 11, 7), seen)):
        monkeypatch.setattr(values.sys, "version_info", version)
        exec(compile(code, "module", "exec"), apart, seen)
        assert seen["names"] is namespace
    monkeypatch.setattr(values.sys, "version_info", (3, 12, 3))
    own = 1
    assert values.names_of(sys._getframe())["own"] == own


def _counted_by_python(run: Callable[[], object]) -> Counter[str]:
    """How often each function of this file was called, as Python's own profile function tells."""
    counts: Counter[str] = Counter()

    def hook(frame: Any, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename == __file__:
            counts[frame.f_code.co_name] += 1

    sys.setprofile(hook)
    try:
        run()
    finally:
        sys.setprofile(None)
    return counts


def _calls_of(program: Program, name: str) -> tuple[int, bool]:
    """How many calls all paths have that end with a function, and whether there may be more."""
    paths = [path for path in program.paths if path.name.rpartition(".")[2] == name]
    return sum(path.calls for path in paths), any(path.at_least for path in paths)


def _small_step(x: Any) -> Any:
    return x + 1


def _through_torch() -> None:
    """Functions of torch's between ours, on lines of their own: each a path."""
    x = torch.ones(2)
    torch.utils.checkpoint.checkpoint(_small_step, x, use_reentrant=False)
    torch.utils.checkpoint.checkpoint(_small_step, x, use_reentrant=False)
    F.softmax(_small_step(x), 0)
    torch.utils.checkpoint.checkpoint(_small_step, x, use_reentrant=False)


def _downwards(count: int) -> None:
    if count:
        _upwards(count - 1)


def _upwards(count: int) -> None:
    _downwards(count)
    torch.ones(1)


@pytest.mark.parametrize("paths", [1, 5, 9, 20, 60])
def test_beyond_the_paths_that_there_is_room_for_calls_of_your_functions_are_counted(
    monkeypatch: pytest.MonkeyPatch, paths: int
) -> None:
    _through_torch()
    right = _counted_by_python(_through_torch)
    assert right["_small_step"] == 4
    monkeypatch.setattr(of_probe("paths"), "PATHS", paths)
    program = recorded(_through_torch)
    for name in ("_small_step", "_through_torch"):
        assert _calls_of(program, name) == (right[name], False)


def test_a_count_that_misses_calls_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_probe("paths"), "PATHS", 1)
    monkeypatch.setattr(
        of_probe("paths"), "ROWS", 2
    )  # for the function that is recorded, for its calls through torch's
    program = recorded(_through_torch)
    count, is_least = _calls_of(program, "_small_step")
    assert is_least
    assert count == 3 < _counted_by_python(_through_torch)["_small_step"]
    assert _calls_of(program, "_through_torch") == (1, False)
    (part,) = (part for part in run_of(program, "x").whole.walk() if part.name.endswith("_small_step"))
    assert (part.calls, part.at_least) == (3, True)


def test_functions_that_call_each_other_deeply_are_counted() -> None:
    def run() -> None:
        _downwards(200)

    right = _counted_by_python(run)
    program = recorded(run)
    assert any(isinstance(cut, PathsTooDeep) for cut in program.cuts)
    for name in ("_downwards", "_upwards"):
        assert _calls_of(program, name) == (right[name], False)


def _even(count: int) -> Any:
    torch.ones(2)
    return _odd(count - 1) if count else None


def _odd(count: int) -> Any:
    _helper()
    return _even(count - 1) if count else None


def _helper() -> None:
    torch.zeros(2)


def test_functions_that_call_each_other_are_one_row_each_and_rows_add_up() -> None:
    def run() -> None:
        _even(41)

    right = _counted_by_python(run)
    program = recorded(run)
    root = run_of(program, "x").whole
    rows = {part.name: part for part in root.walk()}
    assert len(rows) == len(list(root.walk())), "a function has one row"
    for name in ("_even", "_odd", "_helper"):
        assert rows[name].calls == right[name]
    assert [part.name for part in rows["_even"].parts] == ["_odd"]
    assert rows["_even"].operators == right["_even"] + right["_helper"]
    assert rows["_odd"].operators == rows["_helper"].operators == right["_helper"]
    for part in root.walk():
        known = sum(inner.cost for inner in part.parts if not inner.at_most)  # a bound may be above the time around it
        assert known <= part.cost <= root.cost


class Interrupted:
    """Raises where the fold's own functions first come to one line, `wanted`; `places` are the lines that they ran."""

    def __init__(self, wanted: str, fault: type[BaseException]) -> None:
        fold, kinds, order = of_probe("fold"), of_probe("kinds"), of_probe("order")
        names = {
            fold.Fold: ("take", "_fold_trees", "_walk", "_unit", "_counted", "_met_before", "_kind", "_drop_halves"),
            kinds.KindTable: ("add", "shape", "drop_half"),
            kinds.RowTable: ("drop_half",),
            order.Order: ("pack",),
            order.MetNames: ("add_latest",),
        }
        self.codes = {vars(owner)[name].__code__ for owner, some in names.items() for name in some}
        self.codes.add(fold._put_back_limits.__code__)
        self.wanted, self.fault = wanted, fault
        self.places: dict[str, None] = {}

    def __call__(self, frame: Any, event: str, _argument: object) -> Any:
        if frame.f_code not in self.codes:
            return None
        place = f"{frame.f_code.co_name}:{frame.f_lineno}"
        if event == "line" and place not in self.places:
            self.places[place] = None
            if place == self.wanted:
                raise self.fault("injected")
        return self


def folded(seen: Any, meanwhile: Callable[[], None] | None = None) -> None:
    """Fold what ran until now, without the profile function, as where that function does it."""
    sys.setprofile(None)
    try:
        seen.slices.slice(meanwhile)
    finally:
        sys.setprofile(seen.calls.function)


def interrupted_at(wanted: str, fault: type[BaseException]) -> tuple[Interrupted, Program]:
    """A recording with three folds, of which the second is interrupted at a line."""
    limit, collects = sys.getrecursionlimit(), gc.isenabled()
    seen, lines = recorder().Recorder(), Interrupted(wanted, fault)
    x = torch.ones(3, requires_grad=True)
    seen.start()
    try:
        torch.neg(x)
        folded(seen)
        (torch.sin(x) + torch.sin(x[:2]).sum()).sum().backward()
        torch.autograd.grad(torch.cos(x).sum(), x)
        sys.settrace(lines)
        with contextlib.suppress(fault):
            folded(seen)
        sys.settrace(None)
        torch.exp(x)
        torch.neg(x)
    finally:
        sys.settrace(None)
        seen.stop()
    assert sys.getrecursionlimit() == limit, wanted
    assert gc.isenabled() == collects, wanted
    return lines, convert(seen.data(), Program)


@pytest.mark.parametrize("fault", [MemoryError, KeyboardInterrupt])
def test_a_fold_that_is_interrupted_at_any_line_keeps_what_it_had(fault: type[BaseException]) -> None:
    """A row is whole or is not there: what ran before and after is there, and the order can be read."""

    def called(program: Program) -> list[str]:
        """The operators that Python called, in order; the order must be readable."""
        return [unit[0][1].name for unit in units(program) if unit]

    whole, program = interrupted_at("", fault)
    assert not program.cuts
    assert {"aten::sin", "aten::cos"} < set(called(program))
    assert len(whole.places) > 100
    for place in whole.places:
        lines, program = interrupted_at(place, fault)
        assert place in lines.places
        assert flaw_of(program) is None, place
        names = called(program)
        assert names[0] == "aten::neg", place
        assert names[-2:] == ["aten::exp", "aten::neg"], place
        assert any(isinstance(cut, RecordingFailed) for cut in program.cuts), place
        assert all(call.calls for call in program.calls), place


def test_a_profiler_of_the_program_s_that_outlives_the_recording_stays_on() -> None:
    profile = torch.autograd.profiler.profile()

    def run() -> None:
        profile.__enter__()
        torch.sin(torch.ones(2))

    recorded(run)
    torch.exp(torch.ones(2))
    profile.__exit__(None, None, None)
    assert {"aten::sin", "aten::exp"} <= {event.name for event in profile.function_events}


@pytest.mark.parametrize("is_over", [False, True], ids=["ends first", "outlives the recording"])
def test_a_profiler_that_another_thread_starts_between_two_slices_has_its_own_operators(is_over: bool) -> None:
    """The recorder's goes on when the program's has ended, and neither has what is the other's."""
    ends, reached = threading.Event(), threading.Event()
    profile = torch.autograd.profiler.profile()

    def beside() -> None:
        reached.set()
        profile.__enter__()  # as late as what is folded meanwhile needs
        reached.set()
        ends.wait()
        torch.exp(torch.ones(2))
        profile.__exit__(None, None, None)

    def meanwhile() -> None:
        other.start()
        reached.wait()
        reached.clear()

    other, seen = threading.Thread(target=beside), recorder().Recorder()
    seen.start()
    try:
        torch.neg(torch.ones(2))
        folded(seen, meanwhile)
        reached.wait()
        torch.sin(torch.ones(2))
        if not is_over:
            ends.set()
            other.join()
        torch.cos(torch.ones(2))
    finally:
        seen.stop()
    ends.set()
    other.join()
    program = convert(seen.data(), Program)
    assert flaw_of(program) is None
    ours = [unit[0][1].name for unit in units(program) if unit]
    called = {"aten::neg", "aten::sin", "aten::cos", "aten::exp"}
    assert [name for name in ours if name in called] == ["aten::neg", "aten::cos"][: 2 - is_over]
    assert not any(isinstance(cut, RecordingFailed) for cut in program.cuts)
    theirs = {event.name for event in profile.function_events}
    assert theirs & called == {"aten::exp"}
    assert not any(name.startswith("ptexplore:") for name in theirs)


@pytest.mark.parametrize("look", ["is_safe", "others_run"])
def test_what_a_recorder_looks_at_keeps_no_tensor(look: str) -> None:
    """A function that holds its own frame would hold those around it until Python's collector comes."""

    def call() -> Any:
        tensor = torch.ones(2)
        getattr(seen.slices.safety, look)()
        return weakref.ref(tensor)

    seen = recorder().Recorder()
    seen.start()
    collects = gc.isenabled()
    gc.disable()
    try:
        sys.setprofile(None)
        assert call()() is None
    finally:
        sys.setprofile(seen.calls.function)
        seen.stop()
        if collects:
            gc.enable()


def test_a_start_whose_watcher_does_not_begin_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails before torch's profiler begins, and another recording works."""
    monkeypatch.setattr(of_probe("watcher"), "BEGINS", 0.01)
    before = held()
    with monkeypatch.context() as patch:
        patch.setattr(of_probe("watcher")._thread, "start_new_thread", lambda *_: 0)
        seen = recorder().Recorder()
        with pytest.raises(RuntimeError, match="watcher"):
            seen.start()
    assert held() == before
    assert seen.profiler.starting is None
    monkeypatch.undo()
    assert not recorded(lambda: torch.neg(torch.ones(2))).cuts
