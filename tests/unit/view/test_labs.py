"""Whether a reader predicted what a lab gave."""

from __future__ import annotations

import pytest

from ptexplore.annotations.records import Lab, Where
from ptexplore.view.notes.labs import LabResult
from ptexplore.view.notes.predictions import choice_lines, chosen, differing, is_right, verdict


@pytest.mark.parametrize(
    ("prediction", "gave", "verdict"),
    [
        ("2", "2", True),
        (" (3, 1) ", "(3,1)", True),
        ("[1.0, 2]", "[1, 2.0]", True),
        ("3", "2", False),
        ("'a'", '"a"', True),
        ("", "2", None),
        ("2", "", None),
        ("key CPU", "key CPU", True),
        ("it goes to the CPU", "key CPU", None),  # only the reader can tell
        ("__import__('os')", "2", None),
        ("(" * 500, "2", None),
        ("[1, (2, 3)]", "(1, [2, 3])", True),  # a list stands for a tuple
        ("torch.float32", "'torch.float32'", True),
        ("torch.float16", "'torch.float32'", None),
        ("0.3333333333", str(1 / 3), True),
    ],
)
def test_a_prediction_is_compared_as_a_literal(prediction: str, gave: str, verdict: bool | None) -> None:
    assert is_right(prediction, gave) is verdict


WHERE = Where("tour.md", 1)
TWO = Lab(WHERE, "two", "f(x)", value="(1, [2, 3])")
NEXT = Lab(
    WHERE, "next", "f(x)", trace=(("op", "aten::add.Tensor"), ("key", "CPU"), ("kernel", "at::add")),
    choices=("key CPU", "op aten::clone"),
)  # fmt: skip
STEPS = Lab(WHERE, "steps", "f(x)", trace=NEXT.trace)
RESULT = LabResult(
    "tour#stop/lab", WHERE, "passed", steps=("op aten::add.Tensor", "key CPU", "kernel at::add"), answer="key CPU"
)


def test_the_parts_of_a_value_that_differ():
    text = "(1, [2, 9])"
    assert [text[slice(*span)] for span in differing(text, "(1, [2, 3])")] == ["9"]
    assert [text[slice(*span)] for span in differing(text, "(1, 2)")] == ["[2, 9]"]
    assert [text[slice(*span)] for span in differing(text, "[1, 2, 3]")] == [text]
    assert list(differing("it copies", "1")) == []
    umlaut = "('\u00e4\u00f6', 2)"
    assert [umlaut[slice(*span)] for span in differing(umlaut, "('', 3)")] == ["'\u00e4\u00f6'", "2"]


@pytest.mark.parametrize(
    ("lab", "typed", "right"),
    [
        (TWO, "(1, (2, 3))", True),
        (TWO, "(1, (2, 4))", False),
        (TWO, "", None),
        (NEXT, "a", True),
        (NEXT, "b", False),
        (NEXT, "CPU", True),
        (NEXT, "key CPU", True),
        (NEXT, "clone", False),
        (STEPS, "aten::add.Tensor, key CPU", True),
        (STEPS, "CPU, aten::add.Tensor", False),  # the other way round
        (STEPS, "aten::add.Tensor", False),  # the lab's own name of it is no prediction
        (STEPS, "aten::add.Tensor, op aten::clone", False),
    ],
)
def test_each_kind_of_lab_has_a_verdict(lab: Lab, typed: str, right: bool | None) -> None:
    judged = verdict(
        lab, typed, LabResult("tour#stop/lab", WHERE, "passed", value="(1, [2, 3])") if lab is TWO else RESULT
    )
    assert judged.right is right
    assert bool(judged.in_words) == bool(typed)


def test_a_letter_chooses() -> None:
    assert choice_lines(NEXT) == (("a", "key CPU"), ("b", "op aten::clone"))
    assert [chosen(NEXT, typed) for typed in ("a", "B)", " key CPU ", "z")] == [
        "key CPU",
        "op aten::clone",
        "key CPU",
        "z",
    ]
    assert chosen(TWO, "a") == "a"
