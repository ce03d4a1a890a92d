"""`ptexplore browse`: read the source, its notes and tours on screens of the terminal."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.cli.completion import complete_name
from ptexplore.cli.options import Notes, Python, Tree
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptexplore.model.places import Runtime
    from ptexplore.tui.app import Start
    from ptexplore.tui.library import Library
    from ptexplore.view.trees import IndexedTree
    from ptexplore.workspace.workspace import Workspace

EPILOG = """\
examples:
  ptexplore browse                      what to read: tours, the path of concepts, recent places
  ptexplore browse aten                 the files below aten/src/ATen; c10, csrc and torch, too
  ptexplore browse BinaryOps.cpp:120    a file, at a line
  ptexplore browse at::native::add_kernel
  ptexplore browse dispatcher           a tour
  ptexplore browse --load trace.json    what `ptexplore trace --save` kept

keys: ? lists them; arrows and h j k l, Enter definition, r uses, ctrl+o back, / find, n note, q quit
"""


def browse(
    target: Annotated[
        str | None, Argument(metavar="[TARGET]", help="what to open", autocompletion=complete_name)
    ] = None,
    load: Annotated[str | None, Option(metavar="FILE", help="walk a saved trace")] = None,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """TARGET: aten, c10, csrc, torch, FILE, FILE:LINE, a symbol, an operator, a tour; none: home."""
    _check(target, load)
    library, missing = _library(open_workspace(python, tree, notes or ()))
    start = None if missing else _start(target, load, library)
    from ptexplore.tui.app import Browser

    app = Browser(library, lambda opened: start or _start(target, load, opened), missing)
    app.settled = gc.freeze  # looking through all of that for what is no longer used would hold up a key for 80 ms
    app.run()
    if app.crash is not None:
        if os.environ.get("PTEXPLORE_DEBUG") or isinstance(app.crash, PtexploreError):
            raise app.crash
        why = f"{type(app.crash).__name__}: {app.crash}"
        raise PtexploreError("the screen failed", why, "PTEXPLORE_DEBUG=1 ptexplore browse … shows where", FAILED)
    return 0


def _check(target: str | None, load: str | None) -> None:
    if load is not None and target is not None:
        why = f"--load {load} and {target} were given"
        raise PtexploreError("a saved trace or a target is opened, not both", why, "ptexplore browse --help", USAGE)
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):  # the screen is drawn on stderr
        why = "browse takes a whole screen, and its input, output or error output is none"
        hint = f"ptexplore show {target}" if target else "ptexplore tour"
        raise PtexploreError("this is not a terminal", why, hint, USAGE)
    if os.environ.get("TERM", "dumb") == "dumb":
        why = "TERM is dumb or not set: the cursor cannot be moved"
        raise PtexploreError("this terminal has no screen", why, "TERM=xterm-256color ptexplore browse", USAGE)


def _library(workspace: Workspace) -> tuple[Library, list[str]]:
    """What the screens read, and the trees that have no index yet."""
    from ptexplore.cli.browse_child import run_child
    from ptexplore.render.terminal.pager import open_in_editor
    from ptexplore.tui.library import Library

    runtime, checkouts = workspace.sources()
    trees, missing = workspace.trees_at_hand()
    torch = runtime.version if runtime is not None else None
    advice = tuple(_advice(runtime, bool(checkouts)))
    return Library(workspace, trees, run_child, open_in_editor, torch, advice), missing


def _advice(runtime: Runtime | None, fetched: bool) -> list[str]:
    if not fetched:
        return ["no checkout: ptexplore fetch adds hand-written C++"]
    return [] if runtime is not None else ["no torch is installed: the checkout alone is shown"]


def _start(name: str | None, load: str | None, library: Library) -> Start:
    """What the target means. Raises PtexploreError where it means nothing: before the screen is taken."""
    from ptexplore.annotations.blocks import ID
    from ptexplore.tui.app import Start

    if load is not None:
        from ptexplore.workspace.saved_traces import load_trace

        trail = load_trace(load)[0]
        return Start("trail", load, trail=trail)
    if name is None:
        return Start()
    target = name.strip()
    if not target:
        raise PtexploreError("there is nothing to open", "the target is empty", "ptexplore browse aten", USAGE)
    folder = _folder(library.trees, target)
    if folder is not None:
        return folder
    tour_id, _, stop = target.partition("#")
    # Reading all notes takes a moment: only for what can be the id of one.
    if ID.fullmatch(tour_id) and library.notes.tours.get(tour_id) is not None:
        from ptexplore.view.notes.tour import find_stop, find_tour

        tour = find_tour(library.notes, tour_id)
        return Start("tour", tour_id, stop=tour.stops[find_stop(tour, stop) - 1].id if stop else None)
    return _named(library, target)


def _named(library: Library, target: str) -> Start:
    from ptexplore.tui.app import Start
    from ptexplore.view.search.show import candidates, nothing

    found = candidates(library.trees, library.catalogue, target)
    if not found:
        raise nothing(library.trees, target, None)
    return Start("candidates", target, candidates=found)


def _folder(trees: Sequence[IndexedTree], target: str) -> Start | None:
    """A folder of the first tree that has it: one of the short names, or a path."""
    from ptexplore.tui.app import Start
    from ptexplore.tui.reading.folders import AREAS

    path = AREAS.get(target, target.rstrip("/"))
    for one in trees:
        if ("/" in target or target in AREAS) and one.store.has_folder(path):
            return Start("folder", path, tree=one.tree.info.name)
    if target in AREAS:
        why = f"no tree here has {path}"
        raise PtexploreError(f"there is no {target} to browse", why, "ptexplore fetch", FAILED)
    return None
