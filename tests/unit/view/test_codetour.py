"""Patterns whose first match is the line meant."""

from __future__ import annotations

import random
import re

import pytest

from ptexplore.view.notes.codetour import pattern

LINES = ["int f() {", "  return 1;", "}", "", "int g(a[3], b*) {", "  return 1;", "}", "  return 1;", "end"]


def first_match(found: str, lines: list[str]) -> int:
    text = "\n".join(lines)
    match = re.search(found, text, re.MULTILINE)
    assert match is not None
    return text.count("\n", 0, match.start()) + 1


@pytest.mark.parametrize("line", [1, 2, 3, 5, 8, 9])
def test_the_first_match_is_the_line(line: int) -> None:
    found = pattern(LINES, line)
    assert found is not None
    assert first_match(found, LINES) == line


def test_a_line_that_nothing_tells_from_one_above_has_none() -> None:
    assert pattern(["x", "y", "x", "y"], 3) is None
    assert pattern(["a", "", "b"], 2) is None, "an empty line says nothing"
    assert pattern(["a"], 2) is None


def test_whatever_the_lines_are() -> None:
    rng = random.Random(5)
    for _ in range(300):
        lines = ["".join(rng.choice("ab(*\\ ]/") for _ in range(rng.randint(0, 3))) for _ in range(12)]
        for line in range(1, 13):
            found = pattern(lines, line)
            if found is not None:
                assert first_match(found, lines) == line, (lines, line, found)
