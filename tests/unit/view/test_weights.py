"""A weight of hops and calls is summed, and shown in every table that its row names."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ptexplore.model.hop_kinds import HopKind
from ptexplore.model.places import SourceRef
from ptexplore.model.program import CallPath, LocalSets, OperatorCalls, OperatorKind, OperatorRoute, Program
from ptexplore.model.run import Weighed, added, known_weights
from ptexplore.model.trace import Captured, Hop, LaunchRef, ResultInfo, TorchInfo, Trace
from ptexplore.render.stacks import exported
from ptexplore.view.trace.hop_weights import weights_with_inside
from ptexplore.view.trace.legend import whole_legend
from ptexplore.view.trace.page import Options, ViewName
from ptexplore.view.trace.program_parts import run_of
from ptexplore.view.trace.stacks import stacks_of
from ptexplore.view.trace.views import view

PLACE = SourceRef(tree="runtime", path=None, line=None, layer=None, precision="unknown")


def hop(number: int, kind: HopKind, name: str, *children: Hop, took: int = 0) -> Hop:
    op = name if kind == "op" else None
    launch = LaunchRef("cudaLaunchKernel", took) if took else None
    weights = {"device": took} if took else None
    return Hop(number, kind, name, "observed", PLACE, op=op, launch=launch, weights=weights, children=children)


def a_trace(*hops: Hop) -> Trace:
    return Trace("f(x)", (), TorchInfo("2.99.0"), (), Captured(), ResultInfo(), (), hops)


# The first operator launched two kernels, one of them in an operator inside; the second none.
MADE = a_trace(
    hop(1, "op", "aten::linear", hop(2, "launch", "fill", took=2_000),
        hop(3, "op", "aten::addmm", hop(4, "launch", "gemm", took=40_000))),
    hop(5, "op", "aten::relu"),
)  # fmt: skip


def test_a_hop_has_the_weights_of_everything_inside() -> None:
    assert weights_with_inside(MADE.hops) == {
        1: {"device": 42_000}, 2: {"device": 2_000}, 3: {"device": 40_000}, 4: {"device": 40_000}, 5: {},
    }  # fmt: skip


@pytest.mark.parametrize("name", ["path", "operators", "modules"])
def test_every_table_of_an_expression_has_the_column(name: ViewName) -> None:
    page = view(MADE, Options(view=name))
    at = page.columns.index("device")
    cells = {row.name.removeprefix("aten::"): row.cells[at] for row in page.table if len(row.cells) > at}
    assert cells["linear"] == "42 us"
    assert cells["relu"] == ""
    assert "device" in dict(whole_legend(page))


def test_the_tree_has_the_weight_beside_a_row() -> None:
    page = view(MADE, Options(view="tree"))
    # The terminal draws spans of the style "count" in a column of its own, and the site adds words to "inside".
    spans = [
        [span for span in row.heading(counted=False) if span.style not in ("count", "inside")] for row in page.rows
    ]
    assert [row[-1].text.strip() == "42 us device" for row in spans] == [True, False]
    assert "device" in dict(whole_legend(page))


@pytest.mark.parametrize("name", ["path", "operators", "modules"])
def test_without_a_weight_there_is_no_column(name: ViewName) -> None:
    assert "device" not in view(a_trace(hop(1, "op", "aten::relu")), Options(view=name)).columns


def a_program(**weights: int) -> Trace:
    program = Program(
        (CallPath("program", "x.py", 1, 9_000),),
        (LocalSets(0, 0),),
        (OperatorKind("op", "aten::relu"),),
        (OperatorRoute(0, 0),),
        (OperatorCalls(0, 0, 0, 2, 1_000, weights=weights),),
        "", 0, 9_000, 0,
    )  # fmt: skip
    return replace(MADE, hops=(), program=program)


def test_weights_that_only_a_newer_version_knows_are_left_out() -> None:
    assert known_weights({"saved": 8, "cost": 3, "later": 5}) == {"saved": 8}
    program = a_program(saved=8, later=5, calls=7).recorded
    whole = run_of(program, "x.py").whole
    assert (whole.saved, whole.operators, whole.parts) == (8, 2, ())


def test_an_export_has_the_weights_of_calls() -> None:
    events = json.loads(exported(stacks_of(a_program(saved=8), None), "chrome"))["traceEvents"]
    assert next(event["args"] for event in events if event["name"] == "relu") == {"calls": 2, "self": 1_000, "saved": 8}


def test_weights_are_added_by_name() -> None:
    assert added(({"saved": 8}, {}, {"saved": 1, "device": 2})) == {"saved": 9, "device": 2}
    assert added(()) == {}
    assert Weighed() == Weighed(**known_weights({}))
