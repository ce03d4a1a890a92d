"""What a resolved use names: the function, and which of its overloads."""

from __future__ import annotations

import pytest

from ptexplore.view.search.refs import split_target


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
