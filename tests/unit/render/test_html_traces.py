"""The page of a trace on a site: no command of a terminal, no markup as text, places that fit, named columns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ptexplore.model.actions import StepOperator
from ptexplore.model.place_reasons import NotIndexed
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import KindsStepped, OneOfEach
from ptexplore.model.trace import Finding
from ptexplore.render.html.output import Output
from ptexplore.render.html.places import places
from ptexplore.render.html.traces import Traces, first_rows
from ptexplore.view.line import Line
from ptexplore.view.site.recorded import labelled, meanings_on_page, on_page
from ptexplore.view.site.site import Settings, Site
from ptexplore.view.trace.page import ScreenRow, TraceView
from ptexplore.view.words.legend import SIGNS
from ptexplore.view.words.reasons import sentence
from tests.unit.render.test_html_lines import page_of
from tests.unit.render.test_stacks import trace as expression
from tests.unit.view.test_lines import program, trace

SITE = Site(Settings("Traces", "core"), [], {}, {}, {}, traces=True)
LONG = SourceRef("runtime", "build/aten/src/ATen/RegisterCompositeExplicitAutogradNonFunctional_0.cpp", 1282, "located")
SHORT = SourceRef("runtime", "aten/src/ATen/native/Copy.cpp", 7, "located")


def rows_of(*rows: ScreenRow, columns: tuple[str, ...] = ()) -> str:
    view = TraceView(title="f()", facts=(), name="what ran", told="why", table=rows, columns=columns)
    return str(first_rows(SITE, expression(), view, "traces/given.html"))


def test_why_a_place_is_not_known_is_markup_and_offers_no_command() -> None:
    ref = SourceRef("runtime", None, None, "unknown", reason=NotIndexed())
    shown = str(places(SITE, "traces/given.html")(ref, "impl"))
    assert "<span class=w>(the text of the installed torch has no index yet)</span>" in shown
    assert "&lt;" not in shown
    assert "ptexplore" not in shown


def test_a_finding_offers_no_command_and_so_no_path_of_another_machine() -> None:
    told = KindsStepped(1, 4, OneOfEach(), 7, (), StepOperator("/opt/somebody/train.py", "ones"), "ones")
    given = replace(expression(), findings=(Finding("stepped", told),))
    assert "/opt/somebody" in sentence(told)
    (finding,) = on_page(given).findings
    assert (
        sentence(finding.told)
        == "1 of 4 kinds of operator calls and nodes was stepped, one call of each, 7 instructions"
    )


def test_the_page_of_a_program_names_no_option(tmp_path: Path) -> None:
    page = page_of(trace(program()), tmp_path / "site")
    assert not re.findall(r"[^>]*(?:ptexplore trace| --\w)[^<]*", re.sub(r"(?s)<head>.*?</head>", "", page))


def test_a_legend_has_no_sign_of_an_option() -> None:
    assert meanings_on_page([SIGNS["open"], SIGNS["number"], ("share", "a part")]) == (("share", "a part"),)


def test_a_row_with_a_long_place_is_as_high_as_the_place() -> None:
    shown = rows_of(ScreenRow("f", place=SHORT), ScreenRow("g", 1, place=LONG), ScreenRow("h", 1))
    assert re.findall(r"<li[^>]*>", shown) == ["<li>", "<li class=two>", "<li>"]


def test_a_table_has_no_empty_column_and_each_figure_names_its_column() -> None:
    rows = (ScreenRow("f", cells=("1 s", "", "3")), ScreenRow("g", cells=("", "", "4")))
    shown = rows_of(*rows, columns=("time", "saved", "calls"))
    assert re.findall(r"<th scope=col[^>]*>([^<]*)</th>", shown) == ["what ran", "time", "calls", "where"]
    assert re.findall(r'<td class=number data-column="(\w+)">([^<]*)</td>', shown) == [
        ("time", "1 s"), ("calls", "3"), ("calls", "4"),
    ]  # fmt: skip


def test_a_line_about_an_error_has_its_label_beside_it() -> None:
    assert labelled(Line("text", "why           it is too small")) == ("why", Line("text", "it is too small"))
    drawing = "              │ 0,0 │"
    assert labelled(Line("text", drawing)) == ("", Line("text", "│ 0,0 │"))
    longer = Line("text", "a label that is longer than the margin")
    assert labelled(longer) == ("", longer)


def test_two_traces_of_one_program_can_be_told_apart(tmp_path: Path) -> None:
    out = Output(tmp_path)
    out.begin()
    Traces(SITE, out, [("before", expression(), None), ("after", expression(), None)], {}).write()
    out.finish()
    listed = re.findall(r"<code>(.*?)</code></a>", (tmp_path / "traces/index.html").read_text(encoding="utf-8"))
    assert [text.rpartition(" ")[2] for text in listed] == ["(before)", "(after)"]
