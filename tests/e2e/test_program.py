"""A whole program, recorded in one run: its first screen, its operators, what is saved and shown again."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Cli, InProcess, torch_version
from tests.torch_says import torch_says

stepper = importlib.import_module("ptexplore.probe.stepper")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)

def train(net):
    net(torch.ones(2, 4)).sum().backward()

train(Net())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "small.py"
    file.write_text(SMALL, encoding="utf-8")
    return file


def screen(command: InProcess, *arguments: str) -> list[str]:
    quick = ("--native-budget", "0") if "--script" in arguments else ()
    result = command("trace", *arguments, *quick, "--view", "modules")
    assert result.code == 0, result.err
    return result.out.splitlines()


def table(rows: list[str]) -> list[str]:
    """The rows of the view itself: each has a share."""
    return [row for row in rows if row[:6].strip().endswith("%")]


def words(row: str) -> list[str]:
    """What a row says but for its place: a saved trace names no folder of the machine that it was made on."""
    return [word for word in row.split() if ".py" not in word]


@pytest.mark.words
def test_the_first_screen_has_modules_functions_and_backward(command: InProcess, script: Path, tmp_path: Path) -> None:
    saved = tmp_path / "small.trace"
    rows = screen(command, "--script", str(script), "--save", str(saved))
    assert len(rows) <= 100
    assert not [row for row in table(rows) if len(row) > 100]
    (layers,) = [row for row in rows if "layers.0 … layers.5" in row]
    assert "Linear ×6" in layers
    assert any("train" in row and "small.py:15" in row for row in rows)
    assert any("Tensor.backward" in row for row in rows)
    assert any("AddmmBackward0" in row for row in rows)
    # torch 2.6 would run hooks to tell what its nodes saved.
    told = "saved: not known" if torch_version().startswith("2.6") else "saved for backward"
    assert any(told in row for row in rows)
    assert gzip.decompress(saved.read_bytes()).startswith(b"{")

    again = screen(command, "--load", str(saved))
    assert [words(row) for row in table(again)] == [words(row) for row in table(rows)]
    opened = command("trace", "--load", str(saved), "--open", "layers.0").out
    assert "linear" in opened
    operators = command("trace", "--load", str(saved), "--view", "operators").out
    assert "AutogradCPU → " in operators
    tree = command("trace", "--load", str(saved), "--open", "relu").out
    assert "aten::relu" in tree
    document = json.loads(command("trace", "--load", str(saved), "--json").out)
    assert document["program"]["paths"][0]["kind"] == "program"
    assert not [path for path in document["program"]["paths"] if os.path.isabs(path.get("file") or "")]


def test_an_operator_has_a_row_for_each_way_that_its_calls_went(command: InProcess, tmp_path: Path) -> None:
    """A sparse matrix goes by another key than a dense one."""
    file = tmp_path / "ways.py"
    code = "import torch\nx = torch.eye(2)\nfor a in (x, x.to_sparse(), x): torch.mm(a, x)\n"
    file.write_text(code, encoding="utf-8")
    shown = command("trace", "--script", str(file), "--native-budget", "0", "--view", "operators", "--plain").out
    ways = (re.search(r"level 1: mm; (?:\w+ → )*?(\w+) → [\w:]+; .* calls (\d+);", line) for line in shown.splitlines())
    assert {way[1]: int(way[2]) for way in ways if way} == {"CPU": 2, "SparseCPU": 1}


def test_a_program_without_time_for_stepping_says_so(command: InProcess, script: Path) -> None:
    result = command("trace", "--script", str(script), "--native-budget", "0", "--json")
    assert result.data["captured"]["reason"]["code"] == "no-budget"


TRANSFORMED = """\
import torch
from torch.func import grad, vmap

w = torch.ones(3)
def loss(w, x):
    p = (w * x).pow(2)
    HOOK
    return p.sum()

vmap(grad(loss), (None, 0))(w, torch.ones(5, 3))
"""
HOOK = """p.grad_fn.register_prehook(lambda given: keys.append(str(torch._C._dispatch_tls_local_include_set())))"""


def test_a_node_under_a_function_transform_has_its_keys(command: InProcess, tmp_path: Path) -> None:
    """Backward runs with the sets that it was called with; a hook of that node asks torch for them."""
    asked = TRANSFORMED.replace("HOOK", HOOK)
    (include,) = torch_says(f"keys = []\n{asked}\nprint(json.dumps(keys))")
    assert "FuncTorchDynamicLayerFrontMode" in include
    file = tmp_path / "transformed.py"
    file.write_text(TRANSFORMED.replace("HOOK", ""), encoding="utf-8")
    result = command("trace", "--script", str(file), "--native-budget", "0", "--json")
    nodes = [hop for hop in result.hops if hop["kind"] == "node" and hop["name"].endswith("PowBackward0::apply")]
    assert nodes
    for node in nodes:
        operators = [hop for hop in node["children"] if hop["kind"] == "op"]
        assert operators
        keys = {hop["key"] for operator in operators for hop in operator["children"] if hop["kind"] == "key"}
        assert keys == {"FuncTorchDynamicLayerFrontMode"}


def test_an_operator_that_modes_call_again_takes_no_more_than_the_program(command: InProcess, tmp_path: Path) -> None:
    """Each mode calls the operator once more, inside of the call that it was told of."""
    file = tmp_path / "modes.py"
    file.write_text(MODES, encoding="utf-8")
    arguments = ("trace", "--script", str(file), "--native-budget", "0", "--view", "operators", "--json")
    rows = [row for row in json.loads(command(*arguments).out)["view"]["table"] if row["name"].startswith("mul")]
    assert sum(int(row["cells"][1]) for row in rows) == 4 * 20, "three modes, and the kernel"
    assert all(row["share"] <= 1 for row in rows)


MODES = """\
import time, torch
from torch.utils._python_dispatch import TorchDispatchMode

class Slow(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        time.sleep(0.002)
        return func(*args, **(kwargs or {}))

x = torch.ones(2)
with Slow(), Slow(), Slow():
    for _ in range(20):
        x.mul(x)
"""

LOOP = """\
import torch

def step(x):
    return torch.softmax(x, -1) * 2

for _ in range(30):
    step(torch.ones(2, 2))
"""


@pytest.mark.words
@pytest.mark.skipif(stepper.why_not() is not None, reason=str(stepper.why_not()))
def test_a_call_of_each_kind_is_stepped(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "loop.py"
    file.write_text(LOOP, encoding="utf-8")
    document = json.loads(command("trace", "--script", str(file), "--json").out)
    (told,) = [found["told"] for found in document["findings"] if found["kind"] == "stepped"]
    assert (told["code"], told["kinds"], told["all_kinds"]) == ("kinds-stepped", 3, 3)
    assert document["captured"]["native"]
    routes = document["program"]["routes"]
    assert [route["represented"] for route in routes] == [0, 1, 2]
    seen = {hop["name"]: hop for hop in document["hops"] if hop["status"] == "observed"}
    for name, key in (("at::wrapper_CPU_mul_Tensor", "CPU"), ("at::_ops::softmax_int::call", None)):
        hop = next(hop for shown, hop in seen.items() if name in shown or name in str(hop["operator"]))
        assert hop["instructions"] > 100
        assert key is None or hop["key"] == key

    if torch_version().startswith("2.6"):
        return  # its profiler records no overloads, so --native-op cannot tell which call it was
    again = json.loads(command("trace", "--script", str(file), "--native-op", "mul.Tensor#7", "--json").out)
    counted = [hop for hop in again["hops"] if hop["kind"] == "op" and hop["instructions"]]
    assert counted[0]["op"] == "aten::mul.Tensor"  # what it calls is behind it

    plain = command("trace", "--script", str(file), "--no-native", "--view", "tree").out
    assert "stepping was not asked for" in plain


NAMED = """\
import torch

a = torch.ones(2, 2, names=("N", "C"))
b = a + a
assert b.names == a.names
c = b.sum("N").exp()
"""


@pytest.mark.skipif(not torch_version().startswith("2.6"), reason="newer torches have no names of dimensions")
def test_no_set_is_stated_of_a_tensor_that_may_have_names(command: InProcess, tmp_path: Path) -> None:
    """Each of these tensors has names, so Named is in its set: in that which was read, else no set is stated."""
    file = tmp_path / "named.py"
    file.write_text(NAMED, encoding="utf-8")
    document = json.loads(command("trace", "--script", str(file), "--no-native", "--json").out)
    keys = [(hop["op"], hop["dispatch"]) for hop in document["hops"] if hop["kind"] == "key"]
    starts = {op: dispatch for op, dispatch in keys if dispatch["redispatch"] is None}
    for op in ("aten::add.Tensor", "aten::exp"):
        read = starts[op]["arguments"].get("self")
        assert "Named" in read.split(", ") if read is not None else "self" in starts[op]["unread"], starts[op]


def test_a_program_has_no_one_path(command: InProcess, script: Path) -> None:
    command("trace", "--script", str(script), "--view", "path").three_parts(2)


@pytest.mark.parametrize("example", sorted(file.stem for file in EXAMPLES.glob("*.py")))
def test_every_example_is_recorded_and_fits_a_screen(compiler_command: InProcess, example: str) -> None:
    rows = screen(compiler_command, "--script", str(EXAMPLES / f"{example}.py"))
    assert len(rows) <= 100
    assert not [row for row in table(rows) if len(row) > 100]
    assert table(rows)
    assert any(f"{example}.py" in row for row in rows)


SPAWNS = """\
import multiprocessing

def work():
    print("it ran", flush=True)

if __name__ == "__main__":
    import torch
    torch.ones(3) + 1
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
    print("it ended with", process.exitcode)
"""


@pytest.mark.words
def test_a_process_that_a_script_spawns_finds_the_script(
    command: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the folder in which the script was started, where its path is relative."""
    (tmp_path / "spawns.py").write_text(SPAWNS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = command("trace", "--script", "spawns.py", "--no-native", "--view", "modules")
    assert "it ended with 0" in result.err
    assert "processes were started, and their work is not recorded" in " ".join(result.out.split())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_keeps_what_ran_until_then(cli: Cli, tmp_path: Path, name: str) -> None:
    started = tmp_path / "started"
    file = tmp_path / "long.py"
    text = f"import torch, pathlib, time\ntorch.ones(3) + 1\npathlib.Path({str(started)!r}).touch()\ntime.sleep(600)\n"
    file.write_text(text, encoding="utf-8")
    saved = tmp_path / "long.trace"
    child = subprocess.Popen(
        [sys.executable, "-m", "ptexplore", "trace", "--script", str(file), "--save", str(saved)],
        env=cli.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    wait_for(started.exists, child)
    child.send_signal(getattr(signal, name))
    out, err = child.communicate(timeout=120)
    assert child.returncode == 128 + getattr(signal, name), err
    assert "KeyboardInterrupt" in out
    document = json.loads(gzip.decompress(saved.read_bytes()))
    assert "aten::ones" in {kind["name"] for kind in document["program"]["kinds"]}


def wait_for(done: Callable[[], bool], child: subprocess.Popen[str]) -> None:
    while not done():
        assert child.poll() is None
        time.sleep(0.05)


@pytest.mark.words
def test_a_script_that_takes_too_long_tells_what_it_did(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    file.write_text("import torch, time\ntorch.ones(3) + 1\ntime.sleep(600)\n", encoding="utf-8")
    result = command("trace", "--script", str(file), "--timeout", "3")
    assert result.code == 1
    assert "the script was ended by --timeout: the 3 s for all runs were over" in result.out
    assert "slow.py:3" in result.out


NOTICES = """\
import sys, torch

x = torch.ones(3)
if sys.getprofile() is not None:
    x.exp()
    print("recorded")
raise SystemExit(4 if sys.getprofile() is None else 3)
"""


# torch's profiler holds this gradient where it tells sizes, and AccumulateGrad copies it then.
COPIES = """\
import torch

class Square(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

a = torch.ones(3, 3, requires_grad=True)
torch.vmap(Square.apply)(a).sum().backward()
"""


@pytest.mark.words
def test_twice_says_whether_recording_changed_anything(command: InProcess, script: Path, tmp_path: Path) -> None:
    with script.open("a", encoding="utf-8") as file:  # a module with random numbers of its own, which nobody seeds
        file.write("import numpy\nprint(numpy.random.rand())\n")
        file.write("import threading\nbeside = threading.Thread(target=torch.ones, args=(3,))\n")
        file.write("beside.start()\nbeside.join()\n")
    result = command("trace", "--script", str(script), "--no-native", "--twice", "--json")
    found = {finding["kind"]: finding["text"] for finding in json.loads(result.out)["findings"]}
    beside = (
        "" if torch_version().startswith("2.6") else ", and 3 in other threads, with equal counts"
    )  # ones, empty, fill_
    counted = f"calls of operators, nodes and the engine in the same order{beside}"
    same = f"{counted}, the same output, the same states of random numbers, both ran to their end"
    assert same in found["twice"]

    notices = tmp_path / "notices.py"
    notices.write_text(NOTICES, encoding="utf-8")
    result = command("trace", "--script", str(notices), "--no-native", "--twice", "--json")
    assert result.code == 1
    found = {finding["kind"]: finding["text"] for finding in json.loads(result.out)["findings"]}
    assert "aten::exp in the recorded run, the end in the second run" in found["differs"]
    assert "line 1 of the output was 'recorded' in the recorded run, nothing in the second" in found["differs"]
    assert "SystemExit: 3, the second run to SystemExit: 4" in found["differs"]
    copies = tmp_path / "copies.py"
    copies.write_text(COPIES, encoding="utf-8")
    result = command("trace", "--script", str(copies), "--no-native", "--twice", "--json")
    found = {finding["kind"]: finding["text"] for finding in json.loads(result.out)["findings"]}
    assert "aten::new_empty_strided in the recorded run, aten::detach in the second run" in found["differs"]
    assert "AccumulateGrad copied a gradient" in found["perturbed"]
    command("trace", "a + b", "--no-native", "--twice").three_parts(2)


COMPILED = """\
import torch

net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
compiled = torch.compile(net, backend="aot_eager")
for _ in range(3):
    loss = compiled(torch.ones(4, 8)).sum()
    loss.backward()
print("at its end")
"""


@pytest.mark.words
def test_a_script_that_compiles_runs_to_its_end(compiler_command: InProcess, tmp_path: Path) -> None:
    """Thousands of frames run through torch's frame evaluation while the profile function looks at each.

    While the compiler traces, torch 2.6 detaches what a node saved for whoever asks: none of that may be an operator.
    """
    file = tmp_path / "compiled.py"
    file.write_text(COMPILED, encoding="utf-8")
    result = compiler_command("trace", "--script", str(file), "--no-native", "--twice", "--timeout", "400", "--json")
    assert result.code == 0, result.err
    found = {finding["kind"]: finding["text"] for finding in json.loads(result.out)["findings"]}
    assert "nodes and the engine in the same order" in found["twice"], found
    assert "ran to their end" in found["twice"]


LOOP_OF_TRAINING = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size)
    def forward(self, x):
        return x + self.down(self.act(self.up(x)))

class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.body = nn.ModuleList(Block(size) for _ in range(4))
    def forward(self, x):
        for block in self.body:
            x = block(x)
        return x

def quick(net):
    return net(torch.ones(2, 8))

def train(net):
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(5):
        loss = net(torch.ones(2048, 256)).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

quick(Net(8))
train(Net(256))
"""


@pytest.mark.words
def test_rows_add_up_and_what_is_opened_is_the_costliest(command: InProcess, tmp_path: Path) -> None:
    file, saved = tmp_path / "training.py", tmp_path / "training.trace"
    file.write_text(LOOP_OF_TRAINING, encoding="utf-8")
    arguments = ("trace", "--script", str(file), "--native-budget", "0", "--save", str(saved))
    assert command(*arguments).code == 0
    whole = page_of(command, saved)
    names = [row["name"] for row in whole["table"]]
    assert {"clip_grad_norm_", "AdamW.step"} <= {*names}
    sums = 0
    for opened in ("", "train", "AdamW.step", "Tensor.backward", "body.0"):
        page = page_of(command, saved, *(("--open", opened) if opened else ()))
        rows = list(itertools.takewhile(lambda row: not row["heading"], page["table"]))
        first = next(row for row in rows if row["share"] is not None)
        assert first["share"] == 1
        for at, row in enumerate(rows):
            deeper = list(itertools.takewhile(lambda inner, level=row["level"]: inner["level"] > level, rows[at + 1 :]))
            inside = [inner for inner in deeper if inner["level"] == row["level"] + 1]
            has_bound = any(inner["cells"][0].startswith("≤") for inner in inside)  # a bound has no share
            if inside and row["share"] and not has_bound:
                shares = sum(inner["share"] or 0 for inner in inside)
                assert shares == pytest.approx(row["share"], abs=0.003), (opened, row["name"])
                sums += 1
    assert sums >= 5
    assert any(fact.startswith("body.0 in train: ") for fact in page["facts"])
    assert any(fact.startswith("the costliest with this name; others: body.0 in quick") for fact in page["facts"])


def page_of(command: InProcess, saved: Path, *arguments: str) -> dict[str, Any]:
    result = command("trace", "--load", str(saved), "--view", "modules", *arguments, "--json")
    assert result.code == 0, result.err
    page: dict[str, Any] = json.loads(result.out)["view"]
    return page


COMPILES_THREE = """\
import torch
from torch._dynamo.utils import counters

def fails(graph, inputs):
    raise ValueError("no backend")

@torch.compile(backend="aot_eager")
def f(x):
    return (x.sin() @ x).exp().sum()

def later(x):
    return x.cos()

x = torch.ones(8, 8, requires_grad=True)
for _ in range(3):
    f(x).backward()
f(torch.ones(5, 5, requires_grad=True)).backward()
try:
    torch.compile(later, backend=fails)(x)
except Exception as error:
    print(type(error).__name__)
later(x)
print(counters["frames"]["total"])
"""


def test_what_the_compiler_does_is_one_row_and_its_fake_operators_are_none(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "compiled.py"
    file.write_text(COMPILES_THREE, encoding="utf-8")
    plain = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stdout
    saved = tmp_path / "compiled.trace"
    kept = ("--native-budget", "0", "--view", "modules", "--save", str(saved), "--timeout", "600")
    result = command("trace", "--script", str(file), *kept)
    rows = result.out.splitlines()
    assert result.err.split()[-2:] == plain.split()  # torch compiled as many frames as without us
    (compiling,) = [row for row in rows if " compiling " in row]
    frames = int(plain.split()[-1])  # as torch counts them
    assert compiling.split("compiling")[0].split()[-2] == str(frames) == "3"
    assert any(" later " in row and "compiled.py:11" in row for row in rows)  # recorded again after an error
    assert any("ptexplore compile --script" in row for row in rows)
    (ran,) = [row for row in rows if " f " in row and "compiled.py:7" in row]
    assert re.search(r" 4 (48|40) ", " ".join(ran.split()))  # calls and operators (40 in 2.6): none is of the compiler
    lines = " ".join(command("trace", "--load", str(saved), "--view", "lines").out.split())
    assert re.search(r" 7 @torch\.compile\S* compiled ×4 ", lines)  # each call of f ran a graph
    assert re.search(r" 16 f\(x\)\.backward\(\) compiling ≤", lines)
