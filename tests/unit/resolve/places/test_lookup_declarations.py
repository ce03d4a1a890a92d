"""Where a header of the wheel declares a function, and what its parameters are."""

from __future__ import annotations

import pytest

from ptexplore.model.place_reasons import DeclaredTimes
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Small, place

NATIVE = f"{ATEN}/ops/blend_native.h"
MANUAL = "torch/csrc/autograd/FunctionsManual.h"
CPU = f"{ATEN}/RegisterCPU_0.cpp"


@pytest.mark.parametrize(
    "symbol, path, text",
    [
        ("at::native::blend_sparse", NATIVE, "blend_sparse("),
        ("at::native::structured_blend_cpu::impl", NATIVE, "void impl("),
        ("torch::autograd::generated::details::undo_blend", MANUAL, "undo_blend(const at::Tensor& grad)"),
    ],
)
def test_the_one_declaration(small: Small, symbol: str, path: str, text: str) -> None:
    found = small.lookup().declaration(symbol)
    assert found is not None
    assert place(found) == (path, small.line(path, text), "located")


@pytest.mark.parametrize("symbol", ["at::native::nothing_declares_it", "some::function", "torch::autograd::other"])
def test_what_no_header_declares(small: Small, symbol: str) -> None:
    assert small.lookup().declaration(symbol) is None


def test_overloads_that_nothing_tells_apart_are_all_listed(small: Small) -> None:
    found = small.lookup().declaration("at::native::blend_many")
    assert found is not None
    assert place(found) == (NATIVE, None, "ambiguous")
    assert [one.line for one in found.candidates] == [
        small.line(NATIVE, "blend_many(at::Tensor & self)"),
        small.line(NATIVE, "blend_many(const at::Tensor & self, int64_t count)"),
    ]
    assert found.reason == DeclaredTimes("at::native::blend_many", 2)


def test_parameters_are_those_of_the_declaration(small: Small) -> None:
    parameters = small.lookup().parameters
    wanted = ("const at::Tensor&", "const ::std::optional<at::Tensor>&", "bool")
    assert parameters("at::native::blend_sparse", None) == wanted
    assert parameters("at::native::blend_sparse", (CPU, 1)) == wanted, "a declaration counts before any caller"


def test_without_one_declaration_they_are_the_callers(small: Small) -> None:
    """torchgen's wrapper takes what the function takes."""
    caller = (CPU, small.line(CPU, "at::Tensor wrapper_CPU_blend_Pair("))
    wanted = ("const at::Tensor&", "const at::Tensor&")
    parameters = small.lookup().parameters
    assert parameters("at::native::nothing_declares_it", caller) == wanted
    assert parameters("at::native::blend_many", caller) == wanted
    assert parameters("at::native::nothing_declares_it", None) is None
