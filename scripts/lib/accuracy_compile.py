"""How true `ptexplore compile` is: programs with planted recompilations and breaks, whose lines are known.

The truth is the generator's: it knows which line it wrote, and which value it changed. A function of each plant stands
in several surroundings: alone, in a helper, in a helper of a helper, in a method, in a module, in a module of a module,
after other operators, after a graph break.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lib.accuracy_report import Report


class Steps(Protocol):
    """Says each step."""

    def step(self, name: str) -> None: ...


SURROUNDINGS = ("direct", "helper", "two helpers", "method", "module", "inner module", "later", "after a break")
_PRELUDE = "import sys\nimport time\nimport torch\nfrom torch import nn\n\ntorch._dynamo.config.recompile_limit = 64\n"


@dataclass(frozen=True)
class Planted:
    """A plant: the statements that make the guard or break, and how it is called."""

    name: str
    body: str  # statements on `x`, `p` and `r`, the result; the line of the plant ends in "# HERE".
    first: str  # the arguments of the first call: "torch.ones(2), None".
    second: str = ""  # those of the second call.
    between: str = ""  # statements between the calls.
    context: str = ""  # a context manager around the second call.
    checks: frozenset[str] = frozenset()  # the kinds of guard that name the planted change.
    has_line: bool = True  # whether a line of the program made the guard.
    options: str = ""
    before: str = ""  # statements before the function.


_X = "r = x * 2  # HERE"
AGAIN = (
    Planted("size", _X, "torch.ones(2), 0", "torch.ones(4), 0", checks=frozenset({"size"}), options=", dynamic=False"),
    Planted("stride", _X, "torch.ones(3, 4), 0", "torch.ones(4, 3).t(), 0", checks=frozenset({"stride"})),
    Planted("dtype", _X, "torch.ones(2), 0", "torch.ones(2).double(), 0", checks=frozenset({"dtype"})),
    Planted("requires_grad", _X, "torch.ones(2), 0", "torch.ones(2, requires_grad=True), 0",
            checks=frozenset({"requires_grad"})),
    Planted("integer", "r = x * p  # HERE", "torch.ones(2), 5", "torch.ones(2), 7", checks=frozenset({"value"}),
            options=", dynamic=False"),
    Planted("text", 'r = x.sin() if p == "a" else x.cos()  # HERE', 'torch.ones(2), "a"', 'torch.ones(2), "b"',
            checks=frozenset({"value"})),
    Planted("global", "r = x * GLOBAL  # HERE", "torch.ones(2), 0", "torch.ones(2), 0", "GLOBAL = 9",
            checks=frozenset({"value"}), before="GLOBAL = 8"),
    Planted("closure", "r = x * cell()  # HERE", "torch.ones(2), 0", "torch.ones(2), 0", "change(4)",
            checks=frozenset({"value"}),
            before="def make(n):\n    def cell():\n        return n\n    def change(k):\n        nonlocal n\n"
                   "        n = k\n    return cell, change\n\n\ncell, change = make(3)"),  # guarded where it is called
    Planted("attribute", 'r = x + 1 if p.mode == "a" else x + 2  # HERE', "torch.ones(2), HOLDER",
            "torch.ones(2), HOLDER", 'HOLDER.mode = "b"', checks=frozenset({"value"}),
            before="class Holder:\n    mode = None\n\n\nHOLDER = Holder()\nHOLDER.mode = 'a'"),
    Planted("default", "r = with_default(x)", "torch.ones(2), 0", "torch.ones(2), 0",
            "with_default.__defaults__ = (4,)", checks=frozenset({"value", "object"}),
            before="def with_default(x, k=3):\n    return x * k  # HERE"),
    Planted("dict order", "r = x\n    for k in p:  # HERE\n        r = r * p[k]",
            'torch.ones(2), {"a": 2.0, "b": 3.0}', 'torch.ones(2), {"b": 3.0, "a": 2.0}',
            checks=frozenset({"value"})),  # the guard is on the key at each position
    Planted("length", "r = x\n    for k in p:  # HERE\n        r = r + k", "torch.ones(2), [1]",
            "torch.ones(2), [1, 2]", checks=frozenset({"length"})),
    Planted("grad mode", _X, "torch.ones(2), 0", "torch.ones(2), 0", context="torch.no_grad()",
            checks=frozenset({"state"}), has_line=False),
    Planted("threads", _X, "torch.ones(2), 0", "torch.ones(2), 0",
            "torch.set_num_threads(1 if torch.get_num_threads() > 1 else 2)", checks=frozenset({"state"}),
            has_line=False),
)  # fmt: skip
BREAKS = (
    Planted("print", 'print("x")  # HERE\n    r = x + 1', "torch.ones(2), 0"),
    Planted("item", "r = x * x.sum().item()  # HERE", "torch.ones(2), 0"),
    Planted("branch", "r = x + 1\n    if r.sum() > 0:  # HERE\n        r = r + 2", "torch.ones(2), 0"),
    Planted("while", "r = x + 1\n    while r.sum() < 0:  # HERE\n        r = r + 2", "torch.ones(2), 0"),
    Planted("disabled", "r = left_alone(x)  # HERE", "torch.ones(2), 0",
            before="@torch.compiler.disable\ndef left_alone(x):\n    return x.tan()"),
    Planted("graph_break", "torch._dynamo.graph_break()  # HERE\n    r = x + 1", "torch.ones(2), 0"),
    Planted("write", 'sys.stdout.write("x")  # HERE\n    r = x + 1', "torch.ones(2), 0"),
    Planted("sleep", "time.sleep(0)  # HERE\n    r = x + 1", "torch.ones(2), 0"),
)  # fmt: skip


def program(plants: tuple[Planted, ...], surroundings: tuple[str, ...] = SURROUNDINGS) -> tuple[str, dict[str, int]]:
    """Returns the text of a program, and the line of each plant by the name of its function."""
    units = (_unit(plant, each, _tag(plant, each)) for plant in plants for each in surroundings)
    text = "\n\n".join((_PRELUDE, *units)) + "\n"
    lines: dict[str, int] = {}
    current = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("# PLANT "):
            current = line.removeprefix("# PLANT ")
        elif line.endswith("# HERE"):
            lines[current] = number
    return text, lines


def _tag(plant: Planted, surrounding: str) -> str:
    return f"{plant.name}_{surrounding}".replace(" ", "_")


def _unit(plant: Planted, surrounding: str, tag: str) -> str:
    """Returns one plant in one surrounding: definitions and calls."""
    names = {"GLOBAL": f"GLOBAL_{tag}", "HOLDER": f"HOLDER_{tag}", "with_default": f"with_default_{tag}"}
    body = indent(plant.body.replace("\n    ", "\n"), "    ")
    helper = f"def inner_{tag}(x, p):\n{body}\n    return r"
    compiled = f'@torch.compile(backend="eager"{plant.options})\n'
    if surrounding == "direct":
        made = f"{compiled}def f_{tag}(x, p):\n{body}\n    return r"
    elif surrounding == "later":
        made = f"{compiled}def f_{tag}(x, p):\n    q = torch.zeros(2).sin()\n{body}\n    return r.exp() + q.sum()"
    elif surrounding == "after a break":
        made = f"{compiled}def f_{tag}(x, p):\n    q = torch.zeros(2).sin()\n    torch._dynamo.graph_break()\n{body}\n"
        made += "    return r + q.sum()"
    elif surrounding == "helper":
        made = f"{helper}\n\n\n{compiled}def f_{tag}(x, p):\n    return inner_{tag}(x, p)"
    elif surrounding == "two helpers":
        made = f"{helper}\n\n\ndef between_{tag}(x, p):\n    return inner_{tag}(x, p)\n\n\n"
        made += f"{compiled}def f_{tag}(x, p):\n    return between_{tag}(x, p) + 1"
    elif surrounding == "method":
        own = indent(f"def run(self, x, p):\n{body}\n    return r", "    ")
        made = f"class C_{tag}:\n{own}\n\n\no_{tag} = C_{tag}()\n\n\n{compiled}def f_{tag}(x, p):\n"
        made += f"    return o_{tag}.run(x, p)"
    else:
        own = indent(f"def forward(self, x, p):\n{body}\n    return r", "    ")
        made = f"class M_{tag}(nn.Module):\n{own}"
        top = f"M_{tag}()"
        if surrounding == "inner module":
            made += f"\n\n\nclass T_{tag}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            made += f"        self.m = M_{tag}()\n\n    def forward(self, x, p):\n        return self.m(x, p) + 1"
            top = f"T_{tag}()"
        made += f'\n\n\nf_{tag} = torch.compile({top}, backend="eager"{plant.options})'
    calls = f"f_{tag}({plant.first})"
    if plant.second:
        second = f"f_{tag}({plant.second})"
        second = f"with {plant.context}:\n    {second}" if plant.context else second
        calls += "\n" + "\n".join(filter(None, (plant.between, second)))
    unit = "\n\n\n".join(filter(None, (f"# PLANT {tag}", plant.before, made, calls)))
    for name, own_name in names.items():
        unit = unit.replace(name, own_name)
    if plant.name == "closure":
        unit = unit.replace("cell, change = make", f"cell_{tag}, change_{tag} = make")
        unit = unit.replace("cell()  # HERE", f"cell_{tag}()  # HERE").replace("change(4)", f"change_{tag}(4)")
    return unit


def compiled(text: str, python: str | None) -> dict[str, Any]:
    """Returns what `ptexplore compile` says about a program."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "planted.py")
        script.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "ptexplore", "compile", "--script", str(script), "--json", "--timeout", "3000"]
        ended = subprocess.run(
            [*command, *(("--python", python) if python else ())], capture_output=True, text=True, check=False
        )
        start = ended.stdout.find('{"')
        if start < 0:
            raise SystemExit(ended.stderr[-2000:])
        document: dict[str, Any] = json.loads(ended.stdout[start:])
        return document


@dataclass(frozen=True)
class Answer:
    """How many plants of one kind were found, and what differs in the others."""

    kind: str
    planted: int
    named: int  # the change is named
    with_line: int  # plants with a line
    lines: int  # whose line is right
    wrong: tuple[str, ...]


def recompilations(python: str | None, plants: tuple[Planted, ...] = AGAIN) -> list[Answer]:
    """Returns, for each planted reason, how often ptexplore names the guard and the line that made it."""
    text, lines = program(plants)
    document = compiled(text, python)
    answers = []
    for plant in plants:
        named, right, wrong = 0, 0, []
        for surrounding in SURROUNDINGS:
            tag = _tag(plant, surrounding)
            found = [
                c for again in document["recompilations"] if _is_of(again["function"], tag) for c in again["checks"]
            ]
            good = [check for check in found if check["checks"] in plant.checks]
            named += bool(good)
            at = {check["at"]["line"] for check in good if check["at"] is not None}
            is_right = at == ({lines[tag]} if plant.has_line else set())
            right += is_right
            if not (good and is_right):
                wrong.append(f"{tag}: line {lines.get(tag)}, said {sorted(at)}, {[c['text'] for c in found][:2]}")
        count = len(SURROUNDINGS)
        answers.append(Answer(plant.name, count, named, count if plant.has_line else 0, right, tuple(wrong)))
    return answers


def breaks(python: str | None, plants: tuple[Planted, ...] = BREAKS) -> list[Answer]:
    """Returns, for each planted break, how often ptexplore names its line, and no other."""
    text, lines = program(plants)
    document = compiled(text, python)
    answers = []
    for plant in plants:
        right, wrong = 0, []
        for surrounding in SURROUNDINGS:
            tag = _tag(plant, surrounding)
            own = [f for f in document["functions"] if _is_of(f["name"], tag)]
            at = {b["at"]["line"] for function in own for b in function["breaks"] if b["at"] is not None}
            expected = {lines[tag]}
            if surrounding == "after a break":  # with the break before it, which is two lines above or so
                at = {line for line in at if line >= lines[tag] - 1}
                at -= {min(at)} if len(at) > 1 else set()
            right += at == expected
            if at != expected:
                wrong.append(f"{tag}: line {lines[tag]}, said {sorted(at)}, {[f['outcome'] for f in own]}")
        count = len(SURROUNDINGS)
        answers.append(Answer(plant.name, count, right, count, right, tuple(wrong)))
    return answers


def _is_of(function: str, tag: str) -> bool:
    return function in (f"f_{tag}", f"M_{tag}.forward", f"T_{tag}.forward")


def compile_report(python: str | None, steps: Steps) -> Report:
    """Returns the figures of all planted programs."""
    from lib.accuracy_report import Figure, Report, machine
    from lib.accuracy_tlparse import differences, tlparse

    from ptexplore import __version__

    steps.step("planted recompilations")
    again = recompilations(python)
    steps.step("planted breaks")
    broken = breaks(python)
    report = Report([("machine", machine()), ("ptexplore", __version__), ("torch of", python or sys.executable)])
    for title, answers in (("recompilation", again), ("graph break", broken)):
        for answer in answers:
            least = 100.0
            what = f"{title}: {answer.kind}"
            report.figures.append(Figure(f"{what}, named", answer.named, answer.planted, least, "programs with it"))
            if answer.with_line:
                figure = Figure(
                    f"{what}, your line", answer.lines, answer.with_line, least, "programs with a line of it"
                )
                report.figures.append(figure)
        wrong = [row for answer in answers for row in answer.wrong]
        if wrong:
            report.details.append((f"{title}: different", wrong))
    if tlparse() is not None:
        steps.step("tlparse")
        for kind, equal, count, differing in differences(python):
            report.figures.append(Figure(f"as tlparse: {kind}", equal, count, 100.0, "programs with both plants"))
            if differing:
                report.details.append((f"tlparse, {kind}: different", differing))
    return report
