"""`ptexplore notes check`: where every anchor is on the tree in use, and whether every lab still shows what it says."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.cli.completion import complete_tour
from ptexplore.cli.options import AsJson, Notes, Python, Tree
from ptexplore.errors import FAILED, MISSING

if TYPE_CHECKING:
    from ptexplore.view.notes.labs import LabResult


def check_notes(
    only: Annotated[
        list[str] | None, Argument(metavar="[TOUR[#STOP] ...]", help="only these", autocompletion=complete_tour)
    ] = None,
    run_labs: Annotated[bool, Option("--run", help="run every lab that is shipped or trusted, too")] = False,
    timeout: Annotated[float, Option(metavar="S", help="seconds that a run of a lab may take (60)")] = 60.0,
    everything: Annotated[bool, Option("--all", help="list the anchors that are exact, too")] = False,
    as_json: AsJson = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """
    Place every anchor: exact, moved, changed, ambiguous or lost.
    Exit code 3 where one is lost or ambiguous, 1 where a file or a lab is wrong.
    """

    def ran(result: LabResult) -> None:
        from ptexplore.render.terminal.notes import lab_line

        print(lab_line(result), file=sys.stderr, flush=True)

    with open_workspace(python, tree, notes or ()) as workspace:
        view = workspace.check_notes(only or (), run_labs=run_labs, timeout=timeout, ran=ran)
    if as_json:
        from ptexplore.view.notes.check import check_document

        json.dump(check_document(view), sys.stdout)
        print()
    else:
        from ptexplore.render.terminal.console import make_console
        from ptexplore.render.terminal.notes import print_check

        print_check(make_console(), view, everything=everything)
    return MISSING if view.broken else FAILED if view.failed else 0
