"""What is asked for is shown so that no line of code looks as the rest of the one above it."""

from __future__ import annotations

from ptexplore.render.terminal.consent import _folded


def test_only_a_line_of_code_begins_with_its_number() -> None:
    comment = "   1 | # " + "x" * 71  # as wide as the terminal, which folds nothing of it
    evil = "   2 | evil()  # and so on"
    long = "   3 | # " + "y" * 67 + "   4 | evil() " + "z" * 200
    rows = [row for line in (comment, evil, long) for row in _folded(line, 80)]
    assert all(len(row) <= 80 for row in rows)
    assert [row[:7] for row in rows[:3]] == ["   1 | ", "   2 | ", "   3 | "]
    assert {row[:7] for row in rows[3:]} == {"     : "}
    assert "".join([rows[2], *(row[7:] for row in rows[3:])]) == long
