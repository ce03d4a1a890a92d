"""Which written names can mean what was asked for, and which overload a resolved use names."""

from __future__ import annotations

import pytest

from ptexplore.lookup.refs import Asked, fits, split_target


def cpp(*containers: str, member: bool = False) -> Asked:
    return Asked("x", ("foo",), cpp=tuple(tuple(c.split("::")) if c else () for c in containers), member=member)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("foo", True),
        ("at::native::foo", True),
        ("native::foo", True),
        ("::at::native::foo", True),
        ("other::foo", False),
        ("at::foo", False),
        ("xnative::foo", False),
        ("self.foo", False),  # a function of a namespace is not reached through an object
        ("this->foo", False),
        ("a::b.foo", False),
        ("at::native<int>::foo", True),
    ],
)
def test_a_function_of_a_namespace(text: str, expected: bool) -> None:
    assert fits(cpp("at::native"), "a.cpp", text) is expected


def test_python_does_not_name_a_cpp_function() -> None:
    assert not fits(cpp("at::native"), "a.py", "foo")


def test_a_member_is_reached_through_objects() -> None:
    one = cpp("at::Tensor", member=True)
    assert fits(one, "a.cpp", "self.foo")
    assert fits(one, "a.cpp", "p->foo")
    assert fits(one, "a.cpp", "Tensor::foo")
    assert not fits(one, "a.cpp", "Other::foo")


def test_what_is_resolved_is_taken_at_its_word() -> None:
    assert fits(cpp("at::native"), "a.cpp", "foo", "at::native::foo")
    assert not fits(cpp("at::native"), "a.cpp", "foo", "other::foo")
    assert not fits(cpp("at::native"), "a.cpp", "native::foo", "x::native::foo")


def test_an_unqualified_question_takes_every_use() -> None:
    assert fits(Asked("foo", ("foo",)), "a.cpp", "other::foo")
    assert fits(Asked("foo", ("foo",)), "a.py", "self.foo", "a::b::foo")


def test_several_containers_are_alternatives() -> None:
    one = cpp("at::native", "at::cpu")
    assert fits(one, "a.cpp", "cpu::foo")
    assert not fits(one, "a.cpp", "cuda::foo")


@pytest.mark.parametrize("text", ["operator==", "at::operator=="])
def test_operators_of_cpp_are_no_members_by_their_signs(text: str) -> None:
    assert fits(cpp("at"), "a.cpp", text)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("conv2d", True),
        ("F.conv2d", True),  # an alias nobody can follow here
        ("self.conv2d", True),
        ("nn.functional.conv2d", True),
        ("torch.nn.functional.conv2d", True),
        ("torch.conv2d", False),
        ("torch.ops.aten.conv2d", False),
    ],
)
def test_python_names(text: str, expected: bool) -> None:
    one = Asked("x", ("conv2d",), python=(("torch", "nn", "functional"),))
    assert fits(one, "a.py", text) is expected
    assert not fits(one, "a.cpp", text)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("aten.add.Tensor", True),
        ("torch.ops.aten.add.Tensor", True),
        ("prims.add.Tensor", False),
        ("Tensor", False),
        ("torch.Tensor", False),
    ],
)
def test_operators_in_python(text: str, expected: bool) -> None:
    assert fits(Asked("x", ("Tensor",), operators=(("aten", "add", "Tensor"),)), "a.py", text) is expected


@pytest.mark.parametrize(
    ("target", "name", "parameters"),
    [
        ("at::add(const Tensor &, int)", "at::add", "(const Tensor &, int)"),
        ("at::add", "at::add", ""),
        ("c10::Box::operator()", "c10::Box::operator()", ""),
        ("c10::Box::operator()(int)", "c10::Box::operator()", "(int)"),
        ("c10::run(void (*)(int))", "c10::run", "(void (*)(int))"),
        ("c10::operator<<(std::ostream &, Device)", "c10::operator<<", "(std::ostream &, Device)"),
    ],
)
def test_a_target_is_a_name_and_its_overload(target: str, name: str, parameters: str) -> None:
    assert split_target(target) == (name, parameters)
