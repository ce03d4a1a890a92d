"""The rows of a table of parts: the largest ones fit, and the rows inside a row add up to it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from ptexplore.model.run import OwnOperators, Part, Run
from ptexplore.view.trace.columns import columns_of
from ptexplore.view.trace.page import ScreenRow
from ptexplore.view.trace.part_rows import Shown, fitting


def part(name: str, cost: int, *parts: Part, own: Sequence[OwnOperators] = (), kind: str = "user") -> Part:
    operators = sum(each.operators for each in (*parts, *own))
    return Part(kind=kind, name=name, calls=1, cost=cost, operators=operators, parts=parts, own=tuple(own))  # type: ignore[arg-type]


def operator(name: str, cost: int) -> OwnOperators:
    return OwnOperators(name=name, calls=1, cost=cost, operators=1)


def rows_of(root: Part, most: int, *, opened: bool = False) -> tuple[ScreenRow, ...]:
    run = Run(root, "nanoseconds")
    rows, _ = fitting(Shown(run, columns_of(run), root, opened=opened), most)
    return rows


def inside(rows: Sequence[ScreenRow], at: int) -> list[ScreenRow]:
    """The rows directly inside a row."""
    found = []
    for row in rows[at + 1 :]:
        if row.level <= rows[at].level:
            break
        found += [row] if row.level == rows[at].level + 1 else []
    return found


def a_tree(seed: int) -> Part:
    """A tree of parts with random costs; each part also did something itself."""
    numbers = random.Random(seed)

    def grown(name: str, depth: int) -> Part:
        parts = [grown(f"{name}.{n}", depth - 1) for n in range(numbers.randrange(5))] if depth else []
        own = [operator(f"op{n}", numbers.randrange(1, 10_000)) for n in range(numbers.randrange(4))]
        within = sum(each.cost for each in (*parts, *own))
        return part(name, within + numbers.randrange(10_000), *parts, own=own)

    return part("all", 1, *(grown(str(n), 4) for n in range(4)))


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_rows_add_up_to_the_row_around_them_however_few_fit(seed: int, opened: bool) -> None:
    tree = a_tree(seed)
    root = Part(kind="program", name="all", calls=1, cost=sum(each.cost for each in tree.parts), parts=tree.parts,
                operators=tree.operators)  # fmt: skip
    for most in (2, 4, 7, 12, 25, 60, 1_000):
        rows = rows_of(root, most, opened=opened)
        assert len(rows) <= most
        for at, row in enumerate(rows):
            within = inside(rows, at)
            if within:  # work of less than a thousandth of the whole has no row
                assert sum(each.share or 0 for each in within) == pytest.approx(row.share, abs=0.001)


def test_the_largest_rows_are_kept_whatever_they_are_in() -> None:
    small = [part(f"s{n}", 10 + n, own=[operator("relu", 9)]) for n in range(5)]
    large = [part(f"l{n}", 300 + n, own=[operator("mm", 290)]) for n in range(3)]
    root = part("all", 973, part("first", 70, *small), part("second", 903, *large))
    assert [(row.level, row.name) for row in rows_of(root, 6)] == [
        (0, "all"),
        (1, "first"),
        (1, "second"),
        (2, "l0"),
        (2, "l1"),
        (2, "l2"),
    ]


@pytest.mark.words
def test_what_does_not_fit_is_one_row_with_its_sums() -> None:
    small = [part(f"s{n}", 20, own=[operator("relu", 9)]) for n in range(30)]
    root = part("all", 1_000, part("large", 300, own=[operator("mm", 290)]), *small)
    rows = rows_of(root, 3)
    assert [row.name for row in rows] == ["all", "large", "31 more rows"]
    assert (rows[2].share, rows[2].cells[0], rows[2].cells[3]) == (0.7, "0.7 us", "30")


@pytest.mark.words
def test_a_row_is_not_replaced_by_a_row_about_it() -> None:
    root = part("all", 999, *(part(f"p{n}", 333, own=[operator("mm", 300)]) for n in range(3)))
    assert [row.name for row in rows_of(root, 4)] == ["all", "p0", "p1", "p2"]
    assert [row.name for row in rows_of(root, 3)] == ["all", "p0", "2 more rows"]


@pytest.mark.words
def test_a_small_rest_is_among_what_does_not_fit() -> None:
    parts = [part(f"p{n}", 100 - n, own=[operator("mm", 90)]) for n in range(9)]
    root = part("all", sum(each.cost for each in parts) + 5, *parts)
    names = [row.name for row in rows_of(root, 6)]
    assert names == ["all", "p0", "p1", "p2", "p3", "6 more rows"]


@pytest.mark.words
def test_rows_of_an_opened_part_are_all_its_operators_and_add_up_to_it() -> None:
    step = part("Adam.step", 900, own=[operator(f"o{n}", 80 - n) for n in range(10)], kind="optimizer")
    rows = rows_of(step, 7, opened=True)
    assert [row.name for row in rows] == [
        "Adam.step", "o0", "o1", "o2", "o3", "6 more kinds of nodes and operators", "the step itself: Python",
    ]  # fmt: skip
    assert sum(row.share or 0 for row in rows[1:]) == pytest.approx(1)


@pytest.mark.words
def test_other_threads_are_in_no_rows_sum() -> None:
    threads = [part(f"thread {n}", 400, own=[operator("mm", 390)], kind="thread") for n in range(3)]
    root = part("all", 1_000, part("a", 500, own=[operator("mm", 500)]), part("b", 100), part("c", 100), *threads)
    rows = rows_of(root, 4)
    assert [row.name for row in rows] == ["all", "a", "3 more rows", "3 more threads"]
    assert [row.share for row in rows[1:]] == [0.5, 0.5, 1.2]
