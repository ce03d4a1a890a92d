"""The next steps below a screen: a command line goes on from what was typed, a Trace in Python from its own methods."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ptexplore.api.trace import PublicTrace
from ptexplore.model.trace_remarks import EverythingInIt
from ptexplore.view.trace.around import typed
from ptexplore.view.trace.page import Options

STEPS = (("--view", "tree"), ("--open", "net 'x'", "--view", "tree"), ("-v",), ("--full",))


class Called:
    """Takes the place of a Trace: its `text` takes what a Trace's takes."""

    def text(self, *given: Any, **named: Any) -> dict[str, Any]:
        return inspect.signature(PublicTrace.text).bind(self, *given, **named).arguments


@pytest.mark.parametrize("more", STEPS)
def test_where_python_asked_a_step_is_a_call_of_the_trace(more: tuple[str, ...]) -> None:
    step = typed(Options(command=()), EverythingInIt(), *more)
    assert step.in_python
    arguments = eval(step.command, {"trace": Called()})
    assert {value for name, value in arguments.items() if name != "self"} == {
        *(word for word in more if not word.startswith("-")),
        *([True] if len(more) == 1 else []),
    }


def test_what_was_typed_goes_on() -> None:
    step = typed(Options(command=("ptexplore", "trace", "a + b")), EverythingInIt(), "--view", "tree")
    assert (step.command, step.in_python) == ("ptexplore trace 'a + b' --view tree", False)
