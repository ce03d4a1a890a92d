"""`ptexplore trace`: what the issue's "Done when" asks, each line checked against the text it names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from ptexplore.model.details import Records, RecordsNode, RecordsNothing, RecordsNothingNeeded
from ptexplore.model.reasons import DoesNotEnd
from ptexplore.view.words.details import described
from ptexplore.view.words.reasons import sentence
from ptexplore.workspace import kept_traces
from tests.harness import KNOWN, PRECISIONS, STATUSES, Cli, InProcess, Result, result_once, torch_folder, torch_version

pytestmark = pytest.mark.e2e

Hop = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """An expression, the options it needs, and what must be among its hops."""

    arguments: tuple[str, ...]
    ops: tuple[str, ...]
    keys: tuple[tuple[str, str], ...] = ()
    python: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


Q = "torch.randn(1, 2, 4, 8)"
CASES = {
    "add": Case(
        ("torch.add(a, b)",),
        ("aten::add.Tensor",),
        (("aten::add.Tensor", "AutogradCPU"), ("aten::add.Tensor", "CPU")),
    ),
    "matmul": Case(("a @ b",), ("aten::matmul", "aten::mm"), (("aten::mm", "AutogradCPU"), ("aten::mm", "CPU"))),
    "view": Case(
        ("a.view(-1)",),
        ("aten::view",),
        (("aten::view", "AutogradCPU"), ("aten::view", "ADInplaceOrView"), ("aten::view", "CPU")),
    ),
    "add_": Case(
        ("a.add_(b)",),
        ("aten::add_.Tensor",),
        (("aten::add_.Tensor", "AutogradCPU"), ("aten::add_.Tensor", "ADInplaceOrView"), ("aten::add_.Tensor", "CPU")),
    ),
    "conv2d": Case(
        ("F.conv2d(x, w)", "--var", "x=torch.randn(1, 3, 8, 8)", "--var", "w=torch.randn(4, 3, 3, 3)"),
        ("aten::conv2d", "aten::convolution"),
        (("aten::convolution", "AutogradCPU"),),
    ),
    "layer_norm": Case(
        ("F.layer_norm(a, (3,))",),
        ("aten::layer_norm", "aten::native_layer_norm"),
        (("aten::native_layer_norm", "AutogradCPU"), ("aten::native_layer_norm", "CPU")),
        python=("torch/nn/functional.py",),
    ),
    "einsum": Case(
        ('torch.einsum("ij,jk->ik", a, b)',),
        ("aten::einsum", "aten::bmm"),
        (("aten::bmm", "CPU"),),
        python=("torch/functional.py",),
    ),
    "attention": Case(
        ("F.scaled_dot_product_attention(q, k, v)", "--var", f"q={Q}", "--var", f"k={Q}", "--var", f"v={Q}"),
        ("aten::scaled_dot_product_attention",),
    ),
    "lstm": Case(
        ("m(x)", "--setup", "m = nn.LSTM(3, 4)", "--var", "x=torch.randn(2, 1, 3)"),
        ("aten::lstm.input",),
        python=("torch/nn/modules/module.py", "torch/nn/modules/rnn.py"),
    ),
    "subscript": Case(("a[1:, None]",), ("aten::slice.Tensor", "aten::unsqueeze"), (("aten::slice.Tensor", "CPU"),)),
    "backward": Case(
        ("torch.stack([a, b]).sum()", "--backward"),
        ("aten::stack", "aten::sum"),
        (("aten::sum", "AutogradCPU"), ("aten::sum", "CPU")),
        nodes=("SumBackward0", "StackBackward0"),
    ),
}
NO_OVERLOADS = torch_version().startswith(("2.6", "2.7"))  # their profiler records no overload names


@pytest.fixture
def once(command: InProcess, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Result]:
    """A trace's document, of each one made once for all tests."""
    return lambda *arguments: result_once(tmp_path_factory, command, "trace", *arguments, "--json")


@pytest.fixture(params=CASES, ids=list(CASES))
def traced(request: pytest.FixtureRequest, once: Callable[..., Result], cli: Cli) -> tuple[Case, Result, Cli]:
    case = CASES[request.param]
    return case, once(*case.arguments), cli


def references(hop: Hop) -> list[Hop]:
    """Every source reference a hop carries."""
    return [ref for name in ("source", "registration", "declaration") if (ref := hop.get(name))]


def known(hop: Hop) -> list[Hop]:
    return [r for r in references(hop) if r["precision"] in KNOWN and r["path"] and r["line"]]


def test_hops_are_there(traced: tuple[Case, Result, Cli]) -> None:
    case, result, _ = traced
    hops = result.hops
    names = {hop["op"] for hop in hops if hop["op"]}
    if NO_OVERLOADS:  # where the inputs do not tell either, it is said to be ambiguous
        names |= {hop["name"] for hop in hops if hop["source"]["precision"] == "ambiguous"}
    for op in case.ops:
        assert op in names, f"{op} is not among {sorted(names)}"
    for op, key in case.keys:
        there = [hop for hop in hops if hop["op"] == op and hop["key"] == key]
        assert there, f"no hop for {op} under {key}: {sorted({(h['op'], h['key']) for h in hops if h['key']})}"
        lines = [ref for hop in there for ref in known(hop) if ref["layer"] == "generated"]
        assert lines, f"no registered or located line in a generated file for {op} under {key}: {there}"


def test_a_binding_is_there(traced: tuple[Case, Result, Cli]) -> None:
    case, result, _ = traced
    bindings = [hop for hop in result.hops if hop["kind"] == "binding"]
    if "m(x)" in case.arguments:
        return  # its bindings are inside Python frames; the module call itself has none
    assert bindings, result
    assert any(known(hop) for hop in bindings), bindings


def test_python_frames_name_their_def_line(traced: tuple[Case, Result, Cli]) -> None:
    case, result, cli = traced
    frames = [hop for hop in result.hops if hop["kind"] == "python" and known(hop)]
    for path in case.python:
        assert path in {hop["source"]["path"] for hop in frames}, [h["source"] for h in frames]
    for hop in frames:
        if hop["source"]["layer"] == "wheel" and hop["name"] != "<module>":
            line = cli.line_of(hop["source"])
            assert re.search(r"\bdef\b|\bclass\b|lambda|\bfor\b|^\s*@", line), f"{hop['name']}: {line}"


def test_every_registered_line_is_the_registering_macro(traced: tuple[Case, Result, Cli]) -> None:
    _, result, cli = traced
    seen = 0
    for hop in result.hops:
        for ref in references(hop):
            if ref["precision"] == "registered" and ref["layer"] == "generated":
                line = cli.line_of(ref)
                assert re.search(r"\bTORCH_LIBRARY(_IMPL|_FRAGMENT)?\b|\bm\.(impl|def|fallback)\b", line), (hop, line)
                seen += 1
    assert seen, "no hop says registered"


def test_every_located_line_holds_the_name(traced: tuple[Case, Result, Cli]) -> None:
    """A located line is that of the name in its declarator, or where a lambda or a macro's function is made."""
    _, result, cli = traced
    for hop in result.hops:
        ref = hop["source"]
        if ref["precision"] != "located" or ref["layer"] not in ("generated", "wheel"):
            continue
        if not ref["path"].endswith((".cpp", ".h")):
            continue
        line = cli.line_of(ref)
        if hop["name"].rpartition("::")[2].startswith("operator()") and "{lambda#" in hop["name"]:
            assert "[" in line or "AT_DISPATCH_" in line, f"{hop['name']}: {ref['path']}:{ref['line']}: {line}"
            continue
        listed = re.match(r"\s*AT_FORALL_\w+\((\w+)\)", line)
        if listed:  # what a list macro makes stands where the list is used: the macro it hands on joins such a name
            body = re.search(rf"#define {listed[1]}\((?:.*\\\n)*.*", cli.text_of(ref["path"]))
            assert body, f"{ref['path']} does not define {listed[1]}"
            assert any(hop["name"].rpartition("::")[2].startswith(part) for part in re.findall(r"(\w+)##", body[0]))
            continue
        # aten::transpose.int is at::_ops::transpose_int in C++.
        names = set(re.findall(r"\w+", hop["name"])) | {hop["name"].rsplit("::", 1)[-1].replace(".", "_")}
        assert names & set(re.findall(r"\w+", line)), (
            f"{hop['kind']} {hop['name']}: {ref['path']}:{ref['line']}: {line}"
        )


def test_the_form_holds(traced: tuple[Case, Result, Cli]) -> None:
    case, result, _ = traced
    trace = result.data
    assert trace["format"] == 6
    assert trace["expression"] == case.arguments[0]
    assert trace["torch"]["version"] == torch_version()
    assert all(set(bound) == {"name", "description", "how"} for bound in trace["bound"])
    hops = result.hops
    assert len({hop["id"] for hop in hops}) == len(hops)
    for hop in hops:
        assert hop["status"] in STATUSES
        assert hop["phase"] in ("forward", "backward")
        for ref in references(hop):
            assert ref["precision"] in PRECISIONS
            assert ref["line"] is None or ref["line"] >= 1
            assert not (ref["path"] or "").startswith("/"), "a canonical path is never this machine's"
            if ref["precision"] in KNOWN:
                assert ref["path"], hop
                assert ref["line"], hop
        if hop["status"] == "observed":
            assert hop["evidence"], f"observed without evidence: {hop}"


def test_backward_nodes_name_apply_and_formula(traced: tuple[Case, Result, Cli]) -> None:
    case, result, cli = traced
    ran = [hop for hop in result.hops if hop["kind"] == "node" and hop["phase"] == "backward"]
    nodes = {hop["name"].removesuffix("::apply").rsplit("::", 1)[-1]: hop for hop in ran}
    for name in case.nodes:
        assert name in nodes, sorted(nodes)
        hop = nodes[name]
        assert hop["source"]["path"].startswith("torch/csrc/autograd/generated/Functions")
        assert f"{name}::apply" in cli.line_of(hop["source"])
        entry = hop["derivative"]["source"]
        assert entry["path"] == "tools/autograd/derivatives.yaml"
        assert entry["line"] > 0


def test_nothing_of_this_machine_and_no_hook_of_ours_is_in_the_hops(traced: tuple[Case, Result, Cli]) -> None:
    _, result, cli = traced
    hops = result.hops
    names = [hop["name"] for hop in hops if hop["kind"] not in ("native", "closed")]
    assert not [name for name in names if re.search("profil|RecordFunction|ptexplore", name)], names
    data = result.data
    data.pop("session", None)  # what a probe saw is kept as it saw it
    assert str(torch_folder()) not in str(data)
    assert str(cli.cache) not in str(data)


def test_arguments_and_key_sets_are_named(once: Callable[..., Result]) -> None:
    hops = once("torch.add(a, b)").hops
    shown = [hop["dispatch"] for hop in hops if hop["op"] == "aten::add.Tensor" and hop.get("dispatch")]
    assert shown, hops
    first = shown[0]
    assert {"self", "other"} <= set(first["arguments"]), first
    assert "AutogradCPU" in str(first), first


def test_grad_adds_the_derivative(once: Callable[..., Result], cli: Cli) -> None:
    result = once("torch.add(a, b)", "--grad")
    found = [hop["derivative"]["source"] for hop in result.hops if hop.get("derivative")]
    assert found, result
    assert found[0]["path"] == "tools/autograd/derivatives.yaml"
    line = cli.text_of("tools/autograd/derivatives.yaml").splitlines()[found[0]["line"] - 1]
    assert "add.Tensor" in line
    assert "requires_grad" in str(result.data["bound"])


def test_method_and_function_have_bindings_of_their_own(once: Callable[..., Result]) -> None:
    function = [h for h in once("torch.add(a, b)").hops if h["kind"] == "binding"]
    method = [h for h in once("a.add(b)").hops if h["kind"] == "binding"]
    assert "python_torch_functions" in function[0]["source"]["path"]
    assert "python_variable_methods" in method[0]["source"]["path"]


def test_with_context_changes_what_runs(once: Callable[..., Result]) -> None:
    result = once("torch.add(a, b)", "--with", "torch.inference_mode()")
    keys = {hop["key"] for hop in result.hops if hop["op"] == "aten::add.Tensor" and hop["kind"] in ("key", "kernel")}
    keys -= {None}
    assert "CPU" in keys
    observed = {h["key"] for h in result.hops if h["key"] and h["status"] != "predicted"}
    assert "AutogradCPU" in observed or "AutogradCPU" not in keys


def test_a_script_is_traced(command: InProcess) -> None:
    script = Path("model.py")
    script.write_text(
        "import torch\n\ndef double(x):\n    return torch.mul(x, 2)\n\nprint(double(torch.ones(2)).sum())\n",
        encoding="utf-8",
    )
    ops = {hop["op"] for hop in command("trace", "--script", str(script), "--json").hops}
    assert {"aten::mul.Tensor", "aten::sum"} <= ops


def test_once_runs_the_code_once(command: InProcess) -> None:
    log = Path("log").absolute()
    setup = f"def f(x):\n    open({str(log)!r}, 'a').write('x')\n    return torch.add(x, x)"
    result = command("trace", "f(a)", "--setup", setup, "--once", "--json")
    assert result.code == 0, result
    assert log.read_text() == "x"


def test_depth_only_and_full_choose_what_is_shown(command: InProcess) -> None:
    usual = command("trace", "a @ b", "--save", "saved.json")
    shallow = command("trace", "--load", "saved.json", "--depth", "1")
    only = command("trace", "--load", "saved.json", "--only", "AutogradCPU")
    full = command("trace", "--load", "saved.json", "--full")
    for result in (usual, shallow, only, full):
        assert result.code == 0, result
    assert len(shallow.out.splitlines()) < len(usual.out.splitlines()) <= len(full.out.splitlines())
    assert "AutogradCPU" in only.out
    assert len(only.out.splitlines()) < len(full.out.splitlines())


def test_explain_says_why(command: InProcess) -> None:
    made = command("trace", "torch.add(a, b)", "--json", "--save", "saved.json")
    hop = next(h for h in made.hops if h["key"] == "CPU")
    result = command("trace", "torch.add(a, b)", "--explain", str(hop["id"]))
    assert result.code == 0, result
    assert "CPU" in result.out
    command("trace", "--load", "saved.json", "--explain", "99999").three_parts(1, 2)


def test_save_and_load_show_the_same_without_torch(cli: Cli) -> None:
    file = cli.cwd / "session.json"
    first = cli("trace", "torch.add(a, b)", "--save", str(file), "--json")
    assert first.code == 0, first
    assert file.stat().st_size > 1000
    again = cli("trace", "--load", str(file), "--json", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert again.code == 0, again
    assert not re.search(r"\|\s+torch$", again.err, re.MULTILINE)
    assert again.data["hops"] == first.data["hops"]


def test_the_same_trace_twice_is_the_same(cli: Cli, command: InProcess) -> None:
    """In another process, whose hashes differ."""
    expression = "torch.nn.functional.softmax(a[0], -1)"
    first = cli("trace", expression, "--no-native", "--json").data
    second = command("trace", expression, "--no-native", "--json").data
    assert without_sentences(first["hops"]) == without_sentences(second["hops"])


def without_sentences(data: Any) -> Any:
    """JSON data with the codes of its reasons alone."""
    if isinstance(data, list):
        return list(map(without_sentences, data))
    if isinstance(data, dict):
        return {name: without_sentences(value) for name, value in data.items() if name != "text" or "code" not in data}
    return data


@pytest.mark.parametrize(
    "expression",
    [
        "[(n := i * 2) for i in range(3)] and x + n",
        "{i: (n := x) for i in range(2)} and n",
        "(n := x.exp()) + n",
        "(lambda: (n := x))() + n",
        "(lambda: [(n := i) for i in x])() and n",
        "sum(n for n in [x]) + n",
    ],
)
def test_a_name_is_bound_where_python_finds_none(command: InProcess, expression: str) -> None:
    """`:=` in a comprehension binds in what is around it (PEP 572), in a lambda only there."""
    try:
        eval(expression, {"x": torch.ones(2)})
        wanted = {"x"}
    except NameError:
        wanted = {"x", "n"}
    shown = command("trace", expression, "--var", "x=torch.ones(2)", "--no-native", "--json")
    assert {bound["name"] for bound in json.loads(shown.out)["bound"]} == wanted


def test_names_are_bound_as_the_design_says(command: InProcess) -> None:
    trace = command("trace", "torch.add(a1, 1)", "--var", "unused=torch.zeros(2)", "--no-native", "--json").data
    assert "3, 3" in next(bound["description"] for bound in trace["bound"] if bound["name"] == "a1")
    text = command("trace", "torch.add(a, b)", "--no-native").out
    assert re.search(r"\ba\b.*3, 3|\ba\b.*3 ?[x×] ?3", text), text


def test_what_a_first_call_imports_is_not_what_runs(command: InProcess) -> None:
    """Every pass sees a later run then, as the native one does: what is observed is laid over what is shown."""
    expression = "[__import__('wave'), torch.add(a, b)][1]"
    result = command("trace", expression, "--json", "--save", "warm.json")
    assert result.data["captured"]["warm"] >= 1
    assert [hop["op"] for hop in result.hops if hop["kind"] == "op"] == ["aten::add.Tensor"]
    text = " ".join(command("trace", "--load", "warm.json").out.split())
    assert re.search(r"the first run imports [\w,]+ modules?; a later run is shown", text), text


def test_what_a_later_run_is_shown_on_is_as_it_was(command: InProcess) -> None:
    """It imports nothing, for its process has; but what --setup made is put back: a cache there is empty."""
    setup = "import functools\n@functools.cache\ndef f(): return __import__('wave'), torch.add(a, b)"
    result = command("trace", "f()[1]", "--setup", "a = b = torch.ones(3)", "--setup", setup, "--no-native", "--json")
    assert result.data["captured"]["warm"] >= 1
    assert [hop["op"] for hop in result.hops if hop["kind"] == "op"] == ["aten::add.Tensor"]


def test_what_cannot_be_called_twice_is_told_as_it_ran_once(command: InProcess) -> None:
    setup = "import sys\ndef f():\n assert 'wave' not in sys.modules, 'twice'\n import wave"
    result = command("trace", "[f(), torch.add(a, b)][1]", "--setup", setup, "--json")
    assert result.data["captured"]["warm"] is None
    why = result.data["captured"]["first"]["why"]
    assert (why["exception"], why["message"]) == ("AssertionError", "twice")
    assert [hop["op"] for hop in result.hops if hop["kind"] == "op"] == ["aten::add.Tensor"]


def test_a_setup_that_runs_once_a_process_is_not_said_to_fail(command: InProcess) -> None:
    """A library of operators is defined once."""
    setup = "import sys\nsys.runs = getattr(sys, 'runs', 0) + 1\nassert sys.runs < 2, f'run {sys.runs}'"
    captured = command("trace", "torch.add(a, b)", "--setup", setup, "--json").data["captured"]
    assert captured["native"] or "--setup" not in captured["reason"]["text"]


def test_what_ends_only_the_first_time_is_told_as_it_ran_then(command: InProcess) -> None:
    """Its first call imports modules, its second never ends: it gets a part of the limit, and the first is shown."""
    setup = "import sys, time\nf = lambda: time.sleep(60) if 'wave' in sys.modules else __import__('wave')"
    result = command(
        "trace", "[f(), torch.add(a, b)][1]", "--setup", setup, "--timeout", "2", "--json", "--save", "f.json"
    )
    captured = result.data["captured"]
    why = DoesNotEnd(0.8)
    assert captured["first"]["why"] == {"code": "does-not-end", "seconds": 0.8, "text": sentence(why)}
    assert captured["reason"]["second"]["code"] == "does-not-end"
    shown = " ".join(command("trace", "--load", "f.json").out.split())
    assert f"the first run is shown, since the second run {sentence(why)}" in shown
    assert [hop["op"] for hop in result.hops if hop["kind"] == "op"] == ["aten::add.Tensor"]


def test_a_node_that_the_result_does_not_lead_to_is_said_to_be_recorded(command: InProcess) -> None:
    import torch

    a = torch.rand(3, requires_grad=True)
    assert (a.detach() * a).grad_fn is not None
    assert not a.detach().requires_grad
    result = command("trace", "(a.detach() * a).argmax()", "--grad", "--view", "path", env={"COLUMNS": "200"})
    if "thread, stepped" not in result.out:
        pytest.skip("no native pass here")
    (detach, mul, argmax) = (
        next(line for line in result.out.splitlines() if f"VariableType::{name}" in line)
        for name in ("detach", "mul_Tensor", "argmax")
    )
    node = described((RecordsNode(),))
    assert node in mul
    assert any(described((kind(),)) in detach for kind in (RecordsNothing, RecordsNothingNeeded))
    assert node not in argmax


@pytest.mark.parametrize("expression", ["a * b", "torch.view_as_complex(c) * 2"])
def test_what_was_added_for_backward_records_its_node(command: InProcess, expression: str) -> None:
    """The sum of a result that is no scalar, its real part: the nodes are those that plain Python's tensors have."""
    import torch

    names = {"torch": torch, **{name: torch.rand(3, 2, requires_grad=True) for name in "abc"}}
    result = eval(expression, names)
    scalar = result.real.sum() if result.is_complex() else result.sum()
    added, node = [], scalar.grad_fn
    while node is not result.grad_fn:
        added.append(node.name())
        node = node.next_functions[0][0]
    given = [part for name in "abc" for part in ("--var", f"{name}=torch.rand(3, 2)")]
    hops = command("trace", expression, *given, "--grad", "--backward", "--no-native", "--json").hops
    recorded = [hop["name"] for hop in hops if hop["kind"] == "node" and (hop["node"] or {}).get("recorded")]
    of_backward = [hop["name"] for hop in hops if hop["name"] in recorded and hop["phase"] == "backward"]
    assert sorted(of_backward) == sorted(added)
    shown = command("trace", expression, *given, "--grad", "--backward", "--no-native", "--view", "operators").out
    assert described((Records(node="SumBackward0"),)) in " ".join(shown.split()), shown


def test_a_trace_as_json_names_no_folder_of_this_machine(command: InProcess, tmp_path: Path) -> None:
    """Kernels that Python registers stand in the dispatch table with the whole path of their file."""
    kept = tmp_path / "trace.json"
    arguments = ("torch.ones(2, 3) + 1", "--with", "torch.device('meta')", "--no-native", "--save", str(kept), "--json")
    out = command("trace", *arguments).out
    assert ("registered at torch/" in out) or torch_version().startswith("2.6.")  # which notes /dev/null of them
    site = str(torch_folder().parent)
    assert site not in out
    assert site not in kept.read_text("utf-8")


def test_the_last_trace_is_shown_again_without_running_it(
    command: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests trace at the same time: the traces of this one have a folder of their own.
    monkeypatch.setattr(kept_traces, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(kept_traces, "kept_traces_dir", lambda: tmp_path / "traces")
    counter = tmp_path / "runs"
    first = command("trace", "torch.add(a, b)", "--no-native", "--setup", f"open({str(counter)!r}, 'a').write('x')")
    runs = counter.read_text()
    again = command("trace", "--last")
    assert (first.code, again.code) == (0, 0)
    shown = re.sub(r" --python(?: \\\n)?\s+\S+", "", first.out)  # a kept trace does not know another environment
    assert again.out == shown
    assert "aten::add.Tensor" in command("trace", "--last", "--open", "add.Tensor").out
    assert counter.read_text() == runs, "nothing ran"
    assert command("trace", "torch.mul(a, b)", "--no-native").code == 0
    assert command("trace", "--last", "2").out.replace("--last 2", "--last") == shown
    for wrong in (("--last", "0"), ("--last", "x"), ("--last", "--grad"), ("--last", "1", "--load", "f")):
        command("trace", *wrong).three_parts(2)
    command("trace", "--last", "999").three_parts(3)
