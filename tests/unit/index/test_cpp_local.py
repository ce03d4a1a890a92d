"""Classes inside of bodies: their members are in the function around them, whatever made that function."""

from __future__ import annotations

import pytest

from tests.unit.index.cpp_text import refs, symbols

_LOCAL = """{
  struct {
    int size() const { return 1; }
  } one;
  struct L : Base { int m() override { return 1; } };
}
"""


def test_what_is_local_to_a_body_is_no_symbol_but_a_local_class_has_methods() -> None:
    text = "void f() {\n  auto g = [](int i) { return i; };\n  int h(3);\n  struct L { int m() { return 1; } };\n}\n"
    assert [(one.kind, one.qualified) for one in symbols(text)] == [("function", "f"), ("function", "f::L::m")]


def test_what_another_body_holds_does_not_lose_a_local_class_its_scope() -> None:
    before = "namespace n {\nvoid f() {\n  @autoreleasepool { x; }\n}\n"
    text = f"{before}int g() {{\n  struct L {{ int m(int i) {{ return i; }} }};\n  return 1;\n}}\n}}\n"
    [method] = [one for one in symbols(text) if one.name == "m"]
    assert (method.qualified, method.line, method.signature) == ("n::g::L::m", 6, "(int i)")


def test_a_local_class_without_a_name_has_methods_too() -> None:
    text = "void f() {\n  struct {\n    int n;\n    int size() const { return n; }\n  } one{1};\n}\n"
    assert [(one.name, one.line) for one in symbols(text) if one.kind == "function"] == [("f", 1), ("size", 4)]


def test_what_no_grammar_knows_in_a_body_leaves_its_own_local_class_the_scope() -> None:
    body = "{\n  struct L { int m(int i) { return i; } };\n  @autoreleasepool { [x y:z w:(Q* _N)nil]; MINI(x) }\n}\n"
    text = f"namespace n {{\nstatic int g() {body}int h() {body}}}\n"
    methods = [(one.qualified, one.line, one.scope) for one in symbols(text) if one.name == "m"]
    assert methods == [("n::g::L::m", 3, "n::g::L"), ("n::h::L::m", 7, "n::h::L")]


@pytest.mark.parametrize(
    ("head", "around"),
    [
        ("void f()", "n::f"), ("static const T* f(int a = 1)", "n::f"), ("auto S<T>::f() const -> T", "n::S::f"),
        ("S::S(int i) : a(1)", "n::S::S"), ("S::S(int i) : a{1}, b{2}", "n::S::S"),
        ("S::operator bool()", "n::S::operator bool"), ("decltype(g(1)) f(X (*a)(int))", "n::f"), ("auto v = []", "n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("semicolon", ["", ";"])
def test_a_local_class_is_in_the_function_around_it(head: str, around: str, semicolon: str) -> None:
    body = "{\n  struct L : Base {\n    int m() { return 1; }\n  };\n  return L().m();\n}"
    text = f"namespace n {{\nstruct S;\n{head} {body}{semicolon}\nint last;\n}}\n"
    assert [one.qualified for one in symbols(text) if one.name == "m"] == [f"{around}::L::m"]
    assert [(one.line, one.name) for one in refs(text, "inherit")] == [(4, "Base")]


def test_a_local_class_of_a_member_function_is_in_it() -> None:
    body = "{ struct L { int m() { return 1; } }; }"
    text = f"class A {{\n  void f() {body}\n  A() : a_(1) {body};\n  friend void g() {body}\n  int a_;\n}};\n"
    methods = [one.qualified for one in symbols(text) if one.name == "m"]
    assert methods == ["A::f::L::m", "A::A::L::m", "g::L::m"]


@pytest.mark.parametrize("test", ["TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"])
def test_a_local_class_of_a_test_is_in_what_the_macro_makes(test: str) -> None:
    text = f"namespace n {{\nnamespace {{\n{test}(Suite, Name) {_LOCAL}}}\n}}\n"
    found = [(one.qualified, one.scope, one.line, one.static) for one in symbols(text) if one.kind == "function"]
    scope = "n::(anonymous namespace)::Suite_Name_Test"
    assert found == [
        ("n::Suite_Name_Test::TestBody", scope, 3, True),
        ("n::Suite_Name_Test::TestBody::size", f"{scope}::TestBody", 5, True),
        ("n::Suite_Name_Test::TestBody::L::m", f"{scope}::TestBody::L", 7, True),
    ]
    assert [one.text for one in refs(text, "override")] == ["n::Suite_Name_Test::TestBody::L::m"]


def test_a_local_class_of_a_kernel_that_a_macro_names_is_in_it() -> None:
    text = f"namespace n {{\nMINI_IMPL_FUNC(add_out)(const T& self) {_LOCAL}void after() {_LOCAL}}}\n"
    methods = [one.qualified for one in symbols(text) if one.name == "m"]
    assert methods == ["n::structured_add_out::impl::L::m", "n::after::L::m"]


def test_a_local_class_takes_no_name_of_what_is_in_doubt() -> None:
    two = "#define F(n) struct n##A {}; void n##_a\n#else\n#define F(n) struct n##B {}; void n##_b\n"
    text = f"#ifdef A\n{two}#endif\nnamespace n {{\nF(f)(int i) {_LOCAL}}}\n"
    found = symbols(text)
    assert {one.qualified for one in found if one.kind == "function" and one.macro} == {"n::f_a", "n::f_b"}
    assert [one.qualified for one in found if one.name in ("m", "size")] == ["n::size", "n::L::m"]


def test_a_local_class_takes_no_name_from_a_macro_where_braces_do_not_match() -> None:
    found = symbols(f"namespace n {{\nTEST(Suite, Name) {_LOCAL}")
    assert [one.qualified for one in found if one.name in ("m", "size")] == ["n::size", "n::L::m"]


def test_what_the_source_itself_calls_as_a_placeholder_is_kept() -> None:
    text = "#define V(n) int n\nV(v) = 1;\nTEST(A, B) {}\nstruct P { int x, y, z; };\nint z;\n"
    found = {one.qualified for one in symbols(text + f"namespace n {{\nvoid z() {_LOCAL}}}\n")}
    assert found >= {"P::z", "z", "n::z", "n::z::L::m", "v", "A_B_Test::TestBody"}
    assert [one.qualified for one in symbols("#define V(n) int n\nV(v) = 1;\n") if one.kind != "macro"] == ["v"]
