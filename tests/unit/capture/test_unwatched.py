"""A run that watches saved tensors and tells nothing is told of, with the reason; it is not offered a second time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptexplore.capture.probing import TraceRequest
from ptexplore.capture.trace import _Heard
from ptexplore.model.actions import TraceAgain
from ptexplore.model.observed import Remark
from ptexplore.model.program import CallPath, Program
from ptexplore.model.reasons import (
    ErrorNotRaised,
    ManySavedTensors,
    RunEndedBySignal,
    Said,
    WritesNotTold,
)
from ptexplore.model.trace import Ending, Finding, ModifiedTensor
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.words.actions import as_command
from tests.unit.saved.test_trace import a_trace

ENDED = {
    "died": ({"signal": "SIGKILL"}, RunEndedBySignal("SIGKILL")),
    "unavailable": ({"told": {"code": "many-saved-tensors", "most": 20_000}}, ManySavedTensors(20_000)),
    "pass": ({"observations": []}, ErrorNotRaised()),
}


@pytest.mark.parametrize("kind", ENDED)
def test_why_is_kept(kind: str) -> None:
    more, why = ENDED[kind]
    heard = _Heard(TraceRequest(script="train.py"))
    heard.take({"type": "output", "recorder": "writes", "text": ""})
    heard.take({"type": kind, "recorder": "writes", **more})
    (seen,) = heard.observations
    assert seen.kind == "unwatched"
    assert seen.data == Remark(WritesNotTold(why), observation=1)


def test_what_tells_is_no_remark() -> None:
    heard = _Heard(TraceRequest(script="train.py"))
    data: dict[str, Any] = {"tensor": "torch.FloatTensor [3]", "expected": 0, "version": 1, "node": None, "saved": None}
    observation = {"recorder": "writes", "kind": "saved", "data": data}
    heard.take({"type": "pass", "recorder": "writes", "observations": [observation]})
    assert [seen.kind for seen in heard.observations] == ["saved"]


@pytest.mark.parametrize("was_run", [False, True])
def test_the_run_is_offered_where_none_was_made(was_run: bool) -> None:
    trace = a_trace()
    modified = ModifiedTensor(tensor="torch.FloatTensor [3]", node="ExpBackward0", output=0, version=1, expected=0)
    ending = Ending("script", "RuntimeError", "modified", trace.hops[0].source, modified=modified)
    program = Program((CallPath("program", "x", 1, 1),), (), (), (), (), "", 0, 1, 0)
    found = (Finding("unwatched", Said("a run of its own …")),) if was_run else ()
    trace = replace(trace, expression="--script x.py", ending=ending, program=program, findings=found)
    words = " ".join(line.text for line in ending_lines(trace, None))
    assert (as_command(TraceAgain("x.py")) in words) != was_run
