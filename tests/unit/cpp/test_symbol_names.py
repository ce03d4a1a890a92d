"""Demangled names taken apart: whatever stands in them, the qualified name is exact, or there is none."""

from __future__ import annotations

import pytest

from ptexplore.cpp.symbol_names import arguments_of, parse, pasted, pointed, split


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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        # As c++filt and gdb write what GCC made out of a function.
        ("at::foo(int) [clone .constprop.0]", "at::foo"),
        ("at::foo() [clone .constprop.0] [clone .isra.0] [clone .cold]", "at::foo"),
        ("at::native::(anonymous namespace)::foo(int) const (.isra.0)", "at::native::foo"),
        ("at::foo.part.0.cold", "at::foo"),
        ("add_kernel.isra.0", "add_kernel"),
        ("add_kernel._omp_fn.3.cold", "add_kernel"),
        ("std::vector<int> at::foo<int>(int)", "at::foo"),
        # And what is none of its suffixes.
        ("BinaryOps.cpp", "BinaryOps.cpp"),
        ("aten::add.Tensor", "aten::add.Tensor"),
        ("torch.nn.Module.part", "torch.nn.Module.part"),
        ("TORCH_CHECK(x)", "TORCH_CHECK(x)"),
    ],
)
def test_what_is_pasted_from_a_debugger(text: str, name: str) -> None:
    assert pasted(text) == name
