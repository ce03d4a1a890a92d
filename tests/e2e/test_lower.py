"""`ptexplore lower`: the graphs of each rung, their links, and what cannot be made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness import TARGET, InProcess

pytestmark = pytest.mark.e2e

NETS = Path(__file__).resolve().parents[1] / "data" / "lowered"
FILE = NETS / "nets.py"
TORCH_2_6 = TARGET is not None and "2.6" in TARGET


def line_of(words: str) -> int:
    """The line of the modules' file that ends in this comment."""
    lines = FILE.read_text(encoding="utf-8").split("\n")
    (number,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"# line {words}"))
    return number


def arguments(name: str, x: str = "torch.randn(2, 4)") -> list[str]:
    """The command line for one call of a module."""
    setup = f"import sys; sys.path.insert(0, {str(NETS)!r}); from nets import {name}; m = {name}()"
    return ["lower", "m(x)", "--setup", setup, "--var", f"x={x}"]


def rungs(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rungs of a document, by name."""
    return {rung["name"]: rung for rung in document["rungs"]}


def operators(rung: dict[str, Any]) -> list[str]:
    """What a rung calls, in order."""
    return [operator["operator"] for operator in rung["operators"]]


@pytest.fixture
def net(compiler_command: InProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of one module, made once."""
    found: dict[str, Any] = compiler_command(*arguments("Net"), "--check", "--json").data
    return found


@pytest.mark.skipif(TORCH_2_6, reason="torch 2.6 keeps no record of where a node comes from")
def test_the_rungs_of_a_module(net: dict[str, Any]) -> None:
    made = rungs(net)
    assert operators(made["python"]) == [
        "torch.nn.functional.linear", "torch.nn.functional.gelu", "torch.Tensor.add_", "torch.nn.functional.layer_norm",
    ]  # fmt: skip
    assert operators(made["fx"]) == ["torch.nn.Linear", "torch.nn.functional.gelu", "torch.Tensor.add_",
                                     "torch.nn.LayerNorm"]  # fmt: skip
    assert operators(made["export"]) == [
        "aten.linear.default", "aten.gelu.default", "aten.add_.Tensor", "aten.layer_norm.default",
    ]  # fmt: skip
    assert operators(made["functional"])[2] == "aten.add.Tensor"
    assert operators(made["core"]) == [
        "aten.permute.default", "aten.addmm.default", "aten.gelu.default", "aten.add.Tensor",
        "aten.native_layer_norm.default",
    ]  # fmt: skip
    assert all(rung["difference"]["is_close"] for name, rung in made.items() if name != "python")
    assert made["core"]["operators"][2]["at"]["line"] == line_of("gelu")
    sources = {operator["name"]: operator["sources"] for operator in made["core"]["operators"]}
    assert sources["addmm"] == sources["permute"] == [{"rung": "functional", "name": "linear"}]
    assert sources["native_layer_norm"] == [{"rung": "functional", "name": "layer_norm"}]
    backward = {operator["operator"]: operator for operator in made["aot-backward"]["operators"]}
    assert backward["aten.gelu_backward.default"]["sources"] == [{"rung": "aot-forward", "name": "gelu"}]
    assert made["prims"]["compared"] == 4
    assert made["prims"]["first"]["source"] == {"rung": "export", "name": "gelu"}
    assert not made["core"]["first"]


def test_a_branch_on_a_value_is_named_by_each_rung(compiler_command: InProcess) -> None:
    result = compiler_command(*arguments("Branches"), "--json")
    made = rungs(result.data)
    line = line_of("branch")
    for name in ("fx", "aten", "export"):
        assert made[name]["failure"]["at"]["line"] == line, name
    (note,) = made["jit-trace"]["notes"]
    assert (note["kind"], note["at"]["line"]) == ("traced-value", line)
    (note,) = made["jit-script"]["notes"]
    assert (note["kind"], note["at"]["line"]) == ("control-flow", line)
    assert [made["functional"]["failure"][key] for key in ("kind", "needs")] == ["needs", "export"]
    assert result.code == 0


@pytest.mark.skipif(TORCH_2_6, reason="torch 2.6 does not say whether it exports")
@pytest.mark.parametrize("name, kind", [("Dies", "died"), ("Hangs", "late")])
def test_a_rung_that_dies_or_hangs_leaves_the_others(compiler_command: InProcess, name: str, kind: str) -> None:
    command = [*arguments(name), "--to", "aten,export", "--timeout", "6", "--json"]
    made = rungs(compiler_command(*command).data)
    assert made["export"]["failure"]["kind"] == kind
    assert operators(made["aten"]) == ["aten.exp.default"]
    assert made["aten"]["difference"]["is_equal"]


def test_operators_that_are_not_core_are_named(compiler_command: InProcess, tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    shown = compiler_command(*arguments("Custom"), "--to", "core,prims", "--save", str(saved)).out
    assert "aten.native_dropout" in shown
    page = compiler_command("lower", "--load", str(saved)).out
    (line,) = (line for line in page.splitlines() if "not Core ATen:" in line)
    assert "lowered.twice" in line
    assert "aten.native_dropout" not in line
    followed = compiler_command("lower", "--load", str(saved), "--open", "dropout").out
    assert "aten.native_dropout" in followed
    assert TORCH_2_6 or "prims.where" in followed or "prims.mul" in followed  # 2.6 keeps no links
    made = rungs(compiler_command("lower", "--load", str(saved), "--json").data)
    assert made["prims"]["unchecked"] == "random"  # the decomposition of dropout draws by another operator
    assert made["core"]["difference"]["is_equal"]


def test_what_a_run_writes_to_inputs_and_buffers_is_compared(compiler_command: InProcess) -> None:
    made = rungs(compiler_command(*arguments("WritesInput"), "--to", "aten,prims", "--json").data)
    assert all(rung["difference"]["is_equal"] for rung in made.values())
    assert not any(operator.get("writes") for operator in made["core"]["operators"])


def test_a_module_of_a_script_is_lowered_at_its_first_call(compiler_command: InProcess, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        f"import sys\n\nimport torch\n\nsys.path.insert(0, {str(NETS)!r})\nfrom nets import Net\n\n"
        "model = torch.nn.Sequential(Net(), torch.nn.ReLU())\nmodel(torch.ones(3, 4))\nraise SystemExit('later')\n",
        encoding="utf-8",
    )
    for only, inside in (("Net", "aten.gelu.default"), ("1", "aten.relu.default")):
        result = compiler_command("lower", "--script", str(script), "--only", only, "--to", "export", "--json")
        (rung,) = result.data["rungs"]
        assert inside in operators(rung)
        assert rung["difference"]["is_equal"]
    result = compiler_command("lower", "--script", str(script), "--only", "Nets", "--to", "export")
    assert result.code == 2
    assert "Net" in result.err.partition("try:")[2]


def test_no_line_is_wider_than_the_terminal(compiler_command: InProcess) -> None:
    command = ["lower", "torch.relu(a @ b)[1:] + 1", "--to", "export,prims"]
    shown = compiler_command(*command, env={"COLUMNS": "80"}).out
    assert max(map(len, shown.splitlines())) <= 80
    assert "aten.matmul" in shown


@pytest.mark.parametrize(
    "words, why",
    [
        ([], "nothing was given"),
        (["a + b", "--to", "nothing"], "the rungs are python"),
        (["a + b", "--to", "core", "--open", "add"], "each of them shows another page"),
        (["a + b", "--last", "1"], "EXPR, --last were given"),
        (["--last", "x"], "1 is the last"),
        (["--script", "train.py"], "calls one of its modules"),
        (["--script", "train.py", "--only", "Net"], "train.py"),
        (["a +"], "invalid syntax"),
    ],
)
def test_wrong_usage(compiler_command: InProcess, words: list[str], why: str) -> None:
    result = compiler_command("lower", *words)
    result.three_parts(2)
    assert why in result.err


def test_an_expression_that_raises_says_so(compiler_command: InProcess) -> None:
    result = compiler_command("lower", "a.view(5)")
    assert result.code == 1
    assert "invalid for input of size 9" in result.err
