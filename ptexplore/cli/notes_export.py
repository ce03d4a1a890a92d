"""`ptexplore notes export --codetour DIR`: the tours as files that VS Code's CodeTour opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.cli.completion import complete_tour
from ptexplore.cli.options import Notes, Python, Tree
from ptexplore.errors import FAILED, USAGE, PtexploreError
from ptexplore.writing import write_whole

if TYPE_CHECKING:
    from ptexplore.view.notes.codetour import Exported


def export_notes(
    codetour: Annotated[str, Option(metavar="DIR", help="the folder that the files go into (required)")],
    only: Annotated[
        list[str] | None, Argument(metavar="[TOUR ...]", help="only these", autocompletion=complete_tour)
    ] = None,
    force: Annotated[bool, Option("--force", help="write over files that are there")] = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """
    Write each tour twice: TOUR.tour finds its lines by patterns, made now of your own checkout's text; TOUR-REF.tour
    has the lines of one revision. CodeTour looks in the checkout's folder .tours.
    """
    with open_workspace(python, tree, notes or ()) as workspace:
        files = workspace.codetour_files(only or ())
    folder = Path(codetour)
    _check(folder, files, force=force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            write_whole(folder / file.name, json.dumps(file.document, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        why = f"{error.filename or folder}: {error.strerror or error}"
        raise PtexploreError(f"{folder} cannot be written", why, "another --codetour DIR", FAILED) from error
    _tell(folder, files)
    return 0


def _check(folder: Path, files: list[Exported], *, force: bool) -> None:
    there = [one.name for one in files if (folder / one.name).exists()]
    if there and not force:
        why = f"{', '.join(there[:5])} in {folder}"
        raise PtexploreError("files of these names are there already", why, "--force writes over them", USAGE)


def _tell(folder: Path, files: list[Exported]) -> None:
    from ptexplore.safe_text import clean

    for one in files:
        steps = len(one.document["steps"])
        print(clean(f"{folder / one.name}: {steps} steps"))
        for stop, why in one.placeless:
            print(clean(f"  {stop} has no place: {why}"))
