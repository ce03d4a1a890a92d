"""Flowcharts in a terminal."""

from __future__ import annotations

import pytest

from ptexplore.view.notes.prose import arrows


def test_arrows_say_what_the_boxes_say() -> None:
    picture = 'flowchart TD\n    a["one, two"] --> b["three"]\n    b -- "again" --> a\n    b --> bare\n'
    assert arrows(picture) == ["one, two", "  --> three", "three", "  -- again --> one, two", "  --> bare"]


@pytest.mark.parametrize(
    "other",
    ["", "graph LR", "sequenceDiagram\n    a->>b: x", "graph LR\n    a --> b --> c", "flowchart TD\n    a{x} --> b"],
)
def test_any_other_picture_is_left_as_it_is(other: str) -> None:
    assert arrows(other) is None
