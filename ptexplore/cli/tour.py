"""`ptexplore tour`: list the tours, walk one in the terminal, show the path of concepts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.cli.completion import complete_stop, complete_tour
from ptexplore.cli.options import AsJson, Notes, Python, Tree
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.annotations.records import Tour
    from ptexplore.view.notes.tour import Guide

EPILOG = """\
while walking: Enter or n next, b back, l run the stop's labs (l 2: the second), o open the source in $EDITOR,
               c contents, g STOP go to a stop, q quit; Ctrl-D and Ctrl-C leave, too
"""


def tour(
    name: Annotated[
        str | None,
        Argument(metavar="[TOUR]", help="its id, as the list has it; TOUR#STOP, too", autocompletion=complete_tour),
    ] = None,
    stop: Annotated[
        str | None, Argument(metavar="[STOP]", help="a stop's id or number", autocompletion=complete_stop)
    ] = None,
    everything: Annotated[bool, Option("--all", help="print the whole tour, or the one stop, without prompts")] = False,
    path: Annotated[bool, Option("--path", help="the concepts in four stages, and what of them is done")] = False,
    as_json: AsJson = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """List the tours; walk one, from STOP on or from where you left it; notes are read the same way."""
    if path and name:
        hint = "ptexplore tour --path"
        raise PtexploreError("--path is about all tours", f"{name} was given with it", hint, USAGE)
    with open_workspace(python, tree, notes or ()) as workspace:
        library = workspace.library
        if path:
            return _path(library, as_json=as_json)
        if name is None:
            return _list(library, as_json=as_json)
        from ptexplore.view.notes.tour import find_stop, find_tour

        tour_id, _, stop_id = name.partition("#")
        found = find_tour(library, tour_id)
        asked = stop or stop_id
        number = find_stop(found, asked) if asked else None
        if as_json:
            return _document(workspace.guide(), found, number)
        if everything or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return _print(workspace.guide(), found, number)
        from ptexplore.cli.tour_walk import TerminalWalk

        return TerminalWalk(found, workspace.guide(), workspace).walk(number)


def _list(library: NoteLibrary, *, as_json: bool) -> int:
    from ptexplore.annotations.progress import load_progress
    from ptexplore.view.notes.tour import no_tours
    from ptexplore.view.notes.tour_list import listing, listing_document

    progress = load_progress()
    rows = listing(library, progress)
    if as_json:
        json.dump(listing_document(rows), sys.stdout)
        print()
        return 0
    if not rows:
        raise no_tours(library)
    from ptexplore.render.terminal.console import make_console
    from ptexplore.render.terminal.tour_list import print_problems, print_tours

    print_tours(make_console(), rows)
    print_problems(make_console(stderr=True), library.problems)
    _trouble(progress.trouble)
    return 0


def _path(library: NoteLibrary, *, as_json: bool) -> int:
    from ptexplore.annotations.concepts import load_path
    from ptexplore.annotations.progress import load_progress
    from ptexplore.view.notes.tour_list import path_document, path_view

    progress = load_progress()
    path = load_path(library)
    view = path_view(library, path, progress)
    if as_json:
        json.dump(path_document(view), sys.stdout)
        print()
        return 0
    from ptexplore.render.terminal.console import make_console
    from ptexplore.render.terminal.tour_list import print_path, print_problems

    print_path(make_console(), view)
    print_problems(make_console(stderr=True), path.problems)
    _trouble(progress.trouble)
    return 0


def _document(guide: Guide, tour: Tour, number: int | None) -> int:
    from ptexplore.annotations.progress import load_progress
    from ptexplore.cli.tour_walk import ROOM
    from ptexplore.view.notes.tour_list import tour_document

    numbers = [number] if number is not None else list(range(1, len(tour.stops) + 1))
    json.dump(tour_document(guide, tour, numbers, load_progress(), ROOM), sys.stdout)
    print()
    return 0


def _print(guide: Guide, tour: Tour, number: int | None) -> int:
    """The whole tour, or one stop of it."""
    from ptexplore.cli.tour_walk import fitting
    from ptexplore.render.terminal.console import captured, make_console
    from ptexplore.render.terminal.tour import print_intro, print_stop

    console = make_console()
    if number is None:
        sys.stdout.write("\n".join([*captured(print_intro, console, tour), "", ""]))
    for at in [number] if number is not None else range(1, len(tour.stops) + 1):
        view = guide.stop(tour, at)
        lines = captured(print_stop, console, view, fitting(console, guide, view), reveal=True)
        sys.stdout.write("\n".join([*lines, *([""] if number is None else []), ""]))
    return 0


def _trouble(text: str) -> None:
    if text:
        from ptexplore.safe_text import clean

        print(clean(f"what was read before is not known: {text}"), file=sys.stderr)
