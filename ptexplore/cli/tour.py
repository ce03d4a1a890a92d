"""`ptexplore tour`: list the tours, walk one in the terminal, show the path of concepts."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_folders, add_tree, library_of
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.annotations.load import Library
    from ptexplore.annotations.records import Tour
    from ptexplore.view.tour import Guide

EPILOG = """\
while walking: Enter or n next, b back, l run the stop's labs (l 2: the second), o open the source in $EDITOR,
               c contents, g STOP go to a stop, q quit; Ctrl-D and Ctrl-C leave, too
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "tour",
        help="walk me through it, the source beside the words",
        description="List the tours; walk one, from STOP on or from where you left it; notes are read the same way.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="TOUR", help="its id, as the list has it; TOUR#STOP, too")
    parser.add_argument("stop", nargs="?", metavar="STOP", help="a stop's id or number")
    parser.add_argument("--all", action="store_true", help="print the whole tour, or the one stop, without prompts")
    parser.add_argument("--path", action="store_true", help="the concepts in four stages, and what of them is done")
    parser.add_argument("--json", action="store_true", help="as JSON (format 1)")
    add_folders(parser)
    add_tree(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List, walk, print, or show the path."""
    if options.path and options.name:
        hint = "ptexplore tour --path"
        raise PtexploreError("--path is about all tours", f"{options.name} was given with it", hint, USAGE)
    library = library_of(options)
    if options.path:
        return _path(library, options)
    if options.name is None:
        return _list(library, options)
    from ptexplore.view.tour import find_stop, find_tour

    name, _, stop = options.name.partition("#")
    tour = find_tour(library, name)
    asked = options.stop or stop
    number = find_stop(tour, asked) if asked else None
    if options.json:
        return _document(_guide(library, options), tour, number)
    if options.all or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _print(_guide(library, options), tour, number)
    from ptexplore.cli.tour_walk import Walk

    return Walk(tour, _guide(library, options), options.python).walk(number)


def _guide(library: Library, options: argparse.Namespace) -> Guide:
    """The tree in use, and after it what can hold what that does not: the installed torch's own text."""
    from ptexplore.cli.notes import tree_of
    from ptexplore.cli.ready import indexes, installed_index, sources
    from ptexplore.view.tour import Guide

    first = tree_of(options)
    runtime = sources(options.python, needed=False)[0]
    trees = [first]
    if options.tree is None and first.checkout is not None and runtime is not None:
        trees += indexes(options.python, "runtime") if installed_index(runtime) is not None else []
    return Guide(library, trees, runtime.version if runtime is not None else None)


def _list(library: Library, options: argparse.Namespace) -> int:
    from ptexplore.annotations.progress import load_progress
    from ptexplore.view.tour import no_tours
    from ptexplore.view.tour_list import listing, listing_document

    progress = load_progress()
    rows = listing(library, progress)
    if options.json:
        json.dump(listing_document(rows), sys.stdout)
        print()
        return 0
    if not rows:
        raise no_tours(library)
    from ptexplore.render.console import make_console
    from ptexplore.render.tour_list import print_problems, print_tours

    print_tours(make_console(), rows)
    print_problems(make_console(stderr=True), library.problems)
    _trouble(progress.trouble)
    return 0


def _path(library: Library, options: argparse.Namespace) -> int:
    from ptexplore.annotations.concepts import load_path
    from ptexplore.annotations.progress import load_progress
    from ptexplore.view.tour_list import path_document, path_view

    progress = load_progress()
    path = load_path(library)
    view = path_view(library, path, progress)
    if options.json:
        json.dump(path_document(view), sys.stdout)
        print()
        return 0
    from ptexplore.render.console import make_console
    from ptexplore.render.tour_list import print_path, print_problems

    print_path(make_console(), view)
    print_problems(make_console(stderr=True), path.problems)
    _trouble(progress.trouble)
    return 0


def _document(guide: Guide, tour: Tour, number: int | None) -> int:
    from ptexplore.annotations.progress import load_progress
    from ptexplore.cli.tour_walk import ROOM
    from ptexplore.view.tour_list import tour_document

    numbers = [number] if number is not None else list(range(1, len(tour.stops) + 1))
    json.dump(tour_document(guide, tour, numbers, load_progress(), ROOM), sys.stdout)
    print()
    return 0


def _print(guide: Guide, tour: Tour, number: int | None) -> int:
    """The whole tour, or one stop of it."""
    from ptexplore.cli.tour_walk import fitting
    from ptexplore.render.console import make_console
    from ptexplore.render.tour import intro_lines, stop_lines

    console = make_console()
    if number is None:
        sys.stdout.write("\n".join([*intro_lines(console, tour), "", ""]))
    for at in [number] if number is not None else range(1, len(tour.stops) + 1):
        view = guide.stop(tour, at)
        lines = stop_lines(console, view, fitting(console, guide, view), reveal=True)
        sys.stdout.write("\n".join([*lines, *([""] if number is None else []), ""]))
    return 0


def _trouble(text: str) -> None:
    if text:
        from ptexplore.render.plain import clean

        print(clean(f"what was read before is not known: {text}"), file=sys.stderr)
