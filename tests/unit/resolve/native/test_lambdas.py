"""Which lambda of a function's text a demangled name means: told only where one alone can be meant."""

from __future__ import annotations

import pytest

from ptexplore.cpp.symbol_names import parse
from ptexplore.resolve.native import lambdas


def test_what_is_around_a_lambda() -> None:
    name = parse("void a::f<int>(int) const::{lambda()#1}::operator()() const::{lambda(T<a, b>, long)#12}::_FUN(int)")
    outer, way = lambdas.around(name)
    assert outer is not None
    assert (outer.qualified, outer.parameters, outer.is_template) == ("a::f", ("int",), True)
    assert way == [(0, 1), (2, 12)]
    assert lambdas.around(parse("a::{lambda()#1}::_FUN()")) == (None, [(0, 1)])
    assert lambdas.around(parse("f(int)::{unnamed type#1}::g()"))[1] is None


BODY = """void f() {
  int x = y[0](1);
  AT_DISPATCH_V2(x, "", AT_WRAP([&]() {
    g([=](scalar_t a, T<int, 3> b) -> scalar_t { return a; },
      [](Vec a) { return a; });
  }), kHalf);
  %s
}"""


@pytest.mark.parametrize(
    "more, way, offsets, sure",
    [
        ("", [(0, 1)], ["AT_DISPATCH"], True),  # what the macro makes of it
        ("", [(0, 2)], ["AT_DISPATCH"], False),  # a second one, which the text does not show
        ("", [(0, 1), (0, 7)], ["[&]"], True),  # what it was given, for its seventh type
        ("", [(0, 1), (0, 7), (2, 1)], ["[=]"], True),
        ("", [(0, 1), (0, 7), (1, 1)], ["[](Vec"], True),
        ("", [(0, 1), (0, 7), (1, 2)], ["[](Vec"], True),  # the second of both
        ("", [(0, 1), (0, 7), (1, 3)], ["[](Vec"], False),
        ("", [(1, 1)], [], False),
        ("h([x] { x(); });", [(0, 1)], ["AT_DISPATCH", "[x]"], False),
        ("h([x](long i) { x(); });", [(0, 1)], ["AT_DISPATCH"], True),  # it has a parameter
        ("h([x](long i) { x(); });", [(1, 1)], ["[x]"], True),
        ("h([x](long i) { x(); });", [(1, 2)], ["[x]"], True),  # by one that counts all alike
        ("h([x](long i) { x(); });", [(1, 3)], ["[x]"], False),
        ("SOME_MACRO(x);", [(0, 1)], ["AT_DISPATCH"], False),  # it may make one too
        ("SOME_MACRO([x] { x(); });", [(0, 1)], ["AT_DISPATCH", "[x]"], False),
        ("TORCH_CHECK(x); AT_DISPATCH_ALL_TYPES(y, [] {});", [(0, 1), (0, 2)], ["[&]", "[] {}"], False),
        ("#if SOME_MACRO(x)\n  #endif", [(0, 1)], ["AT_DISPATCH"], True),
    ],
)
def test_which_lambda_is_meant(more: str, way: list[tuple[int, int]], offsets: list[str], sure: bool) -> None:
    text = BODY % more
    assert lambdas.find(text, way) == lambdas.LambdaOffsets(tuple(text.index(one) for one in offsets), sure)
