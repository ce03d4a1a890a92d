"""Which written names can mean the symbol asked for."""

from __future__ import annotations

import pytest

from ptexplore.view.qualifiers import Asked, fits


def asked(*scopes: str, member: bool = False) -> Asked:
    return Asked("x", "foo", tuple(tuple(s.split("::")) if s else () for s in scopes), member, (), ())


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
    assert fits(asked("at::native"), text) is expected


def test_a_member_is_reached_through_objects() -> None:
    one = asked("at::Tensor", member=True)
    assert fits(one, "self.foo")
    assert fits(one, "p->foo")
    assert fits(one, "Tensor::foo")
    assert not fits(one, "Other::foo")


def test_what_is_resolved_is_taken_at_its_word() -> None:
    assert fits(asked("at::native"), "foo", "at::native::foo")
    assert not fits(asked("at::native"), "foo", "other::foo")
    assert not fits(asked("at::native"), "native::foo", "x::native::foo")


def test_an_unqualified_question_takes_every_use() -> None:
    assert fits(asked(), "other::foo")
    assert fits(asked(), "self.foo", "a::b::foo")


def test_several_scopes_are_alternatives() -> None:
    one = asked("at::native", "at::cpu")
    assert fits(one, "cpu::foo")
    assert not fits(one, "cuda::foo")
