"""Whether a reader predicted what a lab gave."""

from __future__ import annotations

import pytest

from ptexplore.view.notes.labs import is_right


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
    ],
)
def test_a_prediction_is_compared_as_a_literal(prediction: str, gave: str, verdict: bool | None) -> None:
    assert is_right(prediction, gave) is verdict
