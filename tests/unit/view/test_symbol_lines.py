"""What is known of a symbol in few lines: against the small tree's own text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ptexplore.lookup.calls import CallReader
from ptexplore.lookup.symbol_facts import SymbolFacts, symbol_facts
from ptexplore.lookup.trees import IndexedTree
from ptexplore.model.places import SourceRef, TreeInfo
from ptexplore.model.trace import Captured, Hop, ResultInfo, TorchInfo, Trace
from ptexplore.view.search.symbol_lines import (
    caller_lines,
    closing_remark,
    head_lines,
    operator_lines,
    seen_in,
    uses_in_words,
)
from tests import small_source

DOCUMENTED = {
    "aten/src/ATen/native/Said.h": """namespace at::native {
// Says how it is.
// In two lines.
int said(int a);
int unsaid(int a);
}
""",
    "aten/src/ATen/native/Said.cpp": """#include <ATen/native/Said.h>
namespace at::native {
int said(int a) {
  return unsaid(a) + unsaid(2);
}
int unsaid(int a) { return a; }
}
""",
    "aten/src/ATen/native/Spoken.h": """namespace at::native {
struct Spoken { virtual int speak(int a) { return a; } };
struct Sung : Spoken { int speak(int a) override; };
}
""",
    "torch/said.py": '''def told(a):
    """Tells it."""
    return a
''',
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> IndexedTree:
    folder = tmp_path_factory.mktemp("facts")
    return small_source.indexed(small_source.write(folder / "mini", small_source.FILES | DOCUMENTED))


def of(tree: IndexedTree, name: str) -> SymbolFacts:
    (symbol, *_) = tree.store.definitions(name)
    return symbol_facts([tree], None, {}, 0, symbol)


def test_the_comment_is_that_of_the_declaration_where_the_definition_has_none(tree):
    facts = of(tree, "at::native::said")
    assert facts.comment == "Says how it is. In two lines."
    assert [line.text for line in head_lines(facts) if line.text][:2] == ["at::native::said", "(int a)"]
    assert of(tree, "at::native::unsaid").comment == ""
    assert of(tree, "torch.said.told").comment == "Tells it."


@pytest.mark.words
def test_uses_are_counted_by_what_they_are(tree):
    # two calls on one line are one use
    assert uses_in_words(of(tree, "at::native::unsaid")) == "used on 1 line: it means this definition (1 call)"
    assert uses_in_words(of(tree, "at::native::said")) == "no use was found in these trees"


@pytest.mark.words
def test_of_a_structured_kernel_no_caller_is_told_by_its_name(tree):
    """`op.impl(…)` is written thousands of times, for thousands of kernels."""
    facts = of(tree, "at::native::unsaid")
    calls = CallReader([tree]).around(facts.symbol, "mini")
    assert [line.text for line, _ref in caller_lines(calls)] == ["native::said"]
    kernel = facts.symbol._replace(name="impl", macro="TORCH_IMPL_FUNC")
    assert list(caller_lines(replace(calls, symbol=kernel))) == []
    assert uses_in_words(replace(facts, symbol=kernel)).endswith("its name alone does not identify its uses")
    assert closing_remark(replace(facts, symbol=kernel, otherwise=9)) == ""
    assert closing_remark(replace(facts, otherwise=9)).startswith("9 more lines with the name")
    assert "No other definition of that name is indexed" in closing_remark(replace(facts, unknown=1))


@pytest.mark.words
def test_functions_that_override_it_are_said_and_are_no_uses(tree):
    base = of(tree, "at::native::Spoken::speak")
    assert uses_in_words(base) == "overridden by 1 function of derived classes"
    assert base.uses == ()


def test_a_kernel_is_registered_for_the_stub_of_its_own_file(tree):
    lines = [line.text for line in operator_lines(of(tree, "at::native::blend_kernel"))]
    assert lines == ["stub blend_stub"], "REGISTER_DISPATCH(blend_stub, &blend_kernel)"


def test_hops_are_those_inside_of_it_in_the_very_tree(tree):
    facts = of(tree, "at::native::said")
    begin = facts.symbol.begin

    def hop(number: int, line: int, name: str = "mini") -> Hop:
        place = SourceRef("aten/src/ATen/native/Said.cpp", line, "checkout", "version-skew", tree=name)
        return Hop(number, "native", "at::native::said", "observed", place)

    def trace(version: str) -> Trace:
        info = TreeInfo("mini", version, ("checkout",), None, "version-skew")
        inner = (hop(2, begin), hop(3, begin + 1), hop(4, facts.symbol.end_line + 1), hop(5, begin, "other"))
        outer = Hop(1, "python", "torch.said", "observed", SourceRef(None, None, None, "unknown"), children=inner)
        return Trace("said(a)", (), TorchInfo("2.99.0"), (info,), Captured(), ResultInfo(), (), (outer,))

    assert [one.id for one in seen_in(trace("2.99.0"), facts)] == [2, 3]
    assert seen_in(trace("2.98.0"), facts) == [], "the lines of another version are other lines"
