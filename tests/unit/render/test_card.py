"""The card of an operator in a terminal: tables that fit, with a sign at each place that is not exact."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from ptexplore.model.operators import Binding, Derivative, Formula, Operator
from ptexplore.model.places import SourceRef
from ptexplore.render.terminal.card import print_card
from ptexplore.view.card import CalledFunction, Card, KeyRow


def ref(path: str, line: int, precision: str = "located") -> SourceRef:
    return SourceRef(path, line, "generated", precision)  # type: ignore[arg-type]


def card(**changed: object) -> Card:
    impl = CalledFunction("at::native::structured_mul_out::impl", ref("aten/native/BinaryOps.cpp", 440, "version-skew"))
    unknown = SourceRef(None, None, "checkout", "unknown")
    rows = (
        KeyRow(("AutogradCPU", "AutogradCUDA", *(f"Autograd{n}" for n in range(16))), "autograd kernel",
               "torch::autograd::VariableType::mul_Tensor", ref("torch/csrc/VariableType_0.cpp", 7941), unknown),
        KeyRow(("CPU",), "kernel", "at::wrapper_CPU_mul_Tensor", ref("build/RegisterCPU_0.cpp", 3303), unknown,
               (impl,)),
        KeyRow(("Vulkan",), "kernel", "at::wrapper_Vulkan_mul", ref("build/RegisterVulkan_0.cpp", 1), unknown),
    )  # fmt: skip
    formula = Formula("self", 1232, "mul_tensor_backward(grad, other, self.scalar_type())")
    names = [("torch.mul", "f"), ("torch.Tensor.mul", "g"), ("torch.Tensor.__mul__", "g")]
    given: dict[str, object] = {
        "operator": Operator("aten::mul.Tensor", "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", (), ()),
        "asked": "mul",
        "yaml": ref("aten/native/native_functions.yaml", 4181),
        "entry": unknown,
        "keys": rows,
        "fallthrough": ("Python",),
        "derivative": Derivative("aten::mul.Tensor", "tools/autograd/derivatives.yaml", 1231, 1234, "mul.Tensor",
                                 (formula,), None, None, None, None, "exact"),
        "formulas": ref("tools/autograd/derivatives.yaml", 1231),
        "node": None,
        "bindings": tuple(
            (name, Binding(name, name, "THPVariable_mul", file, 1, None, 1), ref(f"{file}.cpp", 1))
            for name, file in names
        ),
        "python": (),
        "siblings": ("aten::mul.Scalar",),
    }  # fmt: skip
    return Card(**given | changed)  # type: ignore[arg-type]


def drawn(shown: Card, width: int) -> list[str]:
    out = io.StringIO()
    print_card(Console(file=out, width=width), shown, lambda _ref: None, full=False)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_card_fits(width: int) -> None:
    lines = drawn(card(), width)
    assert max(cell_len(line) for line in lines) <= width
    assert all(cell_len(line.rstrip()) == cell_len(line) for line in lines)


def test_a_key_its_kernel_and_the_place_are_one_row() -> None:
    lines = drawn(card(), 110)
    (row,) = (line for line in lines if line.startswith(" CPU "))
    assert row.split() == ["CPU", "wrapper_CPU_mul_Tensor", "build/RegisterCPU_0.cpp:3303"]
    called = lines[lines.index(row) + 1].split()
    assert called == ["└", "structured_mul_out::impl", "aten/native/BinaryOps.cpp:440", "~"]
    assert any(line.startswith(" AutogradCPU, AutogradCUDA, +16 ") for line in lines)


def test_a_sign_is_explained_only_if_it_is_there() -> None:
    assert any(line.startswith("~ a line of another version") for line in drawn(card(), 110))
    assert not any(line.startswith(("~", "?")) for line in drawn(card(keys=card().keys[:1]), 110))


def test_names_with_one_place_are_one_row() -> None:
    lines = drawn(card(), 110)
    assert any(line.startswith(" torch.Tensor.mul, __mul__ ") for line in lines)
    assert any(line.startswith(" torch.mul ") for line in lines)


def test_what_is_hidden_is_counted() -> None:
    lines = drawn(card(not_built=(("MPS", "mul_mps"), ("XPU", "mul_mps"))), 110)
    assert "not shown: kernels of 1 more groups of keys, 1 keys that fall through" in lines
    assert "in YAML, not in this build: MPS, XPU" in lines
    assert lines[-1] == "everything          ptexplore op aten::mul.Tensor --full"
