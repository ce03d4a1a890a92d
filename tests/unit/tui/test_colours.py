"""Rows that are too long for the screen: what of them goes first."""

from __future__ import annotations

import pytest

from ptexplore.tui.widgets.colours import cut_to
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
