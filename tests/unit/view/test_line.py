"""What a line, a place and a row say, span by span, whoever draws them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import Said
from ptexplore.view.line import Line, Span
from ptexplore.view.trace.page import ScreenRow, TraceRow

HERE = SourceRef("aten/a.cpp", 7, "checkout", "located", tree="v1")
LOST = SourceRef(None, None, None, "unknown", tree="v1", reason=Said("no such name"))
OTHER = SourceRef("aten/a.cpp", 9, "checkout", "version-skew", tree="v1")


def plain(spans: Iterable[Span]) -> str:
    return "".join(span.text for span in spans)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (Line("reason", "highest of {CPU}"), "highest of {CPU}"),
        (Line("place", "", HERE), "aten/a.cpp:7  located"),
        (Line("place", "declared at", HERE), "declared at aten/a.cpp:7  located"),
        (Line("place", "stub", LOST), "stub unknown (no such name)"),
        (Line("place", "", HERE, Line("place", "body", OTHER)), "aten/a.cpp:7  located  body :9  version-skew"),
        (Line("place", "", HERE, after="(entry of add)"), "aten/a.cpp:7  located (entry of add)"),
        (Line("strong", "CPU", after="fallback"), "CPU  fallback"),
    ],
)
def test_a_line_as_text(line: Line, text: str) -> None:
    assert plain(line.spans) == text


def test_spans_say_what_they_are_and_which_place_they_name() -> None:
    line = Line("place", "body", HERE, Line("place", "", OTHER))
    assert [(span.style, span.tone, span.ref) for span in line.spans if span.text.strip()] == [
        ("label", "dim", None), ("place", "", HERE), ("located", "good", None), ("place", "", OTHER),
        ("version-skew", "doubt", None),
    ]  # fmt: skip


def test_what_leads_to_no_place_leads_to_an_operator_or_a_stop() -> None:
    assert [Line("text", "aten::add", operator="aten::add").leads, Line("text", "t", stop="t#s").leads] == [True, True]
    assert not Line("text", "aten::add").leads
    assert Line("place", "", HERE).leads
    assert not Line("place", "", LOST).leads
    (span,) = Line("text", "aten::add", operator="aten::add").spans
    assert span == Span("aten::add", "link")


@pytest.mark.parametrize(
    ("row", "counted", "text"),
    [
        (TraceRow(3, "aten::add", "op", "observed"), False, "aten::add  op observed  [3]"),
        (TraceRow(3, "aten::add", "op", "observed"), True, "aten::add  op  [3]"),
        (TraceRow(4, "add_kernel", "native", "observed", instructions=1234, inside=2), True,
         "add_kernel  [4]  1,234 instr  +2"),
        (TraceRow(4, "add_kernel", "native", "derived", times=2, hidden=5), True,
         "add_kernel ×2 derived  [4]  +5 below"),
        (TraceRow(4, "add_kernel", "native", "cut"), False, "add_kernel  native cut  [4]"),
    ],
)  # fmt: skip
def test_the_first_line_of_a_row(row: TraceRow, counted: bool, text: str) -> None:
    assert plain(row.heading(counted=counted)) == text


def test_one_place_stands_beside_the_first_line_and_the_rest_below() -> None:
    place, reason = Line("place", "", HERE), Line("reason", "why")
    assert (TraceRow(1, "f", "impl", "observed", lines=(place, reason)).beside) == place
    assert TraceRow(1, "f", "impl", "observed", lines=(place, reason)).further == (reason,)
    assert TraceRow(1, "f", "impl", "observed", lines=(reason, place)).beside is None
    assert TraceRow(1, "f", "impl", "observed", lines=(reason, place)).further == (reason, place)


def test_rows_that_are_alike_differ_in_their_numbers_and_have_sums() -> None:
    first = TraceRow(1, "f", "native", "observed", instructions=10, inside=2)
    second = replace(first, hop=5, instructions=None, inside=1, times=3)
    assert first.alike() == second.alike() != replace(first, title="g").alike()
    assert first.plus(second) == replace(first, inside=3), "what was not counted adds nothing"
    assert second.plus(first).instructions is None, "what has none has no sum"
    row = ScreenRow("f", 1, share=0.25, instructions=10, hop=1, opens="f#1")
    again = replace(row, share=0.5, instructions=5, times=2, hop=7, opens="f#2")
    assert row.alike() == again.alike() != replace(row, level=2).alike()
    assert row.plus(again) == replace(row, share=0.75, instructions=15, times=3)
