"""Which specialisation of a class template some arguments choose; the heads are written by hand."""

from __future__ import annotations

import pytest

from ptexplore.cpp.specialisations import Specialisation, chosen, enumerators, fits, read_head, valued


def head(text: str, name: str = "wrap") -> Specialisation:
    read = read_head(text, name)
    assert read is not None
    return read


PRIMARY = head("template <class Functor, class Signature>\nstruct wrap final ")
PLAIN = head("template <class Functor, class R, class... Ps>\nstruct wrap<\n    Functor,\n    R(Ps...)> final ")
KEYED = head("template <class F, class R, class... Ps> struct wrap<F, R(DispatchKeySet, Ps...)> final ")
COMPUTED = head("template <class F, class R> struct wrap<F, std::enable_if_t<is_void<R>, R>> final ")


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("at::Tensor (at::Tensor const&)", [0]),
        ("at::Tensor ()", [0]),
        ("at::Tensor (c10::DispatchKeySet, at::Tensor const&)", [1]),
        ("at::Tensor (at::Tensor const&, c10::DispatchKeySet)", [0]),
        ("std::tuple<at::Tensor, at::Tensor> (c10::DispatchKeySet)", [1]),
        ("long", []),  # no function type
    ],
)
def test_the_function_type_tells(signature: str, expected: list[int]) -> None:
    functor = "c10::impl::F<c10::CompileTimeFunctionPointer<at::Tensor (c10::DispatchKeySet), &n::k> >"
    assert chosen([PLAIN, KEYED], [functor, signature]) == expected


def test_the_primary_template_is_what_no_specialisation_fits() -> None:
    assert chosen([PRIMARY, PLAIN, KEYED], ["F", "long"]) == [0]
    assert chosen([PRIMARY, PLAIN, KEYED], ["F", "long (bool)"]) == [1]


def test_what_is_computed_decides_nothing() -> None:
    assert fits(COMPUTED, ["F", "long (bool)"]) is None
    assert chosen([PLAIN, COMPUTED], ["F", "long (bool)"]) == [0, 1]
    assert chosen([PLAIN, None], ["F", "long (bool)"]) == [0, 1], "a head that cannot be read"


def test_an_enumerator_is_named_by_its_value() -> None:
    assert valued("(at::autocast::CastPolicy)2") == ("at::autocast::CastPolicy", 2)
    assert valued("2") is valued("&n::f") is valued("int (long)") is None
    assert enumerators("enum class P : uint8_t { low = 0, full, late = 5, last }") == {
        0: "low",
        1: "full",
        5: "late",
        6: "last",
    }
    assert enumerators("enum P { a, b = 0, c }") == {1: "c"}, "0 has two names"
    assert enumerators("enum P { a, b = 1 << 3, c }") == {}


def test_an_enumerator_whose_name_is_not_known_decides_nothing() -> None:
    heads = [head("template <class T> struct H<P::low, T>", "H"), head("template <class T> struct H<P::full, T>", "H")]
    assert chosen(heads, ["n::P::full", "int"]) == [1]
    assert chosen(heads, ["(n::P)1", "int"]) == [0, 1]
    assert fits(heads[0], ["(n::P)1", "int"]) is None


@pytest.mark.parametrize(
    ("texts", "name", "arguments", "expected"),
    [
        (["template <> void P<PyObject>::free()", "template <> void P<THPStorage>::free()"], "P", ["_object"], [0]),
        (["template <typename T, bool> class V", "template <typename T> class V<T, true>"], "V", ["long", "true"], [1]),
        (
            ["template <typename T, bool> class V", "template <typename T> class V<T, true>"],
            "V",
            ["long", "false"],
            [0],
        ),
        # The last argument is left to its default; another function's parameters are not.
        (["handle caster<SymInt>::cast()", "handle caster<SymFloat>::cast()"], "caster", ["c10::SymInt", "void"], [0]),
        (["template <class R> struct H<R()>", "template <class R> struct H<R(int)>"], "H", ["void (int)"], [1]),
        (["template <class T> struct H<T*>", "template <class T> struct H<const T&>"], "H", ["int const&"], [1]),
        (
            ["template <class T> struct H<T, T>", "template <class T, class U> struct H<T, U>"],
            "H",
            ["int", "long"],
            [1],
        ),
        (["template <class T> struct H<T, T>", "template <class T, class U> struct H<T, U>"], "H", ["int", "int"], [0]),
        (
            ["template <class T> struct H<std::vector<T>>", "template <class T> struct H<T>"],
            "H",
            ["std::vector<int>"],
            [0],
        ),
    ],
)
def test_the_more_special_one(texts: list[str], name: str, arguments: list[str], expected: list[int]) -> None:
    assert chosen([head(text, name) for text in texts], arguments) == expected


def test_what_is_no_head() -> None:
    assert read_head("struct other {", "wrap") is None
    assert read_head("template <class T", "wrap") is None
