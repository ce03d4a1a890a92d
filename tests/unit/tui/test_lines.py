"""The lines of a program in `browse`: figures in columns with headings, and what Enter says of a file of yours."""

from __future__ import annotations

import pytest

from ptexplore.tui.messages import OpenTrace
from ptexplore.tui.screens.trace import TraceScreen
from tests.unit.tui.test_reading import screen, until
from tests.unit.view.test_lines import program, trace


@pytest.mark.parametrize("size", [(80, 30), (160, 40)])
def test_the_figures_of_lines_are_in_columns_below_their_headings(drive, size):
    async def reading(app, pilot):
        app.post_message(OpenTrace(trace(program())))
        await until(pilot, lambda: isinstance(app.screen, TraceScreen))
        tree = app.screen.tree_of_hops
        while tree.shown != "lines":
            await pilot.press("v")
        await until(pilot, lambda: "return" in screen(app) or "def forward" in screen(app))
        shown = screen(app).split("\n")
        (heading,) = (line for line in shown if "self" in line and "backward" in line)
        (relu,) = (line for line in shown if " 12  in Net.forward" in line)
        for name, cell in (("time", "110 ms"), ("self", "110 ms"), ("backward", "300 ms"), ("saved", "1.0 kB")):
            end = heading.index(name) + len(name)
            assert relu[:end].endswith(cell), (name, relu)
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: "is in no source of PyTorch" in screen(app).replace("\n", " "))
        assert isinstance(app.screen, TraceScreen), "a file of yours is in no tree: nothing opens"

    drive("", reading, size=size)


def test_the_figures_of_nested_rows_have_the_words_of_their_headings(drive):
    async def reading(app, pilot):
        app.post_message(OpenTrace(trace(program())))
        await until(pilot, lambda: isinstance(app.screen, TraceScreen) and "Net" in screen(app))
        shown = screen(app)
        assert "100% train.py  1.05 s  1 call  12 ops  1.0 kB saved" in shown
        assert "Net  300 ms  300 ms backward  3 calls  12 ops" in shown

    drive("", reading, size=(160, 40))
