"""Who calls a function and whom it calls: two levels, choices that stay choices, what is left out counted."""

from __future__ import annotations

import pytest

from ptexplore.lookup.calls import CALLING, CallNode, CallReader, CallsView, rank
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.remarks import FoundByName, NoCallIndexed
from tests import small_source

NATIVE = "aten/src/ATen/native"
FILES = {
    f"{NATIVE}/Blend.cpp": """namespace at::native {
static int weigh(int a) { return a; }
int blend(int a) {
  CHECKED(a);
  return weigh(a) + weigh(a + 1)
      + other::mix(a) + mix(a) + nobody(a);
}
int outer(int a) { return blend(a); }
int outermost(int a) { return outer(a); }
int again(int n) { return n ? again(n - 1) : 0; }
static int at_start = blend(1);
}
""",
    f"{NATIVE}/Mix.cpp": """namespace at::native {
int mix(int a) { return a; }
int mix(float a) { return 2; }
int by_object(Thing& t) { return t.blend(1) + elsewhere::blend(2); }
}
namespace other {
int mix(int a) { return at::native::outer(a); }
}
""",
    "aten/src/ATen/Checked.h": "#define CHECKED(x) ((void)(x))\n",
    "aten/src/ATen/test/blend_test.cpp": "namespace at { int test_blend() { return at::native::blend(3); } }\n",
    "torch/blend.py": """def helper(x):
    return x


def use(x):
    return helper(x)


VALUE = helper(1)
""",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("calls")
    small_source.write(folder / "mini", FILES)
    return small_source.indexed(folder / "mini")


def around(tree: IndexedTree, path: str, text: str, **limits: int) -> CallsView:
    """The calls around the function that `text` stands in."""
    line = next(n for n, one in enumerate(FILES[path].splitlines(), 1) if text in one)
    symbol = tree.store.enclosing(path, line, CALLING)
    assert symbol is not None
    return CallReader([tree]).around(symbol, "mini", **limits)


def names(nodes: tuple[CallNode, ...]) -> list[str]:
    return [node.name for node in nodes]


def lines(node: CallNode) -> list[str]:
    """The text at each place of a node: the check that a place is where the thing is."""
    return [FILES[s.ref.path or ""].splitlines()[(s.ref.line or 0) - 1] for s in node.places]


def test_callers_two_levels_up_and_tests_last(tree: IndexedTree) -> None:
    view = around(tree, f"{NATIVE}/Blend.cpp", "int blend(")
    assert view.symbol.qualified == "at::native::blend"
    assert names(view.callers) == ["at::native::outer", f"{NATIVE}/Blend.cpp", "at::test_blend"]
    assert names(view.callers[0].further) == ["at::native::outermost", "other::mix"]
    assert view.callers[1].places == ()
    assert view.callers[1].call.ref.line == 11
    # through an object, and with another qualifier: neither can mean a function of at::native
    assert "at::native::by_object" not in names(view.callers)
    assert view.more_callers == 0
    assert FoundByName() in view.remarks


def test_what_is_called_with_choices_after_what_is_plain_and_what_nobody_knows_counted(tree: IndexedTree) -> None:
    view = around(tree, f"{NATIVE}/Blend.cpp", "int blend(")
    plain = [node for node in view.callees if not node.is_choice]
    assert names(tuple(plain)) == ["at::native::weigh", "other::mix"]
    assert plain[0].times == 2
    assert plain[0].call.ref.line == 5
    assert lines(plain[1]) == ["int mix(int a) { return at::native::outer(a); }"]
    assert names(plain[1].further) == ["at::native::outer"]
    choices = [node for node in view.callees if node.is_choice]
    assert [(node.name, len(node.places)) for node in choices] == [("mix", 2)]
    assert all("int mix(" in one for one in lines(choices[0]))
    assert choices[0].further == (), "nothing is claimed of what a choice calls"
    assert view.more_callees == 1, "nobody() is defined nowhere"


def test_what_calls_itself_is_not_followed_for_ever(tree: IndexedTree) -> None:
    view = around(tree, f"{NATIVE}/Blend.cpp", "int again(", levels=5)
    assert names(view.callers) == names(view.callees) == ["at::native::again"]
    assert view.callers[0].further == view.callees[0].further == ()


def test_what_is_left_out_for_want_of_room_is_counted(tree: IndexedTree) -> None:
    view = around(tree, f"{NATIVE}/Blend.cpp", "int blend(", most=1)
    assert names(view.callers) == ["at::native::outer"]
    assert view.more_callers == 2
    assert len(view.callees) == 1
    assert view.more_callees == 3


def test_nobody_calls_it(tree: IndexedTree) -> None:
    view = around(tree, f"{NATIVE}/Mix.cpp", "by_object")
    assert view.callers == ()
    assert view.remarks == (NoCallIndexed("at::native::by_object"),)


def test_who_uses_a_macro(tree: IndexedTree) -> None:
    view = around(tree, "aten/src/ATen/Checked.h", "#define")
    assert names(view.callers) == ["at::native::blend"]


def test_python(tree: IndexedTree) -> None:
    view = around(tree, "torch/blend.py", "def helper")
    assert names(view.callers) == ["torch.blend.use", "torch/blend.py"]
    assert names(around(tree, "torch/blend.py", "return helper(x)").callees) == ["torch.blend.helper"]


def test_near_files_come_first_then_what_is_made_of_one_device_and_tests() -> None:
    near = f"{NATIVE}/Blend.cpp"
    wanted = [
        f"{NATIVE}/Mix.cpp",
        "aten/src/ATen/Context.cpp",
        "torch/csrc/x.cpp",
        "build/aten/src/ATen/RegisterCPU_0.cpp",
        f"{NATIVE}/mps/Mix.mm",
        "aten/src/ATen/test/mix_test.cpp",
    ]
    assert sorted(sorted(wanted), key=lambda path: rank(path, near)) == wanted
