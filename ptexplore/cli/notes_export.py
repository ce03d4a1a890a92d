"""`ptexplore notes export --codetour DIR`: the tours as files that VS Code's CodeTour opens."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_folders, add_tree, library_of, tree_of
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.writing import write_whole

if TYPE_CHECKING:
    from ptexplore.annotations.load import Library
    from ptexplore.annotations.records import Tour
    from ptexplore.cli.ready import Indexed
    from ptexplore.view.codetour import Exported


def register(actions: Any) -> None:
    """Add the action to the parser."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "export",
        help="tours as files of VS Code's CodeTour",
        description="Write each tour twice: TOUR.tour finds its lines by patterns, made now of your own checkout's "
        "text; TOUR-REF.tour has the lines of one revision. CodeTour looks in the checkout's folder .tours.",
    )
    parser.add_argument("only", nargs="*", metavar="TOUR", help="only these")
    parser.add_argument("--codetour", metavar="DIR", required=True, help="the folder that the files go into")
    parser.add_argument("--force", action="store_true", help="write over files that are there")
    add_folders(parser)
    add_tree(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files, and say which stops have no place in them."""
    from ptexplore.view.tour import find_tour, in_order

    library = library_of(options)
    tours = [find_tour(library, name) for name in options.only]
    tours = tours or [tour for tour in in_order(library) if tour.kind == "tour" and tour.stops]
    if not tours:
        from ptexplore.view.tour import no_tours

        raise no_tours(library)
    here = tree_of(options)
    if here.checkout is None:
        why = "patterns and lines are made of a checkout's text, and only the installed torch's own is in use"
        raise PtexploreError("there is no checkout to export for", why, "ptexplore fetch", MISSING)
    files = [one for number, tour in enumerate(tours) for one in _both(library, here, tour, primary=number == 0)]
    folder = Path(options.codetour)
    _check(folder, files, force=options.force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in files:
            write_whole(folder / one.name, json.dumps(one.document, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        why = f"{error.filename or folder}: {error.strerror or error}"
        raise PtexploreError(f"{folder} cannot be written", why, "another --codetour DIR", FAILED) from error
    _tell(folder, files)
    return 0


def _both(library: Library, here: Indexed, tour: Tour, *, primary: bool) -> list[Exported]:
    from ptexplore.annotations.anchors import Resolver
    from ptexplore.view.codetour import pinned, portable

    resolver = Resolver(here.tree, here.store)
    names = [tour.name_of(stop) for stop in tour.stops]
    found = [
        resolver.resolve(name, stop.anchor, library.entries.get(name))
        for name, stop in zip(names, tour.stops, strict=True)
    ]
    files = [portable(tour, found, here.tree.lines, primary=primary)]
    ref = _ref(here, tour)
    return [*files, pinned(tour, found, ref)] if ref is not None else files


def _ref(here: Indexed, tour: Tour) -> str | None:
    """What git calls the source at hand: its commit, or the release's tag; None where it is of no revision."""
    from ptexplore.annotations.anchors import is_baseline

    checkout = here.checkout
    if checkout is None or checkout.modified:
        return None
    if is_baseline(here.tree.info, tour.baseline):
        return tour.baseline
    return f"v{checkout.release}" if checkout.release else checkout.commit


def _check(folder: Path, files: list[Exported], *, force: bool) -> None:
    there = [one.name for one in files if (folder / one.name).exists()]
    if there and not force:
        why = f"{', '.join(there[:5])} in {folder}"
        raise PtexploreError("files of these names are there already", why, "--force writes over them", USAGE)


def _tell(folder: Path, files: list[Exported]) -> None:
    from ptexplore.render.plain import clean

    for one in files:
        steps = len(one.document["steps"])
        print(clean(f"{folder / one.name}: {steps} steps"))
        for stop, why in one.placeless:
            print(clean(f"  {stop} has no place: {why}"))
