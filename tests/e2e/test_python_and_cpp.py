"""Where Python and C++ take turns: a trace's nesting against sys.settrace, the machine's stack and torch's own modes.

`tests/python_recorder.py` runs the same expressions in a process that knows nothing of ptexplore. A Python function of
the trace must stand inside the same Python functions, with the same functions of C++ between them, as the recorder saw;
an operator must stand inside the same Python functions.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET, THOROUGH, InProcess, torch_version

pytestmark = pytest.mark.e2e
RECORDER = Path(__file__).parents[1] / "python_recorder.py"
TENSORS = "a, b = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3)\n"
FUNCTIONS = f"""{TENSORS}
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2 - x.sin()
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 - g * x.cos()
class Two(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x + y, x.mul(y)
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g, h):
        return g + h, g.neg()
class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return Double.apply(x).exp()
    @staticmethod
    def backward(ctx, g):
        return torch.neg(g)
class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise ValueError(x.add(1).dim())
def tried(x):
    try:
        return Failing.apply(x)
    except ValueError:
        return x.abs()
def generated(x):
    for n in range(3):
        yield x.add(n)
        x.neg()
def nested(depth, x):
    return x.relu() if depth == 0 else nested(depth - 1, x).add(depth)
def kept(x):
    x.grad = None
    return x
"""
OPS = f"""{TENSORS}
def plain(x):
    return torch.sin(x)
def outer(x):
    return torch.ops.nested.plain(x).add(1)
if not hasattr(torch, "kept_library"):  # a setup runs before every pass
    torch.kept_library = lib = torch.library.Library("nested", "FRAGMENT")
    lib.define("plain(Tensor x) -> Tensor")
    lib.define("outer(Tensor x) -> Tensor")
    lib.impl("plain", plain, "CPU")
    lib.impl("plain", lambda x: plain(x.detach()), "AutogradCPU")
    lib.impl("outer", outer, "CompositeImplicitAutograd")
"""
CUSTOM = f"""{TENSORS}
@torch.library.custom_op("nested::sined", mutates_args=())
def sined(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2
"""
OVERRIDES = f"""{TENSORS}
class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {{}})
class Dispatched(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made
    def __init__(self, inner):
        pass
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return Dispatched(func(*[x.inner if isinstance(x, Dispatched) else x for x in args], **(kwargs or {{}})))
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return b.add(1)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Watching(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {{}}))
class Counting(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {{}}))
def watched(x):
    with Watching():
        return torch.add(x, 1)
def counted(x):
    with Counting():
        return torch.mul(x, 2).sum()
n, d = b.as_subclass(Named), Dispatched(torch.ones(3))
"""
MODULES = f"""{TENSORS}
import copy, io, pickle
from torch.utils.checkpoint import checkpoint
m = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
hooked = nn.Linear(3, 3)
hooked.register_forward_hook(lambda module, given, out: out.mul(2))
before = nn.Linear(3, 3)
before.register_forward_pre_hook(lambda module, given: given[0].add(1))
class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def forward(self, x):
        return self.inner(x).relu()
mine = Mine()
w = nn.Parameter(torch.ones(3))
w.grad = torch.ones(3)
def leaf():
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda g: g.mul(2))
    return x
def steps(o):
    o.zero_grad()
    w.grad = torch.ones(3)
    return o.step()
def packed(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.neg(), lambda t: t.neg()):
        return x.exp()
class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, n):
        return torch.ones(2).mul(n)
loader = torch.utils.data.DataLoader(Squares(), batch_size=2)
def quiet(x):
    with torch.no_grad():
        return x.add(1)
def cast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x.mm(x)
"""
# Setup and expression.
CASES = [
    (FUNCTIONS, "Double.apply(a)"),
    (OVERRIDES, "counted(b)"),
    (MODULES, "torch.optim.SGD([w], lr=0.1, foreach=False).step()"),
    (OPS, "torch.ops.nested.outer(b)"),
    (FUNCTIONS, "Two.apply(a, b)"),
    (FUNCTIONS, "Outer.apply(a)"),
    (FUNCTIONS, "tried(a)"),
    (FUNCTIONS, "list(generated(b))"),
    (FUNCTIONS, "nested(4, b)"),
    (FUNCTIONS, "Double.apply(b)"),
    (FUNCTIONS, "Double.apply(a).sum().backward()"),
    (FUNCTIONS, "Two.apply(a, b)[0].sum().backward()"),
    (FUNCTIONS, "torch.autograd.grad(Double.apply(a).sum(), a)"),
    (FUNCTIONS, "[Double.apply(x) for x in (a, b)]"),
    (FUNCTIONS, "sorted([3, 1, 2], key=lambda n: b.add(n).sum().item())"),
    (FUNCTIONS, "sum(generated(b))"),
    (FUNCTIONS, "max((x.sum() for x in generated(b)), key=float)"),
    (FUNCTIONS, "dict(zip('ab', map(torch.neg, [a, b])))"),
    (FUNCTIONS, "kept(b).T @ b"),
    (FUNCTIONS, "(lambda x: x * x)(a)"),
    (OPS, "torch.ops.nested.plain(b)"),
    (OPS, "torch.ops.nested.plain(a)"),
    (OPS, "torch.ops.aten.add.Tensor(a, b)"),
    (OPS, "torch.ops.nested.outer(a)"),
    (CUSTOM, "sined(b)"),
    (CUSTOM, "sined(a.detach())"),
    (OVERRIDES, "n + 1"),
    (OVERRIDES, "torch.add(n, 1)"),
    (OVERRIDES, "n.sum()"),
    (OVERRIDES, "n[0]"),
    (OVERRIDES, "torch.add(Duck(), 1)"),
    (OVERRIDES, "torch.sin(d)"),
    (OVERRIDES, "d + d"),
    (OVERRIDES, "torch.mul(d, 2).neg()"),
    (OVERRIDES, "watched(b)"),
    (OVERRIDES, "watched(n)"),
    (OVERRIDES, "counted(a)"),
    (OVERRIDES, "F.relu(n)"),
    (OVERRIDES, "F.softmax(b, dim=0)"),
    (MODULES, "m(b)"),
    (MODULES, "hooked(b)"),
    (MODULES, "before(b)"),
    (MODULES, "mine(b)"),
    (MODULES, "mine(b).sum().backward()"),
    (MODULES, "leaf().sum().backward()"),
    (MODULES, "torch.optim.SGD([w], lr=0.1, momentum=0.9, foreach=True).step()"),
    (MODULES, "torch.optim.Adam([w]).step()"),
    (MODULES, "steps(torch.optim.SGD([w], lr=0.1))"),
    (MODULES, "packed(a)"),
    (MODULES, "packed(a).sum().backward()"),
    (MODULES, "checkpoint(torch.sin, a, use_reentrant=True)"),
    (MODULES, "checkpoint(torch.sin, a, use_reentrant=False)"),
    (MODULES, "pickle.dumps(b)"),
    (MODULES, "copy.copy(w)"),
    (MODULES, "copy.deepcopy(b)"),
    (MODULES, "list(loader)"),
    (MODULES, "quiet(a)"),
    (MODULES, "cast(b)"),
    (MODULES, "F.cross_entropy(b, torch.tensor([0, 1, 2]))"),
    (MODULES, "repr(b)"),
    (MODULES, "b.to('cpu', torch.float64).tolist()"),
    (TENSORS, "torch.func.vmap(lambda x: x.mul(2).sum())(b)"),
    (TENSORS, "torch.func.grad(lambda x: x.sin().sum())(b)"),
    (TENSORS, "torch.func.jvp(torch.sin, (b,), (b,))"),
    (TENSORS, "torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(b)"),
    (TENSORS, "torch.nn.functional.gelu(b)"),
]
if not torch_version().startswith("2.6."):  # whose Dynamo compiles otherwise each time: registries, guards that failed
    CASES.append((TENSORS, "torch.compile(lambda x: x.add(1), backend='eager')(b)"))
# Rows of the kind of Python that are no function of torch's or of the setup: why they have no place.
NO_FUNCTION = ("range-begun", "function-unseen")
Chain = list[tuple[str, str]]  # what is around a Python function and the function itself, outermost first


def _recorded(cases: list[tuple[str, str]]) -> list[Any]:
    """What the recorder says of each setup and expression."""
    command = [TARGET or sys.executable, "-I", "-W", "ignore", str(RECORDER)]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _key(hop: dict[str, Any]) -> str:
    """A Python function's file and name."""
    source = hop["source"]
    return f"{source['path'] or source['outside']} {hop['name']}"


def _chains(hops: list[dict[str, Any]], *kinds: str) -> Iterator[tuple[dict[str, Any], Chain]]:
    """The hops of some kinds in order, each with the Python and native functions around it.

    A Python function's own name is the last of its chain.
    """
    ranges = {hop["id"] for hop in hops if (hop["source"]["reason"] or {}).get("code") in NO_FUNCTION}
    by_id = {hop["id"]: hop for hop in hops}
    for hop in hops:
        if hop["kind"] not in kinds or hop["id"] in ranges:
            continue
        chain: Chain = []
        around = hop if hop["kind"] == "python" else by_id.get(hop["parent"])
        while around is not None:
            native = around["native"]
            if around["kind"] == "python" and around["id"] not in ranges:
                chain.append(("python", _key(around)))
            elif native is not None and native["mangled"]:
                name = re.sub(r"\.(cold|isra|constprop|part|lto_priv).*", "", native["mangled"])
                chain.append(("c++ tail" if native["tail"] else "c++", name))
            around = by_id.get(around["parent"])
        yield hop, chain[::-1]


def _python(chain: Chain) -> list[str]:
    return [name for kind, name in chain if kind == "python"]


def _gaps(chain: Chain) -> list[list[str]]:
    """The functions of C++ before each Python function of a chain."""
    gaps: list[list[str]] = [[]]
    for kind, name in chain:
        if kind == "python":
            gaps.append([])
        else:
            gaps[-1].append(name)
    return gaps


def _lacks(ours: list[str], theirs: list[str]) -> list[str]:
    """What of the functions on the stack is not among ours, in order. The stack lacks what left by a tail call."""
    position = iter(ours)
    return [name for name in theirs if not any(name == own for own in position)]


def _mine_and_theirs(mine: list[str], other: list[str], name: str) -> Iterator[str]:
    """How the functions of C++ before a Python function differ."""
    if _lacks(mine, other):
        yield f"before {name}: {_lacks(mine, other)} are on the stack, not among {mine}"
    more = [own for own in mine if own not in other]
    if more and not other:
        yield f"before {name}: nothing is on the stack, and we say {mine}"


# Where torch's compiler opens ranges for a profiler (2.13): the pass that saw Python's functions has one on.
FOR_A_PROFILER = ("torch/_dynamo/utils.py log_event_start", "torch/_dynamo/utils.py _reset_to_state")


def differences(trace: dict[str, Any], recorded: dict[str, Any], *, whole: bool) -> list[str]:
    """How a trace's nesting differs from the recorder's; `whole`: all of it was stepped."""
    hops = trace["hops"]
    stepped = {seen["id"] for seen in trace["session"]["observations"] if seen["kind"] == "calls"}
    theirs = [[(kind, name) for kind, name in call["chain"]] for call in recorded["calls"]]
    cold = [[name for kind, name in call["chain"] if kind == "python"] for call in recorded["cold"]]
    differing = []
    position = 0
    for hop, chain in _chains(hops, "python"):
        if any(name.endswith(FOR_A_PROFILER) for name in _python(chain)):
            continue
        at = next((n for n in range(position, len(theirs)) if _python(theirs[n]) == _python(chain)), None)
        if at is None or not stepped & set(hop["evidence"]):
            if stepped & set(hop["evidence"]) or _python(chain) not in cold:
                differing.append(f"no such call, or in another order: {' / '.join(_python(chain))}")
            continue
        position = at + 1
        if whole:
            for mine, other, name in zip(_gaps(chain), _gaps(theirs[at]), [*_python(chain), ""], strict=True):
                differing += _mine_and_theirs(mine, other, name)
    return differing + list(_operators_missing(hops, recorded["operators"]))


def _operators_missing(hops: list[dict[str, Any]], operators: list[dict[str, Any]]) -> Iterator[str]:
    """Operators that the mode was told of, and that do not stand inside the same Python functions, in that order.

    The mode is told below autograd: where a kernel in Python sends a call on, it is the call's next key.
    """
    called = [(hop["op"] or hop["name"], _python(chain)) for hop, chain in _chains(hops, "op", "key")]
    vague = any("." not in op for op, _ in called)
    position = 0
    for row in operators:
        # A range that torch opens for a profiler: the profiler tells the range, not the call. Where a mode is on, an
        # output that is saved for backward is detached through the dispatcher; without one it is not.
        if row["op"].startswith("profiler::") or row["op"] == "aten::detach":
            continue
        wanted = row["op"]
        names = [(op, chain) if not vague else (op.partition(".")[0], chain) for op, chain in called[position:]]
        if vague:
            wanted = wanted.partition(".")[0]
        if (wanted, row["chain"]) not in names:
            yield f"operator {row['op']} in {' / '.join(row['chain'])} is missing, or in another order"
        else:
            position += names.index((wanted, row["chain"])) + 1


QUICK = [0]  # of CASES
GROUPS = [QUICK, *([range(n, n + 8) for n in range(0, len(CASES), 8)] if THOROUGH else [])]


@pytest.mark.parametrize("numbers", GROUPS)
def test_python_and_cpp_take_turns_as_they_did(
    compiler_command: InProcess, tmp_path: Path, numbers: Sequence[int]
) -> None:
    cases = [CASES[number] for number in numbers if number < len(CASES)]
    differing = {}
    for (setup, expression), recorded in zip(cases, _recorded(cases), strict=True):
        saved = tmp_path / "trace.json"
        saved.unlink(missing_ok=True)
        result = compiler_command("trace", expression, "--setup", setup, "--save", str(saved))
        assert result.code == 0, result
        trace = json.loads(saved.read_text(encoding="utf-8"))
        parts = [seen["data"] for seen in trace["session"]["observations"] if seen["kind"] == "calls"]
        whole = bool(parts) and all(part["part"] != "operator" and not part["cut"] for part in parts)
        differing[expression] = differences(trace, recorded, whole=whole)
    assert not {expression: said for expression, said in differing.items() if said}
