"""Backward that came to a part of the graph which was freed: the lines, and the mend, which plain torch takes.

Each program raises "Trying to backward through the graph a second time". Comments mark its lines: what recorded the
node (R), which backward freed it (F), what used a result of it since (U). The advised mend is made in the text, and the
program then ends well.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from ptexplore.view.words.causes import ENGLISH
from tests.harness import InProcess

pytestmark = pytest.mark.e2e

BEGIN = """import torch
from torch import nn
"""
GAN = """G, D = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
og, od = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
for step in range(2):
    fake = G(torch.randn(2, 3))  # R
"""
NET = """net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
opt = torch.optim.SGD(net.parameters(), 0.1)
"""


class Case(NamedTuple):
    """A program, the situation it is in, the names that lead to the node, and texts to put in to mend it."""

    text: str
    situation: str
    names: Sequence[str]
    mends: Sequence[tuple[str, str]]


CASES = {
    "a state in a name": Case(
        """rnn, head = nn.RNN(4, 8, batch_first=True), nn.Linear(8, 1)
opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(1, 2, 8)
for _ in range(3):
    out, h = rnn(torch.randn(2, 5, 4), h)  # R U
    head(out).mean().backward()  # F
    opt.step(); opt.zero_grad()
""",
        "state",
        ["h"],
        [("opt.step();", "h = h.detach(); opt.step();")],
    ),
    "a state in a module's list": Case(
        """class Evolve(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRUCell(8, 8)
        self.state = [torch.zeros(8, 8)]
    def forward(self, x):
        self.state[0] = self.gru(self.state[0], self.state[0])  # R U
        return x @ self.state[0]
model = Evolve()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(2, 8)).mean()
    loss.backward()  # F
    opt.step(); opt.zero_grad()
""",
        "state",
        ["model.state[0]"],
        [("opt.step();", "model.state[0] = model.state[0].detach(); opt.step();")],
    ),
    "truncated backpropagation, with a tuple as the state": Case(
        """class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head, self.hidden = nn.LSTMCell(3, 4), nn.Linear(4, 1), None
    def forward(self, x):
        for t in range(x.size(0)):
            self.hidden = self.cell(x[t], self.hidden)  # R U
        return self.head(self.hidden[0])
net = Lstm()
opt = torch.optim.Adam(net.parameters())
def train(chunk):
    opt.zero_grad()
    loss = net(chunk).pow(2).mean()
    loss.backward()  # F
    opt.step()
for chunk in torch.randn(9, 2, 3).split(3):
    train(chunk)
""",
        "state",
        ["net.hidden[0]", "net.hidden[1]"],
        [("    opt.step()", "    opt.step(); net.hidden = tuple(h.detach() for h in net.hidden)")],
    ),
    "a list of losses": Case(
        NET
        + """losses = []
for step in range(3):
    losses.append(net(torch.randn(2, 3)).mean())  # R
    opt.zero_grad()
    torch.stack(losses).mean().backward()  # F U
    opt.step()
""",
        "state",
        ["losses[0]"],
        [("    opt.step()", "    opt.step(); losses[-1] = losses[-1].detach()")],
    ),
    "a sum of losses": Case(
        NET
        + """total_loss = 0
for step in range(3):
    loss = net(torch.randn(2, 3)).pow(2).mean()  # R
    total_loss += loss  # U
    opt.zero_grad()
    total_loss.backward()  # F
    opt.step()
""",
        "state",
        ["total_loss"],
        [("    opt.step()", "    opt.step(); total_loss = total_loss.detach()")],
    ),
    "a tensor made in __init__": Case(
        """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.positions = torch.sin(self.scale * torch.arange(4.0))  # R
        self.out = nn.Linear(4, 1)
    def forward(self, x):
        return self.out(x.mul(self.positions))  # U
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    net(torch.randn(2, 4)).mean().backward()  # F
    opt.step(); opt.zero_grad()
""",
        "once",
        ["net.positions"],
        [("x.mul(self.positions)", "x.mul(torch.sin(self.scale * torch.arange(4.0)))")],
    ),
    "a cached tensor that needs no gradient": Case(
        NET
        + """table = net(torch.eye(3))  # R
head = nn.Linear(3, 1)
for step in range(3):
    head(table).mean().backward()  # F U
""",
        "once",
        ["table"],
        [("head(table)", "head(table.detach())")],
    ),
    "both losses of a GAN, the discriminator's first": Case(
        GAN
        + """    d_loss = D(fake).mean() - D(torch.randn(2, 4)).mean()
    od.zero_grad()
    d_loss.backward()  # F
    od.step()
    g_loss = -D(fake).mean()  # U
    og.zero_grad()
    g_loss.backward()
    og.step()
""",
        "uses",
        ["fake"],
        [("d_loss = D(fake)", "d_loss = D(fake.detach())")],
    ),
    "both losses of a GAN, the generator's first": Case(
        GAN
        + """    g_loss = -D(fake).mean()
    og.zero_grad()
    g_loss.backward()  # F
    og.step()
    d_loss = D(fake).mean() - D(torch.randn(2, 4)).mean()  # U
    od.zero_grad()
    d_loss.backward()
    od.step()
""",
        "uses",
        ["fake"],
        [("d_loss = D(fake)", "d_loss = D(fake.detach())")],
    ),
    "a gradient and a loss of one result": Case(
        """def run():
    w = torch.ones(3, requires_grad=True)
    y = w.exp()  # R
    g, = torch.autograd.grad(y.sum(), w)  # F
    loss = torch.mul(y, g).sum()  # U
    loss.backward()
run()
""",
        "uses",
        ["y"],
        [("(y.sum(), w)", "(y.sum(), w, retain_graph=True)")],
    ),
    "two losses of one forward": Case(
        NET
        + """y = net(torch.randn(2, 3))  # R
first, second = y.mean(), y.pow(2).mean()
first.backward()  # F
second.backward()
opt.step()
""",
        "losses",
        ["second"],
        [("first.backward()", "(first + second).backward()"), ("\nsecond.backward()", "")],
    ),
    "one loss in each round": Case(
        """w = torch.ones(3, requires_grad=True)
loss = (w * 2).exp().sum()  # R
for epoch in range(2):
    loss.backward()  # F
""",
        "same",
        ["loss"],
        [("    loss.backward()", "    loss = (w * 2).exp().sum()\n    loss.backward()")],
    ),
}


def marked(text: str, mark: str) -> set[int]:
    lines = enumerate(text.splitlines(), 1)
    return {number for number, line in lines if mark in line.partition("#")[2].split()}


@pytest.mark.parametrize("name", CASES)
def test_the_lines_the_names_and_the_situation(compiler_command: InProcess, tmp_path: Path, name: str) -> None:
    case, script = CASES[name], tmp_path / "train.py"
    text = BEGIN + case.text
    script.write_text(text, encoding="utf-8")
    result = compiler_command("trace", "--script", str(script), "--native-budget", "0", "--json")
    ending = json.loads(result.out)["ending"]
    freed = ending["freed"]
    assert freed["situation"] == case.situation
    assert freed["recorded"]["source"]["line"] in marked(text, "R")
    assert freed["freed"]["source"]["line"] in marked(text, "F")
    assert {use["source"]["line"] for use in freed["uses"]} == marked(text, "U")
    assert freed["names"] == list(case.names)
    assert (freed["recorded_after"], freed["freed_by"], freed["backwards"]) == (0, 1, 2)
    assert ending["cause"]["code"] == f"freed-{case.situation}"
    if case.situation in ("state", "once", "uses"):
        assert set(case.names) <= {held.strip("`") for held in ending["cause"]["arguments"]["names"]}


@pytest.mark.words
def test_only_a_state_that_is_kept_is_not_mended_by_keeping_the_graph() -> None:
    situations = {case.situation for case in CASES.values()}
    warned = {name for name in situations if "retain_graph=True is not a fix" in ENGLISH[f"freed-{name}"].remedy}
    assert warned == {"state"}


def test_each_program_raises_and_mended_it_does_not(tmp_path: Path) -> None:
    """By plain torch, without us."""
    for number, (name, case) in enumerate(CASES.items()):
        mended = case.text
        for old, new in case.mends:
            assert old in mended, name
            mended = mended.replace(old, new)
        (tmp_path / f"raises{number}.py").write_text(BEGIN + case.text, encoding="utf-8")
        (tmp_path / f"ends{number}.py").write_text(BEGIN + mended, encoding="utf-8")
    check = """
import pathlib, runpy, sys
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    try:
        runpy.run_path(str(file))
        print(file.stem, "ends")
    except RuntimeError as error:
        print(file.stem, "raises" if "a second time" in str(error) else error)
"""
    told = subprocess.run([sys.executable, "-c", check, str(tmp_path)], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:-1] == sorted(
        f"{kind}{number} {kind}" for kind in ("ends", "raises") for number in range(len(CASES))
    )


def test_an_expression_is_asked_once_more(command: InProcess) -> None:
    setup = "w = torch.ones(3, requires_grad=True)\ny = w.exp()\ny.sum().backward()"
    result = command("trace", "y.mean()", "--setup", setup, "--backward", "--no-native", "--json")
    freed = json.loads(result.out)["ending"]["freed"]
    assert (freed["node"], freed["recorded"]["operator"], freed["situation"]) == ("ExpBackward0", "aten::exp", "uses")
    assert (freed["recorded"]["source"]["line"], freed["freed"]["source"]["line"]) == (2, 3)
    shown = " ".join(command("trace", "y.mean()", "--setup", setup, "--backward", "--no-native").out.split())
    assert "y = w.exp() <--setup 1>:2" in shown
    assert "y.sum().backward() <--setup 1>:3" in shown


def test_a_message_alone_gets_no_single_advice(command: InProcess, tmp_path: Path) -> None:
    pasted = tmp_path / "pasted.txt"
    pasted.write_text(
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they"
        " have already been freed).\n",
        encoding="utf-8",
    )
    told = json.loads(command("explain-error", str(pasted), "--json").out)
    assert told["remedy"] is None
    assert len(told["cases"]) == 5
    shown = " ".join(command("explain-error", str(pasted)).out.split())
    assert all(" ".join(case["remedy"].split()) in shown for case in told["cases"])


CUBIC = """class Cubic(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g
x = torch.ones((), requires_grad=True)
"""
KEEP = ("backward()", "backward(retain_graph=True)")
# A program that reads what a backward has freed, and two mends of it.
READS = {
    "of a Function's node": (
        CUBIC + "y = Cubic.apply(x)\ny.backward()\ny.grad_fn.saved_tensors\n",
        [KEEP, ("y.backward()\ny.grad_fn.saved_tensors", "y.grad_fn.saved_tensors\ny.backward()")],
    ),
    "of an operator's node, by its name": (
        CUBIC + 'y = x.exp()\ny.backward()\nprint(getattr(y.grad_fn, "_saved_result"))\n',
        [KEEP, ("y.backward()\n", "kept = y.grad_fn._saved_result; y.backward()\ny = x.exp()\n")],
    ),
    "in a hook of the backward that has freed them": (
        CUBIC + "y = Cubic.apply(x)\nz = y.sin()\ny.register_hook(lambda g: z.grad_fn._saved_self * g)\nz.backward()\n",
        [KEEP, ("lambda g: z.grad_fn._saved_self * g", "lambda g, s=z.grad_fn._saved_self: s * g")],
    ),
}


@pytest.mark.parametrize("name", READS)
def test_saved_tensors_that_you_read_yourself_were_no_backwards(command: InProcess, tmp_path: Path, name: str) -> None:
    text, mends = READS[name]
    script = tmp_path / "train.py"
    script.write_text(BEGIN + text, encoding="utf-8")
    ending = json.loads(command("trace", "--script", str(script), "--native-budget", "0", "--json").out)["ending"]
    assert ending["python"][-1]["source"]["line"] == len((BEGIN + text).splitlines())
    assert ending["cause"]["code"] == "freed-read"
    assert (ending["freed"], ending["cause"]["cases"]) == (None, [])
    for old, new in [("", ""), *mends]:  # by plain torch, without us
        assert old in text
        run = subprocess.run(
            [sys.executable, "-c", BEGIN + text.replace(old, new, 1)], capture_output=True, text=True, check=False
        )
        assert ("already been freed" in run.stderr) is (not old)
        assert run.returncode == (0 if old else 1), run.stderr


def test_the_part_of_an_expression_that_read_them(command: InProcess) -> None:
    setup = CUBIC + "y = Cubic.apply(x)"
    result = command("trace", "y.backward() or y.grad_fn.saved_tensors", "--setup", setup, "--no-native", "--json")
    ending = json.loads(result.out)["ending"]
    assert (ending["call"], ending["cause"]["code"]) == ("y.grad_fn.saved_tensors", "freed-read")


def test_a_functions_own_backward_that_runs_again_is_a_backward(command: InProcess) -> None:
    setup = CUBIC + "y = Cubic.apply(x)"
    result = command("trace", "y.backward() or y.backward()", "--setup", setup, "--no-native", "--json")
    ending = json.loads(result.out)["ending"]
    assert (ending["call"], ending["freed"]["situation"]) == ("y.backward()", "same")
    assert ending["cause"]["code"] == "freed-same"


def test_nothing_that_a_program_holds_is_run_to_find_the_names(command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        BEGIN
        + """class Loud:
    def __init__(self): self.kept = None
    @property
    def value(self): open("ASKED", "w")
    def __getattribute__(self, name):
        if name != "kept": open("ASKED", "w")
        return object.__getattribute__(self, name)
    def __iter__(self): open("ASKED", "w"); return iter(())
    __len__ = __bool__ = __eq__ = __hash__ = __iter__
loud = Loud()
w = torch.ones(2, requires_grad=True)
loud.kept = w.exp()
loud.kept.sum().backward()
loud.kept.mean().backward()
""".replace("ASKED", str(tmp_path / "asked")),
        encoding="utf-8",
    )
    result = command("trace", "--script", str(script), "--native-budget", "0", "--json")
    trace = json.loads(result.out)
    assert trace["ending"]["freed"]["names"] == ["loud.kept"]
    assert not (tmp_path / "asked").exists()
