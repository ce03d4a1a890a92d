"""Real call trees for the tests of the readable tree: expressions stepped once, in a process of their own."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from ptexplore.capture.native.record import build
from ptexplore.capture.native.stepped_call import SteppedCall
from ptexplore.capture.native.symbols import Symbols, demangle
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import Said
from ptexplore.model.trace import Hop, NativeCall
from ptexplore.view.trace.native_names import plain
from tests.harness import made_once

ROOT = Path(__file__).resolve().parents[3]
EXPRESSIONS = {
    "first": "F.conv2d(x, w)",  # alone without a warm-up
    "add": "torch.add(g, g)",
    "in place": "g.clone().add_(b)",
    "detached": "g.detach()",
    "range": "torch._C._profiler._RecordFunctionFast('mine').__enter__()",
    "view": "g.view(-1)",
    "matmul": "a @ g",
    "softmax": "F.softmax(a, -1)",
    "conv2d": "F.conv2d(x, w)",
    "sum": "a.sum()",
    "index": "a[i]",
    "norm": "F.layer_norm(g, (3,))",
    "linear": "m(a)",
    "attention": "F.scaled_dot_product_attention(q, q, q)",
    "random": "torch.randn(3, 3)",
    "sort": "torch.sort(a)",
    "maximum": "a.max(dim=1)",
    "transform": "torch.fft.fft(a)",
    "together": "torch.cat([a, b])",
    "oneDNN": "a.to_mkldnn()",
    "backward": "torch.autograd.backward((g * g).sum())",
    "raises": "attempt(lambda: torch.mm(a, x[0]))",
}
CODE = """
import base64, importlib, json, os, sys, torch
if os.fork():  # what is imported has threads, beside which each instruction is stepped by itself
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
S = importlib.import_module("ptexplore.probe.stepper")
F, t = torch.nn.functional, torch.randn
torch.set_num_threads(1)
def attempt(call):
    try: call()
    except RuntimeError: pass
names = dict(attempt=attempt, torch=torch, F=F, a=t(3, 3),
             b=t(3, 3), g=t(3, 3, requires_grad=True), x=t(1, 3, 8, 8, requires_grad=True),
             w=t(4, 3, 3, 3), i=torch.tensor([0, 2]), m=torch.nn.Linear(3, 4), q=t(1, 2, 4, 8))
stepper, found = S.Stepper(), {}
for name, text in json.loads(sys.argv[1]).items():
    code = compile(text, "<expression>", "eval")
    for _ in range(0 if name == "first" else 2): eval(code, names)
    _, steps = stepper.step(eval, code, names)
    found[name] = [base64.b64encode(steps.rows).decode(), steps.instructions]
print(json.dumps([found, open("/proc/self/maps").read()]))
"""


@dataclass(frozen=True)
class Recorded:
    """One stepped expression: its calls, and the same as hops before any is joined to an operator or a kernel."""

    root: SteppedCall
    hops: tuple[Hop, ...]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recorded]:
    """Each of EXPRESSIONS, stepped."""
    stepper = pytest.importorskip("ptexplore.probe.stepper")
    if stepper.why_not() is not None:
        pytest.skip(stepper.why_not())
    found, maps = json.loads(made_once(tmp_path_factory, "stepped.json", _step).read_text(encoding="utf-8"))
    symbols = Symbols(maps, tmp_path_factory.mktemp("symbols"))
    trees = {name: build(base64.b64decode(rows), steps, symbols) for name, (rows, steps) in found.items()}
    return {name: Recorded(root, _hops(root)) for name, root in trees.items()}


def _step(file: Path) -> None:
    command = [sys.executable, "-c", CODE, json.dumps(EXPRESSIONS)]
    with file.open("wb") as out:
        subprocess.run(command, cwd=ROOT, stdout=out, check=True)


def _hops(root: SteppedCall) -> tuple[Hop, ...]:
    made: dict[int, Hop] = {}
    numbers = count(1)
    for _, call in reversed(list(root.walk())):
        library = call.place.library
        symbol = demangle(call.place.mangled)
        made[id(call)] = Hop(
            next(numbers),
            "native" if library.startswith(("libtorch", "libc10")) else "closed",
            plain(symbol) if symbol else f"a function of {library}",
            "observed",
            SourceRef(None, None, None, "unknown", reason=Said("not looked for")),
            native=NativeCall(symbol, call.place.mangled, library, call.own),
            instructions=call.inclusive,
            children=tuple(made[id(one)] for one in call.calls),
        )
    return made[id(root)].children


def walk(hops: tuple[Hop, ...]) -> Iterator[Hop]:
    """Every hop, callers first."""
    for hop in hops:
        yield hop
        yield from walk(hop.children)
