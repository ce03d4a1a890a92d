"""What a name means where it stands: the one of several that is seen from there, and a choice where that leaves one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.index.build import build
from ptexplore.index.reading_plan import IndexInput
from ptexplore.lookup.definitions import find_definitions
from ptexplore.lookup.link_targets import DefinitionsByName
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.places import Checkout
from ptexplore.model.remarks import AnswerRemark, LocalName, LocalOfClass, SeenFromHere
from ptexplore.source.listing import files_of
from ptexplore.source.tree import checkout_tree
from ptexplore.store.index.reader import IndexStore

ITERATOR = "aten/src/ATen/Iterator.cpp"
TEXT = """namespace at {
void Iterator::build(Config& config) {}
void Iterator::build_unary(int a) {
  build(Config());
  other.build(a);
  native::build(a);
}
namespace native {
int build(int a) { return a; }
int twice(int a) { return a; }
int twice(float a) { return 2; }
int use(int a) { return build(a) + twice(a); }
#define _MY_TYPES(NAME, ...) [&] { using scalar_t = float; __VA_ARGS__(); }()
template <typename scalar_t>
struct Load {
  using acc_t = double;
  acc_t load(const scalar_t* p) { using inner_t = int; return *p; }
  scalar_t more(acc_t a, inner_t b);
};
void objects(int config) {
  Kernel kernel;
  kernel.build(config);
  { Kernel either; }
  Iterator either;
  either.build(config);
  std::Kernel theirs;
  theirs.build(config);
}
int typed(int a) {
  _MY_TYPES("typed", [&] { run<scalar_t>(a); });
  return a;
}
}
}
"""
HEADER = """namespace at {
struct Config {};
struct Iterator { void build(Config& config); void build_unary(int a); };
struct Builder { void build(int a) { } };
struct Kernel : public Builder { };
struct One { using scalar_t = int; using acc_t = int; using inner_t = int; };
struct Other { using scalar_t = long; using acc_t = long; using inner_t = long; };
}
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("definitions")
    root = folder / "tree"
    for path, text in ((ITERATOR, TEXT), ("aten/src/ATen/Iterator.h", HEADER)):
        Path(root / path).parent.mkdir(parents=True, exist_ok=True)
        Path(root / path).write_text(text, encoding="utf-8")
    checkout = Checkout("tree", "folder", str(root), str(root), version="2.99.0", release="2.99.0")
    build(IndexInput("tree", str(root), files_of(checkout)), folder / "tree.sqlite", jobs=1)
    return IndexedTree(checkout_tree(checkout), IndexStore.open(folder / "tree.sqlite"), checkout)


def meant(indexed: IndexedTree, name: str, piece: str) -> tuple[list[str], AnswerRemark | None]:
    line = next(number for number, text in enumerate(TEXT.split("\n"), 1) if piece in text)
    found, remark = find_definitions([indexed], DefinitionsByName([indexed.store]), name, "tree", ITERATOR, line)
    return [candidate.name for candidate in found], remark


def test_what_a_member_calls_without_more_is_the_member_of_its_class(indexed: IndexedTree) -> None:
    names, remark = meant(indexed, "build", "  build(Config());")
    assert names == ["at::Iterator::build"]
    assert remark == SeenFromHere(3, "at::Iterator::build")


def test_of_a_local_name_its_type_tells_the_member(indexed: IndexedTree) -> None:
    """Also of a base; not where lines declare the name with several types, or the type is the library's."""
    names, remark = meant(indexed, "kernel.build", "kernel.build(config);")
    assert names == ["at::Builder::build"]
    assert isinstance(remark, LocalOfClass)
    assert (remark.owner, remark.kind) == ("kernel", "Kernel")
    assert len(meant(indexed, "either.build", "either.build(config);")[0]) == 3
    assert len(meant(indexed, "theirs.build", "theirs.build(config);")[0]) == 3


def test_inside_a_namespace_its_own_is_meant(indexed: IndexedTree) -> None:
    assert meant(indexed, "build", "int use(int a)")[0] == ["at::native::build"]


def test_overloads_and_members_of_an_object_stay_a_choice(indexed: IndexedTree) -> None:
    assert len(meant(indexed, "twice", "int use(int a)")[0]) == 2
    assert len(meant(indexed, "build", "  other.build(a);")[0]) == 3


def test_a_type_of_a_template_or_a_class_around_is_local(indexed: IndexedTree) -> None:
    """Not so what another member of the class declares."""
    assert meant(indexed, "scalar_t", "scalar_t more(")[0] == ["scalar_t"]
    assert isinstance(meant(indexed, "scalar_t", "acc_t load(")[1], LocalName)
    assert isinstance(meant(indexed, "acc_t", "scalar_t more(")[1], LocalName)
    assert meant(indexed, "inner_t", "scalar_t more(")[0] == ["at::One::inner_t", "at::Other::inner_t"]


def test_a_type_that_a_macro_around_declares_leads_to_the_macro(indexed: IndexedTree) -> None:
    assert meant(indexed, "scalar_t", "run<scalar_t>")[0] == ["_MY_TYPES"]
