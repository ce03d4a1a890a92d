"""What --setup does to the process happens once, as in a program; the expression is repeated on what --setup made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.places import Runtime
from tests.harness import TARGET, Cli, InProcess, Result, torch_version
from tests.torch_says import torch_says

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.e2e

MODE = """from torch.utils._python_dispatch import TorchDispatchMode
seen = []
class M(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append(func)
        return func(*args, **(kwargs or {}))
M().__enter__()"""
HOOK = """m = nn.Linear(3, 3)
seen = []
def hook(module, given, result):
    seen.append(len(seen))
    return torch.neg(result) if seen == [0] else torch.abs(result)
nn.modules.module.register_module_forward_hook(hook)"""
LIBRARY = """mine = torch.library.Library('mine_once', 'DEF')
mine.define('twice(Tensor x) -> Tensor')
mine.impl('twice', lambda x: x + x, 'CPU')"""
DUAL = """from torch.autograd import forward_ad
forward_ad.enter_dual_level()
d = forward_ad.make_dual(torch.ones(3), torch.ones(3))"""
CACHE = "cache = []\ndef attend(k):\n    cache.append(k)\n    return torch.cat(cache)"
TRAINED = """m = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, foreach=False)
m(torch.ones(2, 3)).sum().backward()"""
FREED = "w = torch.ones(3, requires_grad=True)\ny = (w * w).sum()"
ITERATOR = "it = iter([torch.ones(2), torch.zeros(3)])"
WAYS = """def shared(x):
    return torch.neg(torch.add(x, x))
def alone(x):
    return torch.neg(torch.mul(x, x))"""
BY_THREADS = "shared(a) if torch.get_num_threads() > 1 else alone(a)"  # what is stepped has one
FAKE = """from torch._subclasses.fake_tensor import FakeTensorMode
mode = FakeTensorMode()
x = mode.from_tensor(torch.ones(4, 4))"""


def plainly(setup: str, expression: str) -> list[str]:
    """The operators that a program calls which runs the one, then the other."""
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "a": torch.ones(3, 3)}
    exec(setup, names)
    with torch.autograd.profiler.profile() as profile:
        eval(expression, names)
    return [event.name for event in profile.function_events if event.name.startswith(("aten::", "mine_once::"))]


def operators(result: Result) -> list[str]:
    """The operators of a trace, without overloads."""
    return [hop["name"].partition(".")[0] for hop in result.hops if hop["kind"] == "op"]


def differences(result: Result) -> list[dict[str, Any]]:
    """What the trace says of runs that differ."""
    kinds = ("nondeterministic", "perturbed", "other-run")
    return [finding for finding in result.data["findings"] if finding["kind"] in kinds]


def test_a_mode_is_entered_once(command: InProcess) -> None:
    result = command("trace", "a + 1", "--setup", MODE, "--json")
    counted = Counter(hop["name"].rpartition(".")[2].removesuffix("()") for hop in result.hops)
    assert counted["__torch_dispatch__"] == 1
    assert result.data["captured"]["native"] is True
    assert result.data["captured"]["warm"] is None or result.data["captured"]["warm"] > 0
    assert not differences(result)
    assert not [hop for hop in result.hops if hop["name"] == "pythonFallback" and hop["status"] == "predicted"]


@pytest.mark.parametrize("more", [(), ("--no-native",)], ids=["stepped", "not stepped"])
def test_a_hook_of_all_modules_is_called_once(command: InProcess, more: tuple[str, ...]) -> None:
    """It says by the operator that it calls whether it was called before, and by whom else."""
    result = command("trace", "m(a)", "--setup", HOOK, "--json", *more)
    assert operators(result).count("aten::neg") == 1
    assert "aten::abs" not in operators(result)
    assert not differences(result)


@pytest.mark.parametrize(
    ("setup", "expression"),
    [(LIBRARY, "torch.ops.mine_once.twice(a)"), (DUAL, "torch.sin(d)")],
    ids=["a library", "a level of forward mode"],
)
def test_what_can_be_done_once_in_a_process_is_stepped(cli: Cli, setup: str, expression: str) -> None:
    result = cli("trace", expression, "--setup", setup, "--json")
    assert result.data["captured"]["native"] is True
    assert result.data["captured"]["cold"] is False
    assert not differences(result)


@pytest.mark.parametrize(
    ("setup", "expression"),
    [
        (CACHE, "attend(a)"),
        (TRAINED, "opt.step()"),
        (TRAINED, "m(a)"),
        (FREED, "y.backward()"),
        (ITERATOR, "next(it) + 1"),
        ("g = (n * torch.ones(2) for n in range(9))", "torch.add(next(g), 1)"),
    ],
    ids=["a list that grows", "an optimizer", "statistics", "a graph", "an iterator", "a generator"],
)
def test_a_repeated_run_finds_what_the_first_found(command: InProcess, setup: str, expression: str) -> None:
    result = command("trace", expression, "--setup", setup, "--json")
    ran, expected = Counter(operators(result)), Counter(plainly(setup, expression))
    assert {name: count for name, count in ran.items() if name in expected} == expected
    captured = result.data["captured"]
    assert (captured["native"], captured["cold"], captured["first"]) == (True, False, None)
    assert not differences(result)


def test_what_can_be_neither_repeated_nor_made_anew_is_stepped_as_it_ran_first(command: InProcess) -> None:
    result = command("trace", "next(it) + 1", "--setup", f"{MODE}\n{ITERATOR}", "--json", "--save", "s.json")
    captured = result.data["captured"]
    assert (captured["native"], captured["cold"]) == (True, True)
    assert captured["first"]["imported"] == 0
    assert "the list_iterator has advanced" in captured["first"]["why"]["text"]
    assert "enters a mode" in captured["first"]["why"]["text"]
    assert Counter(hop["name"].rpartition(".")[2] for hop in result.hops)["__torch_dispatch__"] == 1
    text = " ".join(command("trace", "--load", "s.json").out.split())
    assert "the very first call" in text
    assert "the list_iterator has advanced" in text
    assert "the first run is shown" in " ".join(command("trace", "--load", "s.json", "--view", "tree").out.split())


def test_a_cache_of_torchs_is_hit_or_missed_in_all_passes(cli: Cli) -> None:
    """FakeTensorMode keeps what an operator gives for one kind of input: its own count says which run misses."""
    names: dict[str, Any] = {"torch": torch}
    exec(FAKE, names)
    counts = names["FakeTensorMode"].cache_info
    names["FakeTensorMode"].cache_clear()
    hits = []
    for _ in range(3):
        before = counts().hits
        _ = names["x"] @ names["x"]
        hits.append(counts().hits - before)
    assert hits == [0, 1, 1]
    warm = cli("trace", "x @ x", "--setup", FAKE, "--json")
    called = Counter(hop["name"] for hop in warm.hops if hop["kind"] == "python")
    assert (called["_cached_dispatch_impl"], called["_output_from_cache_entry"], called["_dispatch_impl"]) == (1, 1, 0)
    assert not differences(warm)
    cold = cli("trace", "x @ x", "--setup", FAKE, "--json", "--first")
    called = Counter(hop["name"] for hop in cold.hops if hop["kind"] == "python")
    assert (called["_cached_dispatch_impl"], called["_dispatch_impl"]) == (1, 1)


def test_of_two_ways_one_is_shown_and_the_other_named(cli: Cli) -> None:
    result = cli("trace", BY_THREADS, "--setup", WAYS, "--json", env={"OMP_NUM_THREADS": "4"})
    called = [hop["name"] for hop in result.hops if hop["kind"] == "python"]
    assert ("shared" in called, "alone" in called) == (False, True)
    assert operators(result)[-1] == "aten::neg"
    assert "aten::add" not in operators(result)
    (text,) = (finding["text"] for finding in result.data["findings"] if finding["kind"] == "other-run")
    assert "aten::add.Tensor ran in an earlier run" in text
    assert "operator number 1 was aten::add in the earlier run, aten::mul here" in text


def test_what_it_gives_is_what_the_run_that_is_shown_gave(cli: Cli) -> None:
    expression = "a.sin() if torch.get_num_threads() > 1 else a.cos().sum()"
    result = cli("trace", expression, "--json", env={"OMP_NUM_THREADS": "4"})
    assert operators(result)[:3] == ["aten::cos", "aten::sum", "aten::sum"]
    assert result.data["result"]["description"].startswith("Tensor[] ")


def test_that_processes_ran_something_is_said(cli: Cli) -> None:
    setup = "from torch.utils.data import DataLoader\ndata = DataLoader(torch.ones(4, 2), batch_size=2, num_workers={})"
    for workers in (0, 1):
        result = cli("trace", "next(iter(data)).sum()", "--setup", setup.format(workers), "--no-native", "--json")
        told = [finding["text"] for finding in result.data["findings"] if finding["kind"] == "cut"]
        told = [text for text in told if "this torch's profiler records only one" not in text]  # of threads
        assert told == ["processes were started, and their work is not recorded"] * workers
        assert ("aten::stack" in operators(result)) == (workers == 0)
    started = cli("trace", "a.add(__import__('subprocess').call('true'))", "--no-native", "--json")
    assert [f["text"].split(":")[0] for f in started.data["findings"] if f["kind"] == "cut"] == [
        "processes were started, and their work is not recorded"
    ]


def test_a_call_more_than_the_stepped_run_made_is_in_the_finding_and_not_in_the_tree(cli: Cli) -> None:
    """A large sum is made of parts on more threads than one, which calls a further copy_ (TensorIteratorReduce.cpp)."""
    expression, x = "(x + 1).sum()", "torch.ones(300_000)"
    result = cli("trace", expression, "--var", f"x={x}", "--json", env={"OMP_NUM_THREADS": "2"})
    stepped = Counter(operators(result))
    of_a_run = (
        "torch.set_num_threads({}); x = {}; x.sum()\n"
        "with torch.autograd.profiler.profile() as profile: {}\n"
        "print(json.dumps([event.name() for event in profile.kineto_results.events()]))"
    )
    ran = (torch_says(of_a_run.format(threads, x, expression)) for threads in (1, 2))
    one, two = (Counter(name for name in names if name.startswith("aten::")) for names in ran)
    assert stepped == one != two
    (found,) = differences(result)
    assert found["kind"] == "other-run"
    assert one["aten::copy_"] == 1
    assert two["aten::copy_"] == 2
    assert "aten::copy_ (1 more call)" in found["text"]
    assert "aten::unsqueeze," in found["text"]


def test_of_two_functions_with_the_same_operators_one_is_shown(cli: Cli) -> None:
    setup = WAYS.replace("torch.mul", "torch.add")
    result = cli("trace", BY_THREADS, "--setup", setup, "--json", env={"OMP_NUM_THREADS": "4"})
    called = [hop["name"] for hop in result.hops if hop["kind"] == "python"]
    assert ("shared" in called, "alone" in called) == (False, True)
    (text,) = (finding["text"] for finding in result.data["findings"] if finding["kind"] == "other-run")
    assert text.startswith("shared() ran in an earlier run, but not in the stepped run")


def test_nothing_is_launched_for_a_tensor_that_is_only_said_to_be_on_a_device(cli: Cli, runtime: Runtime) -> None:
    fake = f"{FAKE}\nwith mode:\n    y = torch.empty(2, 2, device='cuda')"
    result = cli("trace", "y + y", "--setup", fake, "--json", "--no-native")
    assert "cuda" in result.data["result"]["description"]
    assert not [finding for finding in result.data["findings"] if finding["kind"] == "launches"]


def test_what_raises_for_what_the_first_run_used_up_is_no_repeated_run(command: InProcess) -> None:
    """The second backward of the expression raises, as in a program; a repeated run would raise in its first."""
    setup = "w = torch.ones(3, requires_grad=True); y = w.exp()"
    result = command("trace", "[y.sum().backward(), y.sum().backward()]", "--setup", setup, "--json", "--no-native")
    made = [hop["name"].partition(".")[0] for hop in json.loads(result.out)["hops"] if hop["kind"] == "op"]
    assert made.count("aten::ones_like") == 2, "each backward makes the gradient that it begins with"


COND = "torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))"


def test_what_dynamo_compiled_for_a_part_of_the_expression_is_found_again(compiler_command: InProcess) -> None:
    """A program that repeats it has the same code objects, by which Dynamo knows what it compiled."""
    names: dict[str, Any] = {"torch": torch, "x": torch.ones(3)}
    code = compile(COND, "<here>", "eval")
    eval(code, names)
    with torch.autograd.profiler.profile() as profile:
        eval(code, names)
    expected = Counter(event.name for event in profile.function_events if event.name.startswith("aten::"))
    assert expected["aten::sub"] == 0
    expected["aten::sum"] += 1  # that list leaves out what a call of the same name calls
    result = compiler_command("trace", COND, "--var", "x=torch.ones(3)", "--no-native", "--json")
    observed = [hop for hop in result.hops if hop["kind"] == "op" and hop["status"] == "observed"]
    assert Counter(operators_of(observed)) == expected
    assert not differences(result)


def operators_of(hops: list[dict[str, Any]]) -> list[str]:
    """The operators among hops, without overloads."""
    return [hop["name"].partition(".")[0] for hop in hops if hop["kind"] == "op"]


@pytest.mark.parametrize("register", ["w.register_hook(f)", "w.register_post_accumulate_grad_hook(f)"])
def test_a_hook_that_the_expression_registers_on_a_tensor_is_there_once(command: InProcess, register: str) -> None:
    setup = "def f(g): torch.neg(g if g.grad is None else g.grad)\nw = torch.ones(3, requires_grad=True)"
    expression = f"({register}, (w * 2).sum().backward(), w.grad.clone())[2]"
    plain = torch_says(
        f"{setup}\nwith torch.profiler.profile() as seen: {expression}\n"
        "print(json.dumps([e.name for e in seen.events() if e.name == 'aten::neg']))"
    )
    made = command("trace", expression, "--setup", setup, "--no-native", "--json")
    called = [hop["op"] for hop in made.hops if hop["kind"] == "op" and hop["op"] == "aten::neg"]
    assert called == plain == ["aten::neg"]
    assert made.data["captured"]["put_back"] == ["w"]


COMPILED = """import os
def backend(graph, inputs):
    with open({file!r}, "a") as told:
        told.write(f"{{os.getpid()}}\\n")
    return graph.forward
@torch.compile(backend=backend)
def f(x):
    y = x.sin() * 2
    {between}
    return y.cos()"""


@pytest.mark.parametrize(("between", "graphs"), [("y = y + 1", 1), ("torch._dynamo.graph_break()", 2)])
def test_what_dynamo_compiled_of_setup_is_found_again(
    compiler_command: InProcess, tmp_path: Path, between: str, graphs: int
) -> None:
    """Its guards, and what it compiled, look names up that it has put beside the function: they stay."""
    file = tmp_path / "compiled"
    setup = COMPILED.format(file=str(file), between=between)
    given = ("f(x)", "--setup", setup, "--var", "x=torch.randn(3)", "--no-native", "--json")
    made = compiler_command("trace", *given)
    compiled = Counter(file.read_text().split())
    assert set(compiled.values()) == {graphs}
    assert not made.data["captured"]["anew"]
    plain = torch_says(
        f"{setup.replace(str(file), os.devnull)}\nx = torch.randn(3)\nf(x), f(x)\n"
        "with torch.profiler.profile() as seen: f(x)\n"
        "print(json.dumps([e.name for e in seen.events() if e.name.startswith('aten::')]))"
    )
    called = [hop["op"].partition(".")[0] for hop in made.hops if hop["kind"] == "op"]
    assert sorted(called) == sorted(plain)


def test_that_each_run_begins_where_setup_ended_is_said(command: InProcess) -> None:
    """An optimizer makes its state at its first step: a second one has fewer operators, and is not what is shown."""
    second = plainly(f"{TRAINED}\nopt.step()", "opt.step()")
    assert Counter(second) != Counter(plainly(TRAINED, "opt.step()"))
    result = command("trace", "opt.step()", "--setup", TRAINED, "--no-native", "--json", "--save", "s.json")
    assert set(result.data["captured"]["put_back"]) == {"m", "opt"}
    text = " ".join(command("trace", "--load", "s.json").out.split())
    assert "each run begins with m and opt as --setup left them" in text
    assert "put the calls before it into --setup" in text
    later = command("trace", "opt.step()", "--setup", f"{TRAINED}\nopt.step()", "--no-native", "--json")
    assert Counter(name for name in operators(later) if name in second) == Counter(second)


def test_nothing_is_said_to_be_put_back_where_nothing_was_changed(command: InProcess) -> None:
    result = command("trace", "m(a)", "--setup", "m = nn.Linear(3, 3)", "--no-native", "--json", "--save", "s.json")
    assert (result.data["captured"]["put_back"], result.data["captured"]["anew"]) == ([], False)
    assert "as --setup left" not in command("trace", "--load", "s.json").out


def test_that_setup_runs_anew_is_said(command: InProcess) -> None:
    result = command("trace", "next(it) + 1", "--setup", ITERATOR, "--no-native", "--json", "--save", "s.json")
    assert result.data["captured"]["anew"] is True
    assert "--setup runs again before each run" in " ".join(command("trace", "--load", "s.json").out.split())


def test_a_class_of_setup_keeps_what_torch_makes_of_it_once(compiler_command: InProcess) -> None:
    """The first call of a mode's handler makes what Dynamo leaves alone of it; a second one finds that."""
    given = ("--setup", f"{MODE.rpartition(chr(10))[0]}", "--with", "M()", "--no-native", "--json")
    result = compiler_command("trace", "torch.sin(torch.cos(a))", *given)
    named = Counter(hop["name"] for hop in result.hops if hop["kind"] == "python")
    assert named["__torch_dispatch__"] == 2
    assert named["disable"] == 0  # torch._dynamo's, which makes that


COUNTING = """from torch.utils._python_dispatch import TorchDispatchMode
from torch.overrides import TorchFunctionMode
class Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return torch.neg(func(*args, **(kwargs or {})))
class Overridden(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return torch.neg(result) if func is torch.add else result"""
PLAINLY = """import json, sys, torch
names = {"torch": torch}
exec(sys.argv[1], names)
torch.manual_seed(0)
names["a"] = torch.ones(3, 3)
with torch.autograd.profiler.profile() as profile:
    result = eval(sys.argv[2], names)
called = [event.name() for event in profile.kineto_results.events() if event.name().startswith("aten::")]
torch.set_default_dtype(torch.float32)
print(json.dumps([called, str(result.dtype).removeprefix("torch."), result.requires_grad]))"""
LEFT_ON = {
    "a dispatch mode": "(Dispatched().__enter__(), torch.add(a, 1).sum())[1]",
    "a function mode": "(Overridden().__enter__(), torch.add(a, 1))[1]",
    "grad mode": "(torch.ones(2, requires_grad=True) * 2, torch.set_grad_enabled(False))[0]",
    "the default dtype": "(torch.ones(3).mul(2), torch.set_default_dtype(torch.float64))[0]",
    "autocast": "(torch.mm(a, a), torch.autocast('cpu').__enter__())[0]",
    "deterministic algorithms": "(torch.empty(4), torch.use_deterministic_algorithms(True))[0]",
}


@pytest.mark.parametrize("left", LEFT_ON)
def test_what_the_expression_leaves_on_is_off_when_it_is_run_again(cli: Cli, left: str) -> None:
    """The run that is shown calls what plain Python calls, which evaluates it once in a process of its own."""
    if left == "a dispatch mode" and torch_version().startswith("2.6."):
        pytest.skip("this torch ends plain Python by SIGSEGV where the same runs twice, or as it exits")
    told = subprocess.run(
        [TARGET or sys.executable, "-c", PLAINLY, COUNTING, LEFT_ON[left]], capture_output=True, text=True, check=True
    )
    called, dtype, needs_grad = json.loads(told.stdout)
    setup = ("--setup", COUNTING, "--var", "a=torch.ones(3, 3)")
    result = cli("trace", LEFT_ON[left], *setup, "--no-native", "--timeout", "200", "--json")
    assert Counter(operators(result)) == Counter(called)
    assert result.data["captured"]["first"] is None
    description = result.data["result"]["description"]
    assert dtype in description
    assert ("requires_grad" in description) == needs_grad
    assert not differences(result)


def test_of_two_errors_of_one_class_that_of_the_first_run_is_shown(cli: Cli) -> None:
    """Torch warns of `T` once in a process: what a further run raises there is another error."""
    plain = torch_says(
        "import warnings\nwarnings.simplefilter('error')\n"
        "try: [torch.ones(2, 2, 2).T, warnings.warn('stop')]\n"
        "except UserWarning as error: print(json.dumps(str(error)))"
    )
    given = ("--setup", "import warnings\nwarnings.simplefilter('error')", "--var", "x=torch.ones(2, 2, 2)")
    shown = json.loads(cli("trace", "[x.T, warnings.warn('stop')]", *given, "--no-native", "--json").out)
    assert shown["ending"]["message"] == plain
    assert "stop" in shown["captured"]["first"]["why"]["text"]


def test_what_the_expression_leaves_on_and_torch_cannot_take_back_is_run_once(cli: Cli) -> None:
    expression = "(torch.autograd.forward_ad.enter_dual_level(), torch.add(a, 1))[1]"
    captured = cli("trace", expression, "--json").data["captured"]
    assert "left on (a transform or a level of forward-mode differentiation)" in captured["first"]["why"]["text"]


def test_what_torch_keeps_on_a_tensor_of_its_sizes_is_no_change(command: InProcess) -> None:
    """A nested tensor's class says its sizes in Python; C++ keeps them on the tensor when they are first asked for."""
    setup = "n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)"
    result = command("trace", "n.size(0)", "--no-native", "--setup", setup, "--json")
    assert result.data["captured"]["put_back"] == []
