"""Schema strings and what the profiler recorded of a call's inputs."""

import pytest

from ptexplore.resolve.dispatch.schema import arguments, fits, generators, is_aliasing
from tests.unit.resolve.making import recorded

TENSOR = {"impl": 1, "device": "cpu", "layout": "strided", "dtype": "float32", "sizes": [3]}


def test_arguments_without_annotations_and_defaults() -> None:
    schema = 'aten::op.x(Tensor(a!) self, *, int[2] size=[1, 1], str? mode="a,b", Tensor?[] t) -> (Tensor(a!), Tensor)'
    assert [(a.type, a.name) for a in arguments(schema)] == [
        ("Tensor", "self"),
        ("int[2]", "size"),
        ("str?", "mode"),
        ("Tensor?[]", "t"),
    ]


def test_no_arguments() -> None:
    assert arguments("aten::op() -> bool") == ()


@pytest.mark.parametrize(
    ("schema", "inputs", "expected"),
    [
        ("a::b(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", [TENSOR, TENSOR, 1], True),
        ("a::b(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", [TENSOR, TENSOR, 1], False),
        ("a::b(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", [TENSOR, 2.5, 1], True),
        ("a::b(Tensor self, *, ScalarType? dtype=None) -> Tensor", [TENSOR, None], True),
        ("a::b(Tensor self, int[1]? dim, bool keepdim, *, ScalarType? dtype) -> Tensor", [TENSOR, None], False),
        ("a::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", [TENSOR, None], True),
        ("a::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", [TENSOR, None], False),
        ("a::b(Tensor[] tensors, int dim=0) -> Tensor", [[TENSOR, TENSOR], 0], True),
        ("a::norm(Tensor self, Scalar ord=2) -> Tensor", [TENSOR, "inf"], True),
        ("a::norm(Tensor self, str ord) -> Tensor", [TENSOR, "nuc"], True),
        ("a::norm(Tensor self, Scalar ord) -> Tensor", [TENSOR, "nuc"], False),
        ("a::b(Tensor self) -> Tensor", [None], False),
        ("a::b(Tensor? self) -> Tensor", [None], True),
        # The profiler keeps no complex number, no string and no list of integers: such an argument is None.
        ("a::b(Scalar value) -> Tensor", [None], True),
        ("a::b(Scalar? value) -> Tensor", [None], True),
        ("a::b(str mode) -> Tensor", [None], True),
        ("a::b(int[] size) -> Tensor", [None], True),
        # What it always keeps is never None; of a list with a nested or undefined tensor nothing is kept.
        ("a::b(int dim) -> Tensor", [None], False),
        ("a::b(SymInt size) -> Tensor", [None], False),
        ("a::b(bool keepdim) -> Tensor", [None], False),
        ("a::b(float eps) -> Tensor", [None], False),
        ("a::b(Tensor[] tensors) -> Tensor", [None], True),
        ("a::b(Tensor?[] indices) -> Tensor", [[TENSOR, None]], True),
        ("a::b(Tensor self) -> Tensor", [[TENSOR]], False),
        ("a::b(int[] size) -> Tensor", [[TENSOR]], False),
        ("a::b(int[2]? size) -> Tensor", [[1, 2]], True),
        ("a::b(int dim) -> Tensor", [TENSOR], False),
        ("a::b(float eps) -> Tensor", ["nan"], True),
        ("a::b(int dim) -> Tensor", ["inf"], False),
        ("a::b(int? dim) -> Tensor", [3], True),
        ("a::b(Generator? generator) -> Tensor", [3], False),
        ("a::b() -> Tensor", [], True),
        ("a::b() -> Tensor", [3], False),
    ],
)
def test_fits(schema: str, inputs: list, expected: bool) -> None:
    assert fits(schema, recorded({"inputs": inputs}).inputs) is expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("a::b(Tensor self, Tensor? weights=None) -> Tensor", False),
        ("a::b(Tensor(a) self) -> Tensor(a)", True),
        ("a::b(Tensor(a -> *) self) -> Tensor(a)[]", True),
        ("a::b.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", True),
        ("a::b(Tensor(a!) self) -> ()", False),
        ("a::b(Tensor(a!) self, Tensor other) -> Tensor", False),  # written to, and no result is of that memory
        ("a::b(Tensor(a)[] tensors) -> Tensor(a)", True),
        ("a::b(Tensor self) -> (Tensor, Tensor)", False),
    ],
)
def test_whether_a_result_is_or_may_be_an_argument(schema: str, expected: bool) -> None:
    assert is_aliasing(schema) is expected


@pytest.mark.parametrize("value, names", [(None, ("generator",)), (1, ())])
def test_a_generator_is_recorded_as_none(value: int | None, names: tuple[str, ...]) -> None:
    wanted = arguments("aten::randn.g(SymInt[] size, *, Generator? generator, ScalarType? dtype=None) -> Tensor")
    assert generators(wanted, (None, value, None)) == names
