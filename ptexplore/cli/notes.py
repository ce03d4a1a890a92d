"""`ptexplore notes ACTION`: check, create, pin, trust and export notes on the source."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option, Typer

from ptexplore.cli.completion import complete_name, complete_tour
from ptexplore.cli.options import AsJson, Notes, Python, Tree, open_console, open_workspace, print_json, warn
from ptexplore.cli.typer_commands import Command, verbatim
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.safe_text import clean
from ptexplore.writing import write_new_file, write_where_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptexplore.annotations.folders import FolderPage
    from ptexplore.annotations.records import Problem, Tour
    from ptexplore.view.notes.labs import LabResult
    from ptexplore.workspace.anchor_pins import LockChange

EPILOG = """\
folders: the shipped notes, then the folders named in ptexplore.toml (else ./notes), or --notes DIR instead
"""


def make_notes() -> Typer:
    """Makes the command with all its actions."""
    app = Typer(rich_markup_mode=None)
    app.callback(invoke_without_command=True, epilog=verbatim(EPILOG))(notes)
    for name, (action, text) in ACTIONS.items():
        app.command(name, cls=Command, short_help=text)(action)
    return app


def notes(ctx: Context) -> None:
    """Write notes and tours on PyTorch's source, and check where they point (docs/annotations.md)."""
    if ctx.invoked_subcommand is None:
        why = f"the actions are {', '.join(ACTIONS)}"
        raise PtexploreError("an action is needed", why, "ptexplore notes check", USAGE)


def check_notes(
    only: Annotated[
        list[str] | None,
        Argument(metavar="[TOUR[#STOP] ...]", help="only these tours or stops", autocompletion=complete_tour),
    ] = None,
    run_labs: Annotated[bool, Option("--run", help="also run the labs that are shipped or that you trusted")] = False,
    timeout: Annotated[float, Option(metavar="S", help="time limit for each lab, in seconds (60)")] = 60.0,
    everything: Annotated[bool, Option("--all", help="also list exact anchors")] = False,
    as_json: AsJson = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """
    Find the place of every anchor: exact, moved, changed, ambiguous or lost.
    Exit code 3: an anchor is lost or ambiguous. Exit code 1: a file or a lab is wrong.
    """
    from ptexplore.render.terminal.notes import lab_line, print_check

    def ran(result: LabResult) -> None:
        print(lab_line(result), file=sys.stderr, flush=True)

    with open_workspace(python, tree, notes) as workspace:
        view = workspace.check_notes(only or (), run_labs=run_labs, timeout=timeout, ran=ran)
    if as_json:
        from ptexplore.view.documents.notes import notes_check_document

        print_json(notes_check_document(view))
    else:
        print_check(open_console(), view, everything=everything)
    return MISSING if view.broken else FAILED if view.failed else 0


def new_notes(
    target: Annotated[
        str,
        Argument(
            metavar="SYMBOL|FILE:LINE", help="the symbol or line that the note is about", autocompletion=complete_name
        ),
    ],
    folder: Annotated[
        str | None,
        Option(
            "--notes", metavar="DIR", help="the note's folder (default: the first one in ptexplore.toml, else ./notes)"
        ),
    ] = None,
    note_id: Annotated[
        str | None, Option("--id", metavar="ID", help="the note's id and file name (default: the symbol's name)")
    ] = None,
    only_print: Annotated[bool, Option("--print", help="print the note instead of writing a file")] = False,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """Write a note file with its anchor, and open it in $VISUAL or $EDITOR."""
    about = target.strip()
    if not about:
        hint = "ptexplore notes new at::native::add_kernel"
        raise PtexploreError("nothing to write about", "the target is empty", hint, USAGE)
    with open_workspace(python, tree) as workspace:
        note = workspace.new_note(about, note_id)
    if only_print:
        print(note.text, end="")
        return 0
    file = (Path(folder) if folder else _own_folder()) / f"{note.id}.md"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_new_file(file, note.text)
    except FileExistsError:
        raise PtexploreError(
            f"{file} exists already", "an existing note is never overwritten", "--id NAME", USAGE
        ) from None
    except OSError as error:
        raise PtexploreError(f"{file} cannot be written", error.strerror or "", "--notes DIR", FAILED) from error
    print(file)
    if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
        from ptexplore.render.terminal.pager import open_in_editor

        open_in_editor(str(file), note.text.count("\n"))
    else:
        print("EDITOR is not set (EDITOR=vim …): open the file yourself")
    return 0


def _own_folder() -> Path:
    """Returns the folder of the user's own notes: the project's first one, else the default one."""
    from ptexplore.annotations.files import is_inside
    from ptexplore.annotations.layers import OWN
    from ptexplore.source.fetch.project_file import find_project

    project = find_project(Path.cwd())
    if project is not None and project.notes:
        return project.notes[0]
    if not is_inside(Path(OWN), Path.cwd()):
        why = "it is a link that leads out of this folder, and neither --notes nor a project file names it"
        raise PtexploreError(f"nothing is written into {OWN}", why, f"--notes {OWN} allows it", USAGE)
    return Path(OWN)


def pin_notes(
    only: Annotated[
        list[str] | None,
        Argument(metavar="[TOUR[#STOP] ...]", help="only these tours or stops", autocompletion=complete_tour),
    ] = None,
    yes: Annotated[bool, Option("--yes", help="write without asking")] = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """
    Show how anchors.lock would change, ask, and write it.
    Only anchors on the baseline's own tree (`baseline:` in the front matter) are pinned.
    """
    with open_workspace(python, tree, notes) as workspace:
        for problem in workspace.library.problems:
            warn(f"{problem.where}: {problem.text}")
        plan = workspace.plan_pins(only or ())
    pinned = [_pin(lock, agreed=yes) for lock in plan.locks]
    for baseline, count in plan.elsewhere.items():
        tree_info = f"{plan.tree.name} {plan.tree.version}"
        print(f"not pinned: {count} stops were written on {baseline}, but the tree is {tree_info}", file=sys.stderr)
    if plan.elsewhere and all(pinned):
        why = f"the tree in use is {plan.tree.version}"
        hint = f"ptexplore fetch --ref {next(iter(plan.elsewhere))}"
        raise PtexploreError(f"nothing is pinned for {', '.join(plan.elsewhere)}", why, hint, MISSING)
    return 0 if all(pinned) and not plan.elsewhere else FAILED


def _pin(lock: LockChange, *, agreed: bool) -> bool:
    """Shows how one folder's lock would change, and writes it if that is agreed. False if it is not up to date then."""
    from difflib import unified_diff

    for why in lock.refused:
        warn(f"cannot be pinned: {why}")
    if not lock.changes:
        return not lock.refused
    for line in unified_diff(lock.old.splitlines(), lock.text.splitlines(), lock.shown, lock.shown, lineterm="", n=0):
        print(clean(line))
    if not (agreed or _agreed(lock.shown)):
        print(f"{lock.shown} is unchanged (--yes writes it)", file=sys.stderr)
        return False
    write_where_named(lock.file, lock.text)
    print(f"{lock.shown}: {lock.anchors} anchors")
    return not lock.refused


def _agreed(shown: str) -> bool:
    from ptexplore.render.terminal.consent import answer, can_ask

    sys.stdout.flush()  # the difference in question
    return can_ask() and answer(f"write {clean(shown)}? [y/N] ") in ("y", "yes")


def trust_notes(
    path: Annotated[str, Argument(metavar="DIR|FILE", help="a folder of notes, or one file")],
    revoke: Annotated[bool, Option("--revoke", help="take the trust back")] = False,
) -> int:
    """
    Allow the labs and expressions of notes to run. They are code that runs with your rights, so the command shows all
    of it and asks. If a trusted file changes, you are asked again.
    """
    from ptexplore.annotations.trust import forget_files, trust_files
    from ptexplore.render.terminal.consent import agreed, can_ask
    from ptexplore.render.terminal.notes import print_trusted
    from ptexplore.workspace.consent import cannot_keep, code_in, shown_name

    tours, pages, problems = _written(Path(path), path)
    pieces = code_in(tours, pages)
    lines = [line for piece in pieces for line in (f"# {shown_name(piece.origin)}", *piece.lines())]
    asks = bool(pieces) and not revoke and can_ask()
    if asks and not agreed(path, lines, "trust these files as they are now?"):
        raise PtexploreError(
            f"{path} is not trusted", "you did not say yes", f"ptexplore notes trust {shlex.quote(path)}", USAGE
        )
    files = {piece.content: piece.file for piece in pieces}
    try:
        if revoke:
            forget_files(files)
        else:
            trust_files(files)
    except OSError as error:
        raise cannot_keep(error) from error
    print_trusted(files, () if revoke or asks else lines, problems, revoked=revoke)
    return FAILED if problems else 0


def _written(path: Path, shown: str) -> tuple[list[Tour], list[FolderPage], list[Problem]]:
    """Returns the tours, notes and folder pages in a folder of notes or in one file, and their problems."""
    from ptexplore.annotations.files import read_bytes
    from ptexplore.annotations.folders import load_folders
    from ptexplore.annotations.folders import parse as parse_page
    from ptexplore.annotations.format import LARGEST, Origin, parse
    from ptexplore.annotations.layers import Layer
    from ptexplore.annotations.load import load

    if path.is_dir():
        layer = Layer(path, shown.rstrip("/") or "/")
        library, pages = load([layer]), load_folders([layer])
        return list(library.tours.values()), list(pages.pages.values()), [*library.problems, *pages.problems]
    try:
        data = read_bytes(path, LARGEST)
    except OSError as error:
        why = error.strerror or str(error)
        raise PtexploreError(f"{shown} cannot be read", why, "ptexplore notes trust DIR", MISSING) from error
    page, trouble = parse_page(data, shown)
    if page is not None:
        return [], [page], trouble
    # The front matter decides which of the two it is: a tour has a level.
    kinds = [parse(data, kind, Origin(shown)) for kind in ("tour", "note")]
    tour, problems = next((parsed for parsed in kinds if parsed[0] is not None), kinds["tours" not in path.parts])
    return ([tour] if tour is not None else []), [], problems


def export_notes(
    codetour: Annotated[str, Option(metavar="DIR", help="the folder for the files (required)")],
    only: Annotated[
        list[str] | None, Argument(metavar="[TOUR ...]", help="only these tours or stops", autocompletion=complete_tour)
    ] = None,
    force: Annotated[bool, Option("--force", help="replace existing files")] = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """
    Write tours as files for VS Code's CodeTour, two for each tour. TOUR.tour finds its lines by patterns made from your
    checkout's text. TOUR-REF.tour has the lines of one revision. CodeTour reads the folder .tours of the checkout.
    """
    with open_workspace(python, tree, notes) as workspace:
        files = workspace.codetour_files(only or ())
    folder = Path(codetour)
    present = [file.name for file in files if os.path.lexists(folder / file.name)]
    if present and not force:
        why = f"{', '.join(present[:5])} in {folder}"
        raise PtexploreError("files with these names exist already", why, "--force overwrites them", USAGE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            write_where_named(folder / file.name, json.dumps(file.document, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        why = f"{error.filename or folder}: {error.strerror or error}"
        raise PtexploreError(
            f"{folder} cannot be written", why, "choose another folder: --codetour DIR", FAILED
        ) from error
    for file in files:
        print(clean(f"{folder / file.name}: {len(file.document['steps'])} steps"))
        for stop, why in file.placeless:
            print(clean(f"  {stop} has no place: {why}"))
    return 0


ACTIONS: dict[str, tuple[Callable[..., int], str]] = {
    "check": (check_notes, "where every anchor is on this tree"),
    "new": (new_notes, "begin a note on a symbol or a line"),
    "pin": (pin_notes, "write anchors.lock: where each anchor is on its baseline"),
    "trust": (trust_notes, "allow the labs of notes from elsewhere to run"),
    "export": (export_notes, "tours as files of VS Code's CodeTour"),
}
