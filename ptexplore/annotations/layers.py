"""Folders of notes, in layers: first the shipped ones, then the project's or those of --notes.

This module is separate from load.py: a search has its data in a cache, and only asks where the notes are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ptexplore.annotations.files import is_inside
from ptexplore.errors import MISSING, USAGE, PtexploreError
from ptexplore.source.fetch.project_file import find_project

OWN = "notes"  # the folder of notes that is read by default


@dataclass(frozen=True, slots=True)
class Layer:
    """One folder of notes. `shown` is its name in messages.

    A `quiet` one may have Markdown files that are not notes.
    """

    root: Path
    shown: str
    shipped: bool = False
    quiet: bool = False


def shipped_folder(name: str = "annotations") -> Path | None:
    """Returns a folder shipped with ptexplore: inside the installed package, or beside it in a working copy."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "data" / name, package.parent / name):
        if folder.is_dir():
            return folder
    return None


def is_installed(layer: Layer) -> bool:
    """Whether a folder is part of an installed package, where nothing is written."""
    return layer.shipped and layer.root.parent.name == "data"


def layers(notes: Sequence[str] = (), start: Path | None = None, *, shipped: bool = True) -> tuple[Layer, ...]:
    """Returns the folders to read, lowest first: the shipped ones, then `notes`, or by default the project's.

    The project's folders are those that ptexplore.toml names, else ./notes if it exists. Raises PtexploreError
    (MISSING) if a requested folder does not exist, (USAGE) if ./notes leads elsewhere, and the errors of
    `find_project`.
    """
    folder = shipped_folder() if shipped else None
    own = [Layer(folder, "annotations", shipped=True)] if folder is not None else []
    try:
        start = start or Path.cwd()
    except FileNotFoundError:
        if notes:
            raise
        return tuple(own)  # the current folder was deleted
    if notes:
        return (*own, *(_asked(start / name, name, "--notes names this folder") for name in notes))
    project = find_project(start)
    if project is not None and project.notes:
        why = f"{project.file} names this folder"
        return (*own, *(_asked(path, os.path.relpath(path, start), why) for path in project.notes))
    if not (start / OWN).is_dir():
        return tuple(own)
    if not is_inside(start / OWN, start):
        why = "it is a link that leads out of this folder, and neither --notes nor a project file names it"
        raise PtexploreError(f"the folder {OWN} is not read", why, f"--notes {OWN} allows it", USAGE)
    return (*own, Layer(start / OWN, OWN, quiet=True))


def _asked(path: Path, shown: str, why: str) -> Layer:
    if not path.is_dir():
        raise PtexploreError(
            f"the folder of notes {shown} does not exist", why, "ptexplore notes check --notes DIR", MISSING
        )
    return Layer(path, shown.rstrip("/") or "/")
