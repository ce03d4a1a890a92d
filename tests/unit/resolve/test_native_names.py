"""Demangled names taken apart: whatever stands in them, the qualified name is exact, or there is none."""

from __future__ import annotations

import pytest

from ptexplore.resolve.native import lambdas
from ptexplore.resolve.native.names import arguments_of, parse, pointed, split


@pytest.mark.parametrize(
    "text, qualified",
    [
        ("at::_ops::add_Tensor::call(at::Tensor const&, c10::Scalar const&)", "at::_ops::add_Tensor::call"),
        ("a::(anonymous namespace)::f(int)", "a::f"),
        ("(anonymous namespace)::f(int)", "f"),
        ("malloc", "malloc"),
        ("void f<int>(int)", "f"),
        ("unsigned long a::b<c::d<1>, (x)2>::e<>(int) const", "a::b::e"),
        ("a::X const& a::f<long>(a::X const&)", "a::f"),
        ("decltype(auto) std::g<void, a::{lambda(auto:1&&)#1}>(int)", "std::g"),
        ("decltype (x()) foo<int>(int)", "foo"),
        ("bool a<(b::c)1, ((x)<(y))>(int)", "a"),
        ("bool a<((x)>(y))>(int)", "a"),
        ("a::V<at::Tensor (at::Tensor const&), X>::run(void (*)(int))", "a::V::run"),
        ("a::operator()(int) const", "a::operator()"),
        ("a::S::operator[](long) const &", "a::S::operator[]"),
        ("s::ostream& c10::operator<<(s::ostream&, c10::X)", "c10::operator<<"),
        ("bool operator< <int>(X<int>)", "operator<"),
        ("a::operator<< <int>(int)", "a::operator<<"),
        ("bool a::operator<=> <int>(int)", "a::operator<=>"),
        ("a::P::operator->() const", "a::P::operator->"),
        ("a::P::operator,(int)", "a::P::operator,"),
        ("operator new(unsigned long)", "operator new"),
        ("operator delete[](void*)", "operator delete[]"),
        ("a::B::operator bool() const", "a::B::operator bool"),
        ("a::B<int>::operator c10::ArrayRef<long>() const", "a::B::operator c10::ArrayRef<long>"),
        ('a::operator"" _x(int)', 'a::operator"" _x'),
        ("f[abi:cxx11](int)", "f"),
        ("a::g[abi:cxx11]<int>(int)", "a::g"),
        ("non-virtual thunk to a::X::~X()", "a::X::~X"),
        ("f()::{lambda()#1}::operator()() const", "f::{lambda#1}::operator()"),
        ("auto f(int)::{lambda(auto:1)#1}::operator()<int>(int) const", "f::{lambda#1}::operator()"),
        (
            "a::f(int) const::{lambda()#2}::operator()() const::{lambda(float, int)#1}::operator()(float, int) const",
            "a::f::{lambda#2}::operator()::{lambda#1}::operator()",
        ),
        ("x::{lambda()#1}::_FUN()", "x::{lambda#1}::_FUN"),
        ("f::{unnamed type#1}::g()", "f::{unnamed type#1}::g"),
    ],
)
def test_the_qualified_name(text: str, qualified: str) -> None:
    assert parse(text).qualified == qualified


def test_what_cannot_be_read_is_left_as_it_is() -> None:
    for text in ("a::f(int", "a<b::c", "", "a::b::"):
        name = parse(text)
        assert (name.parts, name.qualified) == ((), text)


def test_the_capability_tells_what_ran_and_is_not_in_the_source() -> None:
    name = parse("at::native::AVX2::loop(int)")
    assert (name.qualified, name.plain) == ("at::native::AVX2::loop", "at::native::loop")


def test_parameters_are_those_of_the_function_itself() -> None:
    assert parse("f(int)::{lambda(a::B<int, long>, char)#1}::operator()(a::B<int, long>, char) const").parameters == (
        "a::B<int, long>",
        "char",
    )
    assert parse("f()").parameters == ()
    assert parse("malloc").parameters is None
    assert parse("f(void (*)(int, int), long)").parameters == ("void (*)(int, int)", "long")


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
    assert lambdas.find(text, way) == lambdas.Found(tuple(text.index(one) for one in offsets), sure)


def test_template_arguments() -> None:
    text = "R a::W<a::P<R (K, T const&), &n::(anonymous namespace)::k>, R, L<T const&> >::call(int)"
    function, kernel = arguments_of(text, "a::P")
    assert function == "R (K, T const&)"
    found = pointed(kernel)
    assert found is not None
    assert (found.qualified, found.is_anonymous) == ("n::k", True)
    assert pointed("int") is None
    assert arguments_of(text, "a::Q") == []
    overloaded = pointed("&(n::k(int, long))")
    assert overloaded is not None
    assert (overloaded.qualified, overloaded.parameters) == ("n::k", ("int", "long"))


def test_pieces_between_commas() -> None:
    assert split("a<b, c>, (d, e), f") == ["a<b, c>", "(d, e)", "f"]
    assert split("") == []
