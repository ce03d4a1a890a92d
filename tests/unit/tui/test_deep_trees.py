"""Trees of thousands of levels in `browse`: every row is reached, and has its name on a screen of 80 columns."""

from __future__ import annotations

import pytest

from ptexplore.model.trace import walk
from ptexplore.tui.messages import OpenTrace
from ptexplore.tui.screens.trace import TraceScreen, levels_for
from tests.unit.tui.test_reading import screen, until
from tests.unit.view.test_deep import nested, other_functions, trace

LEVELS = 4000


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 40)])
def test_the_innermost_row_can_be_read(drive, size):
    deep = trace(nested(LEVELS, other_functions))

    async def reading(app, pilot):
        app.post_message(OpenTrace(deep))
        await until(pilot, lambda: isinstance(app.screen, TraceScreen))
        await pilot.press("f")
        tree = app.screen.tree_of_hops
        await until(pilot, lambda: tree.page.view == "tree" and len(list(tree.nodes())) > LEVELS)
        rows = [node.data.row.hop for node in tree.nodes() if node.data is not None and node.data.row is not None]
        assert rows == [hop.id for hop in walk(deep.hops)]
        for number in (1, 30, 31, 1000, LEVELS):
            app.screen.go_to(number)
            shown = f"f{number}()  python" if number <= levels_for(size[0]) else f"⋯{number - 1} f{number}()  python"
            await until(pilot, lambda shown=shown: shown in screen(app))

    drive("", reading, size=size)


def test_another_width_has_other_guides_and_the_same_row(drive):
    deep = trace(nested(LEVELS, other_functions))

    async def reading(app, pilot):
        app.post_message(OpenTrace(deep))
        await until(pilot, lambda: isinstance(app.screen, TraceScreen))
        await pilot.press("f")
        await until(pilot, lambda: app.screen.tree_of_hops.page.view == "tree")
        app.screen.go_to(40)
        await until(pilot, lambda: "⋯39 f40()" not in screen(app) and " f40()  python" in screen(app))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "⋯39 f40()  python" in screen(app))
        assert app.screen.tree_of_hops.cursor_node.data.row.hop == 40

    drive("", reading, size=(400, 40))
