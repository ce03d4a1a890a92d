"""The page of rungs, and one operator on all rungs, from records."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ptexplore.errors import PtexploreError
from ptexplore.model.compiler_log import CodeLine
from ptexplore.model.rungs import LowerReport, Rung, RungDifference, RungFailure, RungOperator
from ptexplore.resolve.lowering import conclude_rungs
from ptexplore.saved.lowered import lower_from_json, lower_to_json
from ptexplore.view.lower_opened import followed_page, rungs_page
from ptexplore.view.lower_page import lower_page
from tests.unit.resolve.test_lowering import CORE, EXPORT, FUNCTIONAL, run_of

AT = CodeLine("/w/net.py", 3, "forward", "return x")


def report_of(*rungs: Rung) -> LowerReport:
    """The report of a run with these rungs."""
    return conclude_rungs(run_of(*rungs))


def test_the_neighbours_that_differ_most_are_shown() -> None:
    page = lower_page(report_of(EXPORT, FUNCTIONAL, CORE))
    assert [row.name for row in page.sections[0].rows] == ["export", "functional", "core"]
    shown = {row.name: row.text for row in page.sections[1].rows}
    assert set(shown) == {"aten.add_", "aten.clone", "(added)"}
    assert shown["aten.add_"] == "aten.add"


def test_a_rung_that_is_not_core_names_the_operators() -> None:
    operators = (
        RungOperator("a", "mine.twice.default", is_core=False, is_custom=True),
        RungOperator("b", "aten.mm.default", is_core=True),
    )
    page = lower_page(report_of(Rung("core", 2, operators)))
    (line,) = page.sections[0].rows[0].lines
    assert line.text.startswith("mine.twice ")
    assert "aten.mm" not in line.text


def test_a_result_that_is_not_close_is_a_finding() -> None:
    far = RungDifference(0.5, 0.5, is_close=False, part="result")
    close = RungDifference(1e-7, 1e-7, part="result")
    assert len(lower_page(report_of(replace(EXPORT, difference=far))).findings) == 1
    assert not lower_page(report_of(replace(EXPORT, difference=close))).findings


def test_a_failed_rung_shows_your_line_and_two_rungs_show_it_instead_of_a_graph() -> None:
    failed = Rung("functional", failure=RungFailure("raised", "ValueError", "no\nfurther", at=AT))
    report = report_of(EXPORT, failed)
    row = lower_page(report).sections[0].rows[1]
    assert [line.text for line in row.lines] == ["ValueError: no", "return x"]
    assert rungs_page(report, ("export", "functional")) == lower_page(report)


def test_a_rung_that_was_not_made_names_the_option_that_helps_except_on_a_site() -> None:
    report = report_of(EXPORT, Rung("functional", failure=RungFailure("late")))
    shown, on_site = (lower_page(report, on_site=on_site).sections[0].rows[1].text for on_site in (False, True))
    assert shown == f"{on_site} (--timeout)"


def test_one_operator_is_followed_over_all_links() -> None:
    report = report_of(EXPORT, FUNCTIONAL, CORE)
    (section,) = followed_page(report, "linear").sections
    texts = {row.name: [line.text.split("  ")[1] for line in row.lines] for row in section.rows}
    assert texts == {"export": ["a"], "functional": ["a"], "core": ["p", "m"]}
    (section,) = followed_page(report, "core:m").sections
    texts = {row.name: [line.text.split("  ")[1] for line in row.lines] for row in section.rows}
    assert texts == {"export": ["a"], "functional": ["a"], "core": ["m"]}  # not its sibling


def test_an_unknown_operator_names_those_of_the_run() -> None:
    with pytest.raises(PtexploreError) as error:
        followed_page(report_of(EXPORT), "conv2d")
    assert "aten.linear" in error.value.why


def test_rungs_without_links_are_beside_each_other_by_line() -> None:
    upper = Rung("fx", 1, (RungOperator("a", "torch.relu", at=AT),))
    lower = Rung("aten", 2, (RungOperator("a", "aten.relu.default", at=AT), RungOperator("b", "aten.t.default")))
    (section,) = rungs_page(report_of(upper, lower), ("fx", "aten")).sections
    assert [(row.name, row.text) for row in section.rows] == [("torch.relu", "aten.relu"), ("", "aten.t")]


def test_a_saved_run_is_the_same_after_loading() -> None:
    report = report_of(EXPORT, FUNCTIONAL, CORE)
    assert lower_page(lower_from_json(lower_to_json(report).encode(), "f")) == lower_page(report)


@pytest.mark.parametrize("text", [b"", b"{}", b'{"kind": "lower", "format": 1}', b'{"kind": "compile", "format": 1}'])
def test_another_file_is_refused(text: bytes) -> None:
    with pytest.raises(PtexploreError):
        lower_from_json(text, "f")
