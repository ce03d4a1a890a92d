"""Which expression a selection or a cursor means, and what is asked before it runs."""

from __future__ import annotations

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.surfaces.editor_traces import LONGEST, expression_at, question, to_trace, traced
from ptexplore.workspace.workspace import Workspace
from tests.hanging import ends

TEXT = 's = "ü😀"; y = torch.add(a, torch.exp(b))\nif y:\n    z = y + 1\n'


@pytest.mark.parametrize(
    "selected, expression",
    [
        (((0, 21), (0, 21)), "torch.add(a, torch.exp(b))"),
        (((0, 30), (0, 30)), "torch.exp(b)"),
        (((0, 27), (0, 39)), "torch.exp(b)"),
        (((2, 8), (2, 13)), "y + 1"),
        (((2, 8), (2, 11)), None),
        (((2, 8), (2, 8)), None),
        (((1, 0), (1, 2)), None),
    ],
)
def test_the_expression_at_a_place(selected: tuple[tuple[int, int], tuple[int, int]], expression: str | None) -> None:
    assert expression_at(TEXT, *selected) == expression


def test_a_text_that_is_not_python_has_no_expression() -> None:
    assert expression_at("torch.add(a,", (0, 3), (0, 3)) is None
    assert expression_at("(" * 10_000, (0, 3), (0, 3)) is None
    assert expression_at("-" * 100_000 + "1", (0, 3), (0, 3)) is None


@pytest.mark.parametrize("code, expression", [("a" + ".b()" * 900, "a.b()"), ("+".join(["f(a)"] * 900), "f(a)")])
def test_a_long_expression_in_a_long_file_is_read_once(code: str, expression: str) -> None:
    """Before, the file was read once for each expression around the cursor: 42 s."""
    with ends(10.0):
        assert expression_at(f"x = {code}\n" + f"#{'y' * 70}\n" * 5_000, (0, 5), (0, 5)) == expression


def test_nothing_of_the_code_is_hidden() -> None:
    asked = to_trace("f(\n    'ad\u202emin', 'а')", "/a/b.py")
    text = question(asked)
    assert text.isascii()
    assert "\\u202e" in text
    assert "\\u0430" in text
    assert "   2 |     'ad" in text
    assert "/a/b.py" in text


def test_a_long_expression_is_not_asked_about() -> None:
    with pytest.raises(PtexploreError, match="not run from here"):
        question(to_trace(f"f('{'a' * LONGEST}')", "/a/b.py"))


@pytest.mark.parametrize("code", ["import os", "x = 1", "a; b", "f(", "", "-" * 100_000 + "1"])
def test_what_is_no_expression_is_refused(code: str) -> None:
    with pytest.raises(PtexploreError, match="not an expression"):
        to_trace(code, "/a/b.py")


def test_nothing_runs_before_somebody_agreed() -> None:
    asked = to_trace("torch.add(a, b)", "/a/b.py")
    assert not asked.is_allowed
    with pytest.raises(PtexploreError, match="was not run"):
        traced(Workspace(), asked)
