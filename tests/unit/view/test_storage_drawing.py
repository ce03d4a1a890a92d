"""Drawings of a storage: the cells that torch itself reaches by data_ptr, the text, and what is refused."""

from __future__ import annotations

import pytest

from ptexplore.view.notes.storage_drawing import Layout, drawing, drawn, lines_of


def test_a_drawing_has_the_index_that_leads_to_each_cell() -> None:
    text = "x = torch.arange(6).view(2, 3): sizes (2, 3), strides (3, 1), offset 0\n"
    text += "v = x[:, 1:]: sizes (2, 2) strides (3, 1) offset 1"
    picture = drawing(text)
    assert picture is not None
    assert lines_of(picture) == [
        "cell  0    1    2    3    4    5",
        "     ┌────┬────┬────┬────┬────┬────┐",
        "x    │0,0 │0,1 │0,2 │1,0 │1,1 │1,2 │",
        "v    │    │0,0 │0,1 │·   │1,0 │1,1 │",
        "     └────┴────┴────┴────┴────┴────┘",
        "",
        "x = torch.arange(6).view(2, 3): sizes (2, 3), strides (3, 1), offset 0",
        "v = x[:, 1:]: sizes (2, 2), strides (3, 1), offset 1",
    ]


def test_it_is_said_in_words_which_cells_are_reached() -> None:
    picture = drawn([Layout("s = x[2]", (), (), 2), Layout("e", (3, 2), (0, 1), 0)])
    assert picture is not None
    assert picture.in_words == "A storage of 3 elements. s = x[2] reaches cells 2. e reaches cells 0, 1."


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "x: sizes (2,), strides (1, 1), offset 0", "x: sizes (-1,), strides (1,), offset 0",
        "x: sizes (0,), strides (1,), offset 0", "x: sizes (65,), strides (1,), offset 0",
        "x: sizes (2,), strides (999999,), offset 0", "x: sizes (999999, 999999), strides (1, 1), offset 0",
        "x: sizes (" + " " * 1_000_000, "x: sizes (" + "1, " * 300_000,
        "\n".join(["x: sizes (2,), strides (1,), offset 0"] * 9),
    ],
)  # fmt: skip
def test_what_is_no_drawing_or_too_large_is_none(text: str) -> None:
    assert drawing(text) is None
