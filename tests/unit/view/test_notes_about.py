"""Which hops a note is about."""

from __future__ import annotations

from dataclasses import replace

from ptexplore.annotations.marks import Mark
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Captured, Hop, ResultInfo, TorchInfo, Trace
from ptexplore.view.notes.notes_about import with_notes
from ptexplore.view.trace.rows import stops_to_read

FUNCTION = Mark("t#f", "The function", "Tour", "exact", "v2.6.0", "a.cpp", 12, 12, 9, 10, 20, "at::f", "function")
ENTRY = replace(
    FUNCTION, stop="t#e", path="native_functions.yaml", name="aten::add.Tensor", kind="", line=5, end_line=9
)
NOWHERE = Mark("t#n", "Lost", "Tour", "lost", "v2.6.0", ops=("add.Tensor",), text="Some Quetzal words")


def hop(
    number: int, path: str | None, line: int | None, *, tree: str = "runtime", children: tuple[Hop, ...] = ()
) -> Hop:
    ref = SourceRef(path, line, None, "located", tree=tree)
    return Hop(number, "native", f"f{number}", "observed", ref, children=children)


def trace(*hops: Hop) -> Trace:
    return Trace("f()", (), TorchInfo(), (), Captured(), ResultInfo(), (), hops)


def test_hops_get_the_stops_of_their_own_tree() -> None:
    inner = hop(3, "a.cpp", 11)
    given = trace(hop(1, "b.cpp", 1, children=(hop(2, "a.cpp", 11, tree="v2.6.0"), inner)), hop(4, None, None))
    found = with_notes(given, {"runtime": [FUNCTION, NOWHERE]})
    first, last = found.hops
    assert [one.notes for one in first.children] == [(), ("t#f",)]
    assert (first.notes, last.notes) == ((), ())
    assert last is given.hops[1], "what has no note stays what it was"
    assert with_notes(given, {}) is given
    assert stops_to_read(found) == ["t#f"]


def test_an_operators_hop_has_its_entrys_stops_but_none_that_is_nowhere() -> None:
    call = replace(hop(1, "x.cpp", 1), kind="op", op="aten::add.Tensor")
    assert with_notes(trace(call), {"v2.6.0": [ENTRY, NOWHERE]}).hops[0].notes == ("t#e",)


def test_names_that_are_none_are_not_suggested() -> None:
    call = replace(hop(1, "x.cpp", 1), notes=("t#f", "a b", "$(x)", "../x#y", "t#f"))
    assert stops_to_read(trace(call)) == ["t#f"]
