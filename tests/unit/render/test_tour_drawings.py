"""Drawings made of characters in a stop of a tour: whole at each width, in the terminal and in `browse`."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import load
from ptexplore.render.terminal.tour import is_beside, print_stop
from ptexplore.view.notes.prose import lines_of_drawings
from ptexplore.view.notes.tour import Excerpt, Guide, StopView

SHORT = "┌──────┐"
LONG = " ".join(f"column{n:02}" for n in range(9))  # 80 columns
TEXT = f"""---
id: drawn
title: Drawn
baseline: v2.99.0
---

## A picture {{#picture}}

```anchor
path: a.py
symbol: a
```

Some words before it, which are long enough to be folded beside a source of sixty columns, in any terminal.

```text
{SHORT}
{LONG}
```
"""
SOURCE = Excerpt((1, 1), first=1, lines=("def a():", "    pass"), language="python", before=(), after=())


@pytest.fixture
def stop(tmp_path: Path) -> StopView:
    (tmp_path / "drawn.md").write_text(TEXT, encoding="utf-8")
    library = load(layers([str(tmp_path)], shipped=False))
    return Guide(library, ()).stop(library.tours["drawn"], 1)


def shown(stop: StopView, width: int, excerpt: Excerpt | None = SOURCE, *, terminal: bool = True) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    print_stop(console, stop, excerpt)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).split("\n")
    assert all(cell_len(line) <= width for line in lines) or not terminal
    return [line.rstrip() for line in lines]


def test_the_lines_of_a_drawing_are_told_from_prose() -> None:
    assert lines_of_drawings(TEXT) == [SHORT, LONG, ""]


@pytest.mark.parametrize("width", [82, 100, 150, 160, 200])
def test_a_drawing_that_fits_has_each_line_whole(stop: StopView, width: int) -> None:
    lines = shown(stop, width)
    assert sum(LONG in line for line in lines) == 1
    assert any("def a():" in line for line in lines)


def test_the_source_is_beside_a_drawing_only_where_both_can_be_read(stop: StopView) -> None:
    for width, beside in ((140, False), (144, False), (145, True), (160, True)):
        console = Console(file=io.StringIO(), width=width, force_terminal=True)
        assert is_beside(console, stop) is beside, width
        assert any(" │ " in line and "def a():" in line for line in shown(stop, width)) is beside
    words = replace(stop.stop, parts=tuple(replace(part, text="No picture.") for part in stop.stop.parts))
    assert is_beside(Console(file=io.StringIO(), width=120, force_terminal=True), replace(stop, stop=words))


def test_of_a_drawing_that_is_too_wide_the_rest_is_below(stop: StopView) -> None:
    lines = shown(stop, 60)
    at = lines.index(LONG[:60].rstrip())
    assert lines[at - 1] == SHORT, "its lines stay below each other"
    assert lines[at + 1] == "and on its right, from column 61:"
    assert lines[at + 3].strip() == LONG[60:].strip()


def test_a_pipe_gets_each_line_whole(stop: StopView) -> None:
    assert sum(LONG in line for line in shown(stop, 60, terminal=False)) == 1
    assert sum(LONG in line for line in shown(stop, 60, None, terminal=False)) == 1
