"""Schema strings and what the profiler recorded of a call's inputs."""

import pytest

from ptexplore.resolve.schema import arguments, fits, is_aliasing

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
    assert arguments("aten::op() -> bool") == []


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
    ],
)
def test_fits(schema: str, inputs: list, expected: bool) -> None:
    assert fits(schema, inputs) is expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("a::b(Tensor self, Tensor? weights=None) -> Tensor", False),
        ("a::b(Tensor(a) self) -> Tensor(a)", True),
        ("a::b(Tensor(a -> *) self) -> Tensor(a)[]", True),
        ("a::b.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", True),
        ("a::b(Tensor(a!) self) -> ()", False),
    ],
)
def test_whether_a_result_is_or_may_be_an_argument(schema: str, expected: bool) -> None:
    assert is_aliasing(schema) is expected
