"""A hand-written function is shown by its declaration, when a header declares it exactly once."""

from __future__ import annotations

import pytest

from ptexplore.catalogue.declarations import find
from tests.unit.conftest import ATEN, Mini

NATIVE = f"{ATEN}/ops/blend_native.h"
MANUAL = "torch/csrc/autograd/FunctionsManual.h"


@pytest.mark.parametrize(
    ("symbol", "path", "text"),
    [
        ("at::native::structured_blend_cpu::impl", NATIVE, "void impl("),
        ("at::native::blend_sparse", NATIVE, "blend_sparse("),
        ("undo_blend", MANUAL, "undo_blend(const at::Tensor& grad);"),
    ],
)
def test_found_at_the_line_of_its_name(mini: Mini, symbol: str, path: str, text: str) -> None:
    _, (place,) = find(mini.tree, symbol)
    assert (place.path, place.layer) == (path, "wheel")
    assert text in (mini.tree.line(path, place.line) or "")


def test_lines_are_the_repository_s_not_those_of_the_wrapped_header(mini: Mini) -> None:
    _, (place,) = find(mini.tree, "at::native::blend_sparse")
    file, line = mini.tree.place_of(NATIVE, place.line) or ("", 0)
    with open(file, encoding="utf-8") as handle:
        assert "blend_sparse(" in handle.read().split("\n")[line - 1]
    assert line == place.line + 1


def test_overloads_are_all_listed(mini: Mini) -> None:
    qualified, places = find(mini.tree, "at::native::blend_many")
    assert qualified == "at::native::blend_many"
    assert [mini.tree.line(NATIVE, place.line) for place in places] == [
        "TORCH_API at::Tensor & blend_many(at::Tensor & self);",
        "TORCH_API at::Tensor blend_many(const at::Tensor & self, int64_t count);",
    ]


@pytest.mark.parametrize(
    "symbol", ["at::native::nobody", "std::move", "torch::autograd::THPVariable_getitem", "nobody"]
)
def test_none_where_no_header_declares_it(mini: Mini, symbol: str) -> None:
    assert find(mini.tree, symbol)[1] == []


def test_the_overload_with_the_callers_own_parameters_is_meant(mini: Mini) -> None:
    path = f"{ATEN}/RegisterOther_0.cpp"
    (mini.generated / path).write_text(
        "at::Tensor wrapper_count(\n  const at::Tensor & self,\n  c10::SymInt count = f(1, 2)) {\n}\n"
        "at::Tensor wrapper_neither(const at::Tensor & self, double count) {\n}\n"
    )
    _, (place,) = find(mini.tree, "at::native::blend_many", (path, 1))
    assert "int64_t count" in (mini.tree.line(NATIVE, place.line) or "")
    _, neither = find(mini.tree, "at::native::blend_many", (path, 5))
    assert len(neither) == 2
