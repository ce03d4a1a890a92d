"""What overrides a virtual function and what it overrides: what is sure, and what is a candidate."""

from __future__ import annotations

import pytest

from ptexplore.lookup.link_targets import DefinitionsByName
from ptexplore.lookup.overrides import OverrideReader
from ptexplore.lookup.refs import RefsView, refs
from ptexplore.lookup.trees import IndexedTree
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.view.search.override_lines import override_facts
from tests import small_source

SHAPES = "aten/src/ATen/Shapes.h"
FILES = {
    "c10/Shape.h": """namespace c10 {
struct Shape {
  virtual int area(int unit) const;
  virtual int turn(const at::Tensor& by);
  int name(int a);
  virtual int late(int a);
  virtual ~Shape();
};
}
""",
    SHAPES: """namespace at {
struct Square : public Shape {
  int area(int unit) const override;
  int turn(const Tensor& by) override;
};
struct Silent : Square {
  int area(int unit) const;
  int turn(const Tensor& by, int more);
  int name(int a);
};
struct NotConst : Square { int area(int unit); };
template <typename T>
struct Mixed : public T { int area(int unit) const override; };
struct Counted : public std::enable_shared_from_this<Counted> { virtual int area(int unit) const; };
struct Below : public Counted { int area(int unit) const final; };
struct Both : public Counted, public Unknown { int area(int unit) const override; };
struct Picked : public std::conditional_t<true, Shape, Counted> { int area(int unit) const override; };
struct Inner : Middle<Inner> { int late(int a) override; };
template <typename T> struct Middle : c10::Shape {};
struct Knot : Knot2 { virtual int tie(int a); };
struct Knot2 : Knot { int tie(int a); };
}
""",
    "aten/src/ATen/Shapes.cpp": """#include <ATen/Shapes.h>
namespace at {
int Square::area(int unit) const { return unit; }
int measure(const Square& square) { return square.area(1); }
}
""",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("overrides")
    small_source.write(folder / "mini", FILES)
    return small_source.indexed(folder / "mini")


@pytest.fixture(scope="module")
def reader(tree: IndexedTree) -> OverrideReader:
    return OverrideReader(UseReader(DefinitionsByName([tree.store])))


def above(reader: OverrideReader, name: str) -> list[tuple[str, bool]]:
    return [(each.name, each.sure) for each in reader.overridden(name).functions]


def test_what_a_function_overrides_is_found_through_its_bases(reader: OverrideReader) -> None:
    """Also where a using directive brings the base in, and through a template."""
    assert above(reader, "at::Square::area") == [("c10::Shape::area", True)]
    assert above(reader, "at::Inner::late") == [("c10::Shape::late", True)]
    assert above(reader, "at::Below::area") == [("at::Counted::area", True)]


def test_one_that_does_not_say_so_overrides_what_has_its_parameters(reader: OverrideReader) -> None:
    assert above(reader, "at::Silent::area") == [("at::Square::area", True), ("c10::Shape::area", True)]
    for name in ("at::Silent::turn", "at::Silent::name", "at::NotConst::area", "c10::Shape::area"):
        assert above(reader, name) == [], name
    assert above(reader, "at::Knot2::tie") == [("at::Knot::tie", True)], "classes that name each other end"


def test_parameters_that_are_written_differently_are_sure_where_nothing_else_can_be_meant(
    reader: OverrideReader,
) -> None:
    assert above(reader, "at::Square::turn") == [("c10::Shape::turn", True)]


def test_a_base_that_is_not_known_is_said(reader: OverrideReader) -> None:
    mixed = reader.overridden("at::Mixed::area")
    assert (mixed.functions, mixed.is_whole, mixed.says) == ((), False, True)
    both = reader.overridden("at::Both::area")
    assert (above(reader, "at::Both::area"), both.is_whole) == ([("at::Counted::area", True)], False)


def lines(view: RefsView, *, certain: bool) -> list[int]:
    return [
        use.spot.ref.line or 0
        for group in view.groups
        if group.name == "overrides" and group.certain is certain
        for use in group.uses
    ]


def test_refs_of_a_virtual_function_has_those_below(tree: IndexedTree) -> None:
    view = refs([tree], "c10::Shape::area", None)
    assert lines(view, certain=True) == [3, 7], "the second does not say so"
    assert lines(view, certain=False) == [13, 16, 17], "a template's parameter, an unknown base, one that is picked"
    assert (view.lines, view.overridden, view.may_override) == (0, 5, 3)
    below = [(each.name, each.sure) for each in override_reader(tree).overriding("c10::Shape::area")]
    assert below[:2] == [("at::Silent::area", True), ("at::Square::area", True)]
    assert [name for name, sure in below if not sure] == ["at::Both::area", "at::Mixed::area", "at::Picked::area"]


def override_reader(tree: IndexedTree) -> OverrideReader:
    return OverrideReader(UseReader(DefinitionsByName([tree.store])))


def test_refs_of_an_override_says_what_it_overrides_and_does_not_count_itself(tree: IndexedTree) -> None:
    view = refs([tree], "at::Square::area", None)
    [overridden] = view.overrides
    assert [(name, spot.ref.path, spot.ref.line, sure) for name, spot, sure in overridden.functions] == [
        ("c10::Shape::area", "c10/Shape.h", 3, True)
    ]
    assert overridden.all_known
    assert (view.lines, view.certain) == (1, 1), "the call; that it says `override` is no use"
    assert lines(view, certain=True) == [7]
    assert 3 not in lines(view, certain=False)
    assert refs([tree], "at::measure", None).overrides == ()


def test_show_names_both_ways(tree: IndexedTree) -> None:
    [square] = tree.store.definitions("at::Square::area")
    facts = list(override_facts([tree], square))
    assert facts[0] == "overrides c10::Shape::area (c10/Shape.h:3)"
    assert facts[1].startswith("overridden in at::Silent (ptexplore refs at::Square::area")
    [mixed] = tree.store.declarations("at::Mixed::area")
    assert list(override_facts([tree], mixed))[0] == "overrides a function of an unknown base class"
    [measure] = tree.store.definitions("at::measure")
    assert list(override_facts([tree], measure)) == []
