"""The function that the expression of a registration names."""

from __future__ import annotations

import pytest

from ptexplore.index.dialect.piece import kernel_name


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("&f", "f"),
        ("nullptr", None),
        ("", None),
        ("[](int x) { return f(x); }", None),
        ("TORCH_FN(at::native::f)", "at::native::f"),
        ("::at::native::f", "at::native::f"),
        ("&CPU_CAPABILITY::f_kernel", "f_kernel"),
        ("static_cast<int (*)(a<b, c>)>(&f<int, g<2>>)", "f"),
        ("(PyCFunction)(void (*)(void))f", "f"),
        ("reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f))", "f"),
        ("torch::dispatch(c10::DispatchKey::CPU, TORCH_FN((f<true, 1>)))", "f"),
        ("torch::CppFunction::makeFromBoxedFunction<&f<1>>()", "f"),
        ("torch::CppFunction::makeFallthrough()", None),
        ("torch::CppFunction(f).debug(1)", "f"),
        ("Outer<int>::Inner<float>::run", "Outer::Inner::run"),
        ("factory(1)", None),
        ("a < b ? f : g", None),
        ("f<(1 > 2)>", "f"),
    ],
)
def test_the_kernel_an_expression_registers(expression: str, name: str | None) -> None:
    assert kernel_name(expression) == name
