"""Functions of files that an expression imports are yours: they have rows, places and costs; errors name lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import TARGET, Cli, InProcess
from tests.torch_says import torch_says

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.e2e

OWN = """import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, g):
        if ctx.k > 5:
            raise ValueError("too large: " + str(ctx.k))
        return g * ctx.k, None


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Doubts(torch.nn.Module):
    def forward(self, x):
        y = torch.neg(x)
        assert y.shape[0] == 7, f"seven rows, not {y.shape[0]}"
        return y
"""


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(OWN.splitlines(), 1) if text in line)


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """A folder with a module of the user's own, by which a process finds it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "own_module.py").write_text(OWN)
    return {"PYTHONPATH": str(folder), "COLUMNS": "160"}


def asked(expression: str, *more: str) -> tuple[str, ...]:
    return ("trace", expression, "--setup", "from own_module import *", *more)


@pytest.mark.parametrize("native", [(), ("--no-native",)], ids=["stepped", "not stepped"])
def test_a_function_of_an_imported_file_has_a_row_and_its_place(
    cli: Cli, own: dict[str, str], native: tuple[str, ...]
) -> None:
    result = cli(*asked("a.as_subclass(Logged) + 1", "--json", *native), env=own)
    (called,) = (hop for hop in result.hops if str(hop["source"]["path"]).endswith("mine/own_module.py"))
    assert called["python"]["qualname"] == "Logged.__torch_function__"
    assert called["source"]["line"] == line_of("@classmethod")
    (inner,) = (hop for hop in result.hops if hop["name"] == "aten::add.Tensor")
    assert inner["id"] in {hop["id"] for hop in inside(called)}
    if not native:
        first = cli("trace", *asked("a.as_subclass(Logged) + 1")[1:], "--view", "path", env=own).out
        (row,) = (line for line in first.splitlines() if "Logged.__torch_function__()" in line)
        assert float(row.split("%")[0]) > 1
        assert row.endswith(f"mine/own_module.py:{line_of('@classmethod')}")


def inside(hop: dict) -> list[dict]:  # type: ignore[type-arg]
    return [hop, *(one for child in hop["children"] for one in inside(child))]


def test_what_was_saved_is_shown_again(cli: Cli, own: dict[str, str], tmp_path: Path) -> None:
    """The file of the user's own is in no tree."""
    saved = tmp_path / "saved.trace"
    first = cli(*asked("a.as_subclass(Logged) + 1", "--no-native", "--save", str(saved), "--view", "path"), env=own)
    again = cli("trace", "--load", str(saved), "--view", "path", env=own)
    assert again.code == 0, again
    rows = [line for line in first.out.splitlines() if "└" in line]
    assert any("own_module.py" in row for row in rows)
    assert [line for line in again.out.splitlines() if "└" in line] == rows


def test_an_error_in_an_imported_file_names_its_line(cli: Cli, own: dict[str, str]) -> None:
    module = cli(*asked("Doubts()(a)", "--no-native"), env=own)
    assert "seven rows, not 3" in module.out
    assert f"own_module.py:{line_of('assert y')}" in module.out
    left = module.out.partition("Python stack")[2].splitlines()
    assert left[0].split() == ["forward()", next(word for word in left[0].split() if "own_module.py" in word)]
    backward = cli(*asked("Scale.apply(a, 9)", "--grad", "--backward", "--no-native"), env=own)
    left = backward.out.partition("Python stack")[2].splitlines()
    assert left[0].split()[0] == "backward()"
    assert f"own_module.py:{line_of('raise ValueError')}" in left[0]
    assert f"own_module.py:{line_of('def backward') - 1}" in backward.out


CALLED_BACK = """import sys
import torch
from torch.library import custom_op

@custom_op("own_rows::blend", mutates_args=())
def blend(a: torch.Tensor, b: torch.Tensor, t: float) -> torch.Tensor:
    return a * (1 - t) + b * t

def keeps(ctx, inputs, output):
    ctx.t = inputs[2]

def back(ctx, g):
    return g * (1 - ctx.t), g * ctx.t, None

blend.register_autograd(back, setup_context=keeps)

class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.mark_dirty(x)
        keep = mask > 0
        ctx.mark_non_differentiable(keep)
        ctx.save_for_backward(keep)
        return x.mul_(keep), keep

    @staticmethod
    def backward(ctx, g, _):
        (keep,) = ctx.saved_tensors
        return g * keep, None

def halves(grad):
    return grad / 2

def hooked(x):
    y = x.exp()
    y.register_hook(halves)
    return y.mul(x).sin().sum()

if __name__ == "__main__":  # by plain torch, without us: which functions of this file ran, and who called each
    def noted(frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_filename == __file__ and frame.f_back.f_code.co_filename != __file__:
            print("CALLED", code.co_qualname if sys.version_info >= (3, 11) else code.co_name)
    x, y = (torch.rand(3, 3, requires_grad=True) for _ in "xy")
    for _ in range(2):  # a warm call, as is shown
        made = eval(sys.argv[1])
    code = compile(sys.argv[1], "expression", "eval")
    sys.setprofile(noted)
    eval(code).sum().backward()
"""


BOTH = "blend(Dirty.apply(x * 2, y)[0].softmax(0), y.tanh(), 0.5).logsumexp(0)"


@pytest.mark.parametrize(
    ("expression", "native"),
    [
        ("blend(x, y[:, None], 0.25).amax()", ()),
        ("Dirty.apply(x * 2, y)[0].erf()", ("--no-native",)),
        ("hooked(x) + y.prod()", ("--no-native",)),
        (BOTH, ()),
        (BOTH, ("--no-native",)),
    ],
)
def test_what_torch_calls_of_yours_has_a_row_in_both_halves(
    cli: Cli, tmp_path: Path, expression: str, native: tuple[str, ...]
) -> None:
    module = tmp_path / "called_back.py"
    module.write_text(CALLED_BACK, encoding="utf-8")
    plain = subprocess.run(
        [TARGET or sys.executable, str(module), expression], capture_output=True, text=True, check=True
    )
    truth = {line.split()[1] for line in plain.stdout.splitlines() if line.startswith("CALLED")}
    assert len(truth) > 1
    given = ("--setup", "from called_back import *", "--var", "x=torch.rand(3,3)", "--var", "y=torch.rand(3,3)")
    env = {"PYTHONPATH": str(tmp_path), "COLUMNS": "160"}
    shown = cli("trace", expression, *given, "--grad", "--backward", "--view", "path", *native, env=env).out
    rows = [line.partition("└")[2] or line.partition("├")[2] for line in shown.splitlines()]
    told = {word.removesuffix("()").split(".")[-1] for row in rows for word in row.split()[:1]}
    assert {name.split(".")[-1] for name in truth} <= told
    assert all(f"called_back.py:{number}" in shown for number in _first_lines(module, truth))


def _first_lines(module: Path, names: set[str]) -> list[int]:
    """The first lines of functions: that of their decorator, where they have one."""
    lines = module.read_text(encoding="utf-8").splitlines()
    at = [n for name in names for n, line in enumerate(lines) if f"def {name.split('.')[-1]}(" in line]
    return [n + 1 - lines[n - 1].strip().startswith("@") for n in at]


HOOKED = """
import sys, torch, torch.utils.checkpoint

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return (g + g).neg()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Linear(3, 3)
    def forward(self, x):
        h = torch.utils.checkpoint.checkpoint(self.b, self.a(x), use_reentrant=False)
        return Twice.apply(h).tanh().sigmoid().square().sum()

def shrunk(p):
    p.grad.mul_(0.5).add_(1)

def clipped(g):
    return g.clamp(-1, 1)

net = Net()
net.a.weight.register_post_accumulate_grad_hook(shrunk)
net.b.weight.register_hook(clipped)

if __name__ == "__main__":  # by plain torch: the operators in each function of this file that backward calls
    from torch.profiler import record_function
    def marked(function, name):
        def call(*given):
            with record_function(name):
                return function(*given)
        return call
    loss = Net.forward(net, torch.rand(2, 3))
    Twice.backward = staticmethod(marked(Twice.backward, "YOURS Twice.backward()"))
    net.b.forward = marked(net.b.forward, "YOURS Linear")
    for p, f in ((net.a.weight, "_post_accumulate_grad_hooks"), (net.b.weight, "_backward_hooks")):
        hooks = getattr(p, f)
        for n in list(hooks):
            hooks[n] = marked(hooks[n], f"YOURS {hooks[n].__name__}()")
    with torch.autograd.profiler.profile() as seen:
        loss.backward()
    for event in seen.function_events:
        if event.name.startswith("YOURS"):
            held = [e for e in event.cpu_children if e.name.startswith("aten::")]
            print(event.name.removeprefix("YOURS "), len(held), sep="\\t")
"""


@pytest.mark.parametrize(("backward", "native"), [(True, False), (False, False), (True, True)])
def test_what_backward_calls_of_yours_has_a_row_among_the_parts(
    cli: Cli, tmp_path: Path, backward: bool, native: bool
) -> None:
    """A hook in a node, the backward of a Function and the module that a checkpoint runs again, with operator calls."""
    module = tmp_path / "hooked.py"
    module.write_text(HOOKED, encoding="utf-8")
    plain = subprocess.run([TARGET or sys.executable, str(module)], capture_output=True, text=True, check=True)
    truth = dict(line.split("\t") for line in plain.stdout.splitlines())
    assert set(truth) == {"shrunk()", "clipped()", "Twice.backward()", "Linear"}
    given = ["--setup", "from hooked import *", "--var", "x=torch.rand(2,3)", "--view", "modules"]
    given += ["--backward"] if backward else []
    given += [] if native else ["--no-native"]
    env = {"PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    shown = cli("trace", "net(x)" if backward else "net(x).backward()", *given, env=env).out
    lines = shown.splitlines()
    behind = lines[
        next(n for n, line in enumerate(lines) if line.endswith("backward") or "Tensor.backward()" in line) :
    ]
    ops = next(line for line in lines if "what ran" in line).index("ops")
    told = {}
    for line in behind:
        name = re.split("[├└] ", line)[-1].split("  ")[0]
        if name in truth or f"Twice.{name}" in truth:
            told[name if name in truth else f"Twice.{name}"] = line[ops - 2 : ops + 3].strip()
    assert told == truth, shown
    assert "in no row" not in shown


MODE = """
from torch.utils._python_dispatch import TorchDispatchMode
class Mine(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        r = func(*args, **(kwargs or {}))
        return r.clone().neg().neg() if func is torch.ops.aten.mul.Tensor else r
"""


def test_what_an_operator_of_a_node_calls_back_is_in_that_operators_figures(cli: Cli) -> None:
    """A mode's function runs inside of the operators that a node calls: its own calls are none of the node's."""
    code = f"""
x = torch.ones(3, requires_grad=True)
{MODE}
with Mine():
    y = (x * x).sum()
    with torch.autograd.profiler.profile() as seen:
        y.backward()
(node,) = (event for event in seen.function_events if event.name == "MulBackward0")
print(json.dumps(sum(inner.name.startswith("aten::") for inner in node.cpu_children)))
"""
    given = ("--setup", MODE, "--with", "Mine()", "--var", "x=torch.ones(3)", "--grad", "--no-native")
    shown = cli("trace", "(x * x).sum().backward()", *given, "--view", "modules", env={"COLUMNS": "160"}).out
    rows = {re.split("[├└] ", line)[-1].split("  ")[0]: line.split()[0] for line in shown.splitlines() if "├" in line}
    assert rows["MulBackward0"] == str(torch_says(code)), shown
    assert "__torch_dispatch__()" not in rows


GETTERS = """
import functools, torch
class M(torch.nn.Module):
    @property
    def total(self):
        return self.weights.sum()
    @functools.cached_property
    def kept(self):
        return self.weights.sum()
m = M()
"""


@pytest.mark.parametrize(("name", "way"), [("total", "M.total.fget(m)"), ("kept", "M.kept.func(m)")])
def test_of_a_getter_that_raised_the_way_to_its_own_error_is_named(cli: Cli, name: str, way: str) -> None:
    """Python drops it and asks Module.__getattr__: the name that was asked for is not misspelt."""
    code = f"{GETTERS}\ntry: {way}\nexcept AttributeError as error: print(error)"
    own = subprocess.run([TARGET or sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'weights'" in own
    shown = cli("trace", f"m.{name}", "--setup", GETTERS, "--no-native", env={"COLUMNS": "200"}).out
    assert "did you mean" not in shown
    assert f"M has {name}: its getter raised an AttributeError" in shown
    assert f"{way.replace('(m)', '(self)')} shows the getter's own error" in shown
    near = cli("trace", "m.totl", "--setup", GETTERS, "--no-native", env={"COLUMNS": "200"}).out
    assert "did you mean  total" in near
    assert "its getter raised" not in near


STACKS = """import sys, traceback, torch
def prints(x):
    traceback.print_stack()
    return x.exp()
"""


@pytest.mark.parametrize(
    ("expression", "more"),
    [
        ("prints(x)", ()),
        ("(x * 0).sqrt().prod()", ("--with", "torch.autograd.detect_anomaly()", "--grad", "--backward")),
    ],
)
def test_a_stack_that_is_printed_has_the_frames_that_it_has_without_us(
    cli: Cli, tmp_path: Path, expression: str, more: tuple[str, ...]
) -> None:
    (tmp_path / "stacks.py").write_text(STACKS, encoding="utf-8")
    env = {"PYTHONPATH": str(tmp_path), "COLUMNS": "600"}
    given = ("--setup", "from stacks import *", "--var", "x=torch.randn(2)", "--no-native")
    told = cli("trace", expression, *given, *more, env=env)
    code = f"""import sys; sys.path.insert(0, {str(tmp_path)!r}); from stacks import *
x = torch.randn(2, requires_grad=True)
with {more[1] if more else "torch.enable_grad()"}:
    made = eval(compile({expression!r}, "<expression>", "eval"))
    made.sum().backward()
"""
    plain = subprocess.run([TARGET or sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    named = [line for line in plain.splitlines() if "File " in line and '"<string>"' not in line]
    raised = named.index(next((line for line in named if "_tensor.py" in line), named[-1]))
    expected = {line.strip() for line in named[: raised + ("_tensor.py" not in named[raised])]}
    shown = {line.strip() for line in told.err.splitlines() if "File " in line}
    assert 'File "<expression>", line 1, in <module>' in shown
    assert shown == expected


def test_what_ran_after_the_last_python_function_that_is_told_stands_where_it_is_said_to(command: InProcess) -> None:
    setup = "def many(x):\n    return [one() for _ in range(20100)] and x.cos()\ndef one(): return 1\n"
    setup += "def later(x): return x.sin()"
    result = command("trace", "many(a), later(a), a.exp()", "--setup", setup, "--no-native", "--json")
    trace = json.loads(result.out)
    (told,) = (finding["text"] for finding in trace["findings"] if finding["kind"] == "cut")
    assert "in the frames that were open then, or in the part of the expression that called it" in told
    hops = {hop["id"]: hop for hop in trace["hops"]}

    def around(op: str) -> set[str]:
        """The names of what an operator stands in."""
        (hop,) = (hop for hop in hops.values() if hop["op"] == op)
        names = set()
        while hop["parent"] is not None:
            hop = hops[hop["parent"]]
            names.add(hop["name"])
        return names

    assert "many" in around("aten::cos")  # which was open
    assert around("aten::sin") & {"many", "later"} == {"later"}  # a call of the expression
    assert "many" not in around("aten::exp")
