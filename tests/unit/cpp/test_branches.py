"""The condition that a place in a function's text hangs on."""

from __future__ import annotations

import pytest

from ptexplore.cpp.branches import condition_around

TEXT = """void f(int k) {
  plain(1);
  if (x) {
    in_then(1);
  } else if (y) in_else_if(2);
  else {
    for (int i = 0; i < 3; i++) { in_else(i); }
  }
  switch (k) {
    case A::one: { in_case(); break; }
    default: in_default();
  }
  auto z = ok ? in_choice(1) : in_other_choice(2);
  DISPATCH(k, [&] { if (q) in_lambda(1); behind_in_lambda(2); });
#if defined(X)
  if constexpr (is_x)
#endif
    in_constexpr();
  given(w ? 1 : 2);
  if (asked(1)) return;
  behind_return();
}"""


@pytest.mark.parametrize(
    ("place", "condition"),
    [
        ("plain", None),
        ("in_then", "if (x)"),
        ("in_else_if", "if (y)"),
        ("in_else(", "if (y)"),
        ("in_case", "case A::one"),
        ("in_default", "default:"),
        ("in_choice", "auto z = ok"),
        ("in_other_choice", "auto z = ok"),
        ("in_lambda", "if (q)"),
        ("behind_in_lambda", None),
        ("in_constexpr", "if constexpr"),
        ("given", None),
        ("asked", None),
        ("behind_return", None),
    ],
)
def test_the_innermost_condition(place: str, condition: str | None) -> None:
    at = condition_around(TEXT, TEXT.index(place))
    assert at is None if condition is None else at is not None and TEXT.startswith(condition, at)


@pytest.mark.parametrize("text", ["f(stub)", "void f() { if (x { stub(); }", "void f() { if (x) { stub("])
def test_what_cannot_be_followed_says_nothing(text: str) -> None:
    assert condition_around(text, text.index("stub")) in (None, text.find("if"))
