"""`ptexplore browse`: read the source, its notes and tours on screens of the terminal."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING, Any

from ptexplore.cli.notes import add_folders, add_tree, library_of
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptexplore.model import Runtime
    from ptexplore.tui.app import Start
    from ptexplore.tui.library import Library
    from ptexplore.view.trees import IndexedTree

EXAMPLES = """\
examples:
  ptexplore browse                      what to read: tours, the path of concepts, recent places
  ptexplore browse aten                 the files below aten/src/ATen; c10, csrc and torch, too
  ptexplore browse BinaryOps.cpp:120    a file, at a line
  ptexplore browse at::native::add_kernel
  ptexplore browse dispatcher           a tour
  ptexplore browse --load trace.json    what `ptexplore trace --save` kept

keys: ? lists them; arrows and h j k l, Enter definition, r uses, ctrl+o back, / find, n note, q quit
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "browse",
        help="read it: the tree, the source and the notes side by side",
        description="TARGET: aten, c10, csrc, torch, FILE, FILE:LINE, a symbol, an operator, a tour; none: home.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="?", metavar="TARGET")
    parser.add_argument("--load", metavar="FILE", help="walk a saved trace")
    add_folders(parser)
    add_tree(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Find what was asked for, then take the screen."""
    _check(options)
    library, missing = _library(options)
    start = None if missing else _start(options, library)
    from ptexplore.tui.app import Browser

    app = Browser(library, lambda found: start or _start(options, found), missing)
    app.settled = gc.freeze  # looking through all of that for what is no longer used would hold up a key for 80 ms
    app.run()
    if app.crash is not None:
        if os.environ.get("PTEXPLORE_DEBUG") or isinstance(app.crash, PtexploreError):
            raise app.crash
        why = f"{type(app.crash).__name__}: {app.crash}"
        raise PtexploreError("the screen failed", why, "PTEXPLORE_DEBUG=1 ptexplore browse … shows where", FAILED)
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.load is not None and options.target is not None:
        why = f"--load {options.load} and {options.target} were given"
        raise PtexploreError("a saved trace or a target is opened, not both", why, "ptexplore browse --help", USAGE)
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):  # the screen is drawn on stderr
        why = "browse takes a whole screen, and its input, output or error output is none"
        hint = f"ptexplore show {options.target}" if options.target else "ptexplore tour"
        raise PtexploreError("this is not a terminal", why, hint, USAGE)
    if os.environ.get("TERM", "dumb") == "dumb":
        why = "TERM is dumb or not set: the cursor cannot be moved"
        raise PtexploreError("this terminal has no screen", why, "TERM=xterm-256color ptexplore browse", USAGE)


def _library(options: argparse.Namespace) -> tuple[Library, list[str]]:
    """What the screens read, and the trees that have no index yet."""
    from ptexplore.cli import browse_runs
    from ptexplore.cli.ready import indexes, open_index, sources
    from ptexplore.tui.library import Library

    runtime, checkouts = sources(options.python)
    found = {one.name: one for one in checkouts} | ({"runtime": runtime} if runtime is not None else {})
    wanted = [name for name in found if options.tree in (None, name)]
    missing = [name for name in wanted if open_index(found[name]) is None]
    there = [name for name in wanted if name not in missing]
    # Those that are there can be read without the others; a name that is none is refused by `indexes`.
    names: list[str | None] = [options.tree] if not missing else list(there)
    trees = [one for name in names for one in indexes(options.python, name)]
    library = Library(
        trees=trees,
        runs=browse_runs.runs(options),
        open_catalogue=lambda which: browse_runs.catalogue(which, options.python),
        open_notes=lambda: library_of(options),
        open_marks=lambda which: browse_runs.marks(which, options.notes),
        torch=runtime.version if runtime is not None else None,
        advice=tuple(_advice(runtime, bool(checkouts))),
    )
    return library, missing


def _advice(runtime: Runtime | None, fetched: bool) -> list[str]:
    if not fetched:
        return ["no checkout: ptexplore fetch adds hand-written C++"]
    return [] if runtime is not None else ["no torch is installed: the checkout alone is shown"]


def _start(options: argparse.Namespace, library: Library) -> Start:
    """What the target means. Raises PtexploreError where it means nothing: before the screen is taken."""
    from ptexplore.annotations.blocks import ID
    from ptexplore.tui.app import Start

    if options.load is not None:
        from ptexplore.cli.trace import load

        trail = load(options.load)[0]
        return Start("trail", options.load, trail=trail)
    target = (options.target or "").strip()
    if options.target is None:
        return Start()
    if not target:
        raise PtexploreError("there is nothing to open", "the target is empty", "ptexplore browse aten", USAGE)
    folder = _folder(library.trees, target)
    if folder is not None:
        return folder
    name, _, stop = target.partition("#")
    # Reading all notes takes a moment: only for what can be the id of one.
    if ID.fullmatch(name) and library.notes.tours.get(name) is not None:
        from ptexplore.view.tour import find_stop, find_tour

        tour = find_tour(library.notes, name)
        return Start("tour", name, stop=tour.stops[find_stop(tour, stop) - 1].id if stop else None)
    return _named(library, target)


def _named(library: Library, target: str) -> Start:
    from ptexplore.tui.app import Start
    from ptexplore.view.show import nothing
    from ptexplore.view.targets import candidates

    found = candidates(library.trees, library.catalogue, target)
    if not found:
        raise nothing(library.trees, target, None)
    return Start("candidates", target, candidates=found)


def _folder(trees: Sequence[IndexedTree], target: str) -> Start | None:
    """A folder of the first tree that has it: one of the short names, or a path."""
    from ptexplore.tui.app import Start
    from ptexplore.tui.folders import AREAS

    path = AREAS.get(target, target.rstrip("/"))
    for one in trees:
        if ("/" in target or target in AREAS) and one.store.has_folder(path):
            return Start("folder", path, tree=one.tree.info.name)
    if target in AREAS:
        why = f"no tree here has {path}"
        raise PtexploreError(f"there is no {target} to browse", why, "ptexplore fetch", FAILED)
    return None
