"""`ptexplore notes new SYMBOL|FILE:LINE`: begin a note in the reader's editor, its anchor filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.cli.completion import complete_name
from ptexplore.cli.options import Python, Tree
from ptexplore.errors import FAILED, USAGE, PtexploreError


def new_notes(
    target: Annotated[str, Argument(metavar="SYMBOL|FILE:LINE", help="what it is about", autocompletion=complete_name)],
    folder: Annotated[
        str | None,
        Option("--notes", metavar="DIR", help="the folder it goes into (ptexplore.toml's first, else ./notes)"),
    ] = None,
    note_id: Annotated[
        str | None, Option("--id", metavar="ID", help="the note's id and file name (made of the symbol's name)")
    ] = None,
    only_print: Annotated[bool, Option("--print", help="print it, and write nothing")] = False,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """Write a file with the anchor filled in, and open it in $VISUAL or $EDITOR."""
    about = target.strip()
    if not about:
        hint = "ptexplore notes new at::native::add_kernel"
        raise PtexploreError("there is nothing to write about", "the target is empty", hint, USAGE)
    with open_workspace(python, tree) as workspace:
        note = workspace.new_note(about, note_id)
    if only_print:
        print(note.text, end="")
        return 0
    file = _folder(folder) / f"{note.id}.md"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "x", encoding="utf-8") as stream:
            stream.write(note.text)
    except FileExistsError:
        raise PtexploreError(f"{file} is there already", "a note is never written over", "--id NAME", USAGE) from None
    except OSError as error:
        raise PtexploreError(f"{file} cannot be written", error.strerror or "", "--notes DIR", FAILED) from error
    print(file)
    return _edit(file, note.text)


def _edit(file: Path, text: str) -> int:
    import os

    from ptexplore.render.terminal.pager import open_in_editor

    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        print("no editor is chosen (EDITOR=vim …): the note waits there")
        return 0
    open_in_editor(str(file), text.count("\n"))
    return 0


def _folder(named: str | None) -> Path:
    from ptexplore.annotations.load import OWN
    from ptexplore.source.fetch.project_file import find_project

    if named:
        return Path(named)
    project = find_project(Path.cwd())
    return project.notes[0] if project is not None and project.notes else Path(OWN)
