"""`ptexplore.record()` in the process that asks: what ran is told, what it raised passes through, nothing remains."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ptexplore
from ptexplore.model.program_order import units
from ptexplore.model.reasons import RanInYourProcess, ThreadsOfProgram
from ptexplore.model.trace import walk
from tests.harness import TARGET, InProcess

torch = pytest.importorskip("torch")
stepper = importlib.import_module("ptexplore.probe.stepper")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(TARGET is not None, reason="it records the torch of the Python that runs the tests"),
    pytest.mark.usefixtures("command"),
]


def held() -> tuple[object, ...]:
    """Everything that a recorder hooks, and the handlers and threads of the process."""
    return (
        sys.getprofile(), sys.gettrace(), threading.getprofile(), importlib._bootstrap._find_and_load,  # type: ignore[attr-defined]
        torch._C._autograd._profiler_enabled(), repr(torch._C._dispatch_tls_local_include_set()),
        repr(torch._C._dispatch_tls_local_exclude_set()), signal.getsignal(signal.SIGINT), sys.getrecursionlimit(),
        threading.enumerate(), list(sys.path),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_remains() -> Iterator[None]:
    with ptexplore.record():  # what is imported and made once is there
        torch.ones(1) + 1
    before = held()
    yield
    assert held() == before


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))
        self.head = torch.nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        for layer in self.body:
            x = torch.nn.functional.dropout(layer(x).relu(), 0.5)
        return self.head(x).sum()


def step(model: Any, optimizer: Any) -> None:
    optimizer.zero_grad()
    model(torch.randn(2, 3)).backward()
    optimizer.step()


def trained() -> tuple[Any, Any]:
    torch.manual_seed(3)
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def plain(events: list[Any]) -> Iterator[str]:
    """The operators and nodes of the profiler's own tree, in order.

    A range of the program is none. A range of torch's C++ ("detach", inside aten::detach) is none: it has no namespace.
    """
    for event in sorted(events, key=lambda event: event.start_time_ns):
        if getattr(event.tag, "name", "") == "TorchOp":
            scope = str(event.extra_fields.scope)
            if "BACKWARD_FUNCTION" in scope or ("::" in event.name and "USER_SCOPE" not in scope):
                yield event.name
        yield from plain(list(event.children))


def test_a_block_tells_what_the_plain_profiler_saw_and_changes_nothing() -> None:
    model, optimizer = trained()
    step(model, optimizer)
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        step(model, optimizer)
    weights, state = [p.detach().clone() for p in model.parameters()], torch.get_rng_state()

    again, optimizer = trained()
    step(again, optimizer)
    before = random.getstate()
    with ptexplore.record() as recording:
        step(again, optimizer)
    assert random.getstate() == before
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(p, q) for p, q in zip(again.parameters(), weights, strict=True))

    program = recording.trace.program
    assert program is not None
    seen = [kind.name for unit in units(program) for _, kind in unit if kind.type not in ("user", "script")]
    assert seen == list(plain(profile.kineto_results.experimental_event_tree()))
    assert [path.name for path in program.paths if path.type == "Linear"] == ["body.0", "body.1", "head"]
    assert 0 < program.overhead < program.wall
    assert program.backwards == 1


def test_the_function_around_the_block_has_its_lines() -> None:
    def around() -> ptexplore.Recording:
        with ptexplore.record() as recording:
            torch.ones(2).cos()
            torch.ones(2).cos()
        return recording

    recording = around()
    trace = recording.trace
    assert trace.expression.startswith("record() in around at test_record.py:")
    assert trace.program is not None
    paths = trace.program.paths
    first = around.__code__.co_firstlineno
    cosines = [path for path in paths if path.name == "torch.Tensor.cos"]
    assert [path.line for path in cosines] == [first + 2, first + 3]
    (outer,) = {path.parent for path in cosines}
    assert outer is not None
    assert (paths[outer].name.rpartition(".")[2], paths[outer].first) == ("around", first)
    assert paths[outer].time <= trace.program.wall
    assert not trace.findings


def test_what_was_made_before_it_may_be_a_view_or_a_dual_tensor() -> None:
    """No recorder reads a tensor in a block. A set that is stated is the tensor's own, by torch's word."""
    plain = torch.randn(3)
    conjugate = torch.randn(3, dtype=torch.complex64).conj()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(plain, plain)
        with ptexplore.record() as recording:
            conjugate.exp()
            dual.sin()
    given = {"aten::exp": conjugate, "aten::sin": dual}
    keys = [(hop.op, hop.dispatch) for hop in walk(recording.trace.hops) if hop.dispatch is not None]
    starts = {op: dispatch for op, dispatch in keys if dispatch.redispatch is None}
    for op, tensor in given.items():
        stated, torchs = starts[op].arguments.get("self"), repr(torch._C._dispatch_keys(tensor))
        assert stated is None or set(stated.split(", ")) == set(torchs[torchs.index("(") + 1 : -1].split(", ")), op
    assert "aten::cos" not in starts, "of the tangent's operators nothing tells which kernel called them"


def test_a_saved_one_is_read_back(tmp_path: Any) -> None:
    with ptexplore.record() as recording:
        torch.ones(2) + 1
    recording.save(tmp_path / "x.trace")
    loaded = ptexplore.load(tmp_path / "x.trace")
    assert loaded.program is not None
    assert recording.trace.program is not None
    assert loaded.program.calls == recording.trace.program.calls
    assert loaded.expression == recording.trace.expression


def test_what_it_raised_passes_through_and_is_the_ending() -> None:
    def left() -> None:
        torch.ones(2) @ torch.ones(3)

    recording = ptexplore.record()
    with pytest.raises(RuntimeError) as caught, recording:
        left()
    ending = recording.trace.ending
    assert ending is not None
    assert (ending.stage, ending.exception, ending.message) == ("block", "RuntimeError", str(caught.value))
    assert [function.name for function in ending.python][0] == "left"
    assert f"the recorded block raised RuntimeError: {caught.value}"[:80] in recording.trace.text()


def test_a_graph_that_was_freed_has_the_call_that_recorded_it(tmp_path: Path) -> None:
    """And every line is of this file; what is saved says so too."""
    net = torch.nn.Linear(3, 3)
    state = torch.zeros(2, 3)
    lines: dict[str, int] = {}

    def line() -> int:
        return sys._getframe(1).f_lineno

    recording = ptexplore.record()
    with pytest.raises(RuntimeError, match="a second time") as caught, recording:
        for _step in range(3):
            state, lines["recorded"] = net(state).tanh(), line()
            loss = state.mean()
            loss.backward(), lines.update(freed=line())
    assert state.grad_fn is not None
    ending = recording.trace.ending
    assert ending is not None
    assert ending.message == str(caught.value)
    freed = ending.freed
    assert freed is not None
    assert (freed.recorded.source.line, freed.freed.source.line) == (lines["recorded"], lines["freed"])
    assert (freed.recorded_after, freed.freed_by, freed.backwards, freed.situation) == (0, 1, 2, "state")
    assert [use.source.line for use in freed.uses] == [lines["recorded"]]
    assert "state" in freed.names
    assert all(parameter.grad is not None for parameter in net.parameters()), "of the first backward"
    recording.save(tmp_path / "x.trace")
    kept = ptexplore.load(tmp_path / "x.trace").ending
    assert kept is not None
    assert kept.freed == freed


class Broken(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Any:
        return torch.ones(2) + torch.ones(3)


def scripted(x: torch.Tensor) -> torch.Tensor:
    return x.cos() @ x


def test_what_a_worker_raised_has_its_line_and_its_own_functions() -> None:
    loader = torch.utils.data.DataLoader(Broken(), num_workers=1, multiprocessing_context="fork")
    ending = ptexplore.trace(lambda: list(loader)).ending
    assert ending is not None
    assert ending.handed is not None
    assert (ending.handed.exception, ending.handed.where) == ("RuntimeError", "DataLoader worker process 0")
    assert ending.handed.message.startswith("The size of tensor a (2) must match the size of tensor b (3)")
    assert [left.name for left in ending.handed.python][0] == "__getitem__"
    first = Broken.__getitem__.__code__.co_firstlineno
    assert ending.handed.python[0].source.line == first + 1
    assert (ending.function, ending.source.path) == ("infer_size_impl", "aten/src/ATen/ExpandUtils.cpp")
    assert ending.stack == ()  # that is the worker's
    gc.collect()  # the loader's queue is closed with its iterator, and its thread ends by itself then
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_what_torchscripts_interpreter_raised_has_its_line() -> None:
    function = torch.jit.script(scripted)
    ending = ptexplore.trace(lambda: function(torch.ones(2, 3))).ending
    assert ending is not None
    assert ending.handed is not None
    assert (ending.handed.exception, ending.handed.where) == ("RuntimeError", "TorchScript's interpreter")
    assert ending.handed.message == "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"
    assert [(left.name, left.source.line) for left in ending.handed.python] == [
        ("scripted", scripted.__code__.co_firstlineno + 1)
    ]
    assert ending.source.path == "aten/src/ATen/native/LinearAlgebra.cpp"
    assert ending.given == (("self", "float32[2, 3] cpu"), ("mat2", "float32[2, 3] cpu"))


def test_an_operator_by_syntax_and_its_module_are_named() -> None:
    """No builtin raised: C++'s stack has the operator's entry point."""

    class Added(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * torch.ones(4)

    net = torch.nn.Sequential(torch.nn.Linear(3, 3), Added())
    trace = ptexplore.trace(lambda: net(torch.ones(2, 3)))
    assert trace.ending is not None
    assert trace.ending.module == "1 (Added) of Sequential"
    assert trace.ending.given == (("self", "float32[2, 3] cpu"), ("other", "float32[4] cpu"))
    assert "aten::mul.Tensor, inside it at::wrapper_CPU_mul_Tensor" in " ".join(trace.text().split())


@pytest.mark.parametrize(
    "error", [MemoryError("out of memory"), KeyboardInterrupt(), SystemExit(3), ZeroDivisionError()]
)
def test_every_kind_of_exception_passes_through(error: BaseException) -> None:
    recording = ptexplore.record()
    with pytest.raises(type(error)) as caught, recording:
        torch.ones(2) + 1
        raise error
    assert caught.value is error
    assert recording.trace.ending is not None
    assert recording.trace.ending.exception == type(error).__name__


def test_a_good_exit_is_no_ending() -> None:
    recording = ptexplore.record()
    with pytest.raises(SystemExit), recording:
        sys.exit(0)
    assert recording.trace.ending is None


# --- a decorator, and a function that is traced -------------------------------------------------------------------


def test_a_decorated_function_is_recorded_at_each_call() -> None:
    recording = ptexplore.record()

    @recording
    def power(x: Any, n: int) -> Any:
        """Its docstring."""
        return power(x, n - 1) * x if n else x

    assert (power.__name__, power.__doc__) == ("power", "Its docstring.")
    assert power(torch.full((1,), 2.0), 2).item() == 8
    program = recording.trace.program
    assert program is not None
    (kind,) = program.kinds
    assert (kind.name, sum(calls.calls for calls in program.calls)) == ("aten::mul", 2)
    power(torch.ones(1), 1)
    assert recording.trace.program is not None
    assert sum(calls.calls for calls in recording.trace.program.calls) == 1  # used again, it records anew


def test_a_decorated_function_that_raises() -> None:
    recording = ptexplore.record()

    @recording
    def raises() -> None:
        torch.ones(2).view(3)

    with pytest.raises(RuntimeError):
        raises()
    assert recording.trace.ending is not None
    assert [function.name for function in recording.trace.ending.python] == ["raises"]  # none of ptexplore's own


STEPPED = """
import contextlib, os, torch, ptexplore
from pathlib import Path

def children():
    started = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, told = status.read_text(encoding="utf-8", errors="replace").rpartition(") ")
            if told.split()[1] == str(os.getpid()):
                started.append(name)
    return started

x, ran = torch.rand(3, 3), []

def run():
    ran.append(os.getpid())
    return [float(torch.softmax(x, -1).sum()) for _ in range(40)]

plain, state, before = run(), torch.get_rng_state(), children()
with ptexplore.record(native_budget="90M") as recording:
    recorded = run()
assert recorded == plain
assert torch.equal(torch.get_rng_state(), state)
assert ran == [os.getpid()] * 2
assert children() == before
trace = recording.trace
stepping = trace.record.program.stepping
assert (stepping.most, stepping.reason) == (90_000_000, None), stepping
assert stepping.forks >= 2, stepping
assert trace.record.captured.native
(entry,) = (hop for hop in trace.find("softmax") if hop.kind == "op" and hop.op == "aten::softmax.int")
assert entry.instructions > 100, entry
(told,) = (finding.text for finding in trace.record.findings if finding.kind == "stepped")
assert "--script" not in told, told
"""


def test_a_call_of_each_kind_is_stepped_in_a_fork_of_this_process() -> None:
    """What is stepped has its C++; the process gives what it gives anyway, and has no child left.

    In a process of its own: that of the tests has threads, and then nothing is stepped.
    """
    done = subprocess.run([sys.executable, "-c", STEPPED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


FORKED = """
import os, sys, torch, ptexplore
with ptexplore.record():
    torch.ones(3).add(1)
    child = os.fork()
if not child:
    assert not torch.autograd.profiler._is_profiler_enabled
    with ptexplore.record() as recording:
        torch.ones(3).mul(2)
    assert "aten::mul" in {kind.name for kind in recording.trace.record.program.kinds}
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_of_a_recorded_process_can_record() -> None:
    """It has no profiler: Python's flag of the one that the parent began is put off."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr


def test_threads_of_the_user_forbid_it() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    with ptexplore.record(native_budget="90M") as recording:
        for _ in range(40):
            torch.softmax(torch.ones(2), -1)
    over.set()
    thread.join()
    assert recording.trace.record.captured.reason == ThreadsOfProgram()
    assert recording.trace.record.program.stepping.forks == 0


@pytest.mark.parametrize("given", [-1, math.inf, math.nan, "20 s", 20, None, True])
def test_a_budget_that_cannot_be_stepped(given: Any) -> None:
    with pytest.raises(ptexplore.PtexploreError, match="native_budget cannot be"):
        ptexplore.record(native_budget=given)


def test_a_function_is_traced_here() -> None:
    inside = []

    def closes_over() -> None:
        inside.append(os.getpid())
        torch.ones(2).sin()

    trace = ptexplore.trace(closes_over)
    assert inside == [os.getpid()]  # once
    assert trace.expression == "closes_over()"
    assert trace.record.captured.reason == RanInYourProcess()
    assert "aten::sin" in {hop.op for hop in trace.find("sin")}
    assert ptexplore.trace(lambda: torch.ones(2).view(3)).ending is not None
    with pytest.raises(KeyboardInterrupt):
        ptexplore.trace(interrupted)
    with ptexplore.Workspace() as workspace:
        assert workspace.trace(closes_over).hops == trace.hops


def interrupted() -> None:
    raise KeyboardInterrupt


# --- what cannot be recorded --------------------------------------------------------------------------------------


def refused(code: int, *why: str) -> ptexplore.PtexploreError:
    """The error of `record()`, which has three parts."""
    with pytest.raises(ptexplore.PtexploreError) as caught, ptexplore.record():
        raise AssertionError("it was recorded")
    error = caught.value
    assert error.message
    assert error.hint
    assert error.exit_code == code
    for text in why:
        assert text in f"{error.message} {error.why}"
    return error


def test_no_recording_inside_of_another() -> None:
    with ptexplore.record() as outer:
        refused(2, "already being recorded")
        with pytest.raises(ptexplore.PtexploreError, match="cannot begin"), outer:
            pass
        with pytest.raises(ptexplore.PtexploreError) as caught:
            _ = outer.trace
        assert "still running" in caught.value.why
        torch.ones(2).cos()
    assert outer.trace.find("cos")
    with pytest.raises(ptexplore.PtexploreError) as caught:
        _ = ptexplore.record().trace
    assert "has not begun" in caught.value.why


def test_no_recording_beside_another_profiler() -> None:
    sys.setprofile(lambda *_: None)
    try:
        refused(2, "another profiler")
    finally:
        sys.setprofile(None)
    with torch.autograd.profiler.profile():
        refused(2, "torch's profiler is already running")
    try:
        config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    except TypeError:  # an older torch records the thread that asks for it alone
        return
    with torch.autograd.profiler.profile(experimental_config=config) as of_all_threads:
        refused(2, "torch's profiler is already running")
        torch.ones(2).cos()
    assert "aten::cos" in {event.name for event in of_all_threads.function_events}, "it is the program's"


def test_no_recording_in_another_thread() -> None:
    errors: list[BaseException] = []

    def asked() -> None:
        try:
            refused(2, "not the main thread")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=asked)
    thread.start()
    thread.join()
    assert not errors


def test_no_recording_without_a_torch_that_is_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.1.0")
    assert "torch>=2.6" in refused(3, "2.1.0 is too old").hint
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "torch>=2.6" in refused(3, "torch cannot be imported").hint


def test_no_recording_of_another_torch_than_the_workspaces(monkeypatch: pytest.MonkeyPatch) -> None:
    with ptexplore.record() as recording:
        torch.ones(1)
    assert recording._block is not None
    monkeypatch.setattr(recording, "_block", type(recording._block)("x", "/elsewhere/torch", recording._block.message))
    with pytest.raises(ptexplore.PtexploreError, match="another torch") as caught:
        _ = recording.trace
    assert caught.value.exit_code == 3


def test_no_decorator_of_what_runs_later() -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    for function in (coroutine, generator):
        with pytest.raises(ptexplore.PtexploreError, match="decorator") as caught:
            ptexplore.record()(function)
        assert "runs later" in caught.value.why


def test_a_function_has_no_options() -> None:
    with pytest.raises(ptexplore.PtexploreError) as caught:
        ptexplore.trace(interrupted, grad=True, setup=["x = 1"])
    assert "setup, grad" in caught.value.why


# --- threads, slices ----------------------------------------------------------------------------------------------


def test_a_thread_that_goes_on_loses_its_profile_function() -> None:
    ask, answers = threading.Event(), []

    def work() -> None:
        torch.ones(2).tan()
        ask.wait(20)
        torch.ones(2)
        answers.append(sys.getprofile())

    with ptexplore.record() as recording:
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        while not recording_sees(thread):
            time.sleep(0.001)
    ask.set()
    thread.join()
    assert answers == [None]
    assert recording.trace.program is not None
    assert [path.name for path in recording.trace.program.paths if path.kind == "thread"] == ["worker"]


def recording_sees(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code.co_name == "wait"


def loop(count: int) -> None:
    x = torch.ones(2)
    for _ in range(count):
        x = torch.neg(x)


def test_what_is_kept_does_not_grow_with_what_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = sys.modules["_ptexplore_probe.fold"]
    most = []
    take = fold.Fold.take

    def counted(self: Any, profile: Any, *more: Any) -> None:
        most.append(len(profile.kineto_results.events()))
        take(self, profile, *more)

    monkeypatch.setattr(fold.Fold, "take", counted)
    sizes = []
    for count in (100, 10_000):
        with ptexplore.record() as recording:
            loop(count)
        assert recording._block is not None
        sizes.append(len(recording._block.message))
        program = recording.trace.program
        assert program is not None
        assert sum(calls.calls for calls in program.calls) == count + 1
        assert len(program.calls) == 2
    assert len(most) > 3
    assert max(most) < 3 * sys.modules["_ptexplore_probe.slices"].SLICE  # a call is a marker and an operator
    assert sizes[1] < 1.2 * sizes[0]


def test_ctrl_c_while_it_ends_comes_when_all_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = sys.modules["_ptexplore_probe.fold"]
    take = fold.Fold.take

    def interrupts(self: Any, *given: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        take(self, *given)

    recording = ptexplore.record()
    with pytest.raises(KeyboardInterrupt), recording:
        torch.ones(2).cos()
        monkeypatch.setattr(fold.Fold, "take", interrupts)
    assert recording.trace.find("cos")


def test_contexts_that_others_enter() -> None:
    with contextlib.ExitStack() as stack:
        recording = stack.enter_context(ptexplore.record())
        torch.ones(2).cos()
    assert recording.trace.program is not None
    (cos,) = (path for path in recording.trace.program.paths if path.name == "torch.Tensor.cos")
    assert recording.trace.program.paths[cos.parent or 0].name == "test_contexts_that_others_enter"


# --- the command, with what was saved -----------------------------------------------------------------------------


def test_the_command_exports_a_saved_one_and_lays_times_over_it(command: InProcess) -> None:
    with ptexplore.record() as recording:
        torch.ones(2).exp()
    recording.save("x.trace")
    event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
    seen = [("aten::ones", 0, 9), ("aten::empty", 1, 2), ("aten::fill_", 4, 3), ("aten::exp", 20, 5)]
    events = [event | {"name": name, "ts": ts, "dur": dur} for name, ts, dur in seen]
    Path("times.json").write_text(json.dumps(events), encoding="utf-8")
    given = ("--times", "times.json", "--export", "collapsed", "out.txt", "--view", "modules")
    result = command("trace", "--load", "x.trace", *given)
    assert result.code == 0, result
    assert "times are from another run, in times.json" in " ".join(result.out.split())
    weights = {line.split(";")[-1].split()[0]: line.split()[-1] for line in Path("out.txt").read_text().splitlines()}
    assert weights == {"ones": "9000", "exp": "5000"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--export", "speedscop", "x"), "--export speedscop is not a format"),
        (("--export", "chrome", "{folder}"), "is a folder"),
        (("--export", "chrome", "{folder}/none/x"), "cannot be written"),
        (("--times", "{folder}/none"), "cannot be read"),
        (("--times", "{saved}"), "is not a trace of torch.profiler"),
    ],
)
def test_what_cannot_be_exported_or_read(
    arguments: tuple[str, ...], message: str, command: InProcess, tmp_path: Path
) -> None:
    with ptexplore.record() as recording:
        torch.ones(2).exp()
    saved = str(tmp_path / "x.trace")
    recording.save(saved)
    given = [argument.format(folder=tmp_path, saved=saved) for argument in arguments]
    result = command("trace", "--load", saved, *given).three_parts(1, 2)
    assert message in result.err


def test_an_expression_has_no_program_to_lay_times_over(command: InProcess) -> None:
    result = command("trace", "a + b", "--no-native", "--times", "x.json").three_parts(2)
    assert "this trace is not of a program" in result.err
    result = command("trace", "a + b", "--no-native", "--export", "chrome", "x.json").three_parts(2)
    assert "no times and no instructions" in result.err
