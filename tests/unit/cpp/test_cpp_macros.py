"""What invocations of macros make: of the file itself, of its headers, of headers that are in no tree."""

from __future__ import annotations

import pytest

from ptexplore.cpp.macros import collect
from ptexplore.cpp.text import Text
from ptexplore.index.cpp.extract import extract
from tests.hanging import ends
from tests.unit.index.cpp_text import MACROS, functions, only, refs, symbols


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
    text = "#define OLD(name, ...) using name = __VA_ARGS__;\n"
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


COSTLY = {
    "signs in a line": "#define A 1\nx" + "#" * 3_000_000,
    "conditions in one another": "#if x\n" * 60_000 + "#define A 1\n",
    "arms of a condition": "#if x\n" + "#elif y\n" * 60_000 + "#define A 1\n",
    "macros that stand for one another": "".join(f"#define A{n:05} A{n + 1:05}\n" for n in range(40_000)),
    "brackets in one another": "#define A " + "(" * 400_000 + ")" * 400_000,
    "definitions of one name": "".join(f"#define A {n}\n" for n in range(80_000)),
    "definitions within conditions": "#if defined( a ) && b\n" * 1_000
    + "".join(f"#define A{n} 1\n" for n in range(30_000)),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_header_costs_what_its_length_does(name: str) -> None:
    """The macros of headers are collected for all files, in the process that asks."""
    with ends():
        table = collect([("c10/h.h", COSTLY[name])])
        assert "A0" not in table.attributes
    assert table.by_name


def test_conditions_that_nest_deeper_than_any_are_those_around_them() -> None:
    text = Text("c10/h.h", "#if a\n" * 300 + "int x;\n" + "#endif\n" * 299 + "int y;\n#endif\nint z;\n")
    assert text.guards(301) == ("a",) * 100
    assert text.guards(301 + 300) == ("a",)
    assert text.guards(301 + 302) == ()


def test_an_arm_of_a_condition_that_is_longer_than_any_is_not_known() -> None:
    text = Text("c10/h.h", "#if a\n" + "#elif b\n" * 1_000 + "#else\nint x;\n#endif\n#if c\n#else\nint y;\n#endif\n")
    assert text.guards(4) == ("!(a) && !(b) && b",)
    assert text.guards(901) == ("… && b",)
    assert text.guards(1003) == ("…",)
    assert text.guards(1007) == ("!(c)",)
