"""Which hops, lines and words a note is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.annotations.marks import Mark
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Captured, Hop, ResultInfo, TorchInfo, Trail
from ptexplore.view.notes.notes_about import about_operator, holds, on_lines, with_notes, without_source
from ptexplore.view.trace.rows import stops_to_read

FUNCTION = Mark("t#f", "The function", "Tour", "exact", "v2.6.0", "a.cpp", 12, 12, 9, 10, 20, "at::f", "function")
CLASS = replace(FUNCTION, stop="t#c", line=10, end_line=20, kind="class", name="at::C")
ENTRY = replace(
    FUNCTION, stop="t#e", path="native_functions.yaml", name="aten::add.Tensor", kind="", line=5, end_line=9
)
NOWHERE = Mark("t#n", "Lost", "Tour", "lost", "v2.6.0", ops=("add.Tensor",), text="Some Quetzal words")


def hop(
    number: int, path: str | None, line: int | None, *, tree: str = "runtime", children: tuple[Hop, ...] = ()
) -> Hop:
    ref = SourceRef(path, line, None, "located", tree=tree)
    return Hop(number, "native", f"f{number}", "observed", ref, children=children)


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


def trail(*hops: Hop) -> Trail:
    return Trail("f()", (), TorchInfo(), (), Captured(), ResultInfo(), (), hops)


def test_hops_get_the_stops_of_their_own_tree() -> None:
    inner = hop(3, "a.cpp", 11)
    given = trail(hop(1, "b.cpp", 1, children=(hop(2, "a.cpp", 11, tree="v2.6.0"), inner)), hop(4, None, None))
    found = with_notes(given, {"runtime": [FUNCTION, NOWHERE]})
    first, last = found.hops
    assert [one.notes for one in first.children] == [(), ("t#f",)]
    assert (first.notes, last.notes) == ((), ())
    assert last is given.hops[1], "what has no note stays what it was"
    assert with_notes(given, {}) is given
    assert stops_to_read(found) == ["t#f"]


def test_an_operators_hop_has_its_entrys_stops_but_none_that_is_nowhere() -> None:
    call = replace(hop(1, "x.cpp", 1), kind="op", op="aten::add.Tensor")
    assert with_notes(trail(call), {"v2.6.0": [ENTRY, NOWHERE]}).hops[0].notes == ("t#e",)


def test_names_that_are_none_are_not_suggested() -> None:
    call = replace(hop(1, "x.cpp", 1), notes=("t#f", "a b", "$(x)", "../x#y", "t#f"))
    assert stops_to_read(trail(call)) == ["t#f"]


def test_a_stop_has_source_where_any_tree_has_its_file():
    def mark(stop: str, outcome: str) -> Mark:
        return Mark(stop, "A title", "A tour", outcome, "v1")

    trees = {"one": [mark("t#a", "absent"), mark("t#b", "absent"), mark("t#c", "lost")],
             "two": [mark("t#a", "absent"), mark("t#b", "exact"), mark("t#c", "absent")]}  # fmt: skip
    assert without_source(trees) == (1, 3)
    assert without_source({}) == (0, 0)
