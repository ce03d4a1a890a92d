"""What one C++ text gives: symbols where a reader would look, whatever macros, conditions and attributes say."""

from __future__ import annotations

import pytest

from ptexplore.index.cpp.extract import extract
from ptexplore.index.cpp.macros import collect
from ptexplore.symbols import Ref, Symbol

HEADER = """
#define MINI_API __attribute__((visibility("default")))
#define MINI_INLINE MINI_API inline
#define MINI_BOUNDS(x) __launch_bounds__((x), (1))
#define MINI_IMPL_FUNC(name) void structured_##name::impl
#define MINI_CAT_(a, b) a##b
#define MINI_CAT(a, b) MINI_CAT_(a, b)
#define MINI_BLOCK(ns, m) \\
  static void MINI_CAT(init_, ns)(Library&); \\
  void MINI_CAT(init_, ns)(Library& m)
#define MINI_FORALL(_) _(int, Int) _(float, Float)
#define MINI_ARG(T, name) \\
 public: \\
  auto name(const T& v) -> decltype(*this) { this->name##_ = v; return *this; } \\
 private: \\
  T name##_
#define MINI_CHECK(x, ...) if (!(x)) { fail(__VA_ARGS__); }
#define MINI_REGISTRY(Name, ...) Registry<int, ##__VA_ARGS__>* Name() { return nullptr; }
"""
MACROS = collect([("mini/macros.h", HEADER)])


def symbols(text: str, path: str = "mini/a.cpp") -> list[Symbol]:
    return extract(path, text, MACROS)[0]


def refs(text: str, kind: str) -> list[Ref]:
    return [ref for ref in extract("mini/a.cpp", text, MACROS)[1] if ref.kind == kind]


def functions(text: str, role: str = "definition") -> list[tuple[str, int]]:
    return [(one.qualified, one.line) for one in symbols(text) if one.kind == "function" and one.role == role]


def only(text: str) -> Symbol:
    found = [one for one in symbols(text) if one.kind == "function"]
    assert len(found) == 1, found
    return found[0]


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


# --- macros -----------------------------------------------------------------------------------------


def test_a_head_made_by_a_macro_takes_the_body_that_follows() -> None:
    text = "namespace at::native {\nMINI_IMPL_FUNC(add_out)\n(const Tensor& self,\n int alpha) {\n  g(self);\n}\n}\n"
    found = only(text)
    assert found.qualified == "at::native::structured_add_out::impl"
    assert (found.line, found.end_line, found.macro, found.extractor) == (2, 6, "MINI_IMPL_FUNC", "macro")
    assert found.parameters == ("const Tensor&", "int")


def test_a_block_macro_makes_its_function_and_what_it_declares() -> None:
    text = "namespace x {\nMINI_BLOCK(lib, m) {\n  m.def(1);\n}\n}\n"
    assert functions(text) == [("x::init_lib", 2)]
    assert functions(text, "declaration") == [("x::init_lib", 2)]
    assert [one.end_line for one in symbols(text) if one.role == "definition" and one.kind == "function"] == [4]


def test_list_macros_of_headers_call_macros_of_the_file() -> None:
    text = """namespace a {
#define MAKE(type, name) \\
  type to##name(Scalar s) { return s; }
MINI_FORALL(MAKE)
#undef MAKE
void after() {}
}
"""
    assert functions(text) == [("a::after", 6), ("a::toInt", 4), ("a::toFloat", 4)]


def test_the_argument_that_names_it_gives_the_line() -> None:
    text = "#define MAKE(type, name) type name##_kernel() { return 0; }\nMAKE(\n  int,\n  add)\nint x;\n"
    (found,) = [one for one in symbols(text) if one.kind == "function"]
    assert (found.name, found.begin, found.line, found.end_line) == ("add_kernel", 2, 4, 4)


def test_a_macro_is_what_it_was_defined_as_at_that_place() -> None:
    text = "#define M(x) void a_##x() {}\nM(f)\n#undef M\n#define M(x) void b_##x() {}\nM(f)\n"
    assert functions(text) == [("a_f", 2), ("b_f", 5)]


def test_member_makers_leave_their_initialiser_alone() -> None:
    text = "struct O {\n  MINI_ARG(double, lr) = 1e-3;\n  MINI_ARG(std::vector<int>, sizes);\n  int other;\n};\n"
    assert functions(text) == [("O::lr", 2), ("O::sizes", 3)]
    assert {one.qualified for one in symbols(text) if one.kind == "member"} == {"O::lr_", "O::sizes_", "O::other"}


def test_a_list_macro_is_found_behind_many_directives() -> None:
    text = "enum Key : int {\n  First,\n" + f"// {'-' * 90}\n" * 5 + "#define E(t, n) n,\n  MINI_FORALL(E)\n#undef E\n"
    made = symbols(f"{text}  Last = Float,\n}};\n")
    assert [one.name for one in made if one.kind != "macro"] == ["Key", "First", "Last", "Int", "Float"]
    assert {one.kind for one in made if one.name != "Key"} == {"enumerator", "macro"}


def test_an_unknown_macro_with_a_body_is_no_function() -> None:
    text = "namespace a {\nOTHER_TEST(Suite, Case) { run(); }\nTensor made(Tensor self) { return self; }\n}\n"
    assert [one.qualified for one in symbols(text)] == ["a", "a::made"]
    assert [one.qualified for one in symbols(text.replace("Tensor made", "union { int x; };\nTensor made"))][
        -1
    ] == "a::made"
    assert "OTHER_TEST" in {ref.name for ref in refs(text, "call")}


def test_a_specialisation_that_compares_has_the_name_of_its_template() -> None:
    head = "template <class A>\nstruct Gemm<A, float, typename other::enable_if<A::least >= 80>::type> {"
    made = symbols(f"namespace a {{\n{head}\n  int one;\n}};\n}}\n")
    assert [(one.kind, one.qualified, one.line) for one in made] == [
        ("namespace", "a", 1), ("struct", "a::Gemm", 3), ("member", "a::Gemm::one", 4),
    ]  # fmt: skip


def test_macros_of_headers_elsewhere_hide_nothing() -> None:
    text = """namespace a {
struct __align__(8) Pair { int x; };
typedef struct __align__(4) { int y; } half4;
class API_AVAILABLE(ios(11.0), macos(10.13)) Kernel { void run(); };
API_AVAILABLE(ios(11.0)) static Tensor relu(const Tensor& self) { return self; }
static CUresult CUDAAPI encode(int x) { return x; }
FLATBUFFERS_MANUALLY_ALIGNED_STRUCT(8) Int FLATBUFFERS_FINAL_CLASS { long z; };
PYBIND11_MAKE_OPAQUE(std::vector<uint8_t>)
struct Bits { unsigned one : 1; unsigned : 5; };
PyAPI_FUNC(void) clear(Ref* self);
}
"""
    made = {(one.kind, one.qualified, one.line) for one in symbols(text)}
    assert made == {
        ("namespace", "a", 1), ("struct", "a::Pair", 2), ("member", "a::Pair::x", 2), ("typedef", "a::half4", 3),
        ("member", "a::half4::y", 3), ("class", "a::Kernel", 4), ("function", "a::Kernel::run", 4),
        ("function", "a::relu", 5), ("function", "a::encode", 6), ("struct", "a::Int", 7), ("member", "a::Int::z", 7),
        ("struct", "a::Bits", 9), ("member", "a::Bits::one", 9), ("function", "a::clear", 10),
    }  # fmt: skip
    assert extract("mini/a.cpp", text, MACROS)[2] == []


def test_a_macro_makes_an_alias_behind_a_template_head() -> None:
    text = "#define OLD(name, of) using name = of;\n"
    text += (
        "template <typename T, template <typename U> class P = D, typename I = int>\nOLD(Packed, Generic<T, P, I>)\n"
    )
    assert [(one.kind, one.qualified, one.line, one.template) for one in symbols(text) if one.kind != "macro"] == [
        ("typedef", "Packed", 3, True)
    ]


def test_a_cast_is_no_parameter() -> None:
    made = symbols("namespace a { constexpr Symbol add(static_cast<unique_t>(_keys::aten_add)); union { int x; }; }")
    assert [(one.kind, one.qualified) for one in made[:2]] == [("namespace", "a"), ("variable", "a::add")]


def test_members_of_what_a_typedef_names() -> None:
    made = symbols("typedef struct {\n  int index;\n} Iterator;\nstruct S { typedef unsigned int(digest)[5]; };\n")
    assert [(one.kind, one.qualified) for one in made] == [
        ("typedef", "Iterator"), ("member", "Iterator::index"), ("struct", "S"),
    ]  # fmt: skip


def test_enumerators_from_a_list_macro() -> None:
    text = "#define E(t, n) n,\nenum class Type {\n  MINI_FORALL(E) Last\n};\n"
    assert {one.qualified for one in symbols(text) if one.kind == "enumerator"} == {
        "Type::Int", "Type::Float", "Type::Last",
    }  # fmt: skip


def test_an_empty_variadic_takes_its_comma_along() -> None:
    assert functions("MINI_REGISTRY(Pool)\n") == [("Pool", 1)]


def test_gtest_and_statement_macros_do_not_swallow_what_follows() -> None:
    text = 'TEST(Suite, Name) {\n  MINI_CHECK(x, "y")\n  return;\n}\nvoid g() {}\n'
    assert sorted(functions(text)) == [("Suite_Name_Test::TestBody", 1), ("g", 5)]


def test_a_macro_that_grows_without_end_is_left_alone() -> None:
    doubling = "".join(f"#define M{i} M{i - 1} M{i - 1};\n" for i in range(1, 40))
    assert functions(f"#define M0 int x\n{doubling}M39\nvoid f() {{}}\n") == [("f", 42)]


def test_a_macro_that_calls_itself_ends() -> None:
    assert functions("#define F(x) F(x)\n#define G(x) H(x)\n#define H(x) G(x)\nF(1)\nG(2)\nvoid f() {}\n")[-1][0] == "f"


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
"""
    assert {(one.line, one.text) for one in refs(text, "address")} == {
        (7, "kernel"), (8, "kernel"), (8, "at::native::mul_kernel"),
    }  # fmt: skip
    assert [(one.name, one.text) for one in refs(text, "inherit")] == [("B", "ns::B"), ("C", "C")]
    assert [(one.line, one.text) for one in refs(text, "override")] == [(4, "D::run")]
    assert [(one.line, one.name, one.text) for one in refs(text, "include")] == [
        (1, "Add.h", "ATen/native/Add.h"), (2, "x.h", "x.h"),
    ]  # fmt: skip
    assert [(one.line, one.name) for one in refs(text, "macro")] == [(7, "MINI_CAT")]


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
    ["{" * 50_000, "(" * 50_000, "template<" * 20_000, "namespace a {" * 2_000, "int x[] = {" + "1," * 1_000_000 + "};",
     "a" * 2_000_000, '"' + "x" * 2_000_000 + '"', "#if A\n" * 5_000, "A::" * 50_000 + "f() {}"],
    ids=["braces", "brackets", "templates", "namespaces", "2 MB", "one word", "one string", "ifs", "scopes"],
)  # fmt: skip
def test_hostile_text_ends_soon(text: str) -> None:
    extract("mini/a.cpp", text + "\n", MACROS)


def test_pure_functions_are_declared_only() -> None:
    text = "struct A {\n  virtual ~A() = 0;\n  virtual void f() = 0;\n  void g() = delete;\n};\n"
    assert functions(text) == [("A::g", 4)]
    assert functions(text, "declaration") == [("A::~A", 2), ("A::f", 3)]


def test_what_an_invocation_on_several_lines_makes_stands_at_the_argument_that_names_it() -> None:
    text = (
        "#define MAKE(id, body) struct Functor_##id { int Generate(int n) { return body(n); } };\n"
        "MAKE(\n"
        "    prim_Cat,\n"
        "    [](int n) {\n"
        "      int at = n, Functor = 1, rate = 2;\n"
        "      return at;\n"
        "    })\n"
    )
    assert functions(text) == [("Functor_prim_Cat::Generate", 2)]
    symbols, _, _ = extract("mini/a.cpp", text, MACROS)
    assert [(one.name, one.line) for one in symbols if one.kind == "struct"] == [("Functor_prim_Cat", 3)]


def test_a_specialisation_is_named_without_its_arguments() -> None:
    text = "template <class T, int n>\nstruct Load<T, n, enable_if_t<(n >= 1 && n * 2 == 2)>> {\n  void f() {}\n};\n"
    symbols, _, _ = extract("mini/a.cpp", text + "template <class R, class C> struct Strip<R (C::*)()> {};\n", MACROS)
    assert [(one.qualified, one.line) for one in symbols] == [("Load", 2), ("Load::f", 3), ("Strip", 5)]
