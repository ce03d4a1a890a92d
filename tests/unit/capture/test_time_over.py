"""Where the time of all runs is over after a run that ended, nothing says that the expression did not end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ptexplore.capture import trace
from ptexplore.capture.probing import TraceRequest, _too_slow
from ptexplore.model import reasons
from ptexplore.model.actions import GiveLonger
from ptexplore.model.observed import Remark
from ptexplore.model.places import Runtime

A_PASS: dict[str, Any] = {
    "type": "pass",
    "recorder": "ops",
    "imported": 0,
    "warm": True,
    "bound": [],
    "result": {"type": "int", "description": "1"},
    "observations": [],
}
RAISED = {"stage": "expression", "exception": "ValueError", "message": "no"}
RUNTIME = Runtime("python", "3.11", "/torch", "2.13.0", "", "wheel", None, None, (), "", "")


def running(*messages: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from messages
    raise _too_slow(60.0, reasons.RunningPass("dispatch"))


def test_the_pass_that_was_not_made_is_named_with_what_is_missing() -> None:
    begun = {"type": "begin", "recorder": "dispatch"}
    session = trace.gather(running(A_PASS, begun), TraceRequest(expression="f()", native=True), RUNTIME)
    (stopped,) = (seen for seen in session.observations if seen.kind == "stopped")
    was_stopped = reasons.PassStopped(reasons.RunningPass("dispatch"), 60.0)
    reason = reasons.TooLate(was_stopped, GiveLonger(), (reasons.CallsMissing(),))
    assert stopped.data == Remark(reason, observation=1)
    assert session.captured.reason == reasons.TimeOverBefore()


def test_an_expression_that_no_run_saw_end_did_not_end() -> None:
    with pytest.raises(trace.Stopped) as caught:  # type: ignore[attr-defined]
        trace.gather(running(), TraceRequest(expression="f()"), RUNTIME)
    assert caught.value.reason == reasons.NotEndedInTime(60.0)
    assert caught.value.then == GiveLonger()


def test_where_it_was_thrown_is_said_to_be_lacking() -> None:
    session = trace.gather(iter((A_PASS,)), TraceRequest(expression="f()"), RUNTIME)
    added = trace.with_throw(session, running({"type": "begin", "recorder": "thrown"}))
    (stopped,) = added.observations
    assert (stopped.recorder, stopped.kind) == ("thrown", "stopped")
    assert isinstance(stopped.data, Remark)
    assert isinstance(stopped.data.told, reasons.ThrowNotLooked)
    seen = {
        "type": "pass",
        "recorder": "thrown",
        "observations": [{"recorder": "thrown", "kind": "raised", "data": RAISED}],
    }
    assert [one.kind for one in trace.with_throw(session, running(seen)).observations] == ["raised"]
