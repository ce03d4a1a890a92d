"""The table of recorders: the probe's functions and the model's rows are of the same recorders."""

from __future__ import annotations

from typing import Any

import pytest

from ptexplore.capture import own_process
from ptexplore.capture.probing import TraceRequest
from ptexplore.capture.trace import capture
from ptexplore.model.observed import KINDS
from ptexplore.model.options import asked_options
from ptexplore.model.places import Runtime
from ptexplore.model.recorders import RECORDERS
from ptexplore.workspace.typed import typed


def test_what_runs_in_a_child_has_a_row_and_the_other_way_round() -> None:
    recorders: Any = own_process.probe_module("recorders")
    in_children = {name for name, spec in RECORDERS.items() if spec.runs != "parent"}
    no_recorders = {recorders.ALONE, recorders.TENSORS}
    assert set(recorders.RUNS) - no_recorders == in_children
    assert {following.recorder for following in recorders.FOLLOWING_RUNS} <= in_children


def test_each_row_names_kinds_and_options_that_there_are() -> None:
    assert {kind for spec in RECORDERS.values() for kind in spec.kinds} == set(KINDS)
    assert {option for spec in RECORDERS.values() for option in spec.options} <= set(asked_options())


EXPRESSIONS: dict[str, dict[str, Any]] = {
    "torch.add(a, b).sum()": {"grad": True, "backward": True, "native": True},
    "torch.mm(torch.ones(2, 3), torch.ones(2, 3))": {},
    "print(a.exp_())": {"once": True},
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_recorder_tells_the_kinds_of_its_row(warm: Runtime, expression: str) -> None:
    request = TraceRequest(expression=expression, cwd="/", **EXPRESSIONS[expression])
    session = capture(typed(request), warm, raising=True)
    assert session.observations
    assert {(seen.recorder, seen.kind) for seen in session.observations} <= {
        (name, kind) for name, spec in RECORDERS.items() for kind in spec.kinds
    }
