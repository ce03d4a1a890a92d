"""What a failed check compared: the values of its message, and whose they are.

The expected answers follow from the rule of broadcasting and from what the tensors are, worked out by hand.
"""

from __future__ import annotations

import pytest

from ptexplore.model.reasons import (
    ValueAsked,
    ValueBroadcast,
    ValueColumns,
    ValueIndexed,
    ValueRows,
    ValueSize,
    ValueToChoose,
)
from ptexplore.model.tensors import RecordedTensor
from ptexplore.resolve.error_message import condition
from ptexplore.resolve.mismatch import compared


def tensor(*sizes: int, dtype: str = "float32", device: str = "cpu") -> RecordedTensor:
    return RecordedTensor(device=device, dtype=dtype, sizes=sizes)


def told(
    message: str, *given: tuple[str, RecordedTensor], written: tuple[str, ...] = ()
) -> list[tuple[str, str | None]]:
    return [(value.text, value.argument) for value in compared(message, given, written)]


BROADCAST = "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}"


def test_broadcast_sizes_are_counted_from_the_right() -> None:
    values = compared(BROADCAST.format(3, 4, 1), [("self", tensor(2, 3)), ("other", tensor(4))])
    assert [(v.text, v.of, v.argument) for v in values] == [
        ("3", ValueSize(1), "self"),
        ("4", ValueSize(0), "other"),
    ]


def test_two_operands_may_have_been_handed_on_the_other_way_round() -> None:
    """As masked_fill hands its mask on first."""
    given = (("self", tensor(3, 2)), ("mask", tensor(3, 3)))
    assert told(BROADCAST.format(3, 2, 1), *given) == [("3", "mask"), ("2", "self")]
    neither = compared(BROADCAST.format(3, 2, 1), [("self", tensor(5)), ("mask", tensor(7))])
    assert {value.of for value in neither} == {ValueBroadcast(1)}


def test_indexing_by_tensors_counts_these_and_no_dimensions() -> None:
    """The message of torch.ones(2, 3, 4)[:, [0, 1, 5]]: its one index tensor is number 0."""
    given = [("self", tensor(2, 3, 4)), ("values", tensor(3, 4))]
    values = compared("index 5 is out of bounds for dimension 0 with size 3", given, indexed=True)
    told_of = [(value.text, value.of, value.argument) for value in values]
    assert told_of[1:] == [("3", ValueIndexed(0, masks=False), None)]
    # Of x[m, i] with a mask m of two dimensions: i is the second that was written and has the number 2.
    (_, size) = compared("index 9 is out of bounds for dimension 2 with size 4", given, indexed=True)
    assert size.of == ValueIndexed(2, masks=True)


def test_a_size_that_two_operands_have_is_said_to_be_neithers() -> None:
    given = (("self", tensor(3, 3)), ("end", tensor(3, 3)), ("weight", tensor(2)))
    assert told(BROADCAST.format(3, 2, 1), *given) == [("3", None), ("2", "weight")]


def test_what_was_written_to_by_out_is_no_operand() -> None:
    given = (("self", tensor(3)), ("other", tensor(4)), ("out", tensor(9)))
    assert told(BROADCAST.format(3, 4, 0), *given) == [("3", "self"), ("4", "other")]


def test_sizes_that_no_order_of_the_operands_gives_are_nobodys() -> None:
    assert told(BROADCAST.format(7, 4, 0), ("self", tensor(3)), ("other", tensor(4))) == [("7", None), ("4", None)]


@pytest.mark.parametrize(
    ("message", "given", "expected"),
    [
        (
            "mat1 and mat2 shapes cannot be multiplied (3x3 and 2x2)",
            (("self", tensor(2)), ("mat1", tensor(3, 3)), ("mat2", tensor(2, 2))),
            [("3x3", "mat1"), ("2x2", "mat2")],
        ),
        (
            "expected m1 and m2 to have the same dtype, but got: float != double",
            (("self", tensor(3, 3)), ("mat2", tensor(3, 3, dtype="float64"))),
            [("float", "self"), ("double", "mat2")],
        ),
        (
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
            (("self", tensor(2, device="cuda:0")), ("other", tensor(2))),
            [("cuda:0", "self"), ("cpu", "other")],
        ),
        (
            "index 5 is out of bounds for dimension 0 with size 3",
            (("self", tensor(3, 3)), ("index", tensor(1, 1, dtype="int64"))),
            [("5", None), ("3", "self")],
        ),
        (
            "Dimension out of range (expected to be in range of [-1, 0], but got 4)",
            (("self", tensor()),),
            [("4", None), ("1", None)],
        ),
        (
            "Dimension out of range (expected to be in range of [-2, 1], but got 4)",
            (("self", tensor(2, 2)),),
            [("4", None), ("2", "self")],
        ),
        (
            "Dimension out of range (expected to be in range of [-3, 2], but got 5)",  # of unsqueeze
            (("self", tensor(2, 2)),),
            [("5", None), ("3", None)],
        ),
        (
            "A must be batches of square matrices, but they are 2 by 3 matrices",
            (("A", tensor(3, 2, 3)),),
            [("2", "A"), ("3", "A")],
        ),
        (
            "shape '[-1, 2]' is invalid for input of size 9",
            (("self", tensor(3, 3)),),
            [("[-1, 2]", None), ("9", "self")],
        ),
        (
            "Sizes of tensors must match except in dimension 1. Expected size 3 but got size 2 for tensor number 2 in",
            (("tensors[0]", tensor(3, 1)), ("tensors[1]", tensor(3, 2)), ("tensors[2]", tensor(2, 2))),
            [("3", "tensors[0]"), ("2", "tensors[2]")],
        ),
        (
            "result type Float can't be cast to the desired output type Long",
            (("self", tensor(2)), ("other", tensor(2)), ("out", tensor(2, dtype="int64"))),
            [("Float", None), ("Long", "out")],
        ),
        ("\"exp\" not implemented for 'Long'", (("self", tensor(2)), ("other", tensor(2))), [("Long", None)]),
        ("something else", (("self", tensor(2)),), []),
    ],
)
def test_a_value_is_the_argument_s_that_alone_has_it(
    message: str, given: tuple[tuple[str, RecordedTensor], ...], expected: list[tuple[str, str | None]]
) -> None:
    assert told(message, *given, written=("out",)) == expected


def test_nothing_is_said_to_be_asked_for_that_a_tensor_has() -> None:
    square = compared("A must be batches of square matrices, but they are 2 by 3 matrices", [("A", tensor(2, 3))])
    assert [value.of for value in square] == [ValueRows(), ValueColumns()]
    wrapped = compared(
        "Dimension out of range (expected to be in range of [-3, 2], but got 5)", [("self", tensor(2, 2))]
    )
    assert [value.of for value in wrapped] == [ValueAsked("dimension"), ValueToChoose()]


# --- the condition ---

TEXT = """\
void f(int a) {
  TORCH_CHECK(a == g(1, "x, y") && a < 2,
      "no: ", a);
  TORCH_CHECK_WITH(TypeError, a > 0, "no");
  TORCH_CHECK(false, "never");
  throw 1;
}
#define CHECKED() \\
  TORCH_CHECK(n > 0, "no"); \\
  use(n);
void h() { CHECKED(); }
AT_DISPATCH_ALL_TYPES(t, "name", [&] {
""".splitlines()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (2, 'a == g(1, "x, y") && a < 2'),
        (3, 'a == g(1, "x, y") && a < 2'),
        (4, "a > 0"),
        (5, ""),
        (6, ""),
        (12, ""),
        (99, ""),
    ],
)
def test_the_condition_is_the_check_s_first_argument(line: int, expected: str) -> None:
    assert condition(TEXT, line) == expected
