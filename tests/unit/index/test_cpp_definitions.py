"""Definitions are found where they are, whatever stands around their braces."""

from __future__ import annotations

import pytest

from ptexplore.cpp.macros import MacroTable
from ptexplore.index.cpp.extract import extract
from ptexplore.model.symbols import Symbol


def definitions(text: str) -> list[Symbol]:
    found = [one for one in extract("x.cpp", text, MacroTable({}))[0] if one.role == "definition"]
    return sorted((one for one in found if one.kind in ("function", "struct")), key=lambda one: one.line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f() { return 1; }\n", [("function", "f", 1, 1)]),
        ("namespace a::b { namespace {\nint f(int x) {\n}\n}}\n", [("function", "a::b::f", 2, 3)]),
        ("namespace a { inline namespace v1 {\nvoid f() {}\n}}\n", [("function", "a::f", 2, 2)]),
        ("int f() {\n  auto s = \"}{\"; // }\n  /* } */ char c = '}';\n}\n", [("function", "f", 1, 4)]),
        ("std::tuple<at::Tensor,at::Tensor>\nf(\n  int x) {\n}\n", [("function", "f", 2, 4)]),
        ("variable_list X::apply(variable_list&& g) {\n}\n", [("function", "X::apply", 1, 2)]),
        ("std::function<int(int)> make(int x) {\n}\n", [("function", "make", 1, 2)]),
        ("template <typename T, int (*F)(int)>\nT run(T x) {\n}\n", [("function", "run", 2, 3)]),
        ("[[maybe_unused]] static void f() {\n}\n", [("function", "f", 1, 2)]),
        ("SOME_MACRO()\nint f() {\n}\n", [("function", "f", 2, 3)]),
        ("#define OPEN {\nint f() {\n}\n", [("function", "f", 2, 3)]),
        ("#define LONG a \\\n  { b\nint f() {\n}\n", [("function", "f", 3, 4)]),
        ("enum class E { A, B };\nint f() {\n}\n", [("function", "f", 2, 3)]),
        ("static T rows[] = {\n  {1, 2},\n};\nint f() {}\n", [("function", "f", 4, 4)]),
        ("auto x = [](int y) {\n};\nint f() {}\n", [("function", "f", 3, 3)]),
        ('extern "C" {\nint f() {}\n}\nint g() {}\n', [("function", "f", 2, 2), ("function", "g", 4, 4)]),
        (
            "struct A final : public b::C {\n  A(int x) : y_{x}, z_(x) {\n  }\n  int y_;\n};\n",
            [("struct", "A", 1, 5), ("function", "A::A", 2, 3)],
        ),
        ("bool operator==(A a, A b) {\n}\n", [("function", "operator==", 1, 2)]),
        ("int f(A a = {}) {\n}\nint g() {}\n", [("function", "f", 1, 2), ("function", "g", 3, 3)]),
        ("int f() {", [("function", "f", 1, 1)]),
        ("}\n}\nint f() {}\n", [("function", "f", 3, 3)]),
    ],
)
def test_definitions(text: str, expected: list[tuple[str, str, int, int]]) -> None:
    assert [(one.kind, one.qualified, one.line, one.end_line) for one in definitions(text)] == expected


def test_both_arms_of_an_if_are_seen_with_their_conditions() -> None:
    arms = "#ifdef A\nint f() {\n}\n#else\nint f() {\n}\n#endif\n"
    inside = "int g() {\n#if B\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}\n"
    assert [(one.name, one.line, one.end_line, one.guards) for one in definitions(arms + inside)] == [
        ("f", 2, 3, ("defined(A)",)),
        ("f", 5, 6, ("!(defined(A))",)),
        ("g", 8, 15, ()),
    ]
