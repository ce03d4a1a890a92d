"""Which lines and operators a note is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.annotations.about import about_operator, holds, on_lines, without_source
from ptexplore.annotations.marks import Mark

FUNCTION = Mark("t#f", "The function", "Tour", "exact", "v2.6.0", "a.cpp", 12, 12, 9, 10, 20, "at::f", "function")
CLASS = replace(FUNCTION, stop="t#c", line=10, end_line=20, kind="class", name="at::C")
ENTRY = replace(
    FUNCTION, stop="t#e", path="native_functions.yaml", name="aten::add.Tensor", kind="", line=5, end_line=9
)
NOWHERE = Mark("t#n", "Lost", "Tour", "lost", "v2.6.0", ops=("add.Tensor",), text="Some Quetzal words")


@pytest.mark.parametrize("line, inside", [(8, False), (9, True), (10, True), (20, True), (21, False), (None, False)])
def test_a_function_is_about_all_of_its_lines(line: int | None, inside: bool) -> None:
    assert holds(FUNCTION, "a.cpp", line) is inside
    assert not holds(FUNCTION, "b.cpp", line)


def test_a_class_is_not_about_each_of_its_methods() -> None:
    assert holds(CLASS, "a.cpp", 10)
    assert not holds(CLASS, "a.cpp", 15)
    part = replace(CLASS, line=14, end_line=16)
    assert holds(part, "a.cpp", 15)
    assert not holds(part, "a.cpp", 18)


def test_nothing_is_about_what_is_nowhere() -> None:
    assert not holds(NOWHERE, "", 0)
    assert on_lines([NOWHERE, FUNCTION, CLASS], "a.cpp", 1, 30) == [CLASS, FUNCTION]


def test_an_operator_by_its_entry_or_by_a_link() -> None:
    for name in ("add.Tensor", "aten::add.Tensor"):
        assert about_operator(ENTRY, name)
        assert about_operator(NOWHERE, name)
    assert not about_operator(ENTRY, "aten::add.out")


def test_a_stop_has_source_where_any_tree_has_its_file():
    def mark(stop: str, outcome: str) -> Mark:
        return Mark(stop, "A title", "A tour", outcome, "v1")

    trees = {"one": [mark("t#a", "absent"), mark("t#b", "absent"), mark("t#c", "lost")],
             "two": [mark("t#a", "absent"), mark("t#b", "exact"), mark("t#c", "absent")]}  # fmt: skip
    assert without_source(trees) == (1, 3)
    assert without_source({}) == (0, 0)
