"""What a reader must know beside the hops: a recorder's own word on its limits, each said once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.options import TraceOptions
from ptexplore.model.trace import Session
from ptexplore.resolve.trace import copied, report, resolve
from tests.unit.resolve.making import Rows, Small, claim, op, operator, session

TABLE = {"op": "aten::a", "dump": "", "table": "CPU: registered at /elsewhere/mine.py:3 [kernel]", "schema": ""}


@pytest.mark.parametrize(
    "kind, data, expected",
    [
        ("cut", {"told": {"code": "events-cut", "most": 9}}, ("cut", reasons.EventsCut(9))),
        ("nondeterministic", {"told": {"code": "runs-differ"}}, ("nondeterministic", reasons.RunsDiffer())),
        ("perturbed", {"told": {"code": "python-mode-on"}}, ("perturbed", reasons.PythonModeOn())),
        ("result", {"equal": False}, ("nondeterministic", reasons.OtherResult())),
        ("result", {"equal": True}, None),
        ("result", {"equal": None}, None),  # nothing was there to compare
        ("result", {}, None),
        ("output", {"text": "x"}, None),
        ("table", TABLE, ("registrations-changed", reasons.RegistrationsChanged("aten::a"))),
    ],
)
def test_what_a_recorder_reports(
    small: Small, kind: str, data: Mapping[str, Any], expected: tuple[str, reasons.Reason] | None
) -> None:
    context = small.context(session(more=[("native", kind, data)]), Rows(operators=[operator("aten::a() -> ()")]))
    claims = (claim("op", "aten::a"),)
    assert report(context, claims) == claims, "claims pass through"
    assert [(one.kind, one.told) for one, _ in context.findings] == ([expected] if expected else [])


def test_an_operator_that_the_catalogue_never_had_has_no_changed_registrations(small: Small) -> None:
    context = small.context(session(more=[("ops", "table", {**TABLE, "op": "my::foo"})]))
    report(context, ())
    assert context.findings == []


@pytest.mark.parametrize(
    "once, called, equal, told",
    [
        (True, "aten::new_empty_strided", None, True),
        (True, "aten::clone", None, True),
        (True, "aten::detach", None, False),  # the gradient itself is taken
        (False, "aten::clone", None, False),  # another pass, without sizes, is compared
        (True, "aten::clone", True, False),  # so is a second run of a script
        (True, "aten::clone", False, True),
    ],
)
def test_where_one_run_tells_all_a_copied_gradient_may_be_the_recorders_doing(
    small: Small, once: bool, called: str, equal: bool | None, told: bool
) -> None:
    """A holder of the gradient makes AccumulateGrad copy it, and where it tells sizes torch's profiler is one."""
    twice = [("twice", "twice", {"equal": equal, "told": {"code": "no-line"}})] if equal is not None else []
    seen = replace(session(more=twice), options=TraceOptions(once=once))
    context = small.context(seen)
    inside = claim("op", called, event={"type": "op", "name": called})
    copied(context, (claim("node", "torch::autograd::AccumulateGrad", inside), claim("node", "torch::a::B", inside)))
    assert [one.told for one, _ in context.findings] == [reasons.GradientCopied()] * told


# --- the whole Trace ---


def trace(small: Small, seen: Session, rows: Rows | None = None) -> Any:
    return resolve(seen, small.lookup(rows, small.source()))


def test_a_finding_is_said_once(small: Small) -> None:
    told = {"told": {"code": "events-cut", "most": 9}}
    twice = [("ops", "cut", told), ("frames", "cut", told)]
    assert [one.told for one in trace(small, session(more=twice)).findings] == [reasons.EventsCut(9)]


def test_a_trace_names_its_trees_in_the_order_they_are_asked(small: Small) -> None:
    found = trace(small, session([op("aten::a", inputs=[])]), Rows(operators=[operator("aten::a() -> ()")]))
    assert [one.name for one in found.trees] == ["runtime", "tree"]
    assert [(one.id, one.kind, one.op) for one in found.hops] == [(1, "op", "aten::a")]
    assert found.expression == "torch.blend(a, b)"


def test_a_changed_table_is_read_as_the_catalogues_is(small: Small) -> None:
    """Its files are those of the machine: a path of torch's becomes the repository's."""
    rows = Rows(operators=[operator("aten::a() -> ()")])
    fallthrough = "ADInplaceOrView: fallthrough registered at /elsewhere/mine.py:4 [backend fallback]"
    changed = {**TABLE, "table": f"BackendSelect: registered at /elsewhere/mine.py:3 [kernel]\n{fallthrough}"}
    found = trace(small, session([op("aten::a", inputs=[])], more=[("dispatch", "table", changed)]), rows)
    (key,) = found.hops[0].children
    assert (key.name, key.status) == ("BackendSelect", "predicted"), "no thread-local set was read"
    assert [one.kind for one in found.findings] == ["registrations-changed"]
