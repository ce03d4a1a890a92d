"""Definitions are found where they are, whatever stands around their braces."""

from __future__ import annotations

import pytest

from ptexplore.index.scan import ScannedFile


def found(text: str, *, declarations: bool = False) -> list[tuple[str, str, int, int]]:
    scanned = ScannedFile("x.cpp", text, declarations=declarations)
    return [(one.kind, one.qualified, one.line, one.end) for one in scanned.definitions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f() { return 1; }\n", [("function", "f", 1, 1)]),
        ("namespace a::b { namespace {\nint f(int x) {\n}\n}}\n", [("function", "a::b::f", 2, 3)]),
        ("namespace a { inline namespace v1 {\nvoid f() {}\n}}\n", [("function", "a::v1::f", 2, 2)]),
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
        ("static T rows[] = {\n  {1, 2},\n};\nint f() {}\n", [("array", "rows", 1, 3), ("function", "f", 4, 4)]),
        ("auto x = [](int y) {\n};\nint f() {}\n", [("function", "f", 3, 3)]),
        ('extern "C" {\nint f() {}\n}\nint g() {}\n', [("function", "f", 2, 2), ("function", "g", 4, 4)]),
        (
            "struct A final : public b::C {\n  A(int x) : y_{x}, z_(x) {\n  }\n  int y_;\n};\n",
            [("function", "A::A", 2, 3), ("class", "A", 1, 5)],
        ),
        (
            "TORCH_LIBRARY_IMPL(aten, CPU, m) {\n  m.impl(x);\n}\n",
            [("block", "TORCH_LIBRARY_IMPL(aten, CPU, m)", 1, 3)],
        ),
        ("TORCH_IMPL_FUNC(f_out)\n(const T& x) {\n}\n", [("function", "TORCH_IMPL_FUNC(f_out)", 1, 3)]),
        ("bool operator==(A a, A b) {\n}\n", [("function", "operator==", 1, 2)]),
        ("int f(A a = {}) {\n}\nint g() {}\n", [("function", "f", 1, 2), ("function", "g", 3, 3)]),
        ("int f() {", [("function", "f", 1, 1)]),
        ("}\n}\nint f() {}\n", [("function", "f", 3, 3)]),
    ],
)
def test_definitions(text: str, expected: list[tuple[str, str, int, int]]) -> None:
    assert found(text) == expected


def test_both_arms_of_an_if_are_seen_and_named() -> None:
    arms = "#ifdef A\nint f() {\n}\n#else\nint f() {\n}\n#endif\n"
    inside = "int g() {\n#if B\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}\n"
    scanned = ScannedFile("x.cpp", arms + inside)
    assert [(one.name, one.line, one.end) for one in scanned.definitions] == [("f", 2, 3), ("f", 5, 6), ("g", 8, 15)]
    assert [one.arms for one in scanned.definitions] == [("#ifdef A",), ("#else of #ifdef A",), ()]


def test_declarations_only_where_asked() -> None:
    text = "namespace a {\nint f(int x = 1, T t={});\nint v = g(2);\nusing F = int(int);\nstruct S { void m(); };\n}\n"
    assert found(text) == [("class", "a::S", 5, 5)]
    assert found(text, declarations=True) == [
        ("declaration", "a::f", 2, 2),
        ("declaration", "a::S::m", 5, 5),
        ("class", "a::S", 5, 5),
    ]
