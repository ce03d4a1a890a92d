"""Saved runs of `lower` from a stranger: what does not fit together is refused. scripts/fuzz changes all kinds."""

from __future__ import annotations

import pytest
from msgspec import structs

from ptexplore.errors import PtexploreError
from ptexplore.model.options import TraceOptions
from ptexplore.model.rungs import LadderRungs, LoweredSubject, LowerReport, LowerRun, Rung, RungLink, RungOperator
from ptexplore.model.trace import TorchInfo
from ptexplore.resolve.lowering import conclude_rungs
from ptexplore.saved.lowered import lower_from_json, lower_to_json
from ptexplore.view.lower_opened import followed_page
from tests.hanging import ends


def lowered(*rungs: Rung) -> LowerReport:
    run = LowerRun(
        expression="f(x)", torch=TorchInfo("2.13.0"), options=TraceOptions(), bound=(),
        ladder=LadderRungs(LoweredSubject(""), rungs),
    )  # fmt: skip
    return conclude_rungs(run)


@pytest.mark.parametrize("rungs, why", [((), "no rung"), ((Rung("fx"), Rung("fx")), "twice")])
def test_a_ladder_has_each_rung_once(rungs: tuple[Rung, ...], why: str) -> None:
    report = structs.replace(lowered(Rung("fx")), rungs=rungs)
    with pytest.raises(PtexploreError) as refused:
        lower_from_json(lower_to_json(report).encode(), "x")
    assert why in refused.value.why


def test_an_operator_is_followed_to_many() -> None:
    """Before the links were indexed, 20,000 operators that one was made into took more than 120 s."""
    many = tuple(RungOperator(f"m{n}", "prims.mul", sources=(RungLink("core", "one"),)) for n in range(20_000))
    rungs = (Rung("core", 1, (RungOperator("one", "aten.gelu.default"),)), Rung("prims", 20_000, many, "core"))
    with ends(30.0):
        page = followed_page(lowered(*rungs), "gelu")
    assert sum(len(row.lines) for row in page.sections[0].rows) == 20_001
