"""`ptexplore notes check`: where every anchor is on the tree in use, and whether every lab still shows what it says."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_folders, add_tree, library_of, tree_of
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.annotations.load import Library
    from ptexplore.view.labs import LabResult
    from ptexplore.view.notes import Checked, CheckView


def register(actions: Any) -> None:
    """Add the action to the parser."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "check",
        help="where every anchor is on this tree",
        description="Place every anchor: exact, moved, changed, ambiguous or lost. Exit code 3 where one is lost or "
        "ambiguous, 1 where a file or a lab is wrong.",
    )
    parser.add_argument("only", nargs="*", metavar="TOUR[#STOP]", help="only these")
    parser.add_argument(
        "--run", action="store_true", dest="run_labs", help="run every lab that is shipped or trusted, too"
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds that a run of a lab may take (60)"
    )
    parser.add_argument("--all", action="store_true", help="list the anchors that are exact, too")
    parser.add_argument("--json", action="store_true", help="as JSON (format 1)")
    add_folders(parser)
    add_tree(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print every anchor by outcome; 3 where one is lost or ambiguous, else 1 where anything else is wrong."""
    library = library_of(options)
    _known(library, options.only)
    view = check(library, options)
    if options.json:
        from ptexplore.view.notes import check_document

        json.dump(check_document(view), sys.stdout)
        print()
    else:
        from ptexplore.render.console import make_console
        from ptexplore.render.notes import print_check

        print_check(make_console(), view, everything=options.all)
    return MISSING if view.broken else FAILED if view.failed else 0


def check(library: Library, options: argparse.Namespace) -> CheckView:
    """What became of every anchor, and of every lab where they are asked to run."""
    from ptexplore.annotations.anchors import Resolver, broken_links, resolve_all
    from ptexplore.annotations.concepts import load_path
    from ptexplore.view.notes import Checked, CheckView

    here = tree_of(options)
    resolver = Resolver(here.tree, here.store)
    placed = resolve_all(library, resolver, options.only or None)
    problems = (*library.problems, *broken_links(placed, resolver), *load_path(library).problems)
    found = tuple(Checked(*one) for one in placed)
    labs = tuple(_labs(found, options)) if options.run_labs else None
    folders = tuple(layer.shown for layer in library.layers)
    return CheckView(here.tree.info, found, problems, labs, folders)


def _labs(found: tuple[Checked, ...], options: argparse.Namespace) -> list[LabResult]:
    from ptexplore.cli.labs import run_labs
    from ptexplore.cli.ready import ready
    from ptexplore.render.notes import lab_line

    stops = [(one.tour, one.stop) for one in found if one.stop.labs]
    results = []
    for result in run_labs(stops, ready(options.python), options.timeout) if stops else ():
        print(lab_line(result), file=sys.stderr, flush=True)
        results.append(result)
    return results


def _known(library: Library, only: list[str]) -> None:
    for name in only:
        if name not in library.tours and library.stop(name) is None:
            known = ", ".join(sorted(library.tours)) or "none"
            raise PtexploreError(
                f"there is no tour or stop {name}", f"there are {known}", "ptexplore notes check", USAGE
            )
