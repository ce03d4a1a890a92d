"""Rows of a graph: drawn graphs, and every property that a reader relies on, on random graphs."""

from __future__ import annotations

import random

import pytest

from ptexplore.view.graph.layout import LaidOut, LayoutEdge, lay_out
from ptexplore.view.graph.repeats import RepeatedPart, fold


def laid(targets: list[list[int]], leaves: frozenset[int] = frozenset(), roots: tuple[int, ...] = (0,)) -> list[str]:
    return [drawn(row) for row in rows_of(targets, leaves, roots)]


def rows_of(
    targets: list[list[int]], leaves: frozenset[int] = frozenset(), roots: tuple[int, ...] = (0,)
) -> tuple[LaidOut, ...]:
    return lay_out([[LayoutEdge(*edge) for edge in enumerate(following)] for following in targets], roots, leaves)


def drawn(row: LaidOut) -> str:
    label = f"{row.edge}: " if row.edge is not None else ""
    return f"{row.lead}{label}{'→ ' if row.kind == 'again' else ''}{row.node}"


def test_a_chain_stays_in_one_column() -> None:
    assert laid([[1], [2], [3], []], frozenset({3})) == ["0", "1", "2", "3"]


def test_the_largest_branch_continues_the_column() -> None:
    assert laid([[1, 2], [], [3], [4], []], frozenset({1, 4})) == ["0", "├ 0: 1", "1: 2", "3", "4"]


def test_branches_that_join_continue_below() -> None:
    assert laid([[2, 1], [2], [3], []]) == ["0", "├ 0: → 2", "├ 1: 1", "│ → 2", "2", "3"]


def test_a_leaf_is_shown_at_each_use() -> None:
    assert laid([[1, 2], [2], []], frozenset({2})) == ["0", "├ 1: 2", "0: 1", "2"]


def test_several_results() -> None:
    assert laid([[2], [2], []], roots=(0, 1)) == ["0", "→ 2", "1", "→ 2", "2"]
    assert laid([[1], [2], []], roots=(0, 1)) == ["0", "→ 1", "1", "2"]


@pytest.mark.parametrize("seed", range(200))
def test_random_graphs(seed: int) -> None:
    drawn_by = random.Random(seed)
    size = drawn_by.randrange(1, 40)
    targets = [
        [drawn_by.randrange(n + 1, size) for _ in range(drawn_by.randrange(0, 4))] if n < size - 1 else []
        for n in range(size)
    ]
    leaves = frozenset(n for n, following in enumerate(targets) if not following and drawn_by.random() < 0.7 and n)
    rows = rows_of(targets, leaves)
    reached, pending = set[int](), [0]
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            pending += targets[node]
    shown = [row.node for row in rows if row.kind == "node" or (row.kind == "leaf" and row.node == 0)]
    assert sorted(shown) == sorted(reached - leaves | ({0} & leaves))  # each node once
    assert {row.node for row in rows if row.kind == "leaf"} == reached & leaves
    first = {row.node: number for number, row in enumerate(rows) if row.kind == "node"}
    for number, row in enumerate(rows):
        if row.kind == "again":
            assert row.node in first  # what a row refers to has a row
            assert first[row.node] > number  # below it
    edges = sum(len(targets[node]) for node in reached - leaves)
    below = [row for row in rows if row.parent is not None and (row.kind != "node" or not joins(row, targets, reached))]
    assert len(below) == edges  # each edge has one row, besides the rows where branches join


def joins(row: LaidOut, targets: list[list[int]], reached: set[int]) -> bool:
    """Whether a row is of a node that several edges lead to."""
    return sum(targets[node].count(row.node) for node in reached) > 1


def test_a_long_chain_with_uses_of_one_node() -> None:
    size = 20_000
    targets = [[n + 1, size] for n in range(size)] + [[]]
    rows = rows_of(targets)
    assert len(rows) == 2 * size + 2  # the last node leads there twice
    assert max(row.level for row in rows) == 4


def test_equal_rounds_fold() -> None:
    rows = rows_of([[1, 2], [], [3], [4, 5], [], [6], [7], []], frozenset({1, 4, 7}))
    names = {0: "add", 1: "w", 2: "mul", 3: "add", 4: "w", 5: "mul", 6: "end", 7: "x"}
    parts = list(fold(rows, lambda row: (names[row.node], row.lead)))
    assert isinstance(parts[0], RepeatedPart)
    assert [[row.node for row in one] for one in parts[0].rounds] == [[0, 1, 2], [3, 4, 5]]
    assert [row.node for row in parts[1:] if isinstance(row, LaidOut)] == [6, 7]


def test_different_rows_stay() -> None:
    rows = rows_of([[1], [2], [3], []])
    assert list(fold(rows, lambda row: row.node)) == list(rows)
