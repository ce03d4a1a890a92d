"""What one C++ text gives: symbols where a reader would look, whatever macros, conditions and attributes say."""

from __future__ import annotations

import pytest

from ptexplore.index.cpp.extract import extract
from tests.unit.index.cpp_text import MACROS, functions, only, refs, symbols


@pytest.mark.parametrize(
    ("text", "qualified"),
    [
        ("namespace a::b { void f() {} }", "a::b::f"),
        ("namespace a { inline namespace v1 { void f() {} } }", "a::f"),
        ("namespace a { inline namespace CPU_CAPABILITY { namespace { void f() {} } } }", "a::f"),
        ("namespace a { void B<int>::f() {} }", "a::B::f"),
        ("template <class T> template <class U> void A<T>::f(U u) {}", "A::f"),
        ("template <> void f<int>(int x) {}", "f"),
        ("A::A(int x) : y_(x), z_{x} {}", "A::A"),
        ("A::~A() = default;", "A::~A"),
        ("A::operator bool() const { return true; }", "A::operator bool"),
        ("inline A::operator float() const { return 1; }", "A::operator float"),
        ("bool operator<(A a, A b) { return true; }", "operator<"),
        ("T& A<T>::operator()(int i) { return x; }", "A::operator()"),
        ('int operator""_km(long double x) { return 1; }', 'operator""_km'),
        ('extern "C" { void f() {} }', "f"),
        ('extern "C" void f() {}', "f"),
        ("void f() try { g(); } catch (...) { }", "f"),
        ("auto f(int a) -> decltype(a + 1) { return a + 1; }", "f"),
        ("int (*f(int a))(double) { return nullptr; }", "f"),
        ("const char* f() { return nullptr; };", "f"),
        ("MINI_API void f() {}", "f"),
        ("template <int n> __global__ void MINI_BOUNDS(256) f(int* p) { p[0] = n; }", "f"),
        ("namespace torch { namespace torch { } void torch::f() {} }", "torch::f"),
        ("namespace a { void ::b::f() {} }", "b::f"),
        ("struct S { friend bool same(S a, S b) { return true; } };", "same"),
        ("namespace a { struct S { inline friend bool same(S a) { return true; } }; }", "a::same"),
        ("void f(S s = {}, T* t = nullptr) { if (s) { g<int>(t); } }", "f"),
        ("typename T::type f() { return {}; }", "f"),
        ("using namespace a::b;\nnamespace a::b { class C; }\nvoid C::f() {}", "a::b::C::f"),
    ],
)
def test_a_function_has_the_name_that_cpp_gives_it(text: str, qualified: str) -> None:
    assert functions(text) == [(qualified, text.count("\n") + 1)]


def test_scope_keeps_what_the_qualified_name_looks_through() -> None:
    found = only("namespace a { inline namespace CPU_CAPABILITY { namespace { void f() {} } } }")
    assert found.scope == "a::CPU_CAPABILITY::(anonymous namespace)"
    assert found.static
    assert not only("namespace a { void f() {} }").static
    assert only("static void f() {}").static


def test_the_line_is_the_names_and_the_extent_is_whole() -> None:
    found = only("int x;\ntemplate <typename T>\nstatic inline at::Tensor&\nfoo(\n  T a,\n  int b) {\n  return a;\n}\n")
    assert (found.begin, found.line, found.end_line) == (2, 4, 8)
    assert found.template
    assert found.signature == "(T a, int b)"


@pytest.mark.parametrize(
    ("written", "types"),
    [
        ("const Tensor & self, int x = 3", ("const Tensor&", "int")),
        ("std::map<int, std::pair<int,int>> m = {}", ("std::map<int, std::pair<int, int>>",)),
        ("void (*fn)(int), int (&arr)[3], int xs[2]", ("void(*)(int)", "int(&)[3]", "int[2]")),
        ("unsigned int, const Foo, unsigned x, Args&&... rest", ("unsigned int", "const Foo", "unsigned", "Args&&...")),
        ("void", ()),
        ("", ()),
    ],
)
def test_parameters_are_types_alone(written: str, types: tuple[str, ...]) -> None:
    assert only(f"void f({written}) {{}}").parameters == types


def test_members_enums_and_declarations_of_a_class() -> None:
    text = """namespace a {
struct MINI_API S : public B<int>, C {
  S() = default;
  S(const S&) = delete;
  virtual void f() const = 0;
  void g() override { }
  operator int() const;
  int x, *y;
  enum class E { One, Two };
  enum { Three };
  using T = int;
  typedef int U;
};
enum F { Four };
extern int v;
int w = 3;
template <class T> concept Small = sizeof(T) < 4;
class Forward;
}
"""
    found = {(one.kind, one.qualified, one.role, one.line) for one in symbols(text)}
    assert found == {
        ("namespace", "a", "definition", 1), ("struct", "a::S", "definition", 2),
        ("function", "a::S::S", "definition", 3), ("function", "a::S::S", "definition", 4),
        ("function", "a::S::f", "declaration", 5), ("function", "a::S::g", "definition", 6),
        ("function", "a::S::operator int", "declaration", 7), ("member", "a::S::x", "definition", 8),
        ("member", "a::S::y", "definition", 8), ("enum", "a::S::E", "definition", 9),
        ("enumerator", "a::S::E::One", "definition", 9), ("enumerator", "a::S::E::Two", "definition", 9),
        ("enumerator", "a::S::Three", "definition", 10), ("typedef", "a::S::T", "definition", 11),
        ("typedef", "a::S::U", "definition", 12), ("enum", "a::F", "definition", 14),
        ("enumerator", "a::Four", "definition", 14), ("variable", "a::v", "declaration", 15),
        ("variable", "a::w", "definition", 16), ("concept", "a::Small", "definition", 17),
        ("class", "a::Forward", "declaration", 18),
    }  # fmt: skip


def test_a_body_that_no_grammar_knows_hides_nothing() -> None:
    text = "void f() {\n  a = b ? [x{1}] ^^ : @@ ((;\n}\nvoid g() {\n  kernel<<<1, 2>>>(x);\n}\nvoid h();\n"
    assert functions(text) == [("f", 1), ("g", 4)]
    assert functions(text, "declaration") == [("h", 7)]


# --- conditions -------------------------------------------------------------------------------------


def test_both_arms_are_found_with_their_conditions() -> None:
    text = "#ifdef A\nvoid f() {}\n#else\nvoid g() {}\n#endif\n"
    assert [(one.name, one.guards) for one in symbols(text)] == [("f", ("defined(A)",)), ("g", ("!(defined(A))",))]


def test_arms_that_share_a_body_are_both_found() -> None:
    text = "#if A\nvoid f(int a) {\n#else\nvoid f(float a, int b) {\n#endif\n  g();\n}\nvoid h() {}\n"
    found = [(one.name, one.line, one.parameters) for one in symbols(text)]
    assert found == [("f", 2, ("int",)), ("h", 8, ()), ("f", 4, ("float", "int"))]


def test_equal_conditions_choose_equally() -> None:
    text = "#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n#if A\n}\n#else\n}\n#endif\nvoid h() {}\n"
    assert sorted(one.name for one in symbols(text)) == ["f", "g", "h"]


def test_if_zero_is_no_code() -> None:
    assert functions("#if 0\nvoid f( { {\n#endif\nvoid g() {}\n") == [("g", 4)]


# --- references -------------------------------------------------------------------------------------


def test_calls_as_written_and_declarations_are_none() -> None:
    text = """void f(int a) {
  at::native::add(a, b);
  self.sizes().numel();
  this->x->y.get<int>(3);
  if (a > g(b)) return h(c);
  Tensor t(a);
  std::vector<int> v(n);
  Foo& bar(x);
  auto* p = new Node(x);
  if (a < b && c > (d)) {}
}
"""
    found = sorted((one.line, one.text, one.name) for one in refs(text, "call"))
    assert found == [
        (2, "at::native::add", "add"), (3, ".numel", "numel"), (3, "self.sizes", "sizes"),
        (4, "this->x->y.get", "get"), (5, "g", "g"), (5, "h", "h"), (9, "Node", "Node"),
    ]  # fmt: skip


def test_addresses_bases_overrides_includes_and_macros() -> None:
    text = """#include <ATen/native/Add.h>
#include "x.h"
struct D : public ns::B<int>, virtual C {
  void run() override;
};
static void kernel() {}
MINI_CAT(kernel, x);
void f() { reg("a", &kernel, at::native::mul_kernel, at::kFloat, at::Tensor); }
MINI_CAT([](Node* n) {
  kernel(n);
  return at::native::add(self, at::native::cast<std::vector<int>>(n), TORCH_FN(at::native::neg));
}, x);
"""
    assert {(one.line, one.text) for one in refs(text, "address")} == {
        (7, "kernel"), (8, "kernel"), (8, "at::native::mul_kernel"), (11, "at::native::neg"),
    }  # fmt: skip
    assert {(one.line, one.text) for one in refs(text, "call")} >= {
        (10, "kernel"), (11, "at::native::add"), (11, "at::native::cast"),
    }  # fmt: skip
    assert [(one.name, one.text) for one in refs(text, "inherit")] == [("B", "ns::B"), ("C", "C")]
    assert [(one.line, one.text) for one in refs(text, "override")] == [(4, "D::run")]
    assert [(one.line, one.name, one.text) for one in refs(text, "include")] == [
        (1, "Add.h", "ATen/native/Add.h"), (2, "x.h", "x.h"),
    ]  # fmt: skip
    assert [(one.line, one.name) for one in refs(text, "macro")] == [(7, "MINI_CAT"), (9, "MINI_CAT")]


# --- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "\n", "void f(", "}}}}", "#define", "#if\n#else\n", "\x00\x01\ufffd\ufffd", "/* open", '"open', 'R"x(open',
     "'",      "namespace {", "template<", "operator", "#define F(", "MINI_IMPL_FUNC(", "MINI_FORALL(MINI_FORALL)"],
)  # fmt: skip
def test_unfinished_text_gives_what_it_has(text: str) -> None:
    assert functions(text) == []


def test_offsets_are_characters_whatever_the_text_holds() -> None:
    text = '// \u00e9\U0001f600\u4e2d\nconst char* s = "\u4e2d\u4e2d";\nvoid f() {}\n'
    assert functions(text) == [("f", 3)]


@pytest.mark.parametrize(
    "text",
    ["{" * 25_000, "(" * 25_000, "template<" * 10_000, "namespace a {" * 1_000, "int x[] = {" + "1," * 400_000 + "};",
     "a" * 2_000_000, '"' + "x" * 2_000_000 + '"', "#if A\n" * 1_000, "A::" * 50_000 + "f() {}"],
    ids=["braces", "brackets", "templates", "namespaces", "800 kB", "one word", "one string", "ifs", "scopes"],
)  # fmt: skip
def test_hostile_text_ends_soon(text: str) -> None:
    extract("mini/a.cpp", text + "\n", MACROS)


def test_pure_functions_are_declared_only() -> None:
    text = "struct A {\n  virtual ~A() = 0;\n  virtual void f() = 0;\n  void g() = delete;\n};\n"
    assert functions(text) == [("A::g", 4)]
    assert functions(text, "declaration") == [("A::~A", 2), ("A::f", 3)]


def test_a_specialisation_is_named_without_its_arguments() -> None:
    text = "template <class T, int n>\nstruct Load<T, n, enable_if_t<(n >= 1 && n * 2 == 2)>> {\n  void f() {}\n};\n"
    symbols, _, _ = extract("mini/a.cpp", text + "template <class R, class C> struct Strip<R (C::*)()> {};\n", MACROS)
    assert [(one.qualified, one.line) for one in symbols] == [("Load", 2), ("Load::f", 3), ("Strip", 5)]


def test_a_specialisation_that_compares_has_the_name_of_its_template() -> None:
    head = "template <class A>\nstruct Gemm<A, float, typename other::enable_if<A::least >= 80>::type> {"
    made = symbols(f"namespace a {{\n{head}\n  int one;\n}};\n}}\n")
    assert [(one.kind, one.qualified, one.line) for one in made] == [
        ("namespace", "a", 1), ("struct", "a::Gemm", 3), ("member", "a::Gemm::one", 4),
    ]  # fmt: skip
