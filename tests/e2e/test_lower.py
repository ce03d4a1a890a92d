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
