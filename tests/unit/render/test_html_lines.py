"""The page of a recorded program on a site has its lines: figures in columns, and the text of each line."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from ptexplore.model.trace import Trace
from ptexplore.render.html.output import Output
from ptexplore.render.html.traces import Traces
from ptexplore.view.site.site import Settings, Site
from tests.unit.render.test_stacks import trace as expression
from tests.unit.view.test_lines import program, trace


def page_of(shown: Trace, root: Path) -> str:
    site = Site(Settings("Lines", "core"), [], {}, {}, {}, traces=True)
    out = Output(root)
    out.begin()
    Traces(site, out, [("given", shown, None)], {}).write()
    out.finish()
    return (root / "traces/given.html").read_text(encoding="utf-8")


def test_a_recorded_program_has_its_lines_with_their_figures(tmp_path: Path) -> None:
    section = page_of(trace(program()), tmp_path / "site").partition("<h2>Your lines</h2>")[2].partition("<h2>")[0]
    headings = re.findall(r"<th [^>]*>([^<]*)</th>", section)
    assert headings == ["time", "self", "backward", "calls", "ops", "saved", "line"]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(<td.*?)</tr>", section)]
    named = {unescape(re.sub(r"<[^>]*>", "", row[-1])): row[:-1] for row in rows}
    assert named["   12  in Net.forward"] == ["110 ms", "110 ms", "300 ms", "5", "5", "1.0 kB"]
    assert named["   30  " + "    out = model(x)"][0] == "300 ms", "the indentation of the text is kept"
    assert next(iter(named)) == "train.py"


def test_an_expression_has_no_lines(tmp_path: Path) -> None:
    assert "Your lines" not in page_of(expression(), tmp_path / "site")
