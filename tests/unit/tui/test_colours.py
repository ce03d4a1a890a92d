"""Rows that are too long for the screen: what of them goes first."""

from __future__ import annotations

import pytest
from textual.content import Content

from ptexplore.tui.widgets.colours import cut_to, hung
from ptexplore.view.line import Span

ROW = [Span("at::mix", "title"), Span("  "), Span("aten/src/ATen/native/Mix.cpp:12", "place"), Span("  "),
       Span("version-skew", "version-skew"), Span(" (one is 2.6, the other 2.13)", "reason")]  # fmt: skip


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (83, "at::mix  aten/src/ATen/native/Mix.cpp:12  version-skew (one is 2.6, the other 2.13)"),
        (70, "at::mix  aten/src/ATen/native/Mix.cpp:12  version-skew (one is 2.6, t…"),
        (50, "at::mix  …rc/ATen/native/Mix.cpp:12  version-skew…"),
        (38, "at::mix  …ative/Mix.cpp:12  version-s…"),
        (8, "at::mix…"),
        (1, "…"),
    ],
)
def test_reasons_go_first_then_the_beginnings_of_paths(room, shown):
    assert "".join(span.text for span in cut_to(ROW, room)) == shown


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("short", 30, ["short"]),
        ("a/path/that/is/long/File.cpp:12  located", 30, ["a/path/that/is/long/", "  File.cpp:12  located"]),
        ("at::native::structured_add_kernel_of_it", 30, ["at::native::structured_add_", "  kernel_of_it"]),
        ("(const Tensor & self, const Scalar & other)", 30, ["(const Tensor & self, const", "  Scalar & other)"]),
        ("x" * 45, 30, ["x" * 30, "  " + "x" * 15]),
    ],
)
def test_a_line_goes_on_behind_a_part_of_a_name_and_set_in(text, room, lines):
    hanging = hung(Content(text), room, 2)
    assert hanging.plain.split("\n") == lines
    assert hung(Content(text), 0, 2).plain == text, "where the room is not known yet"


def test_the_line_of_a_place_stays_when_a_name_is_too_long_for_its_row() -> None:
    spans = [
        Span("  39%   3% self ", "count"),
        Span("AutogradCPU  VariableType::add_Tensor", "title"),
        Span("  records nothing: no input requires grad", "note"),
        Span("  "),
        Span("torch/csrc/autograd/generated/VariableType_2.cpp:3359", "place"),
    ]
    for room in range(54, 160):
        shown = "".join(span.text for span in cut_to(spans, room))
        assert len(shown) <= room
        assert shown.startswith("  39%   3% self AutogradCPU")
        assert shown.endswith(".cpp:3359"), (room, shown)
