"""What the names on a page of source lead to."""

from __future__ import annotations

import pytest

from ptexplore.lookup.link_targets import DefinitionsByName
from ptexplore.lookup.use_meaning import UseReader
from ptexplore.view.site.source_page import SourceData, source_data
from tests import small_source

PATH = "aten/src/ATen/native/Uses.cpp"
TEXT = """\
namespace at::native {
int six(const Apple& one, Pear* two, Bowl* three) {
  int all = one.size() + two->size();
  auto four = make();
  return all + four.size() + three->size() + one->size();
}
}
"""
FILES = {
    "aten/src/ATen/core/Fruit.h": """\
#pragma once
namespace at {
struct Apple { int size() const { return 1; } };
struct Pear { int size() const { return 2; } };
struct Bowl { int size(int n) { return n; } int size() { return 3; } };
}
""",
    PATH: TEXT,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> SourceData:
    root = tmp_path_factory.mktemp("page") / "mini"
    small_source.write(root, FILES)
    names = DefinitionsByName([small_source.indexed(root).store])
    return source_data(UseReader(names), PATH, TEXT)


def links(data: SourceData, line: int) -> list[tuple[str, bool, set[str]]]:
    """The calls of `size` on a line: what stands before each, whether it is sure, and what it leads to."""
    return [
        (link.before, link.sure, {place.definition.qualified for place in data.entries[link.entry - 1][1].places})
        for link in data.words[line]["size"]
    ]


def test_a_call_through_a_variable_leads_to_the_member_of_its_class(data: SourceData) -> None:
    assert sorted(links(data, 3)) == [("one.", True, {"at::Apple::size"}), ("two->", True, {"at::Pear::size"})]


def test_where_the_class_is_not_known_the_name_alone_speaks(data: SourceData) -> None:
    """What a function gives may be anything; an object is no pointer; of overloads one line may mean each."""
    every = {"at::Apple::size", "at::Pear::size", "at::Bowl::size"}
    by_object = {before: (sure, meant) for before, sure, meant in links(data, 5)}
    assert by_object["four."] == by_object["one->"]
    assert not by_object["four."][0]
    assert by_object["four."][1] <= every
    assert by_object["three->"] == (False, {"at::Bowl::size"})
