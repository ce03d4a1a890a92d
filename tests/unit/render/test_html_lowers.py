"""The page of a run of `lower`: what torch links is in one row, other rungs are beside each other by line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptexplore.model.compiler_log import CodeLine
from ptexplore.model.options import TraceOptions
from ptexplore.model.rungs import LadderRungs, LoweredSubject, LowerReport, LowerRun, Rung, RungLink, RungOperator
from ptexplore.model.trace import TorchInfo
from ptexplore.render.html.check import broken
from ptexplore.render.html.lowers import Lowers
from ptexplore.render.html.output import Output
from ptexplore.resolve.lowering import conclude_rungs
from ptexplore.view.site.lowered import NO_LINE, lowered_on_page
from ptexplore.view.site.site import Settings, Site

LINE = CodeLine("/opt/somebody/net.py", 3, "forward", "return x @ self.w <b>")


def made(name: str, operator: str, *sources: str, above: str = "export", at: CodeLine | None = LINE) -> RungOperator:
    links = tuple(RungLink(above, source) for source in sources)  # type: ignore[arg-type]
    return RungOperator(name, operator, type="float32[2]", at=at, sources=links)


@pytest.fixture
def report() -> LowerReport:
    rungs = (
        Rung("fx", 1, (made("matmul", "torch.matmul"),)),
        Rung("export", 2, (made("linear", "aten.linear.default"), made("relu", "aten.relu.default", at=None))),
        Rung("core", 3, (
            made("permute", "aten.permute.default", "linear"), made("addmm", "aten.addmm.default", "linear"),
            made("relu_1", "aten.relu.default", "relu"), made("full", "aten.full.default", at=None),
        ), links_to="export"),
        Rung("prims", 1, (made("mul", "prims.mul.default", "addmm", above="core"),), links_to="core"),
    )  # fmt: skip
    run = LowerRun(
        expression="net(x)", torch=TorchInfo("2.13.0", torch_dir="/env/site-packages/torch"), options=TraceOptions(),
        bound=(), ladder=LadderRungs(LoweredSubject("Net"), rungs), cwd="/opt/somebody",
    )  # fmt: skip
    return conclude_rungs(run)


def test_a_row_has_one_operator_and_all_that_was_made_of_it(report: LowerReport) -> None:
    linked = lowered_on_page(report).linked
    assert linked is not None
    assert linked.rungs == ("export", "core", "prims")
    cells = [[[one.called for one in cell] for cell in row.cells] for row in linked.rows]
    assert cells == [
        [["aten.linear"], ["aten.permute", "aten.addmm"], ["prims.mul"]],
        [["aten.relu"], ["aten.relu"], []],
        [[], ["aten.full"], []],
    ]
    assert [row.text for row in linked.rows] == [LINE.text, NO_LINE, ""]
    assert linked.rows[0].cells[1][0].calls == ("permute  float32[2]",)


def test_rungs_without_links_are_by_line(report: LowerReport) -> None:
    by_line = lowered_on_page(report).by_line
    assert by_line is not None
    assert (by_line.rungs, [row.text for row in by_line.rows]) == (("fx",), [LINE.text])


def test_the_page_leads_to_operators_and_names_no_folder(report: LowerReport, tmp_path: Path) -> None:
    site = Site(Settings("Runs", "core"), [], {}, {}, {"aten::addmm": "ops/aten/addmm.html"}, traces=True)
    out = Output(tmp_path)
    out.begin()
    lowers = Lowers(site, out, [("net", report)])
    lowers.write()
    out.finish()
    page = (tmp_path / "lowers/net.html").read_text(encoding="utf-8")
    assert '<a href="../ops/aten/addmm.html"><code>' in page
    assert "<b>" not in page.replace("<b>?", "")
    assert "/opt/somebody" not in page
    assert [one[0] for one in lowers.listed()] == ["net(x)"]
    assert not [link for link in broken(tmp_path)[1] if "#" in link]
    assert len(re.findall(r"<tr tabindex", page)) == 4
    assert '<h2 id="changes">What core → prims changes</h2>' in page
    assert 'data-rung="prims"' in page, "a phone shows no heads of columns"
    assert "ptexplore lower" not in page
