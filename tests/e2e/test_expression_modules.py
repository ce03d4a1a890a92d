"""The modules of an expression, held against torch's own hooks and profiler: calls, operators, bytes, order, size."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.harness import TARGET, InProcess

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("warm")]
MODELS = {
    "encoder": ("nn.TransformerEncoderLayer(16, 2)", (5, 1, 16)),
    "convolutions": ("nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten())", (2, 1, 6, 6)),
    "recurrent": ("nn.LSTM(3, 4)", (5, 1, 3)),
    "deep": ("nn.Sequential(*(nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(5)))", (2, 3)),
}


def by_torch(model: nn.Module, given: torch.Tensor) -> tuple[Counter[str], int, list[str]]:
    """The operators that Python called inside of each module, the bytes that autograd packed, modules in order."""
    leaves = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    packed: dict[int, int] = {}
    kept, order = [], []
    ranges: list[Any] = []

    def before(name: str) -> None:
        order.append(name)
        ranges.append(torch.autograd.profiler.record_function(f"in {name}"))
        ranges[-1].__enter__()

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)  # so that no address is used twice
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in leaves:
            packed[storage.data_ptr()] = storage.nbytes()
        return tensor

    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: before(name))
        module.register_forward_hook(lambda *_: ranges.pop().__exit__(None, None, None))
    with torch.autograd.profiler.profile() as profile, torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        model(given)
    counts: Counter[str] = Counter()
    for event in profile.function_events:
        around = event.cpu_parent
        is_operator = event.name.startswith("aten::")
        if is_operator and (around is None or around.name.startswith("in ")):
            while around is not None:
                counts[around.name.removeprefix("in ")] += 1
                around = around.cpu_parent
    return counts, sum(packed.values()), order


@pytest.mark.skipif(TARGET is not None, reason="the models run in the torch of the Python that runs the tests")
@pytest.mark.parametrize("name", MODELS)
def test_modules_calls_and_bytes_are_what_torch_tells(name: str, command: InProcess) -> None:
    text, size = MODELS[name]
    torch.manual_seed(0)
    model = eval(text)
    counts, packed, order = by_torch(model, torch.randn(*size))
    options = ("--setup", f"m = {text}", "--var", f"x=torch.randn({', '.join(map(str, size))})", "--no-native")
    done = command("trace", "m(x)", *options, "--json")
    trace = json.loads(done.out)
    called = [hop["module"] for hop in trace["hops"] if hop.get("module")]
    assert [module["name"] for module in called] == order
    assert [module["type"] for module in called] == [type(model.get_submodule(n)).__qualname__ for n in order]
    assert {module["bound"] for module in called} <= {"m", None}
    assert sum((hop["weights"] or {}).get("saved", 0) for hop in trace["hops"]) == packed > 0
    parents = {hop["id"]: hop for hop in trace["hops"]}
    seen: Counter[str] = Counter()
    for hop in trace["hops"]:
        if hop["kind"] == "op" and not any(outer["kind"] == "op" for outer in around(hop, parents)):
            seen.update(outer["module"]["name"] for outer in around(hop, parents) if outer.get("module"))
    assert seen == counts


def around(hop: dict[str, Any], parents: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    out = []
    while hop.get("parent") is not None:
        hop = parents[hop["parent"]]
        out.append(hop)
    return out


def test_the_first_screen_of_an_encoder_layer(command: InProcess, tmp_path: Path) -> None:
    file = str(tmp_path / "x.trace")
    given = ("nn.TransformerEncoderLayer(16, 2)(x)", "--var", "x=torch.randn(5, 1, 16)", "--backward")
    assert command("trace", *given, "--save", file).code == 0
    for width in (80, 100, 120, 200):
        shown = command("trace", "--load", file, "--view", "modules", env={"COLUMNS": str(width)}).out
        assert len(shown.splitlines()) <= 60, shown
        # What backward frees is told of a torch that gives it out unread (2.13): 2.6 may run the user's hooks for it.
        rows = ("self_attn  MultiheadAttention", "linear1  Linear", "norm2  LayerNorm", "backward")
        for row in (*rows, *(() if TARGET else ("saved",))):
            assert row in shown, shown
        opens = re.findall(r"--open (\w+)", re.sub(r"\\\n\s*", "", shown))[-1]
        assert f"{opens}  " in shown, "a row has that name"
    plain = command("trace", "--load", file, "--view", "modules", "--plain").out
    assert re.search(r"level 3: linear1  Linear; [\s\S]*\nlevel 3: relu; [\s\S]*\nlevel 3: linear2  Linear; ", plain)
    assert not set(plain) & set("│└├█")


def test_a_module_opens_natively(command: InProcess) -> None:
    given = ("m(x)", "--setup", "m = nn.Sequential(nn.Linear(3, 4), nn.ReLU())", "--var", "x=torch.randn(2, 3)")
    shown = command("trace", *given, "--open", "1", "--view", "path").out
    assert "1  ReLU.forward()" in shown
    assert "aten::relu" in shown
    assert "aten::addmm" not in shown


def test_what_a_function_of_yours_saves_is_of_no_operator_before_it(command: InProcess, tmp_path: Path) -> None:
    """argmax records no node, and the profiler gives it the number of the next one: the Function's."""
    forward = "def forward(ctx, i):\n  r = i * i\n  ctx.save_for_backward(i, r)\n  return r"
    backward = "def backward(ctx, g):\n  return 2 * ctx.saved_tensors[0] * g"
    setup = f"class Sq(torch.autograd.Function):\n @staticmethod\n {forward}\n @staticmethod\n {backward}"
    file = str(tmp_path / "x.trace")
    given = ("(a.argmax(), Sq.apply(a))[1]", "--setup", setup, "--grad", "--backward", "--save", file)
    hops = command("trace", *given, "--json").hops
    saved = {hop["name"]: hop["weights"]["saved"] for hop in hops if "saved" in (hop["weights"] or {})}
    assert saved == ({} if TARGET else {"Sq": 9 * 4}), "r of 3x3; a is a leaf"
    shown = command("trace", "--load", file, "--view", "modules", "--plain").out.splitlines()
    assert "backward" in next(row for row in shown if "Function.apply" in row)
    assert "backward" not in next(row for row in shown if "argmax" in row and row.startswith("level"))


def parts_of(plain: str) -> list[tuple[int, str, str]]:
    """The rows of a plain table of parts: level, name, what is told."""
    rows = re.findall(r"^level (\d+): ([^;,\n]+)(.*)$", plain, re.MULTILINE)
    return [(int(level), name.strip(), told) for level, name, told in rows]


def test_a_step_of_an_optimizer_holds_its_closure(command: InProcess) -> None:
    """How often the closure ran is that of plain Python."""
    setup = """p = nn.Parameter(torch.ones(2)); o = torch.optim.LBFGS([p], max_iter=2)
def closure():
    o.zero_grad(); l = (p * p).sum(); l.backward(); return l"""
    ran: list[torch.Tensor] = []
    names: dict[str, Any] = {"nn": nn, "torch": torch, "ran": ran}
    exec(f"{setup.removesuffix('return l')}ran.append(l); return l\no.step(closure)", names)
    plain = command("trace", "o.step(closure)", "--setup", setup, "--no-native", "--view", "modules", "--plain").out
    rows = parts_of(plain)
    names_of = [name for _, name, _ in rows]
    at = names_of.index("closure()")
    assert names_of[at - 1].startswith("LBFGS.step()"), plain
    assert rows[at][0] == rows[at - 1][0] + 1
    assert re.search(rf"\b{len(ran)}\b", rows[at][2]), plain
    assert "Tensor.backward()" in names_of
    assert "wrapper" not in plain


def test_the_kernels_of_an_optimizer_under_a_function_of_yours(command: InProcess) -> None:
    setup = """m = nn.Linear(2, 1); o = torch.optim.Adam(m.parameters(), foreach=True)
m(torch.ones(1, 2)).sum().backward()
def train(): o.step()"""
    plain = command("trace", "train()", "--setup", setup, "--no-native", "--view", "modules", "--plain").out
    model = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    model(torch.ones(1, 2)).sum().backward()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        optimizer.step()
    ran = {event.name.removeprefix("aten::") for event in profile.events() if event.name.startswith("aten::_foreach")}
    assert len(ran) > 5
    rows = {name.partition(" ")[0] for _, name, _ in parts_of(plain)}
    assert ran <= rows, plain
    assert {"train()", "Adam.step()"} <= rows
