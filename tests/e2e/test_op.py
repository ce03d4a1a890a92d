"""`ptexplore op`: the operator's card, under every name people use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import Cli, InProcess

pytestmark = pytest.mark.e2e


def names_in(value: Any) -> str:
    return str(value)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("add", "aten::add.Tensor"),
        ("add.Tensor", "aten::add.Tensor"),
        ("aten::add.Tensor", "aten::add.Tensor"),
        ("aten::add", "aten::add.Tensor"),
        ("torch.add", "aten::add.Tensor"),
        ("torch.Tensor.add_", "aten::add_.Tensor"),
        ("Tensor.add_", "aten::add_.Tensor"),
        ("torch.nn.functional.conv2d", "aten::conv2d"),
        ("F.conv2d", "aten::conv2d"),
        ("F.layer_norm", "aten::layer_norm"),
        ("torch.linalg.inv", "aten::linalg_inv"),
        ("torch.fft.fft", "aten::fft_fft"),
        ("torch.special.expit", "aten::special_expit"),
        ("view", "aten::view"),
        ("mkldnn::_convolution_pointwise", "mkldnn::_convolution_pointwise"),
        ("prims::add", "prims::add"),
        ("quantized::add", "quantized::add"),
    ],
)
def test_every_way_to_name_an_operator(command: InProcess, name: str, expected: str) -> None:
    result = command("op", name, "--json")
    assert result.code == 0, result
    assert f'"{expected}"' in result.out, result
    text = command("op", name)
    assert text.code == 0, text
    assert expected in text.out, text


def test_the_card_of_add(command: InProcess) -> None:
    text = command("op", "add.Tensor").out
    for part in (
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "native_functions.yaml:",
        "derivatives.yaml:",
        "RegisterCPU",
        "VariableType_",
        "AddBackward0",
        "ufunc_add_CPU",
        "AutogradCPU",
        "python_torch_functions",
        "python_variable_methods",
    ):
        assert part in text, (part, text)


def test_lines_on_a_card_are_true(cli: Cli, command: InProcess) -> None:
    """Every path and line in the JSON that says `registered` is the macro, in the text."""
    seen = 0

    def check(value: Any) -> None:
        nonlocal seen
        if isinstance(value, list):
            for one in value:
                check(one)
        elif isinstance(value, dict):
            if value.get("precision") == "registered" and value.get("layer") == "generated" and value.get("line"):
                assert "TORCH_LIBRARY" in cli.line_of(value) or "m." in cli.line_of(value), value
                seen += 1
            for one in value.values():
                check(one)

    for name in ("add.Tensor", "mm", "native_layer_norm", "view", "convolution"):
        check(command("op", name, "--json").data)
    assert seen > 20


@pytest.mark.parametrize(
    "name, closest",
    [
        ("ad", "add"),
        ("troch.add", "add"),
        ("conv2", "conv2d"),
        ("add.Tenzor", "add.Tensor"),
        ("F.con2d", "conv2d"),
        ("sofmax", "softmax"),
    ],
)
def test_a_name_that_is_not_there_gets_the_closest(command: InProcess, name: str, closest: str) -> None:
    result = command("op", name, "--json").three_parts(1, 2)
    assert closest in result.err


@pytest.mark.parametrize(
    "name", ["", " ", ".", "::", "a::b::c", "%", "add.Tensor; DROP TABLE operator", "*", "x" * 5000, "\x1b[2J", "é"]
)
def test_odd_names_are_no_crash(command: InProcess, name: str) -> None:
    command("op", name, "--json").three_parts(1, 2)
