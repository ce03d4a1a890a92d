"""A stop of a tour as a text, for an editor that shows it beside the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.workspace.workspace import Workspace

_LINES = 24  # lines of source at a stop


def stop_text(workspace: Workspace, name: str, width: int) -> str:
    """Returns a stop ("tour#stop") as `ptexplore tour` prints it. Raises PtexploreError if there is no such stop."""
    from ptexplore.render.terminal.console import plain_text
    from ptexplore.render.terminal.tour import print_stop
    from ptexplore.view.notes.tour import find_stop, find_tour

    tour_id, _, stop_id = name.partition("#")
    tour = find_tour(workspace.library, tour_id)
    guide = workspace.guide()
    view = guide.stop(tour, find_stop(tour, stop_id))
    return plain_text(lambda console: print_stop(console, view, guide.excerpt(view, _LINES)), width)
