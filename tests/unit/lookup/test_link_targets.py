"""What a written name cannot mean, and which overloads stay a choice."""

from __future__ import annotations

from ptexplore.lookup.link_targets import LinkTarget, linkable, local_names, of_another_kind, parameters
from ptexplore.store.index.site import SiteDefinition


def _place(container: str, signature: str, *, declared: bool = False, line: int = 1) -> LinkTarget:
    what = SiteDefinition(1, "blend", container, "function", line, line, line, declared, False, False, signature)
    return LinkTarget("c10/blend.h", 0, what)


def test_a_declaration_of_the_same_overload_goes_where_its_definition_is() -> None:
    defined = _place("at::", "(int a, std::map<int, int> b = {})", line=9)
    assert linkable([_place("at::", "(int, std::map<int, int>)", declared=True), defined]) == [defined]


def test_an_overload_without_a_body_is_a_choice_beside_the_one_that_has_one() -> None:
    bare = _place("at::Meta::", "(int64_t index)", declared=True)
    defined = _place("at::Meta::", "()", line=9)
    assert linkable([bare, defined]) == [defined, bare]
    cut = _place("at::Meta::", "(int64_t index, std", declared=True)
    assert linkable([cut, defined]) == [defined], "of a signature that is cut nobody knows"


def test_what_stands_in_std_is_not_what_std_means() -> None:
    assert linkable([_place("std::", "(c10::Half a)")]) == []


def test_parameters_are_counted_outside_of_brackets() -> None:
    found = [
        parameters(one) for one in ("()", "(void)", "(int a)", "(f<a, b> c, int (*d)(int, int), e f = {1, 2})", "(a")
    ]
    assert found == [0, 0, 1, 3, None]


def test_what_a_function_of_python_binds_hides_what_is_of_that_name() -> None:
    text = (
        "def use(mix, *rest, key: int = 2):\n    turned = mix(1)\n    for one, two in rest: pass\n    with a() as b:\n"
    )
    assert local_names(text, python=True) == {"mix", "rest", "key", "turned", "one", "b"}
    assert "top" not in local_names("top = 1\nuse(top, other)\n", python=True)


def test_what_a_function_of_cpp_declares_hides_what_is_of_that_name() -> None:
    text = "int f(const Tensor& self, int a) { auto& x = 1; auto const* y = 2; g(h, i); for (int n : other) use(n); }"
    assert local_names(text, python=False) == {"self", "a", "x", "y"}


def test_a_name_of_one_device_is_hardly_meant_elsewhere() -> None:
    assert of_another_kind("aten/src/ATen/mps/Stream.h", "aten/src/ATen/cuda/Tune.cpp")
    assert not of_another_kind("aten/src/ATen/mps/Stream.h", "aten/src/ATen/native/mps/Copy.mm")
    assert not of_another_kind("aten/src/ATen/Context.h", "aten/src/ATen/native/mps/Copy.mm")
