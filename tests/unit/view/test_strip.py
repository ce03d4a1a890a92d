"""A storage as rows of cells: labels of indices, gaps, several indices in a cell, wrapping and folding."""

from __future__ import annotations

from ptexplore.model.tensor_layouts import PlacedTensor
from ptexplore.view.tensor.strip import FoldedCells, StripRow, short_names, strip


def lines(*tensors: tuple[str, PlacedTensor], cells: int, width: int = 80) -> list[str]:
    shown = strip(tensors, cells, width).lines()
    return ["".join(span.text for span in spans).rstrip() for spans in shown]


def test_views_over_one_storage() -> None:
    x = ("x", PlacedTensor(0, (3, 4), (4, 1), 0))
    v = ("v", PlacedTensor(1, (2, 2), (4, 2), 4))
    t = ("t", PlacedTensor(2, (4, 3), (1, 4), 0))
    assert lines(x, v, t, cells=12) == [
        "cell  0    1    2    3    4    5    6    7    8    9    10   11",
        "x     0,0  0,1  0,2  0,3  1,0  1,1  1,2  1,3  2,0  2,1  2,2  2,3",
        "v                         0,0  ·    0,1  ·    1,0  ·    1,1",
        "t     0,0  1,0  2,0  3,0  0,1  1,1  2,1  3,1  0,2  1,2  2,2  3,2",
    ]


def test_a_dimension_of_stride_zero_is_one_sign_for_all_indices() -> None:
    assert lines(("e", PlacedTensor(0, (2, 3), (0, 1), 1)), cells=5) == [
        "cell  0    1    2    3    4",
        "e          *,0  *,1  *,2",
    ]


def test_overlapping_windows_have_a_line_each() -> None:
    assert lines(("w", PlacedTensor(0, (3, 3), (1, 1), 0)), cells=5) == [
        "cell  0    1    2    3    4",
        "w     0,0  0,1  0,2",
        "           1,0  1,1  1,2",
        "                2,0  2,1  2,2",
    ]


def test_more_indices_than_lines_are_counted() -> None:
    shown = lines(("w", PlacedTensor(0, (6, 6), (1, 1), 0)), cells=11)
    assert shown[1] == "w     0,0  ×2   ×3   ×4   ×5   ×6   ×5   ×4   ×3   ×2   5,5"
    assert len(shown) == 2


def test_an_element_of_several_cells() -> None:
    c = ("c", PlacedTensor(0, (2,), (2,), 0, 2))
    r = ("r", PlacedTensor(1, (2, 2), (2, 1), 0))
    assert lines(c, r, cells=4) == [
        "cell  0    1    2    3",
        "c     0    ───  1    ───",
        "r     0,0  0,1  1,0  1,1",
    ]


def test_a_tensor_without_dimensions() -> None:
    assert lines(("s", PlacedTensor(0, (), (), 1)), cells=2) == ["cell  0   1", "s         ()"]


def test_rows_hold_whole_rows_of_the_largest_tensor() -> None:
    picture = strip((("x", PlacedTensor(0, (4, 6), (6, 1), 0)),), 24, 80)
    assert [row.count for row in picture.rows if isinstance(row, StripRow)] == [12, 12]


def test_every_line_fits_the_width() -> None:
    for width in (80, 120, 160):
        x = PlacedTensor(0, (100, 100), (100, 1), 0)
        assert all(len(line) <= width for line in lines(("x", x), cells=10_000, width=width))


def test_a_large_storage_is_folded_and_no_cell_is_lost() -> None:
    elements = 10**9
    x, v = PlacedTensor(0, (elements,), (1,), 0), PlacedTensor(1, (3,), (1,), 500_000_000)
    picture = strip((("x", x), ("v", v)), elements, 80)
    assert sum(row.count for row in picture.rows) == elements
    assert any(isinstance(row, FoldedCells) for row in picture.rows)
    begins = [row for row in picture.rows if isinstance(row, StripRow) and len(row.lines) == 2]
    assert [label for row in begins for label in row.lines[1][1] if label] == ["0", "1", "2"]


def test_long_names_are_shortened_and_stay_different() -> None:
    long = "x[1:, ::2].transpose(0, 1).contiguous()"
    names = ["x", long, long.replace("[1:", "[2:"), long.replace("2].t", "3].t"), f"{long}.T"]
    short = short_names(names, 80)
    assert short["x"] == "x"
    assert len(set(short.values())) == len(names)
    assert all(len(text) <= 20 for text in short.values())
    assert short_names([long], 80)[long].startswith("x[1:, ::")
