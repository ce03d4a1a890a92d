"""Callers of callers: each level, each function followed once, and the reason where the tree ends."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.lookup.callers import callers
from ptexplore.lookup.calls import CallNode
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.remarks import IsRegistered, LastLevel, OverridesOther
from ptexplore.view.documents.callers import callers_document
from ptexplore.view.search.caller_tree import caller_rows
from tests import small_source

FILES = {
    "c10/Chain.cpp": """namespace c10 {
int root(int a) { return a; }
int left(int a) { return root(a) + root(1); }
int right(int a) { return root(a) + left(a); }
int top(int a) { return left(a) + right(a); }
int above(int a) { return top(a); }
int highest(int a) { return above(a); }
int around(int n) { return n ? around(n - 1) : 0; }
int from_object(Thing& t) { return t.root(1); }
}
namespace other { int left(int a) { return a; } int asks() { return c10::left(1); } }
""",
    "c10/Kernel.cpp": """namespace c10 {
static void blend_kernel(int a) { root(a); }
REGISTER_DISPATCH(blend_stub, &blend_kernel);
}
""",
    "c10/Virtual.cpp": """namespace c10 {
struct Base { virtual int turn(int a); };
struct Below : Base { int turn(int a) override { return a; } };
int use(Below& b) { return b.turn(1); }
int both(Below& b) {
  if (made().turn(2)) return 1;
  return b.turn(1);
}
}
""",
    "c10/Many.cpp": "namespace c10 {\nint many(int a) { return a; }\n"
    + "".join(f"int call_{n}(int a) {{ return many(a); }}\nint twice_{n}(int a) {{ return call_{n}(a); }}\n"
              for n in range(50))
    + "}\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("callers")
    small_source.write(folder / "mini", FILES)
    return small_source.indexed(folder / "mini")


def shape(nodes: Sequence[CallNode]) -> dict[str, object]:
    """The tree by name; a word for an end."""
    return {node.name.removeprefix("c10::"): node.end or shape(node.further) for node in nodes}


def test_each_level_and_each_function_once(tree: IndexedTree) -> None:
    [function] = callers([tree], "c10::root", depth=5).functions
    assert shape(function.callers) == {
        "left": {"right": "elsewhere", "top": {"above": {"highest": {}}}, "other::asks": {}},
        "right": {"top": "elsewhere"},
        "blend_kernel": {},
    }
    left = function.callers[0]
    assert (left.times, left.call.ref.path, left.call.ref.line, left.is_choice) == (2, "c10/Chain.cpp", 3, False)


def test_the_last_level_says_so(tree: IndexedTree) -> None:
    view = callers([tree], "c10::top", depth=1)
    assert shape(view.functions[0].callers) == {"above": "depth"}
    assert LastLevel() in view.remarks
    assert shape(callers([tree], "c10::top", depth=2).functions[0].callers) == {"above": {"highest": "depth"}}


def test_what_calls_itself_ends(tree: IndexedTree) -> None:
    assert shape(callers([tree], "c10::around", depth=9).functions[0].callers) == {"around": "elsewhere"}


def test_it_fits_a_screen_and_says_what_does_not(tree: IndexedTree) -> None:
    [function] = callers([tree], "c10::many").functions
    rows = list(caller_rows(function))
    assert 12 < len(rows) < 45
    assert sum(node.times for node in function.callers) + function.more == 50
    [whole] = callers([tree], "c10::many", limit=100).functions
    assert (len(whole.callers), whole.more) == (50, 0)
    ordered = sorted(whole.callers, key=lambda node: node.call.ref.line or 0)
    assert [shape([node]) for node in ordered] == [{f"call_{n}": {f"twice_{n}": {}}} for n in range(50)]
    assert [row.text for row in caller_rows(callers([tree], "c10::many", depth=1, limit=2).functions[0])][-1] == (
        "48 more calls with this name"
    )


def test_what_only_its_name_speaks_for_has_a_sign(tree: IndexedTree) -> None:
    [function] = callers([tree], "c10::Below::turn").functions
    assert [(node.name, node.is_choice, node.call.ref.line) for node in function.callers] == [
        ("c10::use", False, 4),
        ("c10::both", False, 7),
    ], "the parameter's class says so, and the line is one where it does"
    assert function.overridden == ("c10::Base::turn",)
    rows = [row.text for function in callers([tree], "left").functions for row in caller_rows(function)]
    assert "other::asks" in rows


def test_a_registered_function_says_that_it_is_reached_otherwise(tree: IndexedTree) -> None:
    view = callers([tree], "c10::blend_kernel")
    assert view.functions[0].registered == ("blend_stub",)
    assert IsRegistered("c10::blend_kernel", "c10::blend_kernel", ("blend_stub",)) in view.remarks


def test_several_functions_of_a_name_are_each_followed(tree: IndexedTree) -> None:
    view = callers([tree], "left")
    assert {function.name for function in view.functions} == {"c10::left", "other::left"}
    remark = OverridesOther("c10::Below::turn", "c10::Base::turn", "c10::Base::turn")
    assert remark in callers([tree], "Below::turn").remarks


def test_the_document_has_the_tree(tree: IndexedTree) -> None:
    document = callers_document(callers([tree], "c10::above", depth=2))
    [function] = document.functions
    [caller] = function.callers
    assert (caller.name, caller.certain, caller.end, caller.callers) == ("c10::highest", True, "", ())
    assert caller.call.line == 7


@pytest.mark.parametrize(("name", "why"), [("c10::Base", "c10::Base is a struct"), ("c10::nobody", "searched")])
def test_what_is_no_function_is_said(tree: IndexedTree, name: str, why: str) -> None:
    with pytest.raises(PtexploreError) as refused:
        callers([tree], name)
    assert why in refused.value.why
