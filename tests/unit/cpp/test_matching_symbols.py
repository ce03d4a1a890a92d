"""A demangled function against definitions of its name: its very types, as many of them, or another function."""

from __future__ import annotations

import pytest

from ptexplore.cpp.matching import fits, qualifiers, takes
from ptexplore.cpp.symbol_names import parse
from ptexplore.model.symbols import Symbol


def symbol(*parameters: str) -> Symbol:
    return Symbol(
        "a.cpp", "f", "n::f", "function", 1, 2, 1, parameters=parameters, signature=f"({', '.join(parameters)})"
    )


@pytest.mark.parametrize(
    "text, parameters, how",
    [
        ("n::f(at::Tensor const&, long)", ("const Tensor&", "int64_t"), 2),
        ("n::f(c10::ArrayRef<long>, unsigned long)", ("at::IntArrayRef", "size_t"), 2),
        ("n::f(c10::ArrayRef<c10::SymInt>)", ("IntArrayRef",), 0),
        ("n::f<n::X>(at::Tensor const&, n::X&)", ("const Scalar&", "T&"), 0),
        ("n::f<n::X>(at::Tensor const&, n::X&)", ("const Tensor&", "T&"), 1),
        ("n::f(n::X const&, long)", ("const Alias&", "int64_t"), 1),
        (
            "n::f(std::vector<std::reference_wrapper<at::Tensor const>, std::allocator<int> > const&)",
            ("const MaterializedITensorListRef&",),
            2,
        ),
        ("n::f(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)", ("variable_list&&",), 2),
        (
            "n::f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
            ("const std::string&",),
            2,
        ),
        (
            "n::f(std::function<std::string (std::string const&)> const&, std::vector<char const*>)",
            ("const std::function<std::string(const std::string&)>&", "std::vector<const char*>"),
            2,
        ),
        ("n::f(_object*, long)", ("PyObject*", "Py_ssize_t"), 2),
        ("n::f(std::optional<c10::ScalarType>)", ("std::optional<ScalarType>",), 2),
        ("n::f()", ("void",), 2),
        ("n::f()", ("identity<bool>",), 0),
        ("n::f(int)", ("int", "int"), 0),
        ("n::f(int, long)", ("Args&&... args",), 1),
        ("n::V<long>::f(n::V<long>&&)", ("V<T>&&",), 2),
        ("n::V<long>::f(n::V<long>&&)", ("const V<T>&",), 1),
        # Arguments that are written are the type's own: a template of another type is another function.
        ("n::f<c10::ArrayRef>(c10::ArrayRef<c10::SymInt>)", ("C<c10::SymInt>",), 1),
        ("n::f<c10::ArrayRef>(c10::ArrayRef<long>)", ("C<c10::SymInt>",), 0),
        ("n::f<std::pair>(std::pair<c10::SymInt, long>)", ("C<c10::SymInt>",), 1),
        ("n::f<std::pair>(std::pair<long, c10::SymInt>)", ("C<c10::SymInt>",), 0),
        ("n::f<c10::ArrayRef>(c10::ArrayRef<long>)", ("C<T>",), 1),
    ],
)
def test_fits(text: str, parameters: tuple[str, ...], how: int) -> None:
    assert fits(parse(text), symbol(*parameters)) == how


@pytest.mark.parametrize(
    "text, parameters, expected",
    [
        ("n::f<c10::ArrayRef>(c10::ArrayRef<c10::SymInt> const&)", "const Container<c10::SymInt>&", True),
        ("n::f<c10::ArrayRef>(c10::ArrayRef<c10::SymInt> const&)", "const Vec&", False),
        ("n::f<c10::ArrayRef<c10::SymInt> >(c10::ArrayRef<c10::SymInt> const&)", "const Vec&", True),
        ("n::f<c10::SymInt>(c10::ArrayRef<c10::SymInt>)", "ArrayRef<T>", True),
        ("n::f(c10::ArrayRef<c10::SymInt>)", "SymIntArrayRef", True),
    ],
)
def test_a_template_that_is_an_argument_has_a_parameter(text: str, parameters: str, expected: bool) -> None:
    assert takes(parse(text), symbol(parameters)) is expected


def test_a_source_of_another_version_may_have_had_other_types() -> None:
    assert fits(parse("n::f(c10::ArrayRef<c10::SymInt>)"), symbol("IntArrayRef"), kin=False) == 1


def test_a_name_without_parameters_says_nothing_of_them() -> None:
    assert fits(parse("f"), symbol("int")) == 1
    of_a_macro = symbol()._replace(parameters=None)
    assert fits(parse("n::f(int)"), of_a_macro) == 1, "the text gives none for it"


@pytest.mark.parametrize(
    "text, found",
    [
        ("n::f(int) const", "const"),
        ("(int x) const", "const"),
        ("(int x) const override", "const"),
        ("(int x) & noexcept", "&"),
        ("n::f(int) &&", "&&"),
        ("(const int& x)", ""),
        ("n::f(int)", ""),
    ],
)
def test_qualifiers(text: str, found: str) -> None:
    assert qualifiers(text) == found
