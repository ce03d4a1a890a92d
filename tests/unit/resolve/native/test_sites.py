"""What a function's name says of where it is defined, where no definition in PyTorch's source has it."""

from __future__ import annotations

import pytest

from ptexplore.cpp.symbol_names import parse
from ptexplore.model.symbols import Symbol
from ptexplore.resolve.native.sites import _may_be_static, third_party


@pytest.mark.parametrize(
    "text, library",
    [
        ("SGETRF", "BLAS or LAPACK"),
        ("sorgqr", "BLAS or LAPACK"),
        ("dgemm_", "BLAS or LAPACK"),
        ("_ZGVeN16v_Sleef_expf_u10", "Sleef"),
        ("pybind11_meta_call", "pybind11"),
        ("set_eval_frame_py", None),
        ("inflate", None),
        ("step", None),
        ("at::native::sgemv", None),
    ],
)
def test_the_library_that_a_name_tells(text: str, library: str | None) -> None:
    assert third_party(parse(text)) == library


@pytest.mark.parametrize(
    "text, mangled, path, expected",
    [
        ("set_eval_frame_py", "set_eval_frame_py", "eval_frame.c", True),
        ("set_eval_frame_py", "set_eval_frame_py", "eval_frame.cpp", False),
        ("f(int)", "_Z1fi", "a.cpp", False),
        ("int f<int>(int)", "_Z1fIiEiT_", "a.cpp", True),
        ("f(int)", "", "a.cpp", True),
    ],
)
def test_when_a_static_function_may_be_meant(text: str, mangled: str, path: str, expected: bool) -> None:
    symbol = Symbol(path, "f", "f", "function", 1, 2, 1, static=True, template="<" in text)
    assert _may_be_static(parse(text), mangled, symbol) is expected


def test_a_static_function_that_is_no_template_is_not_what_a_template_was_made_of() -> None:
    plain = Symbol("a.cpp", "f", "f", "function", 1, 2, 1, static=True)
    assert not _may_be_static(parse("int f<int>(int)"), "_Z1fIiEiT_", plain)
