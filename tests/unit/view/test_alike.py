"""Rounds of a loop become one round, and nothing else is joined."""

from __future__ import annotations

import pytest

from ptexplore.view.trace.alike import LONGEST, rounds_joined


@pytest.mark.parametrize(
    ("ran", "joined"),
    [
        ("", []),
        ("A", ["A"]),
        ("AAA", ["AAA"]),
        ("AB", ["A", "B"]),
        ("ABABAB", ["AAA", "BBB"]),
        ("xABABy", ["x", "AA", "BB", "y"]),
        ("AABAAB", ["AAAA", "BB"]),
        ("ABAB" + "A", ["AA", "BB", "A"]),  # a round that is not whole stays
        ("ABCABD", ["A", "B", "C", "A", "B", "D"]),
        ("AAAAAAB", ["AAAAAA", "B"]),
        ("abcdefghi" * 2, list("abcdefghi" * 2)),  # longer than a round may be
    ],
)
def test_rounds(ran: str, joined: list[str]) -> None:
    assert LONGEST == 8
    assert list(rounds_joined(ran, lambda node: ord(node[0]), lambda first, equal: first + equal)) == joined
