"""Calls of a program that were stepped in forks of it: they call what they call stepped alone; nothing else changes."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from tests.stepping import Forks

stepper = importlib.import_module("ptexplore.probe.stepper")
pytestmark = pytest.mark.skipif(stepper.why_not() is not None, reason=str(stepper.why_not()))


# `recorded` records a function, with so many instructions that may be stepped; what was stepped is by its name.
BEGIN = """
import base64, importlib, json, os, signal, struct, threading, time, zlib
F = torch.nn.functional
R = importlib.import_module("ptexplore.probe.recording")
stepping = importlib.import_module("ptexplore.probe.stepping")
calls = importlib.import_module("ptexplore.probe.python_calls")
native = importlib.import_module("ptexplore.probe.native")
slices = importlib.import_module("ptexplore.probe.slices")
hooks = importlib.import_module("ptexplore.probe.process_hooks")
slices.FIRST_SLICE = 8
last = []

def recorded(run, budget=90_000_000, limit=None):
    recorder = R.Recorder((), budget, limit)
    last[:] = [recorder]
    recorder.start()
    try:
        run()
    finally:
        recorder.stop()
    told = recorder.data()
    names = [told["kinds"][route["kind"]]["name"].split(" ")[-1] for route in told["routes"]]
    parts = {names[seen["data"]["route"]]: seen["data"] for seen in recorder.steps() if seen["kind"] == "steps"}
    why = {name: route.get("unstepped") for name, route in zip(names, told["routes"])}
    return told, parts, why

with open("/proc/self/maps") as maps:
    mapped = [line.split() for line in maps]
torch_code = [[int(end, 16) for end in m[0].split("-")] for m in mapped if m[-1].rpartition("/")[2].startswith(
    ("libtorch_cpu.", "libtorch_python.", "libc10.")) and "x" in m[1]]

def way(rows):
    called = [row[0] for row in struct.iter_unpack("<8Q", rows) if row[1] == row[3] - 8]
    return [place for place in called if any(low <= place < high for low, high in torch_code)]

def rows(part):
    return zlib.decompress(base64.b64decode(part["rows"]))

def say(*told):
    print("says:", *told)

torch.manual_seed(0)
a, b, w = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3, 3, requires_grad=True)
"""


def answers(child: Forks, code: str) -> list[str]:
    """What code tells by `say`: the profiler's own lines are printed among it."""
    return [line.removeprefix("says: ") for line in child(f"{BEGIN}{code}").split("\n") if line.startswith("says: ")]


TRAINING = """
def step():
    z = F.softmax(a, -1) * b
    (z @ w).sum().backward()
    w.grad = None

def run(times=6):
    for _ in range(times):
        step()
"""


def test_a_call_calls_what_it_calls_stepped_alone(child: Forks) -> None:
    """A builtin from its function of C on, an operator by syntax from its entry point on, a node from `apply` on.

    Calls, and not every jump: that torch's Python looked at a tensor's storage shows in how its references are counted.
    """
    said = answers(
        child,
        f"""{TRAINING}
run(2)
told, parts, why = recorded(run)
s = S.Stepper()
places = {{
    "aten::softmax": (calls.function_of(a.softmax), lambda: F.softmax(a, -1)),
    "aten::mul": (native.entry_points(["mul.Tensor"])["mul.Tensor"], lambda: torch.softmax(a, -1) * b),
    "MmBackward0": (native.node_entry("MmBackward0"), step),
    "torch::autograd::AccumulateGrad": (native.node_entry("torch::autograd::AccumulateGrad"), step),
}}
for name, (place, call) in places.items():
    call()
    alone, ours = way(s.step_call([place], 1, call)[1].rows), way(rows(parts[name]))
    say(name, ours[0] == place, len(ours) > 20, ours == alone, parts[name]["cut"], parts[name]["instructions"] > 500)
""",
    )
    names = ("aten::softmax", "aten::mul", "MmBackward0", "torch::autograd::AccumulateGrad")
    assert said == [f"{name} True True True None True" for name in names]


def test_the_program_gives_what_it_gives_unrecorded(child: Forks) -> None:
    said = answers(
        child,
        f"""{TRAINING}
def results():
    torch.manual_seed(1)
    run()
    return [(torch.dropout(a, 0.5, True) @ w).tolist(), torch.rand(3).tolist()], torch.get_rng_state().tolist()
before = signal.getsignal(signal.SIGTRAP), os.getcwd(), torch.get_num_threads()
plain, again = results(), []
told, parts, why = recorded(lambda: again.append(results()))
try:
    os.waitpid(-1, os.WNOHANG)
    say("a child is left")
except ChildProcessError:
    pass
say(again[0] == plain, before == (signal.getsignal(signal.SIGTRAP), os.getcwd(), torch.get_num_threads()))
say(len(parts) > 5, told["stepping"]["forks"] >= len(parts), told["root"] if "root" in told else True)
""",
    )
    assert said == ["True True", "True True True"]


def test_no_line_of_the_program_runs_twice(child: Forks, tmp_path: Any) -> None:
    """Where Python runs inside of a builtin, or a hook of it in backward, the fork ends instead."""
    said = answers(
        child,
        f"""
ran = open({str(tmp_path / "ran")!r}, "a", buffering=1)
class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, given=(), named=None):
        print(function.__name__, file=ran)
        return super().__torch_function__(function, types, given, named or {{}})
x = torch.ones(3).as_subclass(Loud)
def step():
    torch.sigmoid(x)
    y = w.exp()
    y.register_hook(lambda grad: print("hook", file=ran))
    y.sum().backward()
def run():
    for _ in range(6):
        step()
run()
once = open(ran.name).read()
told, parts, why = recorded(run)
say(open(ran.name).read() == 2 * once, "aten::sigmoid" in parts, "aten::exp" in parts, "ExpBackward0" in parts)
say(why["aten::sigmoid"] == stepping.PYTHON, why["ExpBackward0"] == stepping.PYTHON)
""",
    )
    assert said == ["True False True False", "True True"]


@pytest.mark.parametrize(
    ("doing", "why"),
    [
        ("threading.Thread(target=time.sleep, args=(30,), daemon=True).start()", "threads-of-program"),
        ("signal.signal(signal.SIGCHLD, lambda *_: None)", "children-handled"),
    ],
)
def test_what_forbids_a_fork_is_said(child: Forks, doing: str, why: str) -> None:
    said = answers(
        child,
        f"""{TRAINING}
def main():
    {doing}
    run()
told, parts, why = recorded(main)
whys = sorted({{str(said) for said in why.values()}})
say(json.dumps([told["stepping"].get("reason"), told["stepping"]["forks"], len(parts), whys]))
""",
    )
    reason, forked, parts, reasons = json.loads(said[0])
    assert reason == {"code": why}
    assert (forked, parts, reasons) == (0, 0, [str(reason)])


def test_a_fork_that_dies_or_hangs_loses_its_own_call_alone(child: Forks) -> None:
    said = answers(
        child,
        f"""{TRAINING}
ends = iter([lambda: os.kill(os.getpid(), signal.SIGSEGV), lambda: time.sleep(60)])
settle = stepping.api.settle_after_fork
def settled():
    ends_so(), settle()
stepping.api.settle_after_fork = settled
stepping.GRACE, stepping.SECONDS = 0.5, 2.0
ends_so = lambda: None
step_one = stepping.Stepping._step
def step_so(self, one, addresses):
    global ends_so
    ends_so = next(ends, lambda: None)
    step_one(self, one, addresses)
stepping.Stepping._step = step_so
told, parts, why = recorded(run)
reasons = sorted((said for said in why.values() if said), key=str)
say(json.dumps([len(parts) > 2, [said for said in reasons if said["code"] in ("fork-too-late", "fork-killed")]]))
""",
    )
    assert json.loads(said[0]) == [True, [{"code": "fork-killed", "signal": 11}, {"code": "fork-too-late"}]]


def test_waiting_for_a_fork_is_no_time_of_the_program(child: Forks) -> None:
    """A program that is interrupted after so many seconds is not for seconds of waiting."""
    said = answers(
        child,
        f"""{TRAINING}
settle = stepping.api.settle_after_fork
stepping.api.settle_after_fork = lambda: (time.sleep(1.0), settle())
waits = []
def main():
    began = time.perf_counter_ns()
    run(60)
    waits.append(time.perf_counter_ns() - began)
told, parts, why = recorded(main, budget=200_000)
spent = last[0].times.waited
say(spent > 2e9, told["wall"] + spent >= waits[0], told["paths"][0]["time"] == told["wall"])
say(all(path["time"] + 1e6 * len(parts) + spent <= waits[0] for path in told["paths"][1:] if path["kind"] != "program"))
""",
    )
    assert said == ["True True True", "True"]


def test_where_memory_is_shared_nothing_is_stepped(child: Forks) -> None:
    """A fork would write to it: 60 additions are 60, in memory of torch's and in a file that is mapped."""
    lines = answers(
        child,
        """
import tempfile
def run():
    for _ in range(60):
        x.add_(1)
        x.__iadd__(1)
with tempfile.NamedTemporaryFile() as file:
    mapped_file = lambda: torch.from_file(file.name, shared=True, size=4)
    for make in (lambda: torch.zeros(4), lambda: torch.zeros(4).share_memory_(), mapped_file):
        x = make()
        told, parts, why = recorded(run, 20_000_000)
        say(sorted(set(x.tolist())), bool(parts), "memory-shared" in str(list(why.values())))
""",
    )
    assert lines == ["[120.0] True False", "[120.0] False True", "[120.0] False True"]


def test_after_a_fork_no_operator_pays_for_the_pages_that_it_shared(child: Forks) -> None:
    """Counted in faults of pages; what the process holds is neither more nor less."""
    said = answers(
        child,
        """
import resource
unshared = importlib.import_module("ptexplore.probe.unshared")
x = torch.ones(4_000_000)
pages = x.nbytes // 4096
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    x.add_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
def forked():
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)
def held():
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1])
faults(), forked()
shared = faults()
forked()
before = held()
unshared.unshare()
say(shared > pages / 2, faults() < pages / 10, abs(held() - before) < pages / 4, float(x.sum()) == 4 * x.numel())
""",
    )
    assert said == ["True True True True"]


CLOCK = """
import ctypes
ask, pending = ctypes.pythonapi.Py_AddPendingCall, hooks.PENDING  # which Python calls between two instructions

def added(x):
    return x + 1

def run(ticks):
    x = a
    for i in range(25):
        x = added(x)
        if i in ticks:
            ask(pending, None)
        x = x * 0.5
        x = torch.neg(x)
        if i in ticks:
            ask(pending, None)
        if i % 7 == 6:
            x = torch.exp(x) - 1
            F.softmax(x @ w, -1).sum().backward()

def seen(ticks):
    counted, sliced = [], slices.Slices._sliced
    slices.Slices._sliced = lambda self, *given, **more: (counted.append(more["counted"]), sliced(self, *given, **more))
    try:
        told, parts, why = recorded(lambda: run(ticks))
    finally:
        slices.Slices._sliced = sliced
    paths = [[path.get(key) for key in ("parent", "kind", "name", "line", "calls")] for path in told["paths"]]
    calls = [[call[key] for key in ("path", "route", "shape", "calls")] for call in told["calls"]]
    forks = [told["stepping"]["forks"], sorted(parts), sorted(why.items(), key=str)]
    return json.dumps([forks, paths, calls, told["order"]]), counted.count(False)

told, count = seen(TICKS)
say(count)
say(told)
"""


def test_no_clock_decides_what_is_stepped(child: Forks) -> None:
    """A loop without calls is folded whenever a clock says so: at which moments changes nothing of what is told."""
    counts, texts = zip(
        *(answers(child, CLOCK.replace("TICKS", ticks)) for ticks in ("()", "range(25)", "(3, 8, 19)")), strict=True
    )
    assert int(counts[0]) < 5
    assert int(counts[1]) >= 20
    assert int(counts[2]) >= 3
    whole = [json.loads(text) for text in texts]
    assert whole[1][1:] == whole[0][1:], "paths, calls and their order"
    assert whole[2] == whole[0], "and what was stepped"
    assert "aten::softmax" in whole[0][0][1], "it is stepped"
