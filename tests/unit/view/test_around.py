"""The next steps below a screen: a command line goes on from what was typed, a Trail in Python from its own methods."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ptexplore.api.trail import PublicTrail
from ptexplore.model.trace_remarks import EverythingInIt
from ptexplore.view.trace.around import typed
from ptexplore.view.trace.page import Options

STEPS = (("--view", "tree"), ("--open", "net 'x'", "--view", "tree"), ("-v",), ("--full",))


class Called:
    """Takes the place of a Trail: its `text` takes what a Trail's takes."""

    def text(self, *given: Any, **named: Any) -> dict[str, Any]:
        return inspect.signature(PublicTrail.text).bind(self, *given, **named).arguments


@pytest.mark.parametrize("more", STEPS)
def test_where_python_asked_a_step_is_a_call_of_the_trail(more: tuple[str, ...]) -> None:
    step = typed(Options(command=()), EverythingInIt(), *more)
    assert step.in_python
    arguments = eval(step.command, {"trail": Called()})
    assert {value for name, value in arguments.items() if name != "self"} == {
        *(word for word in more if not word.startswith("-")),
        *([True] if len(more) == 1 else []),
    }


def test_what_was_typed_goes_on() -> None:
    step = typed(Options(command=("ptexplore", "trace", "a + b")), EverythingInIt(), "--view", "tree")
    assert (step.command, step.in_python) == ("ptexplore trace 'a + b' --view tree", False)
