"""What a use can mean: how many arguments it is given, and the one name that its place leaves, by C++'s own look-up."""

from __future__ import annotations

import pytest

from ptexplore.lookup.calls import CallReader
from ptexplore.lookup.link_targets import is_local_name, local_names
from ptexplore.lookup.refs import RefsView, refs
from ptexplore.lookup.trees import IndexedTree
from ptexplore.lookup.use_meaning import MANY, arguments_given, arguments_taken
from ptexplore.model.remarks import MeanOther
from tests import small_source

ITERATOR = "aten/src/ATen/Iterator.h"
USES = "aten/src/ATen/Uses.cpp"
FILES = {
    ITERATOR: """#pragma once
namespace at {
struct Config {
  Iterator build() {
    Iterator it;
    it.build(*this);
    return it;
  }
};
struct Iterator {
  void build(Config& config);
  void twice(Config& config) { build(config); this->build(config); }
};
struct Kernel : public Iterator {};
struct Foreign : public std::vector<int> {};
template <typename T> struct Loose : public T {};
inline int weigh(int a, int b = 2) { return a + b; }
inline int spread(int a) { return a; }
}
namespace other {
inline int spread(float a) { return 1; }
inline int weigh(int a, int b, int c) { return 1; }
}
""",
    USES: """#include <ATen/Iterator.h>
namespace at {
void Kernel_run(Config& config) { Iterator it; it.build(config); config.build(); }
struct Own : public Kernel {
  void run(Config& c) { build(c); }
};
struct Unsure : public Foreign {
  void run(Config& c) { build(c); }
};
int free_calls(int x) {
  return weigh(x) + spread(x)
      + at::spread(x) + weigh(x, 1, 2);
}
int hides(int x, int weigh) { return x; }
}
""",
    "aten/src/ATen/Lanes.h": """#pragma once
namespace at {
template <typename T> T lane(T a) { return a; }
template <typename T> Vector<T> lane(Vector<T> a) { return a; }
inline int lanes(Vector<int> a) { return at::lane(a); }
void open(int a);
inline void open(int a, int b) { at::open(a); }
}
""",
    "aten/src/ATen/Nodes.h": """#pragma once
namespace at {
struct Node { virtual int apply(int a) = 0; int run(int a); };
struct Middle : public Node { int apply(int a) override;
};
struct Lower : Middle { int apply(int a) override; };
template <typename T>
struct Mixed : public T { int apply(int a) override; };
struct Stranger { virtual int apply(int a); };
struct Child : Stranger { int apply(int a) override; };
struct Other { int run(int a); };
}
""",
    "aten/src/ATen/Objects.cpp": """#include <ATen/Nodes.h>
namespace at {
int one(Node& node) { return node.run(1); }
int two() { Middle* middle = make(); return middle->run(1); }
int three(const Lower & lower, int a) { if (a) { return lower.run(a); } return 1; }
int four() { auto node = make(); return node.run(1); }
int five(Handle<Node> node) { return node->run(1); }
int six(int a) { if (a) { Node it; it.run(1); } else { Other it; it.run(2); } return 1; }
int seven(Node held) { return held->run(1); }
}
""",
    "aten/src/ATen/Made.cpp": """#include <ATen/Nodes.h>
namespace at {
int one() { auto node = Other(); return node.run(1); }
int two() { auto node = Other{1, {2}}; return node.run(1); }
int three() { auto node = Other().next(); return node.run(1); }
int four() { auto node = make(Other()); return node.run(1); }
int five(Other& other) { for (Node& node : all) { node.run(1); } return other.run(1); }
int six() { static const Other first, second; return second.run(1); }
int seven(Other& node) { auto [node, b] = pair(); return node.run(1); }
int eight(Other& node) { return call([node = make()] { return node.run(1); }); }
int nine() { auto node = Twofold(1); return node.run(1); }
}
""",
    "aten/src/ATen/Parameter.cpp": """#include <ATen/Nodes.h>
namespace at {
template <typename Other> int ten(Other& node) { return node.run(1); }
}
""",
    "aten/src/ATen/Brought.cpp": """#include <c10/Far.h>
#include <ATen/Nodes.h>
namespace at {
struct Twofold { int run(int a); };
int Twofold(int a);
int one(Far& far) { return far.run(1); }
int two(OnlyThere& there) { return there.run(1); }
int three(at::Far& far) { return far.run(1); }
}
""",
    "c10/Far.h": """namespace c10 {
struct Far { int run(int a); virtual int turn(int a); };
}
namespace elsewhere {
struct Far { int run(int a); };
struct OnlyThere { int run(int a); };
}
""",
    "torch/Using.cpp": """#include <c10/Far.h>
using namespace elsewhere;
namespace torch {
int one(Far& far) { return far.run(1); }
}
""",
    "torch/Alias.cpp": """#include <c10/Far.h>
namespace torch {
int one() { using OnlyThere = at::Node; OnlyThere* it = make(); return it->run(1); }
}
""",
    "aten/src/ATen/Solo.cpp": """namespace at {
struct Solo {
  int alone(int a);
  int twice(int a) { return alone(a); }
};
int three() { return alone(1, 2); }
}
""",
    "aten/src/ATen/Clear.cpp": """#include <ATen/Iterator.h>
namespace at {
int clear(int x) { return weigh(x, 3); }
}
""",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("meaning")
    small_source.write(folder / "mini", FILES)
    return small_source.indexed(folder / "mini")


def told(view: RefsView, *, certain: bool) -> set[tuple[str, int]]:
    return {
        ((use.spot.ref.path or "").rsplit("/", 1)[-1], use.spot.ref.line or 0)
        for group in view.groups
        if group.certain is certain
        for use in group.uses
    }


def test_a_member_is_certain_inside_its_class_and_what_inherits_from_it(tree: IndexedTree) -> None:
    view = refs([tree], "at::Iterator::build", None)
    # lines 6 and 3 are through an object that the function declares
    assert told(view, certain=True) == {("Iterator.h", 6), ("Iterator.h", 12), ("Uses.cpp", 3), ("Uses.cpp", 5)}
    assert told(view, certain=False) == {("Uses.cpp", 8)}, "under a base that is not in the tree"
    assert (view.lines, view.certain) == (5, 4)


def test_a_number_of_arguments_that_it_does_not_take_is_no_use(tree: IndexedTree) -> None:
    view = refs([tree], "at::Config::build", None)
    # it.build(config) is the iterator's; config.build() on the same line is of what the parameter says
    assert told(view, certain=True) == {("Uses.cpp", 3)}
    assert view.certain == 1
    assert view.otherwise == 4
    assert view.remarks[0] == MeanOther(4, 0, (("at::Iterator::build", 5),), 1)


def test_a_function_is_certain_where_no_other_takes_as_many_arguments(tree: IndexedTree) -> None:
    weigh = refs([tree], "at::weigh", None)
    assert told(weigh, certain=True) == {("Clear.cpp", 3)}
    assert told(weigh, certain=False) == {("Uses.cpp", 11)}, "a parameter of that file has the name, too"
    assert weigh.otherwise == 1, "weigh(x, 1, 2)"
    spread = refs([tree], "at::spread", None)
    assert told(spread, certain=True) == {("Uses.cpp", 12)}
    assert told(spread, certain=False) == {("Uses.cpp", 11)}, "the argument's type may bring other::spread in"


def test_what_overrides_it_is_told_by_the_bases_of_its_class(tree: IndexedTree) -> None:
    view = refs([tree], "at::Node::apply", None, "overrides")
    assert told(view, certain=True) == {("Nodes.h", 4), ("Nodes.h", 6)}, "of a class below, at any depth"
    assert told(view, certain=False) == {("Nodes.h", 8)}, "a base of it is not known"
    assert (view.lines, view.overridden) == (0, 3), "they are no uses"
    every = refs([tree], "at::Node::apply", None)
    assert every.otherwise == 1, "that of a class with other bases; what a text counts is not said to mean another"
    assert refs([tree], "at::Middle::apply", None, "overrides").overridden == 2


def test_the_class_of_an_object_is_read_only_where_one_line_declares_it(tree: IndexedTree) -> None:
    view = refs([tree], "at::Node::run", None)
    lines = {1: True, 2: True, 3: True, 4: False, 5: False, 6: False, 7: False}
    assert lines_in(view, "Objects.cpp", certain=True) == {2 + line for line, sure in lines.items() if sure}
    assert lines_in(view, "Objects.cpp", certain=False) == {2 + line for line, sure in lines.items() if not sure}


def lines_in(view: RefsView, file: str, *, certain: bool) -> set[int]:
    return {line for path, line in told(view, certain=certain) if path == file}


def test_what_a_class_makes_is_of_that_class(tree: IndexedTree) -> None:
    """A class's name with its arguments, and nothing asked of what that gives; further names of one declaration."""
    other = refs([tree], "at::Other::run", None)
    node = refs([tree], "at::Node::run", None)
    assert lines_in(other, "Made.cpp", certain=True) == {3, 4, 7, 8}
    assert lines_in(node, "Made.cpp", certain=True) == {7}, "what a loop goes over"
    possible = {5, 6, 9, 10, 11}
    assert lines_in(other, "Made.cpp", certain=False) == lines_in(node, "Made.cpp", certain=False) == possible, (
        "what something else makes, what is taken apart or captured, a function of that name"
    )
    assert lines_in(other, "Parameter.cpp", certain=True) == set(), "a template's parameter"


def test_a_class_that_a_using_directive_brings_is_known(tree: IndexedTree) -> None:
    """PyTorch's own directives, and the only class of a name; not where the file brings another one, or renames it."""
    far = refs([tree], "c10::Far::run", None)
    assert lines_in(far, "Brought.cpp", certain=True) == {6, 8}
    assert lines_in(refs([tree], "elsewhere::OnlyThere::run", None), "Brought.cpp", certain=True) == {7}
    assert lines_in(refs([tree], "elsewhere::Far::run", None), "Using.cpp", certain=True) == {4}
    assert 3 not in lines_in(refs([tree], "elsewhere::OnlyThere::run", None), "Alias.cpp", certain=True)


def test_what_is_called_through_an_object_is_called_for_sure(tree: IndexedTree) -> None:
    function = tree.store.definitions("at::six")
    made = next(each for each in function if each.path.endswith("Made.cpp"))
    calls = CallReader([tree]).around(made, "mini")
    assert [(node.name, node.is_choice) for node in calls.callees] == [("at::Other::run", False)]


@pytest.mark.parametrize("name", ["at::lane", "at::open"])
def test_of_overloads_no_line_can_only_mean_one(tree: IndexedTree, name: str) -> None:
    """Also where one of them is only declared; and who calls one of them is a choice."""
    view = refs([tree], name, None)
    assert (view.lines, view.certain, view.definitions) == (1, 1, 2)
    calls = CallReader([tree]).around(tree.store.definitions(name)[0], "mini")
    assert [node.is_choice for node in calls.callers] == [True]
    assert refs([tree], "at::Iterator::build", None).definitions == 1


@pytest.mark.parametrize(
    ("line", "below", "given"),
    [
        ("f();", "", (0, 0)),
        ("x.f( a, b )", "", (2, 2)),
        ("f(g(a, b), {c, d})", "", (2, 2)),
        ('f("a, (b", c)', "", (2, 2)),
        ("f<int, 2>(a)", "", (1, 1)),
        ("f(a < b, c > d)", "", (1, 2)),
        ("return f(", "    a,  // one, two\n    b);", (2, 2)),
        ("f", "(a)", (1, 1)),
        ("f(a) + f(a, b)", "", (1, 2)),
        ("f(args...)", "", None),
        ("f(SOME_ARGS, b)", "", None),
        ("f(", "#if A\n a,\n#endif\n b)", None),
        ("half(a) + f_(b)", "", None),
        ("f(a", "", None),
    ],
)
def test_arguments_are_counted_as_far_as_the_text_says(line: str, below: str, given: tuple[int, int] | None) -> None:
    assert arguments_given(line, lambda: below, "f") == given


@pytest.mark.parametrize(
    ("signature", "taken"),
    [
        ("()", (0, 0)),
        ("(void)", (0, 0)),
        ("(void (*v)(Node*))", (1, 1)),
        ("(const std::tuple<Args...>& t)", (1, 1)),
        ("(bool less = a < b, int c = 1)", (0, MANY)),
        ("(const Tensor& self, int64_t dim = 0) const", (1, 2)),
        ("(std::pair<int, int> a, std::function<void(int, int)> b)", (2, 2)),
        ("(int a, Args&&... args)", (1, MANY)),
        ("(const char* text, ...)", (1, MANY)),
        ("(STRUCTURED_ARGS)", (0, MANY)),
        ("", (0, MANY)),
    ],
)
def test_parameters_without_a_default_are_the_fewest_arguments(signature: str, taken: tuple[int, int]) -> None:
    assert arguments_taken(signature, "function") == taken


def test_one_local_name_is_known_as_all_of_them_are() -> None:
    text = FILES[ITERATOR] + FILES[USES] + "auto value = 1; for (auto& each : all) { take(int  other, const T& that); }"
    every = local_names(text, python=False)
    assert {"weigh", "value", "other", "that"} <= every
    assert all(
        is_local_name(text, name) == (name in every) for name in ("weigh", "value", "each", "other", "that", "a", "at")
    )


def test_a_name_that_exists_once_is_not_said_to_mean_something_else(tree: IndexedTree) -> None:
    """`alone(1, 2)` gives it two arguments, and nothing else of that name is known."""
    view = refs([tree], "at::Solo::alone", None)
    assert told(view, certain=True) == {("Solo.cpp", 4)}
    assert (view.otherwise, view.unknown) == (0, 1)
    assert isinstance(view.remarks[0], MeanOther)
    assert (view.remarks[0].otherwise, view.remarks[0].unknown) == (0, 1)
    assert refs([tree], "at::Config::build", None).unknown == 0, "something else is called so"
