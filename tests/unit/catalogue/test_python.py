"""A Python function's line is that of its `def`, and only when the text holds it there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.catalogue.operators import aliases
from ptexplore.catalogue.python_names import def_line, kernel_for, python_kernels
from ptexplore.model.codes import Reason
from ptexplore.model.dispatcher import DumpedKernel
from ptexplore.model.operators import PythonKernel, Registration
from ptexplore.model.place_reasons import CallableMoved, CallableOutside, NoCallable, SeveralCallables
from ptexplore.source.canonical import InstalledFolders
from tests.unit.conftest import Mini, line_of

REFS = "torch/_refs.py"


def test_decorators_come_before_the_def(mini: Mini) -> None:
    first = line_of(mini.tree, REFS, '@registers("blend")')
    expected = line_of(mini.tree, REFS, "def blend_meta")
    assert def_line(mini.tree, REFS, first, "torch._refs.blend_meta") == expected
    assert def_line(mini.tree, REFS, first) == expected
    assert def_line(mini.tree, REFS, expected, "blend_meta") == expected


def test_nothing_is_rounded(mini: Mini) -> None:
    first = line_of(mini.tree, REFS, '@registers("blend")')
    assert def_line(mini.tree, REFS, first, "another_name") is None
    assert def_line(mini.tree, REFS, first - 2, "blend_meta") is None
    assert def_line(mini.tree, REFS, 9999) is None
    assert def_line(mini.tree, "torch/missing.py", 1) is None


def test_a_lambda_is_on_its_own_line(mini: Mini) -> None:
    line = line_of(mini.tree, REFS, "lambda")
    assert def_line(mini.tree, REFS, line, "torch._refs.<lambda>") == line
    assert def_line(mini.tree, REFS, line - 1, "torch._refs.<lambda>") is None


def test_kernels_are_in_one_order_however_torch_gave_them(mini: Mini) -> None:
    """Two catalogues of one torch are equal, row for row. What an operator has stays in torch's own order."""
    told = [DumpedKernel(op, role, "f") for op, role in (("b", "meta"), ("a", "meta"), ("a", "kernel"))]
    kernels = python_kernels(told, InstalledFolders(str(mini.site)), mini.tree)
    assert [(kernel.op, kernel.role) for kernel in kernels] == [("a", "meta"), ("a", "kernel"), ("b", "meta")]


RECORD = Registration("aten::x", "Meta", False, False, False, "python", None, None, None, False, None)
KERNEL = PythonKernel("aten::x", "meta", "f", "torch/x.py", 3, 5, "Meta")


def test_the_kernel_of_the_records_own_key() -> None:
    other = replace(KERNEL, function="g", key="CPU")
    assert kernel_for(RECORD, [other, KERNEL]) == (KERNEL, None)
    assert kernel_for(RECORD, [KERNEL, replace(KERNEL, role="kernel")]) == (KERNEL, None)


@pytest.mark.parametrize(
    ("kernels", "why"),
    [
        ([], NoCallable()),
        ([replace(KERNEL, role="decomposition", key=None)], NoCallable()),
        ([KERNEL, replace(KERNEL, line=9)], SeveralCallables(2)),
        ([replace(KERNEL, path=None, line=None)], CallableOutside()),
        ([replace(KERNEL, line=None)], CallableMoved()),
    ],
)
def test_why_not(kernels: list[PythonKernel], why: Reason) -> None:
    assert kernel_for(RECORD, kernels)[1] == why


def test_aliases() -> None:
    assert aliases("a::f(Tensor(a -> *) self, int n) -> Tensor(a)[]") == ("self: (a -> *)", "-> (a)")
    assert aliases("a::f.out(Tensor x, *, Tensor(a!)[] out) -> ()") == ("out: (a!)",)
    assert aliases("a::f(Tensor? x, Tensor(a|b)? y=None) -> (Tensor(a!) u, Tensor v)") == ("y: (a|b)", "-> (a!)")
    assert aliases("") == ()
