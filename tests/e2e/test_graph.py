"""`ptexplore graph`: what is typed, and the screen; the graph itself is compared with torch in tests/probe."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.reasons import NoSuchVariable
from ptexplore.view.words import graph as says
from ptexplore.view.words.reasons import sentence
from tests.harness import TARGET, Cli, InProcess

pytestmark = pytest.mark.e2e
MODEL = """\
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.lin = nn.LayerNorm(4), nn.Linear(4, 4)
    def forward(self, x):
        return x + self.lin(self.norm(x))
m = nn.Sequential(*[Block() for _ in range(6)])
"""
SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(3, 2)
unused = nn.Linear(2, 2)


def step(x):
    loss = model(x).pow(2).mean()
    loss.backward()
    raise SystemExit(7)


step(torch.ones(4, 3))
"""


def rows(text: str) -> list[str]:
    """The rows below the facts."""
    return text.split("\n\n")[1].splitlines()[1:]


def saved(node: dict[str, Any]) -> dict[str, Any]:
    return {value["name"]: value for value in node.get("saved", [])}


def test_a_graph_as_json_and_on_a_screen(command: InProcess, cli: Cli) -> None:
    graph = command("graph", "torch.mm(a, b).exp().sum()", "--json").data
    nodes = graph["nodes"]
    assert [node["name"].rpartition("::")[2] for node in nodes[:3]] == ["SumBackward0", "ExpBackward0", "MmBackward0"]
    assert [edge["name"] for edge in nodes[2]["edges"]] == ["self", "mat2"]
    leaves = [nodes[edge["node"]]["leaf"]["names"] for edge in nodes[2]["edges"]]
    assert leaves == [["a"], ["b"]]
    formula = nodes[2]["formula"]
    assert cli.line_of(formula).startswith("- name: mm(")
    assert (
        cli.text_of(nodes[1]["apply"]["path"])
        .splitlines()[nodes[1]["apply"]["line"] - 1]
        .startswith("variable_list ExpBackward0::apply(")
    )
    if sys.version_info >= (3, 11) and TARGET is None:
        assert [node["made"]["text"] for node in nodes[1:3]] == ["torch.mm(a, b).exp()", "torch.mm(a, b)"]
    if graph["kept"] is not None:
        assert graph["kept"] == 36
        assert saved(nodes[1])["result"]["storages"] != saved(nodes[2])["self"]["storages"]
        holders = [graph["storages"][number]["holders"] for number in saved(nodes[2])["self"]["storages"]]
        assert ["name", "a"] in holders[0]
    text = command("graph", "torch.mm(a, b).exp().sum()").out
    assert [row.split()[-1].partition(":")[0] for row in rows(text)[:3]] == ["derivatives.yaml"] * 3
    assert "├ self: a" in text
    assert "└ mat2: b" in text


def test_repeated_blocks_are_one(command: InProcess) -> None:
    given = ("m(x).sum()", "--setup", MODEL, "--var", "x=torch.randn(2, 4)")
    text = command("graph", *given).out
    assert re.search(r"×5 +m\.5 … m\.1$", text, re.M)
    assert text.count("NativeLayerNormBackward0") == 2  # of the rounds, and of m.0, whose input has no node
    assert text.count("→ the next AddBackward0") == 2
    whole = command("graph", *given, "--full").out
    assert whole.count("NativeLayerNormBackward0") == 6
    assert whole.count("→ [") == 2 * 5
    assert "×" not in whole
    only = rows(command("graph", *given, "--only", "m.3.lin").out)
    assert [row.split()[1] for row in only if "├" in row or "│" in row][:1]
    assert all("m.3.lin" in row or "mat1" in row for row in only)


@pytest.mark.parametrize(
    "expression, name, reason, more",
    [
        ("(a * b).sum()", "a", "reached", ()),
        ("(a.detach() * b).sum()", "a", "detached", ()),
        ("((a * 2).detach() * b).sum()", "a", "detached", ()),
        ("(a.data * b).sum()", "a", "unreached", ()),
        ("(a * b).sum()", "c", "unreached", ("--var", "c=torch.ones(3)")),
        ("(a * b).sum()", "i", "dtype", ("--var", "i=torch.arange(3)")),
        ("(a * w).sum()", "w", "no-grad", ("--setup", "w = torch.ones(3, 3)")),
        ("(a * w).sum()", "w", "no-leaf", ("--setup", "w = torch.ones(3, 3, requires_grad=True) * 2")),
        ("a.sum()", "w", "no-leaf-unreached", ("--setup", "w = torch.ones(3, 3, requires_grad=True) * 2")),
        ("(a > 0).sum()", "a", "no-graph", ()),
        ("(a * b).sum()", "a", "no-graph", ("--with", "torch.no_grad()")),
        ("m(a).sum()", "m.bias", "no-grad", ("--setup", "m = nn.Linear(3, 2); m.bias.requires_grad_(False)")),
        (
            "m(a).sum()",
            "m.weight",
            "has-grad",
            ("--setup", "m = nn.Linear(3, 2); m(torch.ones(1, 3)).sum().backward()"),
        ),
    ],
)
def test_why(command: InProcess, expression: str, name: str, reason: str, more: tuple[str, ...]) -> None:
    graph = command("graph", expression, "--why", name, *more, "--json").data
    assert [(why["name"], why["reason"]) for why in graph["why"]] == [(name, reason)]


def test_why_on_a_screen(command: InProcess) -> None:
    text = " ".join(command("graph", "(a.detach() * b).sum()", "--why", "a", "--why", "b").out.split())
    assert "no gradient from here: a" in text
    words = says.WHY["detached"].format(result=says.RESULT, code="a.detach()", place="<expression>:1")
    assert f"a {words} b {says.WHY['reached']}" in text


def test_a_script_up_to_its_first_backward(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    graph = command("graph", "loss", "--script", str(script), "--why", "unused.weight", "--json").data
    assert graph["why"][0]["reason"] == "unreached"
    assert [node["name"] for node in graph["nodes"][:3]] == ["MeanBackward0", "PowBackward0", "AddmmBackward0"]
    assert [node["made"]["line"] for node in graph["nodes"][:3]] == [9, 9, 9]
    assert graph["nodes"][2]["made"]["module"] == "model"
    names = {name for node in graph["nodes"] for name in (node.get("leaf") or {}).get("names", ())}
    assert names == {"model.weight", "model.bias"}
    refused = command("graph", "losses", "--script", str(script)).three_parts(2)
    assert refused.err.startswith(f"error: {sentence(NoSuchVariable('losses'))}")
    alone = command("graph", "--script", str(script), "--json").data
    assert [node["name"] for node in alone["nodes"]] == [node["name"] for node in graph["nodes"]]


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        ((), 2, "give EXPR or --script FILE"),
        (("a.sum()", "--leak"), 2, "--leak"),
        (("a.sum()", "--steps", "3"), 2, "--steps"),
        (("3",), 2, "3"),
        (("{'a': 'b'}",), 2, "{'a': 'b'}"),
        (("a.view(5)",), 1, "invalid for input of size 9"),
        (("a +",), 2, "invalid syntax"),
        (("a.sum()", "--why", "z"), 2, "there is no tensor z"),
        (("a.sum()", "--depth", "0"), 2, "--depth must be 1 or more"),
        (("a.sum()", "--run", "--memory"), 2, "--run and --memory exclude each other"),
        (("loss", "--script", "missing.py"), 2, "missing.py"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input(command: InProcess, arguments: tuple[str, ...], code: int, words: str) -> None:
    assert words in command("graph", *arguments).three_parts(code).err


def test_a_value_without_gradient_has_no_graph(command: InProcess) -> None:
    text = command("graph", "torch.ones(3)").out
    assert "there is no graph: Tensor[3] float32 cpu does not require grad" in text


def test_a_value_of_your_own_process(cli: Cli) -> None:
    code = """
import json, torch, ptexplore
w = torch.ones(3, requires_grad=True)
versions = w._version
loss = (w * 2).exp().sum()
graph = ptexplore.graph(loss)
assert [node.name for node in graph.nodes[:3]] == ["SumBackward0", "ExpBackward0", "MulBackward0"], graph.nodes
assert graph.nodes[3].leaf.names == ("w",)
assert graph.why("w").reason == "reached"
assert (w._version, w.grad) == (versions, None)
loss.backward()
assert w.grad is not None
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    seen = ptexplore.graph((w * 3).sum())
assert seen.nodes[1].made.line == 14, seen.nodes[1].made
try:
    ptexplore.graph([1])
except ptexplore.PtexploreError as error:
    print(error.message)
"""
    file = cli.cwd / "own.py"
    file.write_text(code, encoding="utf-8")
    if TARGET is not None:
        pytest.skip("the value is of the Python that runs the test")
    done = subprocess.run([cli.python, str(file)], env=cli.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "has no tensor" in done.stdout


def test_the_picture(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "graph.svg"
    assert command("graph", "a.exp().sum()", "--svg", str(file)).code == 0
    assert "ExpBackward0" in file.read_text(encoding="utf-8")


def test_what_backward_does(command: InProcess) -> None:
    given = ("graph", "torch.mm(a, b).exp().sum() + a.sum()", "--run")
    shown = command(*given).out
    table = [line.split() for line in shown.splitlines() if re.match(r" +\d+ ", line)]
    assert [row[0] for row in table] == [str(number) for number in range(1, 8)]
    assert [row[3] for row in table][:1] + [row[3] for row in table][-2:] == ["AddBackward0", "a", "b"]
    assert "[3, 3], the sum of 2 → .grad, which was None" in shown
    assert "self: grad * result.conj()" in shown
    document = command(*given, "--json").data
    names = [document["nodes"][node["node"]]["name"].rpartition("::")[2] for node in document["run"]["ran"]]
    assert names[0] == "AddBackward0"
    assert names[-2:] == ["AccumulateGrad"] * 2
    assert document["run"]["error"] == ""


def test_a_backward_that_raises(command: InProcess) -> None:
    setup = "def f(a):\n    b = a.exp()\n    c = b * b\n    b.add_(1)\n    return c"
    shown = " ".join(command("graph", "f(a).sum()", "--setup", setup, "--run").out.split())
    assert "backward raised RuntimeError in MulBackward0: one of the variables needed for gradient" in shown
    assert "it did not end" in shown


def test_backward_over_a_script(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    ran = command("graph", "loss", "--script", str(script), "--run", "--json").data["run"]["ran"]
    assert [node["received"][0]["sizes"] for node in ran[:3]] == [[], [4, 2], [4, 2]]


LEAKING = """\
import torch
from torch import nn

history = []
model = nn.Linear(64, 32)


def step(x):
    out = model(x).relu()
    history.append(out)
    return out.sum()


for _ in range(3):
    loss = step(torch.randn(50, 64))
loss.backward()
"""


def test_who_holds_memory(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LEAKING, encoding="utf-8")
    graph = command("graph", "--memory", "--script", str(script), "--json").data
    sums: dict[str, int] = {}
    for owner in graph["memory"]:
        sums[owner["owner"]] = sums.get(owner["owner"], 0) + owner["bytes"]
    assert sums["parameter"] == 4 * (64 * 32 + 32)
    if graph["kept"] is not None:
        older = [
            (o["name"], o["bytes"]) for o in graph["memory"] if o["owner"] == "graph" and o["bytes"] == 4 * 50 * 64
        ]
        assert older == [("history[0]", 4 * 50 * 64), ("history[1]", 4 * 50 * 64)]
    shown = command("graph", "--memory", "--script", str(script)).out
    assert re.search(r"^ +8\.3 kB +\d+%  \S", shown, re.M)
    assert "history[0]" in shown
    watched = graph["watched"]
    assert watched["peak"]["bytes"] == sum(part["bytes"] for part in watched["peak"]["parts"])
    assert watched["peak"]["moment"]["made"]["file"] == str(script)
    assert says.OWNERS["temporary"] in shown


def test_what_steps_leave_behind(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    loop = "for _ in range(7):\n    loss = step(torch.randn(50, 64))\n    loss.backward()\n"
    script.write_text(LEAKING.partition("for _ in")[0] + loop, encoding="utf-8")
    shown = command("graph", "--leak", "--script", str(script)).out
    assert "history[…]" in shown
    assert says.LEFT_EACH in shown
    short = command("graph", "--leak", "--script", str(script), "--steps", "9").out
    assert "history[…]" in short


def test_a_saved_graph_is_shown_again(command: InProcess, tmp_path: Path) -> None:
    file = tmp_path / "run.graph"
    shown = command("graph", "(a.detach() * b).exp().sum()", "--memory", "--save", str(file)).out
    assert command("graph", "--load", str(file), "--memory").out == shown
    again = command("graph", "--load", str(file), "--json").data
    assert [node["name"] for node in again["nodes"][:2]] == ["SumBackward0", "ExpBackward0"]
    assert command("graph", "--load", str(file), "--why", "a", "--json").data["why"][0]["reason"] == "detached"
    assert "--run" in command("graph", "--load", str(file), "--run").three_parts(2).err
    assert "--load" in command("graph", "a", "--load", str(file)).three_parts(2).err
    command("graph", "a.exp().sum()")
    last = command("graph", "--last", "--json").data
    assert last["expression"] == "a.exp().sum()"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"kind":"graph"', '"kind":"lower"'),
        lambda text: text.replace('"node":1', '"node":0'),
        lambda text: text.replace('"node":1', '"node":999'),
        lambda text: text.replace('"storages":[0]', '"storages":[77]'),
    ],
    ids=["cut", "another kind", "a circle", "no such node", "no such storage"],
)
def test_a_saved_graph_is_not_trusted(command: InProcess, tmp_path: Path, change: Any) -> None:
    file, bad = tmp_path / "run.graph", tmp_path / "bad.graph"
    command("graph", "a.exp().sum()", "--save", str(file))
    text = gzip.decompress(file.read_bytes()).decode()
    if change(text) == text:
        pytest.skip("this torch does not say what a node saved")
    bad.write_text(change(text), encoding="utf-8")
    assert "is not a saved run of ptexplore graph" in command("graph", "--load", str(bad)).three_parts(2).err
