"""`ptexplore browse`: read the source, its notes and tours on screens of the terminal."""

from __future__ import annotations

import gc
import json
import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.background import run_child
from ptexplore.cli.completion import complete_name
from ptexplore.cli.options import Notes, Python, Tree, open_workspace
from ptexplore.errors import FAILED, USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.tui.app import Start
    from ptexplore.tui.library import Library
    from ptexplore.workspace.workspace import Workspace

EPILOG = """\
examples:
  ptexplore browse                      the map: the folders on the way from Python to the machine
  ptexplore browse aten                 the folder aten/src/ATen; also c10, csrc and torch
  ptexplore browse BinaryOps.cpp:120    a file, at a line
  ptexplore browse at::native::add_kernel
  ptexplore browse dispatcher           a tour
  ptexplore browse --load trace.json    a trace that `ptexplore trace --save` wrote

keys: ? lists them; arrows and h j k l, Enter definition, r uses, ctrl+o back, / find, w wrap, n note, q quit
"""


def browse(
    target: Annotated[
        str | None, Argument(metavar="[TARGET]", help="what to open", autocompletion=complete_name)
    ] = None,
    load: Annotated[str | None, Option(metavar="FILE", help="open a saved trace")] = None,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """Read source, notes and tours in the terminal.

    TARGET: aten, c10, csrc, torch, FILE, FILE:LINE, a symbol, an operator, a tour. Without it the map of folders opens.
    """
    _check(target, load)
    library, missing = _library(open_workspace(python, tree, notes))
    start = None if missing else _start(target, load, library)
    from ptexplore.tui.app import Browser

    app = Browser(library, lambda opened: start or _start(target, load, opened), missing, target)
    app.settled = gc.freeze  # a garbage collection over all of that would delay a key by 80 ms
    app.rested = gc.collect  # closed screens are garbage; Python alone looks for them after ten million new objects
    app.run()
    if app.crash is not None:
        if os.environ.get("PTEXPLORE_DEBUG") or isinstance(app.crash, PtexploreError):
            raise app.crash
        why = f"{type(app.crash).__name__}: {app.crash}"
        raise PtexploreError(
            "the screen failed", why, "PTEXPLORE_DEBUG=1 ptexplore browse … shows the traceback", FAILED
        )
    return app.return_code or 0  # 128 and more: a signal ended it


def _check(target: str | None, load: str | None) -> None:
    if load is not None and target is not None:
        why = f"--load {load} and {target} were given"
        raise PtexploreError("browse opens either a saved trace or a target", why, "ptexplore browse --help", USAGE)
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):  # the screen is drawn on stderr
        why = "browse needs a terminal for its input, output and error output"
        hint = f"ptexplore show {shlex.quote(target)}" if target else "ptexplore tour"
        raise PtexploreError("this is not a terminal", why, hint, USAGE)
    if os.environ.get("TERM", "dumb") == "dumb":
        why = "TERM is dumb or not set, so the cursor cannot be moved"
        raise PtexploreError("browse cannot draw on this terminal", why, "TERM=xterm-256color ptexplore browse", USAGE)


def _library(workspace: Workspace) -> tuple[Library, list[str]]:
    """Returns the data for the screens, and the trees that have no index yet."""
    from ptexplore.render.terminal.pager import open_in_editor
    from ptexplore.tui.library import Library

    runtime, checkouts = workspace.sources()
    trees, missing = workspace.trees_at_hand()
    advice = ["no torch is installed: only the checkout is shown"] if runtime is None and checkouts else []
    torch = runtime.version if runtime is not None else None
    return Library(workspace, trees, run_child, open_in_editor, torch, tuple(advice)), missing


def _start(name: str | None, load: str | None, library: Library) -> Start:
    """Returns the meaning of the target. Raises PtexploreError if it means nothing, before the screen is taken."""
    from ptexplore.annotations.names import ID
    from ptexplore.lookup.targets import candidates, nothing
    from ptexplore.tui.app import Start
    from ptexplore.view.notes.folder import find_folder
    from ptexplore.view.notes.tour import find_stop, find_tour
    from ptexplore.workspace.saved_traces import load_trace

    if load is not None:
        trace, session = load_trace(load)
        return Start("last_trace", load, trace=trace, session=session)
    if name is None:
        return Start()
    target = name.strip()
    if not target:
        raise PtexploreError("there is nothing to open", "the target is empty", "ptexplore browse aten", USAGE)
    folder = find_folder(library.trees, target)
    if folder is not None:
        return Start("folder", folder[1], tree=folder[0].tree.info.name)
    tour_id, _, stop = target.partition("#")
    # Reading all notes takes a moment, so only if the target may be the id of one.
    if ID.fullmatch(tour_id) and library.notes.tours.get(tour_id) is not None:
        tour = find_tour(library.notes, tour_id)
        return Start("tour", tour_id, stop=tour.stops[find_stop(tour, stop) - 1].id if stop else None)
    named = candidates(library.trees, library.workspace.catalogue_at_hand(library.trees), target)
    if not named and library.trees and library.lacks_operators:  # it may be an operator that was not collected yet
        named = candidates(library.trees, library.workspace.catalogue, target)
    if not named:
        raise nothing(library.trees, target, None)
    return Start("candidates", target, candidates=named)


def run_lab_here(
    stop_name: str,
    lab_id: str,
    save: Annotated[str, Option()],
    python: Annotated[str | None, Option()] = None,
    notes: Annotated[list[str] | None, Option()] = None,
) -> int:
    """The hidden command behind `run_lab`: runs a lab, prints how it ended as JSON, writes its Trace into a file."""
    with open_workspace(python, notes=notes) as workspace:
        entry = workspace.library.stop(stop_name)
        lab = next((lab for lab in entry[1].labs if lab.id == lab_id), None) if entry is not None else None
        if entry is None or lab is None:
            why = "the notes were changed in the meantime"
            raise PtexploreError(f"there is no lab {stop_name}/{lab_id}", why, "ptexplore notes check", USAGE)
        result, trace = workspace.run_lab(*entry, lab)
    if trace is not None:
        from ptexplore.view.words.saved import trace_to_json

        Path(save).write_text(trace_to_json(trace), encoding="utf-8")
    json.dump(asdict(result), sys.stdout)
    return 0
