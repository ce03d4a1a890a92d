"""Where Python, C++, transforms and modes take turns: what a trace says, against what torch itself says.

The expected values are asked of the torch under test, in a process that knows nothing of ptexplore.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ptexplore.model.places import Runtime
from ptexplore.source.python_names import PythonLookup
from ptexplore.source.tree import runtime_tree
from tests.harness import TARGET, THOROUGH, Cli, InProcess, codes, torch_folder
from tests.torch_says import keeps_columns, torch_says

pytestmark = pytest.mark.e2e


def test_every_bit_of_the_threads_sets_has_a_name(command: InProcess) -> None:
    """Torch's own parser does not know all of them: AutocastXLA."""
    expected = torch_says(
        "sets = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()\n"
        "print(json.dumps([repr(keys)[len('DispatchKeySet('):-1].split(', ') for keys in sets]))"
    )
    keys = [hop for hop in command("trace", "torch.add(a, b)", "--no-native", "--json").hops if hop["kind"] == "key"]
    included, excluded = keys[0]["dispatch"]["tls_include"], keys[0]["dispatch"]["tls_exclude"]
    assert [included.split(", ")[::-1], excluded.split(", ")[::-1]] == expected


@pytest.mark.parametrize("native", [True, False] if THOROUGH else [False])
def test_a_call_that_backward_adds_is_made_once(command: InProcess, native: bool) -> None:
    """`.sum()` of what is no scalar: the profiler records one `aten::sum`, and so does the trace, in backward."""
    code = (
        "a = torch.rand(3, 3, requires_grad=True)\n"
        "with torch.profiler.profile() as profile: a.exp().sum().backward()\n"
        "print(json.dumps([event.name for event in profile.events() if event.name == 'aten::sum']))"
    )
    recorded = torch_says(code)  # the profiler counts what an operator calls under its own name as one with it
    made = command("trace", "torch.exp(a)", "--backward", "--json", *([] if native else ["--no-native"]))
    sums = [hop for hop in made.hops if hop["op"] == "aten::sum" and hop["kind"] == "op"]
    assert len(sums) == len(recorded) == 1
    assert sums[0]["phase"] == "backward"
    assert made.data["result"]["backward"]["starts"][0]["code"] == "began-at-sum"


# For each public name of some modules where Python's own look-up ends: a function's file and the line of its `def`, a
# class's module and the lines where that module's text has it. Built classes and functions have neither.
PYTHON_FINDS = """
import ast, importlib, inspect, linecache, os, re, sys, types
root = os.path.dirname(os.path.dirname(torch.__file__)) + os.sep
texts = {}
def of_class(kind):
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    if file not in texts and file.startswith(root) and file.endswith(".py"):
        texts[file] = {}
        for node in ast.walk(ast.parse(open(file, encoding="utf-8").read())):
            if isinstance(node, ast.ClassDef):
                texts[file].setdefault(node.name, []).append(node.lineno)
    return file, texts.get(file, {}).get(kind.__name__, [])
def place(value):
    try:
        value = inspect.unwrap(value.fget if isinstance(value, property) else getattr(value, "__func__", value))
    except (AttributeError, RuntimeError):  # torch.ops answers to every name
        return None
    if isinstance(value, type):
        file, lines = of_class(value)
    elif isinstance(value, types.FunctionType):
        file, line = value.__code__.co_filename, value.__code__.co_firstlineno
        text = linecache.getlines(file)
        while line <= len(text) and not re.match(r"\\s*(async\\s+)?def\\s", text[line - 1]):
            line += 1
        lines = [line]
    else:
        return None
    return [file[len(root):], lines] if file.startswith(root) and lines else None
found = {}
for name in ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.optim.lr_scheduler", "torch.autograd",
             "torch.func", "torch.utils.data", "torch.jit", "torch.fx", "torch.distributed", "torch.export"):
    module = importlib.import_module(name)
    for attribute in dir(module):
        value = getattr(module, attribute)
        if attribute.startswith("_") or place(value) is None:
            continue
        found[f"{name}.{attribute}"] = place(value)
        looked_into = name in ("torch.nn", "torch.optim", "torch.utils.data") or attribute == "Tensor"
        for member in dir(value) if isinstance(value, type) and looked_into else ():
            known = place(inspect.getattr_static(value, member))
            if known is not None and not member.startswith("_"):
                found[f"{name}.{attribute}.{member}"] = known
print(json.dumps(found))
"""


def test_public_names_lead_where_python_finds_them(runtime: Runtime) -> None:
    """None leads elsewhere, but for functions that a decorator hides without a word; few are not known."""
    names = PythonLookup(runtime_tree(runtime))
    found = torch_says(PYTHON_FINDS)
    assert len(found) > 5000
    unknown, elsewhere = [], []
    for name, (path, lines) in list(found.items())[:: 1 if THOROUGH else 4]:
        places = [(definition.kind, definition.path, definition.line) for definition in names.definitions(name)]
        if not places:
            unknown.append(name)
        elif not any(kind == "variable" or (file == path and line in lines) for kind, file, line in places):
            elsewhere.append((name, path, lines, places))
    assert not elsewhere
    assert len(unknown) < 0.02 * len(found), unknown[:20]


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("torch.nn.Conv2d", "torch.nn.modules.conv.Conv2d"),
        ("nn.Conv2d", "torch.nn.modules.conv.Conv2d"),
        ("torch.load", "torch.serialization.load"),
        ("torch.optim.SGD.step", "torch.optim.sgd.SGD.step"),
        ("torch.Tensor.backward", "torch._tensor.Tensor.backward"),
        ("torch.nn.Linear.parameters", "torch.nn.modules.module.Module.parameters"),
        ("F.relu", "torch.nn.functional.relu"),
        ("torch._C.Generator", "torch._C.Generator"),
    ],
)
def test_a_public_name_shows_its_definition(command: InProcess, name: str, definition: str) -> None:
    shown = command("show", name, "--json").data
    assert [candidate["name"] for candidate in shown["candidates"]] == [definition]
    first = command("find", name, "--json").data["groups"][0]["results"][0]
    assert (first["name"], first["source"]) == (definition, shown["candidates"][0]["source"])


def test_an_operators_name_is_none_of_pythons(command: InProcess) -> None:
    refused = command("op", "torch.nn.Conv2d").three_parts(1, 2)
    assert "torch.nn.modules.conv.Conv2d, torch/nn/modules/conv.py:" in refused.err
    assert "try:   ptexplore show torch.nn.Conv2d" in refused.err
    assert "fetch" not in command("show", "torch.nn.Konv2dd").three_parts(1, 2).err


# The key set of each layer of the tensors that a call of `wanted` can have been given, by torch's own functions.
LAYERS = """
functorch, seen = torch._C._functorch, []
def names(tensor):
    told = []
    while True:
        told.append(sorted(repr(torch._C._dispatch_keys(tensor))[len("DispatchKeySet("):-1].split(", ")))
        if not functorch.is_functorch_wrapped_tensor(tensor):
            return told
        tensor = functorch.get_unwrapped(tensor)
def hook(frame, event, function):
    if event == "c_call" and getattr(function, "__name__", "") == wanted and not seen:
        stack = [[int(layer.level()), layer.key().name] for layer in functorch.get_interpreter_stack()]
        values = [v for held in frame.f_locals.values() for v in (held if isinstance(held, (list, tuple)) else [held])]
        seen.append([stack, [names(value) for value in values if isinstance(value, torch.Tensor)]])
import sys
torch.manual_seed(0)
a, b = torch.rand(3, 3), torch.rand(3, 3)
sys.setprofile(hook)
eval(expression)
sys.setprofile(None)
print(json.dumps(seen[0]))
"""


TRANSFORMED = (
    ("torch.func.vmap(torch.dot)(a, b)", "dot"),
    ("torch.func.vmap(torch.func.grad(torch.sin))(a[0])", "sin"),
    ("torch.func.vmap(lambda x: torch.sin(x))(a)", "sin"),
    ("torch.func.grad(lambda x: torch.sin(x).sum())(a)", "sin"),
    ("torch.func.jvp(torch.sin, (a,), (b,))", "sin"),
    ("torch.func.functionalize(torch.sin)(a)", "sin"),
)


@pytest.mark.parametrize(("expression", "operator"), TRANSFORMED if THOROUGH else TRANSFORMED[:2])
def test_key_sets_of_what_a_transform_wraps(compiler_command: InProcess, expression: str, operator: str) -> None:
    stack, tensors = torch_says(f"expression, wanted = {expression!r}, {operator!r}\n{LAYERS}")
    hops = compiler_command("trace", expression, "--no-native", "--json").hops
    call = next(hop for hop in hops if hop["op"] == f"aten::{operator}" and hop["kind"] == "op")
    key = next(hop for hop in call["children"] if hop["kind"] == "key")["dispatch"]
    assert [[layer["level"], layer["kind"]] for layer in key["transforms"]] == stack
    assert key["unread"] == []
    for name, keys in key["arguments"].items():
        told = [sorted(layer.split(", ")) for layer in (keys, *(key["wrapped"] or {}).get(name, ()))]
        assert told in tensors
        assert len(told) == len(stack) + 1


@pytest.mark.parametrize("native", [True, False] if THOROUGH else [False])
def test_a_boxed_call_does_not_come_through_the_unboxed_entry_point(cli: Cli, command: InProcess, native: bool) -> None:
    """`torch.ops` calls boxed: gdb and the symbol say c10::Dispatcher::callBoxed."""
    made = command("trace", "torch.ops.aten.add.Tensor(a, b)", "--json", *([] if native else ["--no-native"]))
    (call,) = [hop for hop in made.hops if hop["op"] == "aten::add.Tensor" and hop["kind"] == "op"]
    assert call["operator"]["entry"] == "c10::Dispatcher::callBoxed"
    assert "Dispatcher::callBoxed(const OperatorHandle" in cli.line_of(call["source"])
    binding = command("trace", "torch.add(a, b)", "--json", "--no-native")
    (plain,) = [hop for hop in binding.hops if hop["op"] == "aten::add.Tensor" and hop["kind"] == "op"]
    assert plain["operator"]["entry"] == "at::_ops::add_Tensor::call"


@pytest.mark.parametrize("outside", [True, False] if THOROUGH else [True])
def test_what_a_forward_gradient_calls_is_not_called_by_the_kernel_below(command: InProcess, outside: bool) -> None:
    """VariableType::asin computes the tangent beside its guard: what that calls goes through autograd once more.

    Without stepping nothing tells which of the two kernels made a call; the register of each call does.
    """
    dual = "torch.autograd.forward_ad.make_dual(a, b)"
    once = "level = torch.autograd.forward_ad; level._current_level < 0 and level.enter_dual_level()"
    before = ("--setup", f"{once}; a = torch.rand(3); b = a; d = {dual}")
    within = ("--with", "torch.autograd.forward_ad.dual_level()")
    asked = ("trace", f"torch.asin({'d' if outside else dual})", *(before if outside else within), "--json")
    for stepped in (False, True):
        made = command(*asked, *([] if stepped else ["--no-native"]))
        (asin,) = [hop for hop in made.hops if hop["op"] == "aten::asin" and hop["kind"] == "op"]
        inner = [hop for hop in below(asin) if hop["kind"] == "op" and hop["op"] in ("aten::neg", "aten::rsqrt")]
        keys = [[key["key"] for key in hop["children"] if key["kind"] == "key"] for hop in inner]
        assert keys == ([["AutogradCPU"], ["AutogradCPU"]] if stepped else [[], []])
        told = ["may-be-tangent" in codes(hop["why"]) for hop in inner]
        assert told == [not stepped] * 2
        assert not [found for found in made.data["findings"] if found["kind"] == "prediction-differs"]


def test_no_entry_point_is_named_that_a_call_does_not_go_through(command: InProcess) -> None:
    """TorchScript's interpreter calls operators boxed: the stepped functions say so, and else nothing is claimed."""
    setup = "f = torch.jit.script(nn.Linear(3, 4)); x = torch.randn(2, 3)"
    stepped, told = (
        {
            hop["op"]: hop["operator"]["entry"]
            for hop in command("trace", "f(x)", "--setup", setup, "--json", *more).hops
            if hop["kind"] == "op" and hop["operator"]
        }
        for more in ((), ("--no-native",))
    )
    assert "c10::Dispatcher::callBoxed" in stepped.values()
    assert {op: entry for op, entry in told.items() if entry} == {
        op: stepped[op] for op, entry in told.items() if entry
    }


SCRIPTED = "m = torch.jit.script(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))"


def test_what_torchscript_leaves_to_one_node_is_that_nodes(command: InProcess) -> None:
    """A scripted module's first call records autograd's nodes; later ones one, whose backward calls other operators.

    The profiler and the machine both see a later one.
    """
    first, warm = torch_says(
        "from torch import nn\n"
        "from torch.autograd.profiler import profile\n"
        f"{SCRIPTED}\na, told = torch.rand(3, 3, requires_grad=True), []\n"
        "def operators(event):\n"
        "    return [event] if event.name.startswith('aten::') else sum(map(operators, event.cpu_children), [])\n"
        "for _ in range(4):\n"
        "    for leaf in (a, *m.parameters()): leaf.grad = None\n"
        "    with profile() as run: m(a).sum().backward()\n"
        "    around = [e for e in run.function_events if e.name.startswith('autograd::engine::evaluate_function')]\n"
        "    nodes = [node for e in around for node in e.cpu_children if not node.name.startswith('aten::')]\n"
        "    inside = [event.name for node in nodes for event in operators(node)]\n"
        "    told.append([[node.name.rpartition('::')[2] for node in nodes], inside])\n"
        "print(json.dumps([told[0], told[-1]]))"
    )
    assert "ReluBackward0" in first[0]
    assert "aten::threshold_backward" in first[1]
    assert "DifferentiableGraphBackward" in warm[0]
    assert "aten::gt" in warm[1]
    made = command("trace", "m(a)", "--setup", SCRIPTED, "--grad", "--backward", "--json")
    by_id = {hop["id"]: hop for hop in made.hops}

    def around(hop: Any) -> Any:
        """The innermost node, or operator call, that a hop is in."""
        while (hop := by_id.get(hop["parent"])) is not None and hop["kind"] not in ("op", "node"):
            pass
        return hop

    run = [
        hop for hop in made.hops
        if hop["phase"] == "backward" and hop["kind"] in ("op", "node") and not (hop["node"] or {}).get("recorded")
    ]  # fmt: skip
    nodes = [hop["name"].removesuffix("::apply").rpartition("::")[2] for hop in run if hop["kind"] == "node"]
    outermost = [hop for hop in run if hop["kind"] == "op" and (around(hop) or {}).get("kind") == "node"]
    inside = [hop["name"].partition(".")[0] for hop in outermost]
    assert [sorted(nodes), sorted(inside)] == [sorted(names) for names in warm]
    recorded = {hop["name"] for hop in made.hops if hop["phase"] == "forward" and hop["kind"] == "node"}
    assert "ReluBackward0" not in recorded
    assert not [found for found in made.data["findings"] if found["kind"] in ("other-run", "prediction-differs")]


OLDER_VMAP = "torch._vmap_internals._vmap"


@pytest.mark.parametrize(
    "expression, operator, key",
    [
        ("torch.func.vjp(torch.prod, a)[1](a[0, 0])", "aten::div.Tensor", "FuncTorchGradWrapper"),
        (f"{OLDER_VMAP}(torch.exp)(a)", "aten::exp", "Batched"),
    ],
)
def test_no_set_is_stated_of_what_a_transform_wrapped_that_left_no_trace(
    compiler_command: InProcess, expression: str, operator: str, key: str
) -> None:
    """vjp's graph holds wrappers of a level that is over; the older vmap has no level. Torch says what they carry."""
    read = "lambda t: (kept.append(repr(torch._C._dispatch_keys(t))), t.exp().prod())[1]"
    (kept,) = torch_says(
        f"import torch._vmap_internals\na, kept = torch.ones(1, 3), []\n"
        f"{expression.replace('torch.prod', read).replace('torch.exp', read).replace('a[0, 0]', 'a.sum()')}\n"
        "print(json.dumps(kept))"
    )
    assert key in kept
    setup = ("--setup", "import torch._vmap_internals")
    hops = compiler_command("trace", expression, *setup, "--no-native", "--json").hops
    called = {hop["id"]: hop for hop in hops if hop["op"] == operator and hop["kind"] == "op"}
    below = [hop for hop in hops if hop["kind"] == "key" and hop["parent"] in called]
    assert called
    if key == "Batched":
        assert not below
    assert not any("AutogradCPU" in hop["dispatch"]["arguments"].get("self", "") for hop in below)


def test_no_overload_is_named_that_only_a_whole_stack_fits(command: InProcess) -> None:
    """Under jvp the profiler keeps the stack of boxed calls: sin(x) with one more tensor looks like sin.out.

    A mode is asked which overloads there are: `sin.out` is none of them.
    """
    ran = torch_says(
        "from torch.utils._python_dispatch import TorchDispatchMode\n"
        "ran = []\n"
        "class Log(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, function, types, args=(), kwargs=None):\n"
        "        ran.append(function.name())\n"
        "        return function(*args, **(kwargs or {}))\n"
        "a, b = torch.rand(3, 3), torch.rand(3, 3)\n"
        "with Log(): torch.func.jvp(torch.sin, (a,), (b,))\n"
        "print(json.dumps(ran))"
    )
    hops = command("trace", "torch.func.jvp(torch.sin, (a,), (b,))", "--no-native", "--json").hops
    for hop in hops:
        if hop["kind"] == "op" and hop["op"] in ("aten::sin.out", "aten::cos.out", "aten::mul.out"):
            assert hop["op"] in ran
        # Nobody reads "several: aten::alias" and one name.
        assert hop["source"]["precision"] != "ambiguous" or len(hop["source"]["candidates"]) > 1


RUN = """
ran = []
def watch(node):
    if node is not None and node not in seen:
        seen.append(node)
        node.register_prehook(lambda gradients, node=node: ran.append(node.name()))
        [watch(following) for following, _ in node.next_functions]
seen = []
y = torch.ones(3, requires_grad=True)
h = y * 2
out = h.pow(2).sum()
watch(out.grad_fn)
eval(expression)
print(json.dumps(sorted(name.rpartition("::")[2] for name in ran)))
"""


ENGINE = ["torch.autograd.grad(out, h)", "torch.autograd.grad(out, y)", "torch.autograd.backward(out)"]


@pytest.mark.parametrize("expression", ENGINE if THOROUGH else ENGINE[:1])
def test_the_nodes_that_ran_are_those_that_torch_ran(command: InProcess, expression: str) -> None:
    """A hook of each node's own says which ran. The engine reaches a node for its gradient alone as well."""
    ran = torch_says(f"expression = {expression!r}\n{RUN}")
    setup = "y = torch.ones(3, requires_grad=True); h = y * 2; out = h.pow(2).sum()"
    for stepped in (False, True):
        made = command("trace", expression, "--setup", setup, "--json", *([] if stepped else ["--no-native"]))
        nodes = [hop["name"] for hop in made.hops if hop["kind"] == "node" and not (hop["node"] or {}).get("recorded")]
        assert sorted(name.removesuffix("::apply").rpartition("::")[2] for name in nodes) == ran
        reached = [hop["node"]["reached"] for hop in made.hops if hop["node"] and hop["node"]["reached"]]
        assert len(reached) == ("grad(" in expression)


def below(hop: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every hop below one."""
    for child in hop["children"]:
        yield child
        yield from below(child)


def references(value: Any) -> Iterator[dict[str, Any]]:
    """Every reference of a trace's document."""
    if isinstance(value, dict):
        if "precision" in value:
            yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from references(item)


PART = "se_32bit_index"  # of can_use_32bit_indexing


@pytest.fixture
def checkout(sourced_cache: Path) -> str:
    """What the tree of the source beside the torch under test is called."""
    [folder] = (sourced_cache / "checkouts").glob("[!.]*")
    return folder.name


def test_a_text_is_found_by_a_part_of_an_identifier(
    sourced_command: InProcess, source_tree: Path, checkout: str
) -> None:
    asked = ("find", "--tree", checkout, "--text", PART, "--limit", "0", "--json")
    groups = {group["name"]: group["results"] for group in sourced_command(*asked).data["groups"]}
    told = {(hit["source"]["path"], hit["source"]["line"]) for hit in groups["text"]}
    path = "aten/src/ATen/TensorIterator.cpp"
    lines = (source_tree / path).read_text(encoding="utf-8").splitlines()
    assert {(path, number) for number, line in enumerate(lines, 1) if PART in line} <= told
    for path, number in told:
        text = (source_tree / path).read_text(encoding="utf-8", errors="replace").splitlines()
        assert PART in text[number - 1].lower(), (path, number)


def test_what_the_compiler_appends_to_a_symbol_hides_no_definition(
    sourced_command: InProcess, source_tree: Path, checkout: str
) -> None:
    """Symbols of the torch under test, as nm writes them, of functions that the source defines."""
    listed = ["nm", "-C", "--defined-only", torch_folder() / "lib/libtorch_python.so"]
    symbols = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    names = {name.partition("(")[0]: name for name in re.findall(r"^\w+ t (.*\[clone .*)$", symbols, re.MULTILINE)}
    for plain in ("THPSize_New", "storage_get", "THPDevice_New"):
        asked = ("show", "--tree", checkout, names[plain], "--json")
        [shown] = sourced_command(*asked).data["candidates"]
        text = (source_tree / shown["source"]["path"]).read_text(encoding="utf-8").splitlines()
        assert shown["name"] == plain
        assert f"{plain}(" in text[shown["source"]["line"] - 1]


def test_a_getter_that_a_template_makes_stands_where_the_template_has_it(
    sourced_command: InProcess, source_tree: Path
) -> None:
    """As x.T: the row of the table of attributes names it, and is not where it is written."""
    hops = sourced_command("trace", "a.T", "--no-native", "--json").hops
    [source] = [hop["source"] for hop in hops if hop["kind"] == "binding"]
    text = (source_tree / source["path"]).read_text(encoding="utf-8").splitlines()
    assert "struct GetterBase" in text[source["line"] - 2] or " getter(" in text[source["line"] - 1]


def test_a_template_is_never_an_answer(sourced: Cli, sourced_command: InProcess) -> None:
    """No compiler reads it: what runs comes from the file that torchgen makes of it."""
    made = sourced_command("trace", "F.softmax(a, -1)", "--json").data
    paths = {reference["path"] for hop in made["hops"] for reference in references(hop) if reference["path"]}
    assert len(paths) > 20
    assert not [path for path in paths if "/templates/" in path]
    # Known from the catalogue, indexed or not. TensorBase.h defines the second name,
    # too, without template arguments: that function did not run.
    by_name = {"at::check_type": "check_type(", "at::TensorBase::const_data_ptr": "const_data_ptr"}
    for name, text in by_name.items():
        told = [hop["source"] for hop in made["hops"] if hop["name"] == name]
        assert told
        # 2.6 writes the casts by a macro: which of its specialisations ran, their types do not tell.
        for source in told:
            assert source["path"] == "build/aten/src/ATen/core/TensorMethods.cpp"
            lines = [sourced.line_of(place) for place in source["candidates"] or [source]]
            assert source["precision"] == ("ambiguous" if len(lines) > 1 else "located")
            assert all(text in line or "DEFINE_CAST" in line for line in lines)


def test_advice_repeats_whose_torch_is_meant(command: InProcess) -> None:
    python = TARGET or sys.executable
    asked = ("trace", "torch.add(a, b)", "--no-native", "--view", "tree", "--python", python)
    shown = command(*asked, target=None, env={"COLUMNS": "400"})
    advice = shown.out.partition("\nnext: ")[2].splitlines()
    assert [line.split()[1] for line in advice[:3]] == ["op", "trace", "trace"], shown.out
    assert f"--python {python}" in advice[0]
    assert all("trace --last " in line for line in advice[1:3]), "it is shown again, and no torch is asked"


@pytest.mark.parametrize(
    "traced", ["F.softmax(x, -1).sum()", "1 - x / (F.softsign(x) + 3).mH", "torch.Tensor.__getitem__(x, [1, 2])"]
)
def test_tracing_records_the_operators_that_go_through_tracer(command: InProcess, traced: str) -> None:
    """A Tracer kernel takes the tracing state away: what runs inside of it is in no graph.

    Operator syntax leads to no call that a profile function is told of, and the state was turned on further out.
    """
    expression = f"torch.jit.trace(lambda x: {traced}, (a,), check_trace=False)"
    graph = torch_says(
        "import torch.nn.functional as F\n"
        f"a = torch.rand(3, 3)\ngraph = {expression}.graph\n"
        "print(json.dumps([node.kind() for node in graph.nodes() if node.kind().startswith('aten::')]))"
    )
    hops = command("trace", expression, "--no-native", "--json").hops
    calls = [hop for hop in hops if hop["kind"] == "op" and hop["op"]]
    through = [c["op"].partition(".")[0] for c in calls if any(key["name"] == "Tracer" for key in c["children"])]
    assert through == graph
    assert len(calls) > len(through), "what their kernels call does not"


CHANGED_SETS = (
    ("torch.func.vmap(lambda x: 1 - x)(a)", "rsub"),
    ("torch.jit.trace(lambda x: 1 - x, (a,), check_trace=False)", "rsub"),
    ("torch.func.grad(lambda x: (1 - x).sum())(a)", "rsub"),
    ("torch.inference_mode()(lambda x: x @ x)(a)", "matmul"),
    ("torch.func.functionalize(lambda x: -x)(a)", "neg"),
)


@pytest.mark.parametrize(("expression", "operator"), CHANGED_SETS if THOROUGH else CHANGED_SETS[:2])
def test_sets_that_were_changed_before_operator_syntax(command: InProcess, expression: str, operator: str) -> None:
    """The sets at an operator that no call of a function leads to are those that torch has in the lambda around it."""
    read = "sets.extend([torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()])"
    head, _, body = expression.partition("lambda x: ")
    expected = torch_says(
        f"sets, a = [], torch.rand(3, 3)\n{head}lambda x: ({read}, {_before_end(body)}"
        "print(json.dumps([repr(keys)[len('DispatchKeySet('):-1].split(', ') for keys in sets[:2]]))"
    )
    hops = command("trace", expression, "--no-native", "--json").hops
    call = next(hop for hop in hops if hop["kind"] == "op" and hop["name"].partition(".")[0] == f"aten::{operator}")
    key = next(hop for hop in call["children"] if hop["kind"] == "key")["dispatch"]
    # Torch prints a functionality with the backends of its set: alone in a set it is not printed.
    ours = [set(key[name].split(", ")) - {"AutogradFunctionality"} for name in ("tls_include", "tls_exclude")]
    assert ours == [{name for name in names if name} - {"AutogradFunctionality"} for names in expected]


def _before_end(body: str) -> str:
    """A lambda's body as the second of a pair, which the lambda then takes; what follows the lambda as it is."""
    depth = 0
    for place, char in enumerate(body):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0 or (char == "," and not depth):
            return f"{body[:place]})[1]{body[place:]}\n"
    raise AssertionError(body)


def test_an_operator_of_a_slot_under_a_transform_starts_at_no_key_of_the_outside(command: InProcess) -> None:
    """`x * 2` calls no builtin that Python's hook sees, and the frame around it began before the level was on."""
    included = torch_says(
        "seen = []\n"
        "def double(x):\n    seen.append(str(torch._C._dispatch_tls_local_include_set()))\n    return x * 2\n"
        "torch.vmap(double)(torch.rand(3, 3))\nprint(json.dumps(seen[-1]))"
    )
    assert "FuncTorchDynamicLayerFrontMode" in included
    hops = command("trace", "torch.vmap(lambda x: x * 2)(a)", "--no-native", "--json").hops
    calls = [hop for hop in hops if hop["kind"] == "op" and hop["op"] == "aten::mul.Tensor"]
    assert calls
    assert "AutogradCPU" not in {key["name"] for call in calls for key in call["children"]}


CUSTOM = """@torch.library.custom_op('hard::doubled', mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    seen.append([str(torch._C._dispatch_tls_local_exclude_set()), torch._C._dispatch_keys(x).raw_repr()])
    return x * 2
doubled.register_autograd(lambda ctx, grad: grad * 2)
"""


def test_guards_that_python_holds_are_seen(compiler_command: InProcess) -> None:
    """torch/_library/autograd.py calls the function below autograd: its multiplication starts at CPU."""
    excluded = torch_says(
        f"seen = []\n{CUSTOM}\ntorch.ops.hard.doubled(torch.rand(3, 3, requires_grad=True))\n"
        "print(json.dumps(seen[-1][0]))"
    )
    assert "AutogradOther" in excluded
    setup = ("--setup", f"seen = []\n{CUSTOM}")
    hops = compiler_command("trace", "torch.ops.hard.doubled(a)", *setup, "--grad", "--no-native", "--json").hops
    keys = [hop["name"] for hop in hops if hop["kind"] == "key" and hop["op"] == "aten::mul.Tensor"]
    assert keys == ["CPU"]
    reasons = [hop["source"]["reason"] for hop in hops if hop["kind"] == "key" and hop["op"] == "hard::doubled"]
    assert reasons
    assert not any(reason and "C++" in reason["text"] for reason in reasons), reasons  # custom_ops.py registers it


def test_a_function_that_c_calls_to_trace_it_goes_through_tracer(command: InProcess) -> None:
    """No Python calls torch.relu here: the builtin that traces does."""
    expression = "torch.jit.trace(torch.relu, (a,), check_trace=False)"
    graph = torch_says(
        f"a = torch.rand(3, 3)\ngraph = {expression}.graph\n"
        "print(json.dumps([node.kind() for node in graph.nodes() if node.kind().startswith('aten::')]))"
    )
    hops = command("trace", expression, "--no-native", "--json").hops
    traced = [hop["op"] for hop in hops if hop["kind"] == "key" and hop["name"] == "Tracer"]
    assert traced == graph == ["aten::relu"]


def test_what_autocast_calls_does_not_go_through_autocast(command: InProcess) -> None:
    """The keys that are predicted without a native pass are those whose registers the native pass read."""

    def keys(*options: str) -> dict[str, list[str]]:
        asked = ("trace", "a @ b", "--with", "torch.autocast('cpu', torch.bfloat16)", "--json", *options)
        hops = command(*asked).hops
        chains: dict[str, list[str]] = {}
        for hop in hops:
            if hop["kind"] == "key":
                chains.setdefault(hop["op"], []).append(hop["name"])
        return chains

    ran, predicted = keys(), keys("--no-native")
    for op in ("aten::matmul", "aten::mm", "aten::resolve_conj"):
        assert predicted[op] == ran[op]
    assert "AutocastCPU" not in predicted["aten::mm"]


def test_an_order_that_nothing_saw_is_not_told(command: InProcess, warm_cache: Path) -> None:
    """Where an operator ran among functions that follow from a text: by the stepped run, and by the generated code."""
    expression = "F.linear(a, b).div(b).clamp(0)"
    stepped = command("trace", expression, "--json").hops
    ran = [(hop["op"], names) for hop, names in _with_callers(stepped) if hop["kind"] == "op"]
    derived = command("trace", expression, "--backward", "--no-native", "--json").hops
    told = [hop for hop in derived if hop["kind"] == "op" and hop["phase"] == "forward"]
    assert [hop["op"] for hop in told] == [op for op, _ in ran]
    callers = {inner["id"]: hop for hop in derived for inner in hop["children"]}
    unknown = set()
    for hop, (op, names) in zip(told, ran, strict=True):
        caller = callers[hop["id"]]
        before = caller["children"][: [inner["id"] for inner in caller["children"]].index(hop["id"])]
        unseen = [inner["name"] for inner in before if inner["kind"] in ("impl", "stub")]
        assert hop["unknown_order"] == bool(unseen), op
        assert caller["kind"] != "impl" or caller["name"] in names, op
        if any(name.startswith("at::meta::") and name in names for name in unseen):
            unknown.add(op)
    assert unknown == {"aten::to.dtype"}  # the clamp's bound is made a float while the shapes are worked out
    assert any(callers[hop["id"]]["name"] == "at::native::linear" for hop in told)

    node = next(hop for hop in derived if hop["name"].endswith("::DivBackward0::apply"))
    functions = [inner["name"] for inner in node["children"] if inner["kind"] == "impl"]
    generated, *_ = warm_cache.glob("generated/*/torch/csrc/autograd/generated/Functions.cpp")
    text = generated.read_text().partition("variable_list DivBackward0")[2]
    places = [text.index(f"{name.rpartition('::')[2]}(") for name in functions]
    assert len(places) == 2
    assert places == sorted(places)


def _with_callers(hops: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Each hop with the names of all that it is inside of."""
    names: dict[int, set[str]] = {}
    for hop in hops:
        yield hop, names.get(hop["id"], set())
        for inner in hop["children"]:
            names[inner["id"]] = {*names.get(hop["id"], set()), hop["name"]}


def test_a_stepped_call_of_another_thread_is_laid_over_no_call_of_this_one(command: InProcess) -> None:
    """The thread calls it first, so that is what is stepped; torch 2.6's profiler records nothing of the thread."""
    setup = (
        "import threading\n"
        "def f():\n    t = threading.Thread(target=lambda: torch.exp(torch.ones(2)))\n    t.start()\n    t.join()\n"
        "    return torch.exp(torch.ones(3))"
    )
    made = command("trace", "f()", "--native-op", "exp", "--setup", setup, "--json")
    assert not [hop for hop in made.hops if hop["kind"] == "op" and hop["instructions"] is not None]
    reason = made.data["captured"]["reason"]  # of a torch whose profiler tells nothing of the thread
    told = [finding["text"] for finding in made.data["findings"]] + ([reason["text"]] if reason is not None else [])
    assert any("but no row shows the functions inside it" in t or "which call was stepped" in t for t in told)


def test_a_call_made_once_is_no_two_where_the_profile_function_was_taken_away(command: InProcess) -> None:
    setup = (
        "import sys\ndef f(t):\n    y, old = t.sin(), sys.getprofile()\n    sys.setprofile(None)\n    y = y.cos()\n"
        "    sys.setprofile(old)\n    return y.tan()"
    )
    made = command("trace", "f(a)", "--setup", setup, "--json")
    operators = [hop["op"] for hop in made.hops if hop["kind"] == "op"]
    assert sorted(operators) == ["aten::cos", "aten::sin", "aten::tan"]


def test_a_kernel_of_pythons_holds_what_ran_in_it(command: InProcess) -> None:
    """Autograd's kernel sends the call on to the key Meta, which has a function of Python in its table."""
    assert torch_says("print(json.dumps('Meta' in map(str, torch.ops.aten.mm.default.py_kernels) or "
                      "'DispatchKey.Meta' in map(str, torch.ops.aten.mm.default.py_kernels)))")  # fmt: skip
    variable = ("--var", "m=torch.randn(2, 2, device='meta')")
    for hop, callers in _with_callers(command("trace", "m.mm(m)", *variable, "--no-native", "--json").hops):
        if hop["kind"] == "python" and hop["name"] == "meta_mm":
            assert {"AutogradMeta", "Meta"} <= callers
            return
    raise AssertionError("meta_mm is in no row")


def test_a_generator_runs_inside_of_what_consumes_it(command: InProcess) -> None:
    """A profile function of Python's own tells when: sum() is entered, then the generator, as often as it goes on."""
    setup = "def f(n):\n    for k in range(n):\n        yield torch.sin(x * k)\nx = torch.ones(2)"
    recorded = torch_says(
        f"import sys\n{setup}\nevents = []\n"
        "sys.setprofile(lambda frame, event, called: events.append(event[:6] + ' ' + "
        "(called.__name__ if event.startswith('c_') else frame.f_code.co_name)))\n"
        "sum(f(2))\nsys.setprofile(None)\nprint(json.dumps(events))"
    )
    began, ended = recorded.index("c_call sum"), recorded.index("c_retu sum")
    assert [event for event in recorded if event == "call f"] == ["call f"] * 3
    assert recorded[began:ended].count("call f") == 3
    tree = command("trace", "sum(f(2))", "--setup", setup, "--no-native", "--json").tree
    assert [hop["name"] for hop in tree] == ["sum"]
    pieces = [hop for hop in tree[0]["children"] if hop["kind"] == "python"]
    goes_on = [(hop["name"], bool(hop["python"] and hop["python"]["resumed"])) for hop in pieces]
    assert goes_on == [("f", False), ("f", True), ("f", True)]


def test_a_class_of_c_holds_every_function_of_python_that_it_calls(command: InProcess) -> None:
    """list() asks for an iterator, and for items until one raises StopIteration; an operator runs in some alone."""
    setup = (
        "class Items:\n def __init__(self): self.left = [x, None, x]\n def __iter__(self): return self\n"
        " def __next__(self):\n  if not self.left: raise StopIteration\n"
        "  item = self.left.pop()\n  return item if item is None else item.sin()\nx = torch.ones(2)"
    )
    called = torch_says(
        f"import sys\n{setup}\ncalled, items = [], Items()\n"
        "sys.setprofile(lambda frame, event, of: called.append(frame.f_code.co_name) if event == 'call' else None)\n"
        "list(items)\nsys.setprofile(None)\nprint(json.dumps(called))"
    )
    tree = command("trace", "list(Items())", "--setup", setup, "--no-native", "--json").tree
    assert called == ["__iter__", *["__next__"] * 4]
    top = [hop["name"] for hop in tree]
    held = [child["name"] for hop in tree if hop["name"] == "list" for child in hop["children"]]
    if not keeps_columns():  # which call led to them is not known: list() holds what its operators enclose
        assert (top, held) == (["__init__", "__iter__", "list", "__next__"], ["__next__"] * 3)
        return
    assert top == ["__init__", "list"], "the last __next__() is no call of the expression's"
    assert held == called


@pytest.mark.parametrize("loaded", ["torch._dynamo", "json"])
def test_what_setup_defines_can_be_imported_as_any_code_of_python(command: InProcess, loaded: str) -> None:
    """Pickle finds a class by its module's name, Dynamo a function's globals: it keeps the first module of a name."""
    setup = (
        f"import importlib, inspect, pickle, sys, {loaded}\n"
        "class Own: pass\n"
        "seen = sys.__dict__.setdefault('modules_seen', [])\n"
        "seen.append(importlib.import_module(__name__))\n"
        "def f():\n"
        "    import colorsys\n"
        "    assert type(pickle.loads(pickle.dumps(Own()))) is Own\n"
        "    assert inspect.getsource(Own) == 'class Own: pass\\n'\n"  # as TorchScript reads what it compiles
        "    assert inspect.getsource(f).startswith('def f():\\n    import colorsys')\n"
        "    assert vars(importlib.import_module(__name__)) is globals()\n"
        "    return len({id(module) for module in seen})"
    )
    data = command("trace", "f()", "--setup", setup, "--no-native", "--json").data
    assert data["ending"] is None
    assert data["result"]["description"] == "1"


def test_a_key_says_redispatch_only_inside_the_kernel_that_redispatched(command: InProcess) -> None:
    """Python's values become tensors below autograd: the table is asked for CPU at once; no kernel sent it there."""
    has_autograd = torch_says(
        "with torch._C._AutoDispatchBelowADInplaceOrView():\n"
        "    left = torch._C._dispatch_keys(torch.ones(1)) - torch._C._dispatch_tls_local_exclude_set()\n"
        "print(json.dumps(left.has(torch._C.DispatchKey.AutogradCPU)))"
    )

    def starts(hop: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The keys that a call begins with: no kernel is around them."""
        for child in hop["children"]:
            if child["kind"] == "key":
                yield child
            elif child["kind"] == "native":
                yield from starts(child)

    code = "def f(x):\n    y = x.clone()\n    y[1:] = 7\n    return y"
    calls = [hop for hop in command("trace", "f(x)", "--setup", code, "--json").hops if hop["kind"] == "op"]
    began = {call["op"]: key for call in calls for key in starts(call)}
    assert len(began) > 5
    assert not [op for op, key in began.items() if key["dispatch"]["redispatch"]]
    lifted = began["aten::lift_fresh"]
    assert lifted["name"] == ("AutogradCPU" if has_autograd else "CPU")
    assert "body-redispatches" not in codes(lifted["why"])


def test_a_set_that_may_hold_more_keys_is_not_stated(command: InProcess) -> None:
    """What a view of a conjugated tensor carries is not known from its device and layout."""
    carries = torch_says(
        "view = torch.ones(2, dtype=torch.cfloat).conj().view(2, 1)\n"
        "print(json.dumps(torch._C._dispatch_keys(view).has(torch._C.DispatchKey.Conjugate)))"
    )
    assert carries
    code = "def f(z):\n    return torch.matmul(z.conj(), z)"
    variables = ("--var", "z=torch.ones(2, 2, dtype=torch.cfloat)")
    hops = command("trace", "f(z)", "--setup", code, *variables, "--no-native", "--json").hops
    made = [h["dispatch"] for h in hops if h["kind"] == "key" and h["op"] != "aten::_conj" and h["dispatch"]["unread"]]
    assert made
    assert all("Conjugate" in json.dumps(dispatch["unread_why"]) for dispatch in made)
    assert not any(set(dispatch["arguments"]) & set(dispatch["unread"]) for dispatch in made)


def test_no_key_is_predicted_without_a_nested_argument(compiler_command: InProcess) -> None:
    """The profiler skips nested tensors: what their calls go through does not follow from the other arguments."""
    nested = "torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)"
    expected = torch_says(
        f"keys = torch._C._dispatch_keys({nested})\n"
        "print(json.dumps(keys.has(torch._C.DispatchKey.AutogradNestedTensor)))"
    )
    assert expected
    hops = compiler_command("trace", "n * 2", "--var", f"n={nested}", "--no-native", "--json").hops
    call = next(hop for hop in hops if hop["kind"] == "op" and hop["name"].startswith("aten::mul"))
    assert not [child for child in call["children"] if child["kind"] == "key"]
    # Without recorded overloads the call is of none that is known, and nothing more is said of it.
    assert call["op"] is None or "not-recorded" in codes(call["why"])


FUNCTION = """
class M(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): return x * y
    @staticmethod
    def backward(ctx, g): return g, g
"""


@pytest.mark.parametrize(
    "setup, expression, written",
    [
        ("import copy; m = nn.Linear(2, 2)", "copy.deepcopy(m)", ("object", "__reduce_ex__")),
        ("import io", "torch.save(a, io.BytesIO())", ("_pickle.Pickler", "dump")),
        (FUNCTION, "M.apply(a, b)", ("torch._C._FunctionBase", "apply")),
        ("", "torch.Tensor.split(a, 1)", ("torch._C._VariableFunctions", "split")),
    ],
)
def test_a_builtin_is_named_by_the_class_that_it_is_written_in(
    command: InProcess, setup: str, expression: str, written: tuple[str, str]
) -> None:
    """And by no name that leads Python elsewhere, or nowhere."""
    made = command("trace", expression, "--setup", setup, "--no-native", "--full", "--json")
    assert made.code == 0, made
    rows = [hop for hop in made.hops if hop["kind"] == "binding"]
    names = {(hop["binding"] or {}).get("python") or hop["name"] for hop in rows}
    assert ".".join(written) in names
    owner, name = written
    found, wrong = torch_says(
        "import _pickle, builtins, torch.nn as nn\n"
        "def value(name):\n"
        "    found = builtins\n"
        "    for part in name.split('.'):\n"
        "        found = {'torch': torch, '_pickle': _pickle}.get(part) if found is builtins and part != 'object'"
        " else getattr(found, part, None)\n"
        "    return found\n"
        "kinds = type(torch.add), type(torch.Tensor.add)\n"
        f"print(json.dumps([type(value({owner + '.' + name!r})) in kinds,"
        f" [name for name in {sorted(n for n in names if '::' not in n)!r} if type(value(name)) not in kinds]]))"
    )
    assert found
    assert not wrong
    for hop in rows:
        if hop["name"].startswith(("object.", "_pickle.")):
            assert hop["source"]["reason"]["code"] == "of-builtin-class"


def test_a_slot_called_by_name_is_the_c_function_behind_it(command: InProcess) -> None:
    """`a.__setitem__` is no Python function: Python wraps the type's slot, THPVariable_setitem."""
    assert torch_says("print(json.dumps(type(torch.ones(1).__setitem__).__name__))") == "method-wrapper"
    for expression in ("a.__setitem__((0, slice(None)), b[1])", "torch.Tensor.__setitem__(a, 0, b[1])"):
        made = command("trace", expression, "--json")
        rows = [hop for hop in made.hops if "setitem" in hop["name"]]
        assert [(hop["kind"], hop["name"]) for hop in rows] == [("binding", "torch::autograd::THPVariable_setitem")]
        assert rows[0]["binding"]["python"] == "torch.Tensor.__setitem__"


def test_what_makes_the_tensor_is_shown(command: InProcess) -> None:
    """Of `torch.from_dlpack(a)`: all that PyTorch calls DLPack, but what speaks of types and devices alone."""
    file = "dlpack.json"
    made = command("trace", "torch.from_dlpack(a)", "--json", "--save", file)
    assert made.code == 0, made
    if not made.data["captured"]["native"]:
        pytest.skip(f"no native pass here: {made.data['captured']['reason']}")
    names = {hop["name"] for hop in made.hops if hop["kind"] == "native" and "DLPack" in hop["name"]}
    whole = {name for name in names if "::detail::" not in name and "{" not in name and "~" not in name}
    makers = {name for name in whole if name.rpartition("::")[2].removeprefix("THPModule_").startswith(("to", "from"))}
    assert any("fromDLPack" in name for name in makers)
    shown = command("trace", "--load", file, env={"COLUMNS": "400"}).out
    assert not [name for name in makers if name not in shown], shown
    inside = next(hop for hop in made.hops if hop["name"] == "torch::PythonArgParser::check_deprecated")
    told = " ".join(command("trace", "--load", file, "--explain", str(inside["id"])).out.split())
    assert "in the tree left out: it is inside [" in told


def test_a_type_is_named_once(compiler_command: InProcess) -> None:
    """Pybind11 wrote the module into this class's own name."""
    traced = "torch.jit.trace(lambda x: x * 2, (a,))"
    name = torch_says(
        f"a = torch.ones(3)\nkind = type({traced})\n"
        "print(json.dumps('torch.jit.ScriptFunction' if kind is torch.jit.ScriptFunction else repr(kind)))"
    )
    assert compiler_command("trace", traced, "--no-native", "--json").data["result"]["type"] == name


def test_a_call_that_was_compiled_into_its_caller_is_a_call(command: InProcess) -> None:
    """functionalizeFallback calls the operator anew, in 2.13 by a `callBoxed` that leaves no frame of its own.

    Functorch's kernels take turns: the mode in front, the level's own key, the mode behind, what is left below it
    (aten/src/ATen/functorch/DynamicLayer.cpp); each but the last calls the operator once more.
    """
    hops = command("trace", "torch.func.functionalize(lambda x: torch.add(x, x))(a)", "--json").hops
    by_id = {hop["id"]: hop for hop in hops}
    calls = [hop for hop in hops if hop["kind"] == "op" and hop["op"] == "aten::add.Tensor"]

    def around(hop: Any) -> Any:
        """The innermost call of an operator that a hop is in."""
        while (hop := by_id.get(hop["parent"])) is not None and hop["kind"] != "op":
            pass
        return hop["id"] if hop is not None else None

    assert [around(call) for call in calls] == [None, *(call["id"] for call in calls[:-1])]
    keys = [[hop["key"] for hop in hops if hop["kind"] == "key" and around(hop) == call["id"]] for call in calls]
    modes = ["FuncTorchDynamicLayerFrontMode"], ["Functionalize"], ["FuncTorchDynamicLayerBackMode"]
    assert keys == [*modes, ["AutogradCPU", "CPU"]]
    assert all(hop["status"] == "observed" for hop in hops if hop["kind"] == "key" and hop["op"] == "aten::add.Tensor")


NORMED = """
torch.set_num_threads(1)  # as while stepping: with more of them the kernel goes another way
a = torch.ones(2, 3, 4, 4)
norm = torch.nn.BatchNorm2d(3)
norm(a)
with torch.profiler.profile() as profile: norm(a)
(call,) = [event for event in profile.events() if event.name == "aten::native_batch_norm"]
print(json.dumps([child.name for child in call.cpu_children]))
"""


def test_calls_of_one_operator_by_several_functions_of_a_kernel_are_told_apart(command: InProcess) -> None:
    """C++ has functions of its own that are called as Python's builtins are (`size`): they are none of those calls."""
    recorded = torch_says(NORMED)
    made = command("trace", "norm(a)", "--setup", "a = torch.ones(2, 3, 4, 4)\nnorm = nn.BatchNorm2d(3)", "--json")
    assert not made.data["findings"], made.data["findings"]
    (call,) = [hop for hop in made.hops if hop["op"] == "aten::native_batch_norm" and hop["kind"] == "op"]

    def inside(hop: dict[str, Any]) -> list[str]:
        below: list[str] = []
        for child in hop["children"]:
            below += [child["op"]] if child["kind"] == "op" else inside(child)
        return below

    assert [name.partition(".")[0] for name in inside(call)] == [name.partition(".")[0] for name in recorded]


COMPILED = "torch.compile(lambda x: x * 2 + 1, backend='eager')(a)"
CONDITIONAL = "torch.cond(b.sum() > 0, torch.sin, torch.cos, (a,))"


@pytest.mark.parametrize("expression", [COMPILED, CONDITIONAL] if THOROUGH else [CONDITIONAL])
def test_what_compiles_does_not_compile_our_recorder(compiler_command: InProcess, expression: str) -> None:
    """torch.compile runs every Python function through Dynamo, a profile function's too."""
    recorded = torch_says(
        f"a, b = torch.ones(3), torch.ones(3)\nrun = lambda: {expression}\nrun()\n"
        "with torch.profiler.profile() as profile: run()\n"
        "names = [event.name for event in profile.events()]\n"
        "regions = [name for name in names if name.startswith('Torch-Compiled Region')]\n"
        "print(json.dumps([len(regions), sorted({name for name in names if name in ('aten::mul', 'aten::sin')})]))"
    )
    setup = "a, b = torch.ones(3), torch.ones(3)"
    made = compiler_command("trace", expression, "--setup", setup, "--no-native", "--json")
    assert made.code == 0, made
    assert not [finding for finding in made.data["findings"] if finding["kind"] == "perturbed"], made.data["findings"]
    names = [hop["name"] for hop in made.hops]
    regions = [name for name in names if name.startswith("Torch-Compiled Region")]
    ops = [hop["op"].partition(".")[0] for hop in made.hops if hop["kind"] == "op" and hop["op"] is not None]
    assert [len(regions), sorted({op for op in ops if op in ("aten::mul", "aten::sin")})] == recorded
    assert not [hop for hop in made.hops if "ptexplore" in json.dumps(hop["source"])]


def test_a_tensor_that_python_dispatches_has_its_keys(compiler_command: InProcess) -> None:
    """Inside a dispatch mode a tensor made before is none of the CPU's own, and Python's last call left other sets."""
    inside = "with FakeTensorMode():\n  t = torch.randn(2, 3)\n  "
    expected = torch_says(
        f"from torch._subclasses import FakeTensorMode\n{inside}"
        "sets = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_keys(t)\n"
        "print(json.dumps([sorted(repr(keys)[len('DispatchKeySet('):-1].split(', ')) for keys in sets]))"
    )
    setup = "from torch._subclasses import FakeTensorMode\ndef f():\n " + inside.replace("\n", "\n ") + "return t.neg()"
    hops = compiler_command("trace", "f()", "--setup", setup, "--no-native", "--json").hops
    calls = [hop for hop in hops if hop["kind"] == "op" and hop["name"].startswith("aten::neg")]
    first = next(hop for hop in hops if hop["kind"] == "key" and hop["parent"] == calls[0]["id"])
    told = first["dispatch"]["tls_include"], first["dispatch"]["arguments"]["self"]
    assert [sorted(keys.split(", ")) for keys in told] == expected
    assert first["key"] == "PythonTLSSnapshot"


def test_a_call_that_records_nothing_holds_no_node(command: InProcess) -> None:
    """The profiler gives it the number that the next node gets."""
    expression = "(a > 0).sum() + a.sum()"
    expected = torch_says(
        "a = torch.ones(3, requires_grad=True)\n"
        f"made = (a > 0).sum().grad_fn, a.sum().grad_fn, ({expression}).grad_fn\n"
        "print(json.dumps([node and node.name() for node in made]))"
    )
    hops = command("trace", expression, "--grad", "--no-native", "--json").hops
    by_id = {hop["id"]: hop for hop in hops}

    def recorded(call: Any) -> Any:
        """The node that a call's own kernel recorded."""
        for hop in hops:
            around = hop
            while hop["kind"] == "node" and (around := by_id.get(around["parent"])) is not None:
                if around["kind"] == "op":
                    break
            if hop["kind"] == "node" and around is call:
                return hop["name"]
        return None

    by_python = [
        hop
        for hop in hops
        if hop["kind"] == "op" and by_id.get(hop["parent"], {}).get("kind") not in ("kernel", "impl")
    ]
    outer = [hop for hop in by_python if hop["name"].startswith(("aten::sum", "aten::add"))]
    assert [recorded(call) for call in outer] == expected


def test_the_key_of_a_generator_counts(command: InProcess) -> None:
    """`MultiDispatchKeySet` of DispatchKeyExtractor.h takes a Generator's; the profiler records none."""
    setup = "g = torch.Generator().manual_seed(0)"
    hops = command("trace", "torch.randn(3, generator=g)", "--setup", setup, "--json").hops
    read = next(hop for hop in hops if hop["kind"] == "key")["dispatch"]
    assert "CPU" in read["set"].split(", "), "what the stepped run's register held"
    predicted = command("trace", "torch.randn(3, generator=g)", "--setup", setup, "--no-native", "--json").hops
    keys = [hop for hop in predicted if hop["kind"] == "key" and hop["op"] == "aten::randn.generator"]
    assert keys or torch_says("print(json.dumps(torch.__version__))").startswith("2.6.")  # which tells no overload
    assert not keys or keys[0]["dispatch"]["unread"] == ["generator"]
    plain = command("trace", "torch.randn(3)", "--no-native", "--json").hops
    assert next(hop for hop in plain if hop["kind"] == "key")["dispatch"]["unread"] == []


def _chains(hops: list[Any]) -> list[tuple[str, list[str]]]:
    """The operator calls in order, each with the keys that it went through itself."""
    by_id = {hop["id"]: hop for hop in hops}
    chains: dict[int, tuple[str, list[str]]] = {}
    for hop in hops:
        if hop["kind"] == "op":
            chains[hop["id"]] = ((hop["op"] or hop["name"]).partition(".")[0], [])
        around = by_id.get(hop["parent"]) if hop["kind"] == "key" else None
        while around is not None and around["kind"] != "op":
            around = by_id.get(around["parent"])
        if around is not None:
            chains[around["id"]][1].append(hop["key"])
    return list(chains.values())


PACKED = (
    "def f(x):\n with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):\n"
    "  return (x * x).sum()"
)
ASSIGNED = "def f(x):\n y = x.clone()\n y[y < 0] = 0.5\n return y"
DUAL = (
    "import torch.autograd.forward_ad as fwAD\n"
    "def f(x):\n with fwAD.dual_level():\n  return fwAD.make_dual(x, torch.ones_like(x)).exp()"
)
ON_META = "def f(x):\n with torch.device('meta'):\n  return torch.ones(2)"


@pytest.mark.parametrize("setup", [PACKED, ASSIGNED, DUAL, ON_META] if THOROUGH else [PACKED])
def test_what_is_predicted_is_what_the_registers_held(command: InProcess, setup: str) -> None:
    """A hook on what is saved, a number that is assigned, a forward gradient, a mode that names a device."""
    arguments = ("trace", "f(a)", "--setup", setup, "--grad", "--json")
    predicted, read = (_chains(command(*arguments, *more).hops) for more in (("--no-native",), ()))
    assert [op for op, _ in predicted] == [op for op, _ in read]
    wrong = [(op, told, ran) for (op, told), (_, ran) in zip(predicted, read, strict=True) if told != ran[: len(told)]]
    assert not wrong
    assert any(told and told == ran for (_, told), (_, ran) in zip(predicted, read, strict=True)) or setup is ON_META


def test_another_threads_calls_say_so(command: InProcess) -> None:
    setup = (
        "import threading\ndef f(x):\n r = []\n t = threading.Thread(target=lambda: r.append(x.exp()))\n"
        " t.start(); t.join()\n return r[0] + 1"
    )
    made = command("trace", "f(a)", "--setup", setup, "--no-native")
    rows = made.out.splitlines()
    if torch_says("print(json.dumps(torch.__version__))").startswith("2.6."):
        assert "this torch's profiler records only one" in made.out
        return
    (told,) = (number for number, row in enumerate(rows) if "not in the thread that ran the expression" in row)
    assert "<lambda>" in rows[told - 1]
    assert [row for row in rows[told:] if "aten::exp" in row]
    assert not [row for row in rows[:told] if "aten::exp" in row]


# Under these expressions: the binding that Python calls, and the frames that must be inside of it, outermost first.
NESTED = [
    ("a == b", [("torch.Tensor.__eq__", "THPVariable___eq__"), "THPVariable_eq", "aten::eq.Tensor"]),
    ("a.to(memory_format=torch.preserve_format)", [("torch.Tensor.to", "THPVariable_to"), "aten::to"]),
    ("torch.as_tensor([[1, 2]])", [("torch.as_tensor", "THPVariable_as_tensor"), "aten::lift_fresh"]),
]


@pytest.mark.parametrize("expression, chain", NESTED, ids=[expression for expression, _ in NESTED])
def test_a_binding_is_around_what_it_calls(command: InProcess, expression: str, chain: list[Any]) -> None:
    """By the generated bindings' own text: `__eq__` calls THPVariable_eq, and `to` is no at::Tensor::to."""
    hops = command("trace", expression, "--json").hops
    by_id = {hop["id"]: hop for hop in hops}
    (python, c), *inside = chain
    (binding,) = (hop for hop in hops if hop["binding"] is not None and hop["binding"]["python"] == python)
    assert binding["name"].endswith(f"::{c}") or binding["name"] == c
    assert binding["native"] is None or c in binding["native"]["symbol"]
    around = binding["id"]
    for name in inside:
        hop = next(hop for hop in hops if name in hop["name"] and hop["id"] != binding["id"])
        ancestors = set()
        while hop is not None:
            ancestors.add(hop["id"])
            hop = by_id.get(hop["parent"])
        assert around in ancestors, name
        around = next(other["id"] for other in hops if name in other["name"] and other["id"] != binding["id"])
    assert not [hop for hop in hops if c in hop["name"] and hop["id"] != binding["id"] and hop["kind"] == "native"]


HELD = {
    "conjugate": ("w = torch.ones(3, dtype=torch.complex64).conj()", "x * w"),
    "negative": ("w = torch.ones(3, dtype=torch.complex64).conj().imag", "x * w"),
    "inference": ("with torch.inference_mode(): w = torch.ones(3)", "w.neg()"),
    "oneDNN": ("w = torch.ones(3).to_mkldnn()", "w.to_dense()"),
    "parameter": ("w = torch.nn.Linear(3, 3).weight", "w.t()"),
}


@pytest.mark.parametrize("name", HELD)
def test_a_tensor_that_is_no_argument_has_its_own_keys(command: InProcess, name: str) -> None:
    """What a global, a closure or a module holds was there before: its keys are read, not concluded."""
    made, used = HELD[name]
    setup = f"{made}\ndef f(x): return {used}"
    expected = torch_says(f"{made}\nprint(json.dumps(repr(torch._C._dispatch_keys(w))))")
    hops = command("trace", "f(x)", "--setup", setup, "--var", "x=torch.ones(3)", "--no-native", "--json").hops
    sets = next(hop["dispatch"]["arguments"] for hop in hops if hop["kind"] == "key")
    keys = expected.partition("(")[2].rpartition(")")[0].split(", ")
    assert sorted(keys) in [sorted(shown.split(", ")) for shown in sets.values()], (keys, sets)


@pytest.mark.parametrize("made", ["torch.empty(3, device='meta')", "torch.zeros(2, layout=torch.sparse_coo)"])
def test_a_tensor_that_is_thrown_away_is_not_taken_for_one_of_the_cpu(command: InProcess, made: str) -> None:
    """No operator was given it, so nothing tells where it was but the words that were typed."""
    hops = command("trace", f"{made}.shape", "--no-native", "--json").hops
    keys = [hop["key"] for hop in hops if hop["kind"] == "key"]
    assert keys
    assert "CPU" not in keys


def test_a_result_whose_node_torch_refuses_to_tell_is_traced(command: InProcess) -> None:
    """A view made under no_grad that was written to: asking it for its node raises, and it was not you who asked."""
    asked = ("a.diagonal().fill_(0)", "--grad", "--with", "torch.no_grad()", "--no-native", "--json")
    assert "aten::fill_.Scalar" in [hop["op"] for hop in command("trace", *asked).hops]


def test_what_has_one_overload_is_that_one(compiler_command: InProcess) -> None:
    """Whatever the profiler could read of its inputs."""
    setup = "n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged, requires_grad=True)"
    hops = compiler_command("trace", "n.sin().unbind()", "--setup", setup, "--no-native", "--json").hops
    found = [hop for hop in hops if hop["kind"] == "op" and hop["name"].startswith("aten::_nested_get_values")]
    assert found
    assert {hop["op"] for hop in found} == {"aten::_nested_get_values"}


PACKED = "def pack(t): return t.clone()"


@pytest.mark.parametrize("function", ["relu", "exp", "sin"])
def test_what_packs_a_saved_tensor_runs_where_it_is_saved(command: InProcess, function: str) -> None:
    """A result is saved after the kernel below, an input before it; relu's kernel calls an operator of its own."""
    hook = "torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)"
    recorded = torch_says(
        f"{PACKED}\na = torch.ones(3, requires_grad=True)\nwith {hook}:\n"
        f"  with torch.profiler.profile() as profile: torch.{function}(a)\n"
        f"(call,) = [event for event in profile.events() if event.name == 'aten::{function}']\n"
        f"print(json.dumps([[child.name for child in call.cpu_children], torch.{function}(a).grad_fn.name()]))"
    )
    hops = command("trace", f"torch.{function}(a)", "--grad", "--setup", PACKED, "--with", hook, "--json").hops
    assert hops
    order = [
        "hook" if hop["kind"] == "python" else hop["op"].partition(".")[0]
        for hop in hops
        if (hop["kind"] == "python" and hop["name"].startswith("pack"))
        or hop["op"] in ("aten::clone", "aten::clamp_min")
        if hop["kind"] in ("python", "op")
    ]
    assert [name for name in order if name != "hook"] == [name for name in recorded[0] if name != "aten::detach"]
    kernel = next(n for n, hop in enumerate(hops) if hop["kind"] == "key" and hop["name"] == "CPU")
    packing = next(n for n, hop in enumerate(hops) if hop["kind"] == "python" and hop["name"].startswith("pack"))
    assert (packing > kernel) == (function != "sin"), "sin saves its input"


THREADED = """import threading
def f(a):
    r = []
    t = threading.Thread(target=lambda: r.append(a.exp()))
    t.start(); t.join()
    return r[0].sum()"""


def test_an_operator_of_another_thread_is_no_difference_between_the_passes(command: InProcess) -> None:
    """Of two threads no recorder has the order: what ran is the same in all of them."""
    made = command("trace", "f(a)", "--setup", THREADED, "--no-native", "--json")
    told = [finding["text"] for finding in made.data["findings"]]
    ran = {(hop["op"], hop["thread"]) for hop in made.hops if hop["kind"] == "op"}
    if not any("records only one" in text for text in told):  # as torch's profiler does before 2.7
        assert told == []
        assert ran >= {("aten::exp", 1), ("aten::sum", 0)}
    assert not [text for text in told if "changed what ran" in text]


@pytest.mark.parametrize(
    ("expression", "binding", "method"),
    [
        ("float(a.sum())", "torch.Tensor.__float__", "THPVariable_float_scalar"),
        ("int(a.sum())", "torch.Tensor.__int__", "THPVariable_integral_scalar"),
        ("(-a)", "torch.Tensor.__neg__", "THPVariable_neg"),
    ],
)
def test_a_builtin_of_pythons_calls_the_slot_of_what_it_is_given(
    command: InProcess, expression: str, binding: str, method: str
) -> None:
    """The generated table names the C function; Python's class may have it under another name."""
    hops = command("trace", expression, "--no-native", "--json").hops
    [hop] = [hop for hop in hops if hop["binding"] is not None and hop["binding"]["python"] == binding]
    assert hop["name"].endswith(method)
    assert hop["source"]["precision"] == "located"
    assert [inner["kind"] for inner in hop["children"]] == ["op"]


def test_a_builtin_stands_around_the_c_function_that_it_calls(command: InProcess) -> None:
    """As gdb's backtrace has them: math.sqrt, then slot_nb_float, then THPVariable_float_scalar, then item."""
    result = command("trace", "math.sqrt(x)", "--var", "x=torch.tensor(2.0)", "--json")
    [outer] = [hop for hop in result.hops if hop["kind"] == "python"]
    assert outer["name"] == "sqrt"
    if outer["children"][0]["kind"] == "native":  # stepped
        assert outer["children"][0]["name"].endswith("THPVariable_float_scalar")


def test_a_text_that_a_tensor_is_formatted_into_is_no_operand(command: InProcess) -> None:
    result = command("trace", "'%f' % x", "--var", "x=torch.tensor(2.0)", "--no-native", "--json")
    assert [hop["name"] for hop in result.tree] == ["str.__mod__"]


OPERATOR_BELOW_A_MODE = """
import operator
from torch.utils._python_dispatch import TorchDispatchMode
class Passes(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
class Asks(TorchDispatchMode):
    pass
seen = []
def run(a, b):
    with Passes():
        torch.relu(a)
        seen.append(int(torch._C._dispatch_tls_local_include_set().raw_repr()))
        return operator.add(a, b)
"""


def test_what_a_mode_set_for_its_own_functions_ends_with_them(compiler_command: InProcess) -> None:
    """At operator.add the mode is on: what was read last was in __torch_dispatch__, where it is off."""
    arguments = ("run(a, b)", "--setup", OPERATOR_BELOW_A_MODE, "--no-native", "--json")
    hops = compiler_command("trace", *arguments).hops
    first = next(hop for hop in hops if hop["kind"] == "op" and hop["op"] == "aten::add.Tensor")
    keys = [hop for hop in first["children"] if hop["kind"] == "key"]
    assert keys, first
    include = keys[0]["dispatch"]["tls_include"]
    assert "Python" in include.split(", "), include
    assert "PythonTLSSnapshot" in include.split(", "), include


def test_a_subclass_is_made_below_modes_and_the_python_dispatcher(compiler_command: InProcess) -> None:
    """A RecordFunction callback read {ADInplaceOrView, BackendSelect} at its detach(); the C++ has guards."""
    setup = "from torch._subclasses.fake_tensor import FakeTensorMode\n"
    setup += "from torch._dispatch.python import enable_python_dispatcher"
    arguments = (
        "m.from_tensor(a)",
        "--setup",
        f"{setup}\nm = FakeTensorMode()",
        "--with",
        "enable_python_dispatcher()",
    )
    hops = compiler_command("trace", *arguments, "--no-native", "--json").hops
    [making] = [hop for hop in hops if hop["kind"] == "binding" and "make_subclass" in hop["name"]]
    key = next(hop for hop in making["children"][0]["children"] if hop["kind"] == "key")
    assert set(key["dispatch"]["tls_include"].split(", ")) == {"ADInplaceOrView", "BackendSelect"}
    assert key["key"] == "AutogradMeta"


def test_a_tensor_of_pythons_values_is_made_below_fake_and_deferred_init(command: InProcess) -> None:
    """tensor_new.cpp excludes them as well; a RecordFunction callback read 0x381fffc78000000 at its empty() on 2.13."""
    hops = command("trace", "torch.tensor([1.0])", "--no-native", "--json").hops
    [empty] = [hop for hop in hops if hop["kind"] == "op" and hop["op"] == "aten::empty.memory_format"]
    excluded = next(hop for hop in empty["children"] if hop["kind"] == "key")["dispatch"]["tls_exclude"].split(", ")
    assert {"Fake", "DeferredInit", "Python", "Tracer", "Functionalize"} <= set(excluded)


@pytest.mark.parametrize(("expression", "function"), [("a.T", "PropertyT::getter"), ("a.mH", "PropertymH::getter")])
def test_the_function_behind_an_attribute_is_that_of_its_row(
    sourced_command: InProcess, source_tree: Path, expression: str, function: str
) -> None:
    hops = sourced_command("trace", expression, "--no-native", "--json").hops
    [hop] = [hop for hop in hops if hop["kind"] == "binding"]
    row = hop["binding"]["table_row"]
    lines = (source_tree / row["path"]).read_text(encoding="utf-8").splitlines()
    assert hop["name"] == function
    assert lines[row["line"] - 1].lstrip().startswith(f'{{"{expression.partition(".")[2]}", (getter){function}')


def test_a_torch_with_named_tensors_does_not_say_whether_named_is_excluded(command: InProcess) -> None:
    """NoNamesGuard of SoftMax.cpp in 2.6.0: a RecordFunction callback found Named excluded at _softmax."""
    hops = command("trace", "torch.softmax(a, -1)", "--no-native", "--json").hops
    inner = [hop for hop in hops if hop["kind"] == "op" and hop["op"] == "aten::_softmax"]
    [key] = [hop for hop in inner[0]["children"] if hop["kind"] == "key"]
    named = (torch_folder() / "include/ATen/core/NamedTensor.h").is_file()  # gone in 2.13
    assert key["dispatch"]["tls_observed"] is False or not named
    assert ("may-hold-no-names-guard" in codes(key["dispatch"]["tls_why"])) == named


def test_what_reads_the_tensors_among_pythons_values_is_inside_the_same_guards(command: InProcess) -> None:
    """recursive_store of tensor_new.cpp; a RecordFunction callback read the set {CPU} at item() on 2.13."""
    hops = command("trace", "torch.tensor([x, 1.0])", "--var", "x=torch.tensor(2.0)", "--no-native", "--json").hops
    [item] = [hop for hop in hops if hop["kind"] == "op" and hop["op"] == "aten::item"]
    keys = [hop["key"] for hop in item["children"] if hop["kind"] == "key"]
    assert keys == ["CPU"]


@pytest.mark.parametrize(
    ("expression", "run"),
    [  # gdb stops in maybe_multiply for the second alone
        ("(a.exp() + 0).sum()", {"AddBackward0": ["handle_r_to_c"]}),
        ("(a.exp() + a).sum()", {"AddBackward0": ["handle_r_to_c", "maybe_multiply"]}),
        ("(a.detach() @ a).sum()", {"MmBackward0": ["mm_mat2_backward"]}),
        ("(a @ a.detach()).sum()", {"MmBackward0": ["mm_mat1_backward"]}),
    ],
)
def test_a_formula_runs_where_its_input_needs_a_gradient(
    command: InProcess, expression: str, run: dict[str, list[str]]
) -> None:
    result = command("trace", expression, "--grad", "--backward", "--no-native", "--json")
    hops = {hop["id"]: hop for hop in result.data["hops"]}
    for node, functions in run.items():
        apply = f"torch::autograd::generated::{node}::apply"
        held = [
            hop["name"].rpartition("::")[2]
            for hop in hops.values()
            if hop["kind"] == "impl" and hop["parent"] is not None and hops[hop["parent"]]["name"] == apply
        ]
        assert held == functions


@pytest.mark.parametrize("expression", ["(a.exp() * 2).sum()", "(a * a.exp()).sum()", "(2 - a).sum()"])
def test_a_node_tells_the_formulas_of_what_needs_a_gradient(command: InProcess, expression: str) -> None:
    """A number is a tensor to the operator, and its formula runs never."""
    expected = torch_says(
        "found = {}\n"
        "def go(node):\n"
        "    if node is None or not node.next_functions: return\n"
        "    found[type(node).__name__] = [edge is not None for edge, _ in node.next_functions]\n"
        "    for edge, _ in node.next_functions: go(edge)\n"
        f"a = torch.ones(3, requires_grad=True)\ngo(({expression}).grad_fn)\nprint(json.dumps(found))"
    )
    result = command("trace", expression, "--backward", "--no-native", "--json")
    nodes = [hop for hop in result.hops if hop["kind"] == "node" and hop["derivative"] is not None]
    told = {True: set(), False: set()}
    for hop in nodes:
        name = hop["name"].rpartition("generated::")[2].removesuffix("::apply")
        formulas = [f for f in hop["derivative"]["formulas"] if f["mode"] == "backward" and f["text"]]
        assert [f["needed"] for f in formulas] == expected[name]
        told[hop["phase"] == "forward"].add(name)
    assert told[True] == told[False] == set(expected), "as it is recorded, and as it runs"


def test_an_operator_that_was_just_registered_has_its_arguments_names(compiler_command: InProcess) -> None:
    setup = (
        "@torch.library.custom_op('own::scaled', mutates_args=())\n"
        "def scaled(whole: torch.Tensor, part: torch.Tensor, by: float) -> torch.Tensor: return whole * part * by"
    )
    expected = torch_says(
        f"{setup}\narguments = torch.ops.own.scaled.default._schema.arguments\n"
        "print(json.dumps([a.name for a in arguments if 'Tensor' in str(a.type)]))"
    )
    hops = compiler_command("trace", "scaled(a, b, 2.0)", "--setup", setup, "--no-native", "--json").hops
    first = next(hop for hop in hops if hop["kind"] == "key" and hop["op"] == "own::scaled")
    assert list(first["dispatch"]["arguments"]) == expected


@pytest.mark.parametrize("function", ["sin", "exp"])
def test_what_packs_a_saved_tensor_needs_no_row_of_its_own(command: InProcess, function: str) -> None:
    """A lambda is no row; what it calls runs where it does: outside of the guard that the kernel below runs in."""
    asking = "lambda t: seen.append(torch._C._dispatch_tls_local_exclude_set().has(key)) or t"
    excluded = torch_says(
        "seen, key = [], torch._C.DispatchKey.AutogradCPU\n"
        f"with torch.autograd.graph.saved_tensors_hooks({asking}, lambda t: t):\n"
        f"  torch.{function}(torch.ones(3, requires_grad=True))\n"
        "print(json.dumps(seen))"
    )
    hook = "torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t)"
    result = command("trace", f"torch.{function}(a)", "--grad", "--with", hook, "--no-native", "--json")
    hops = {hop["id"]: hop for hop in result.hops}
    (packing,) = [hop for hop in result.hops if hop["kind"] == "op" and hop["op"] == "aten::mul.Tensor"]
    around, above = [], hops[packing["parent"]]
    while above["op"] == f"aten::{function}":
        around += [above["key"]] if above["kind"] == "key" else []
        above = hops.get(above["parent"], {"op": None})
    assert ("CPU" in around) is excluded[0] is False
    assert around == ["AutogradCPU"]


def test_an_undefined_tensor_of_a_list_counts(command: InProcess) -> None:
    """`a[:, i]` gives index a list that begins with one; the profiler tells nothing of such a list's tensors."""
    given = ("trace", "a[:, i]", "--var", "i=torch.tensor([1, 0])", "--json")
    keys = [hop for hop in command(*given).hops if hop["key"] == "AutogradCPU" and hop["kind"] == "key"]
    stepped = next(hop for hop in keys if hop["op"] == "aten::index.Tensor")
    assert stepped["dispatch"]["observed_raw"] == stepped["dispatch"]["raw"], "what the stepped run's register held"
    assert "AutogradOther" in stepped["dispatch"]["set"].split(", ")
    keys = [hop for hop in command(*given, "--no-native").hops if hop["key"] == "AutogradCPU" and hop["kind"] == "key"]
    predicted = next(hop for hop in keys if hop["op"] == "aten::index.Tensor")
    assert predicted["dispatch"]["unread"] == ["indices"], "the set is told as far as it is known"


MODE = """from torch.overrides import TorchFunctionMode
names = []
class Doubling(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        names.append(function.__name__)
        return function(*args, **(kwargs or {})) * 2
def seen(t):
    assert names == ["add_"], names
    return t
"""


def test_a_mode_sees_none_of_our_own_calls(command: InProcess) -> None:
    """What looks at arguments and results calls no `__torch_function__`: a mode may answer whatever it likes."""
    written = "seen(a.add_(b))"
    result = command("trace", written, "--setup", MODE, "--with", "Doubling()", "--no-native", "--json")
    calls = [hop["op"] for hop in result.hops if hop["kind"] == "op"]
    recorded = torch_says(
        f"{MODE}\na = b = torch.ones(3, 3)\nwith Doubling(), torch.profiler.profile() as profile: a.add_(b)\n"
        "print(json.dumps([e.name for e in profile.events() if e.name in ('aten::add_', 'aten::mul')]))"
    )
    assert [op.partition(".")[0] for op in calls if op.startswith(("aten::add_", "aten::mul"))] == recorded


def test_the_copy_of_a_sparse_tensor_that_is_saved_makes_empty_ones(command: InProcess) -> None:
    """The autograd kernel saves the result, outside of its guard; the stepped run's frames say who called."""
    given = ("trace", "torch.sparse_coo_tensor(i, v, (3, 3))", "--grad", "--json")
    given = (*given, "--var", "i=torch.tensor([[0, 1], [1, 2]])", "--var", "v=torch.randn(2)")

    def around(hops: list[Any]) -> list[list[Any]]:
        by_id = {hop["id"]: hop for hop in hops}
        chains = []
        for hop in hops:
            if hop["kind"] == "op" and hop["op"] == "aten::empty.memory_format":
                chain = [hop]
                while chain[-1]["parent"] is not None:
                    chain.append(by_id[chain[-1]["parent"]])
                chains.append(chain)
        return chains

    stepped = around(command(*given).hops)
    saved = [any(hop["name"].endswith("SavedVariable::SavedVariable") for hop in chain) for chain in stepped]
    assert saved == [False, False, True, True]
    hops = command(*given, "--no-native").hops
    told = {hop["parent"] for hop in hops if hop["kind"] == "key"}
    for chain, is_saved in zip(around(hops), saved, strict=True):
        assert is_saved != any(hop["kind"] == "key" and hop["key"] == "BackendSelect" for hop in chain[1:])
        assert is_saved != (chain[0]["id"] in told), "its sets are those of neither kernel for certain"


@pytest.mark.parametrize("expression", ["a.double()", "torch.ones(2)", "torch.eye(2)"])
def test_the_path_says_what_backend_select_goes_by(command: InProcess, runtime: Runtime, expression: str) -> None:
    """Its kernels go by the call's options, and by the tensors of those that take some: as their text has it."""
    tree = runtime_tree(runtime)
    result = command("trace", expression, "--no-native", "--json")
    by_tensors = [
        "multi_dispatch_key_set" in "".join(tree.lines(ref["path"])[ref["line"] - 1 : ref["end_line"]])
        for hop in result.hops
        if hop["kind"] == "kernel" and hop["key"] == "BackendSelect" and (ref := hop["source"])
    ]
    shown = " ".join(command("trace", expression, "--no-native", "--view", "path").out.split())
    told = {
        False: shown.count("the options decide the backend"),
        True: shown.count("computes the next set from options"),
    }
    assert told[by_tensors[0]], "the outermost, whose rows are open"
    assert all(count <= by_tensors.count(kind) for kind, count in told.items())


def test_only_the_fallback_hands_a_call_to_the_transform(command: InProcess) -> None:
    """functorch's own kernels of that key (`linear_hack`) call operators instead: the binary names which one it is."""
    given = ("trace", "torch.func.grad(lambda w: F.linear(a, w).sum())(b)", "--no-native")
    front = [hop for hop in command(*given, "--json").hops if hop["key"] == "FuncTorchDynamicLayerFrontMode"]
    kernels = [hop["name"].rpartition("::")[2] for hop in front if hop["kind"] == "kernel"]
    assert kernels[0] == "linear_hack"
    assert "dynamicLayerFrontFallback" in kernels
    path = " ".join(command(*given, "--view", "path").out.split())
    row = path.partition("linear_hack")[2].partition("aten::")[0]
    assert "innermost function transform" not in row
    assert "functorch's own kernel" in row


def test_a_batched_kernel_is_a_decomposition() -> None:
    """So the path calls it (tests/unit/view): of all operators the table says that of those alone."""
    tables = torch_says(
        "names = torch._C._dispatch_get_all_op_names()\n"
        "entries = {name: torch._C._dispatch_dump_table(name) for name in names}\n"
        "print(json.dumps([[next((line.rpartition('[')[2] for line in table.splitlines()"
        " if line.startswith('FuncTorchBatched:')), ''), 'FuncTorchBatchedDecomposition[alias]:'"
        " in torch._C._dispatch_dump(name)] for name, table in entries.items()]))"
    )
    batched = [is_decomposed for entry, is_decomposed in tables if entry.startswith("batched kernel")]
    assert len(batched) > 100
    assert all(batched)


OVERRIDING = """class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        see()
        return super().__torch_function__(function, types, args, kwargs or {})
"""


@pytest.mark.parametrize("expression", ["t + 1", "2 * t", "t[0]", "(-t)", "t == t"])
def test_operator_syntax_stands_around_the_python_that_it_calls(command: InProcess, expression: str) -> None:
    """A slot of a type is C++, which no profile function is told of; torch's own traceback has its functions."""
    setup = f"def see(): pass\n{OVERRIDING}\nt = torch.ones(3).as_subclass(Own)"
    frames = torch_says(
        "traces = []\n"
        "def see():\n"
        "    if not traces: traces.append(torch._C._profiler.gather_traceback(False, False, True))\n"
        f"{OVERRIDING}\nt = torch.ones(3).as_subclass(Own)\n{expression}\n"
        "(frames,) = torch._C._profiler.symbolize_tracebacks(traces)\n"
        "print(json.dumps([frame['name'] for frame in frames]))"
    )
    hops = command("trace", expression, "--setup", setup, "--no-native", "--json").hops
    outer = [hop for hop in hops if hop["parent"] is None]
    assert [hop["kind"] for hop in outer] == ["binding"]
    assert any(outer[0]["name"] in frame for frame in frames), (outer[0]["name"], frames)
    assert [hop["name"] for hop in hops if hop["parent"] == outer[0]["id"]] == ["__torch_function__"]


def test_inside_a_call_of_which_no_key_is_known_no_sets_are(compiler_command: InProcess) -> None:
    """Its kernels may hold a guard: so does that of add, by its text, and what it calls runs inside of that."""
    setup = (
        "from torch.utils._python_dispatch import TorchDispatchMode\nclass Plain(TorchDispatchMode):\n"
        " def __torch_dispatch__(self, function, types, args=(), kwargs=None): return function(*args, **kwargs or {})\n"
        "def f(a):\n with Plain(): b = a.sin()\n return b.cos() + 1"
    )
    hops = compiler_command("trace", "f(a)", "--setup", setup, "--no-native", "--json").hops
    by_id = {hop["id"]: hop for hop in hops}
    keyed = {hop["parent"] for hop in hops if hop["kind"] == "key"}
    unknown = [hop["id"] for hop in hops if hop["kind"] == "op" and hop["id"] not in keyed and not hop["thread"]]
    (call,) = [hop for hop in hops if hop["kind"] == "op" and hop["op"] == "aten::add.Tensor"]
    assert call["id"] in unknown, "a tensor that was made since may be of a class that dispatches in Python"
    for hop in hops:
        around = by_id.get(hop["parent"])
        while around is not None and around["id"] != call["id"]:
            around = by_id.get(around["parent"])
        assert around is None or hop["kind"] != "key"


WRITES = """from torch import Tensor
@torch.library.custom_op('hard::clear', mutates_args=('x',))
def clear(x: Tensor) -> None:
    x.zero_()
"""


def test_a_custom_operator_that_writes_goes_on_below_its_versions_kernel(compiler_command: InProcess) -> None:
    """Its three keys stand in the frames that send the call on; inside, torch's own sets tell where zero_ begins."""
    excluded = torch_says(
        f"{WRITES}    told.append(repr(torch._C._dispatch_tls_local_exclude_set()))\n"
        "told = []\nclear(torch.ones(3))\nprint(json.dumps('ADInplaceOrView' in told[0]))"
    )
    hops = list(compiler_command("trace", "clear(a)", "--setup", WRITES, "--no-native", "--json").hops)
    assert [hop["key"] for hop in hops if hop["kind"] == "key" and hop["op"] == "hard::clear"] == [
        "AutogradCPU", "ADInplaceOrView", "CPU",
    ]  # fmt: skip
    versions = next(hop for hop in hops if hop["kind"] == "key" and hop["key"] == "ADInplaceOrView")
    inside = [hop["name"] for hop in below(versions)]
    assert inside.index("adinplaceorview_impl") < inside.index("CPU") < inside.index("clear")
    # `redispatch` of torch/_ops.py reads `self._handle`, a property, before it calls the dispatcher.
    around = {hop["parent"] for hop in hops if hop["name"] == "_handle"}
    assert {hop["name"] for hop in hops if hop["id"] in around} <= {"redispatch"}
    begins = next(hop["key"] for hop in hops if hop["kind"] == "key" and hop["op"] == "aten::zero_")
    assert begins == ("CPU" if excluded else "ADInplaceOrView")


def test_the_head_tells_the_names_as_they_are_when_the_expression_runs(command: InProcess) -> None:
    """One --var may change what another one is bound to; and what was printed may be any one's."""
    names = {"x": "torch.zeros(3)", "y": "x.unsqueeze_(0)"}
    given = [word for name, text in names.items() for word in ("--var", f"{name}={text}")]
    setup = ("--setup", "print('hello')")
    expression = "y.add(float(print(tuple(x.shape)) or 1))"
    run = command("trace", expression, *given, *setup, "--no-native", "--once", "--view", "path")
    told = run.err.splitlines()
    said = told.index("the expression or --setup or --var printed:")
    assert told[said + 1 : said + 3] == ["  hello", "  (1, 3)"]
    assert re.search(r"x, y: +Tensor\[1, 3\]", " ".join(run.out.split()))


TWICE = "class Twice:\n def __mul__(self, other): return other * 2\n __radd__ = __mul__\nn = np.ones(3)"


@pytest.mark.parametrize(
    ("expression", "outer"),
    [
        ("Twice() * t", "__mul__"),
        ("t + Twice()", "__mul__"),
        ("t + n", "ndarray.__radd__"),
        ("n[0] * t", "torch.Tensor.__rmul__"),
    ],
)
def test_a_tensors_slot_holds_nothing_that_the_other_operand_did(
    command: InProcess, expression: str, outer: str
) -> None:
    """Python asks the left operand first, and a tensor's slot answers NotImplemented to what it does not take."""
    called = torch_says(
        f"import sys, numpy as np\n{TWICE}\nt = torch.ones(3)\nseen = []\n"
        "sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == 'call' else None)\n"
        f"{expression}\nsys.setprofile(None)\n"
        "print(json.dumps([seen, [x is NotImplemented for x in (t.__add__(n), t.__add__(Twice()))]]))"
    )
    names, refuses = called
    assert refuses == [True, True]
    setup = f"import numpy as np\n{TWICE}\nt = torch.ones(3)"
    hops = command("trace", expression, "--setup", setup, "--no-native", "--json").hops
    (first,) = [hop for hop in hops if hop["parent"] is None]
    assert (first["binding"]["python"] if first["kind"] == "binding" else first["name"]) == outer
    assert (first["kind"] == "python") == bool(names)
    inside = [hop["name"] for hop in hops if hop["parent"] == first["id"]]
    assert inside == (["__array__", "__array_wrap__"] if outer.startswith("ndarray") else ["aten::mul.Tensor"])


def test_of_a_call_whose_exception_was_caught_only_the_first_key_is_told(command: InProcess) -> None:
    """The meta function of mm raises, so its impl is never reached; that of the call before is."""
    setup = "def f(x):\n try: torch.mm(x, x)\n except RuntimeError: return x.mm(x.t())"
    given = ("f(x)", "--setup", setup, "--var", "x=torch.ones(2, 3)", "--no-native")
    bindings = [hop for hop in command("trace", *given, "--json").tree[0]["children"] if hop["kind"] == "binding"]
    caught, whole = (hop for hop in bindings if hop["name"].endswith("_mm"))
    told = [
        [(hop["kind"], hop["key"]) for hop in below(binding) if hop["op"] == "aten::mm"] for binding in (caught, whole)
    ]
    assert [kind for kind, _ in told[0]] == ["op", "key", "kernel"]
    assert [kind for kind, _ in told[1]] == ["op", "key", "kernel", "key", "kernel", "impl", "impl"]
    assert "left-by-exception" in codes(caught["why"])
    assert "ended by an exception" in command("trace", *given, "--view", "path").out


FAILS = """
def f(x):
    made = []
    for other in (x.t(), x, x.t()):
        try:
            made.append(x @ other)
        except RuntimeError as error:
            words.append(str(error))
    return sum(made)
words = []
"""


@pytest.mark.parametrize("native", [True, False] if THOROUGH else [False])
def test_an_operator_whose_error_was_caught_says_what_it_was(command: InProcess, native: bool) -> None:
    """No call of Python's stands around it: `@` calls none. Of three calls the second fails, before its impl."""
    asked = f"import torch{FAILS}f(torch.ones(2, 3))\nprint(words[0])"
    environment = {**os.environ, "TORCH_SHOW_CPP_STACKTRACES": "1", "TORCH_DISABLE_ADDR2LINE": "1"}
    told = subprocess.run(
        [TARGET or sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True
    )
    expected, file, line = re.findall(r"(.+)\nException raised from .+? at (\S+):(\d+) ", told.stdout)[0]
    given = ("f(x)", "--setup", FAILS, "--var", "x=torch.ones(2, 3)", *([] if native else ["--no-native"]))
    traced = command("trace", *given, "--json")
    calls = [hop for hop in traced.hops if hop["op"] == "aten::mm" and hop["kind"] == "op"]
    assert [hop["caught"] is not None for hop in calls] == [False, True, False]
    assert calls[1]["caught"]["message"] == expected
    assert calls[1]["caught"]["source"]["line"] == int(line)
    assert file.endswith(calls[1]["caught"]["source"]["path"])
    computes = [any(hop["name"].endswith("structured_mm_out_cpu::impl") for hop in below(call)) for call in calls]
    assert computes == [True, False, True]
    assert f"caught error: {expected[:20]}" in command("trace", *given, "--view", "path").out


@pytest.mark.parametrize("native", [True, False] if THOROUGH else [False])
def test_what_raised_stands_behind_what_ran_before_it(command: InProcess, native: bool) -> None:
    """`or` asks whether the sum is true, which is no call of the expression's, before the call that fails."""
    given = ("--var", "x=torch.zeros(2, 2)", *([] if native else ["--no-native"]))
    hops = json.loads(command("trace", "x[0].sum() or len(0)", *given, "--json").out)["hops"]
    outermost = [hop["name"] for hop in hops if hop["parent"] is None]
    asks = next(name for name in outermost if name in ("aten::is_nonzero", "torch::autograd::THPVariable_bool_scalar"))
    assert outermost.index(asks) < outermost.index("len")


def test_what_cannot_be_called_was_not(command: InProcess) -> None:
    assert not torch_says("print(json.dumps(callable(torch.ones(2))))")
    made = command("trace", "x[0].sum() or x(0)", "--var", "x=torch.zeros(2, 2)", "--no-native", "--view", "path")
    assert re.search(r"in row +\[\d+\] x\(0\)$", made.out, re.MULTILINE)
    assert re.search(r"x\(0\) +cannot be called; TypeError was raised here$", made.out, re.MULTILINE)


@pytest.mark.parametrize("expression", ["(lambda p, q: p)(x)", "f(x)", "D().go(x, x)"])
def test_a_function_whose_call_failed_before_its_body_was_not_entered(command: InProcess, expression: str) -> None:
    """Python has no frame of such a function: the innermost one of the traceback is the expression's own."""
    setup = "def f(a, b): pass\nclass D:\n def go(self, a): pass"
    told = f"import torch, traceback\n{setup}\nx = torch.ones(3)\ntry: {expression}\nexcept TypeError as error:\n"
    said = torch_says(f"{told} print(json.dumps([f.name for f in traceback.extract_tb(error.__traceback__)]))")
    assert said == ["<module>"]
    made = command("trace", expression, "--setup", setup, "--var", "x=torch.ones(3)", "--no-native", "--view", "path")
    assert re.search(r"\) +not entered; TypeError was raised here$", made.out, re.MULTILINE)
    assert "called by Python" not in made.out


def test_a_function_whose_body_raised_was_entered(command: InProcess) -> None:
    setup = "def f(a): return a.nope\ndef g(a): return f()"
    for expression in ("f(x)", "g(x)"):
        given = (expression, "--setup", setup, "--var", "x=torch.ones(3)", "--no-native", "--view", "path")
        assert re.search(
            rf"{expression[0]}\(\) +Python; \w+ was raised here$", command("trace", *given).out, re.MULTILINE
        )


NAMED_BY_CLASS = """
@torch.library.custom_op("hard::named", mutates_args=())
def named(a: torch.Tensor) -> torch.Tensor:
    return a * a
def keep(ctx, inputs, output): ctx.save_for_backward(inputs[0])
def back(ctx, g): return 2 * g * ctx.saved_tensors[0]
named.register_autograd(back, setup_context=keep)"""


def test_a_name_that_a_row_has_is_opened(compiler_command: InProcess, tmp_path: Path) -> None:
    file = str(tmp_path / "named.trace")
    given = ("named(x)", "--setup", NAMED_BY_CLASS, "--var", "x=torch.ones(3)", "--backward", "--no-native")
    told = compiler_command("trace", *given, "--view", "path", "--save", file).out
    for name in ("Tensor.backward()", "BackwardCFunction.apply()", "torch.Tensor.sum", "back()"):
        assert name in told
        opened = compiler_command("trace", "--load", file, "--open", name)
        assert opened.code == 0, opened
        assert name.removesuffix("()").rpartition(".")[2] in opened.out
    missing = compiler_command("trace", "--load", file, "--open", "BackwardFunction.apply")
    assert missing.code == 2
    assert "BackwardCFunction.apply()" in missing.err


def test_a_stepped_binding_whose_error_was_caught_says_so(command: InProcess) -> None:
    """Python's hooks see neither brackets nor `@`; what hands an error of C++ to Python is stepped."""
    setup = "def f(x):\n try: x[5]\n except IndexError: pass\n return x[1]"
    traced = command("trace", "f(x)", "--setup", setup, "--var", "x=torch.ones(3)", "--json")
    brackets = [hop for hop in traced.hops if (hop["binding"] or {}).get("python") == "torch.Tensor.__getitem__"]
    assert [hop["caught"] is not None for hop in brackets] == [True, False]
    raised = json.loads(command("trace", "x[5]", "--var", "x=torch.ones(3)", "--json").out)
    assert raised["ending"]["exception"] == "IndexError"
    assert not any(hop["caught"] for hop in raised["hops"])


def test_a_comparison_that_answers_notimplemented_is_told_once(command: InProcess) -> None:
    """Its wrapper's type names the binding; nothing that has an event ran in it (python_variable_methods.cpp)."""
    assert torch_says("print(json.dumps(torch.ones(2).__eq__(None) is NotImplemented))")
    hops = command("trace", "(t == None, t == 1, t == None)", "--setup", "t = torch.ones(2)", "--json").hops
    by_id = {hop["id"]: hop for hop in hops}
    bindings = [hop for hop in hops if hop["kind"] == "binding"]
    around = [by_id[hop["parent"]] for hop in bindings]
    assert [hop["name"].rpartition("::")[2] for hop in around] == ["TypeError_to_NotImplemented_"] * 3
    assert len({hop["id"] for hop in around}) == 3
    compared = [any(inner["op"] == "aten::eq.Scalar" for inner in below(hop)) for hop in bindings]
    assert compared == [False, True, False]


STEP = "p = torch.nn.Parameter(torch.ones(3)); p.grad = torch.ones(3); opt = torch.optim.SGD([p], lr=0.1)"
UNRECORDED = ("size", "is_leaf", "output_nr", "_version", "is_complex")  # as the legend has them


def test_counts_are_said_to_be_those_of_operators_that_the_profiler_records(compiler_command: InProcess) -> None:
    """The profiler does not record the two operators by which each Optimizer.step marks a range, and a few more."""
    code = (
        "import json, torch\nfrom torch.profiler import profile\na = torch.ones(3)\n"
        f"with profile() as seen:\n    for name in {UNRECORDED}:\n        getattr(torch.ops.aten, name)(a)\n"
        "    with torch.autograd.profiler.record_function('mine'):\n        a.sin()\n"
        "print(json.dumps([event.name for event in seen.events()]))"
    )
    ran = subprocess.run(
        [TARGET or sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert json.loads(ran.stdout.splitlines()[-1]) == ["mine", "aten::sin"]
    counted = "operator calls? that torch's profiler records, without calls made by operators"
    modules = compiler_command("trace", "opt.step()", "--setup", STEP, "--no-native", "--view", "modules")
    assert re.search(counted, " ".join(modules.out.split())), modules.out
    legend = compiler_command(
        "trace", "opt.step()", "--setup", STEP, "--no-native", "--view", "operators", "--explain", "legend"
    )
    told = " ".join(legend.out.split())
    assert all(name in told for name in ("profiler::_record_function_enter_new", *UNRECORDED)), told


CHECKPOINTED = "from torch.utils.checkpoint import checkpoint; net = nn.Sequential(nn.Linear(4, 3), nn.Tanh())"


@pytest.mark.parametrize(
    ("reentrant", "by"),
    [
        (False, "unpack_hook() of torch/utils/checkpoint.py inside TanhBackward0: 2 operator calls"),
        # It detaches the input first, which forward did not do.
        (True, "backward() of torch/utils/checkpoint.py inside CheckpointFunctionBackward: 2 operator calls"),
    ],
)
def test_what_a_checkpoint_runs_again_in_backward_is_said_with_the_node_that_it_costs(
    compiler_command: InProcess, reentrant: bool, by: str
) -> None:
    """A hook on each module counts its calls in plain Python: two each, of which one is made in backward."""
    call = f"checkpoint(net, x, use_reentrant={reentrant}).sum().backward()"
    inputs = "x = torch.randn(2, 4, requires_grad=True)"
    code = (
        f"import torch; from torch import nn; {CHECKPOINTED}; {inputs}; seen = []\n"
        "for m in net: m.register_forward_pre_hook(lambda m, _: seen.append(type(m).__name__))\n"
        f"y = checkpoint(net, x, use_reentrant={reentrant}).sum(); before = len(seen); y.backward()\n"
        "print(before, ' '.join(seen[before:]))"
    )
    ran = subprocess.run(
        [TARGET or sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert ran.stdout.split() == ["2", "Linear", "Tanh"]
    for view in ("modules", "path", "operators"):
        shown = compiler_command("trace", call, "--setup", f"{CHECKPOINTED}; {inputs}", "--no-native", "--view", view)
        told = " ".join(shown.out.split())
        assert f"run again in backward: net, by {by}" in told, told
        assert "in its cost" not in told, "nothing was stepped"
    plain = compiler_command("trace", "net(x).sum().backward()", "--setup", f"{CHECKPOINTED}; {inputs}", "--no-native")
    assert "run again" not in plain.out


def test_a_subclass_made_of_a_tensor_names_the_operator_that_makes_it(compiler_command: InProcess) -> None:
    """`aten::alias`, as the profiler has it; the rows behind it leave no room for its own."""
    setup = (
        "class MyT(torch.Tensor):\n    @classmethod\n"
        "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        return super().__torch_function__(func, types, args, kwargs or {})"
    )
    wide = {"COLUMNS": "200"}
    shown = compiler_command("trace", "MyT(torch.ones(3)) + 1", "--setup", setup, "--view", "path", env=wide)
    row = next(line for line in shown.out.splitlines() if "THPVariable_pynew" in line)
    assert "aten::alias: AutogradCPU → ADInplaceOrView → CPU" in row, shown.out


OF_A_SEQUENCE = "torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 1]), batch_first=True).data"


def test_of_operator_calls_without_a_row_all_are_counted(command: InProcess) -> None:
    """Those too of which a kernel marks itself what no frame tells (`aten::view` inside of `aten::cat`)."""
    code = f"""
x = torch.randn(2, 3, 4)
{OF_A_SEQUENCE}
with torch.profiler.profile() as seen:
    {OF_A_SEQUENCE}
print(json.dumps(sum(event.name.startswith("aten::") for event in seen.events())))
"""
    result = command("trace", OF_A_SEQUENCE, "--var", "x=torch.randn(2, 3, 4)", "--view", "path")
    said = re.search(r"(\d+) of (\d+) operator calls have no row here", result.out)
    assert said is not None, result.out
    assert int(said[2]) == torch_says(code)


def test_a_root_that_leads_to_no_input_is_not_said_to_be_kept_from_running_by_an_error(command: InProcess) -> None:
    """The engine reaches it, and ends well: what is missing is seen behind it (python_engine.cpp)."""
    setup = "x, z = (torch.randn(3, requires_grad=True) for _ in range(2)); y = (z * 2).sum()"
    code = f"""
{setup}
with torch.profiler.profile() as seen:
    given = torch.autograd.grad(y, x, allow_unused=True)
names = [event.name for event in seen.events()]
reached = any("evaluate_function: SumBackward0" in name for name in names)
print(json.dumps([given == (None,), reached, "SumBackward0" in names]))
"""
    assert torch_says(code) == [True, True, False]
    shown = command("trace", "torch.autograd.grad(y, x)", "--setup", setup, "--no-native", "--view", "path")
    told = " ".join(shown.out.split())
    assert "SumBackward0 not run: its gradient is taken, or it leads to no requested input" in told, told
