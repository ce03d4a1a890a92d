"""The values of failed guards are read from names, dictionaries and containers, and no code of the user runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ptexplore.capture import own_process

guarded: Any = own_process.probe_module("guarded_values")


class Tricky:
    """A class whose attributes would run code."""

    plain = "of the class"

    def __init__(self) -> None:
        self.own = 3
        self.called: list[str] = []

    @property
    def computed(self) -> int:
        self.called.append("computed")
        return 1

    def __getattr__(self, name: str) -> int:
        self.called.append(name)
        return 2


def closing(n: int) -> Any:
    def inner() -> int:
        return n

    return inner


TRICKY = Tricky()
LOCAL = {
    "n": 2,
    "x": SimpleNamespace(),
    "items": [1, 2, 3],
    "self": TRICKY,
    "kept": {"mode": "sin"},
    "f": closing(7),
    "text": "a" * 500,
    "names": {"c", "a", "b"},
    "mixed": [1, TRICKY],
    "many": tuple(range(21)),
}
MODULE = {"FLAG": True}


@pytest.mark.parametrize(
    "guard, subject, value",
    [
        ("n == 1", "n", "2"),
        ("self.own == 1", "self.own", "3"),
        ("self.plain == 'x'", "self.plain", "'of the class'"),
        ("len(items) == 2", "len(items)", "3"),
        ("kept['mode'] == 'cos'", "kept['mode']", "'sin'"),
        ("G['FLAG'] == False", "G['FLAG']", "True"),
        ("L['n'] == 1", "L['n']", "2"),
        ("f.__closure__[0].cell_contents == 3", "f.__closure__[0].cell_contents", "7"),
        ("___check_type_id(n, 123), type=<class 'float'>", "n", "2"),
        ("___check_obj_id(x, 123)", "x", "<class 'types.SimpleNamespace'>"),
        ("names == {'b', 'a'}", "names", "{'a', 'b', 'c'}"),
        ("items == [1]", "items", "[1, 2, 3]"),
        ("kept == {}", "kept", "{'mode': 'sin'}"),
        ("mixed == []", "mixed", "<class 'list'>"),
        ("many == ()", "many", "<class 'tuple'>"),
    ],
)
def test_a_value_is_read(guard: str, subject: str, value: str) -> None:
    assert guarded.values_in([f"0/0: {guard}  # a line  # f.py:3 in f"], LOCAL, MODULE) == {subject: value}


@pytest.mark.parametrize(
    "guard",
    ["self.computed == 1", "self.other == 1", "missing == 1", "items[9] == 1", "f() == 1", "n + 1 == 2", ") =="],
)
def test_an_expression_that_would_run_code_has_no_value(guard: str) -> None:
    before = list(vars(TRICKY)["called"])
    assert guarded.values_in([f"0/0: {guard}"], LOCAL, MODULE) == {}
    assert vars(TRICKY)["called"] == before


def test_a_long_value_is_cut() -> None:
    (value,) = guarded.values_in(["0/0: text == 'a'"], LOCAL, MODULE).values()
    assert len(value) < 100
