"""What several commands share: options, the workspace that these name, and what they print on."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ptexplore.cli.completion import complete_tree
from ptexplore.render.terminal.progress import progress_bar
from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from ptexplore.workspace.workspace import Workspace

Place = TypeVar("Place")
Python = Annotated[
    str | None, typer.Option("--python", metavar="PATH", help="use the torch of another Python environment")
]
AsJson = Annotated[bool, typer.Option("--json", help="as JSON (format 1)")]
OnlyTree = Annotated[
    str | None,
    typer.Option(
        "--tree",
        metavar="NAME",
        help="only this tree: the name of a checkout, or `runtime`",
        autocompletion=complete_tree,
    ),
]
Tree = Annotated[
    str | None,
    typer.Option(
        "--tree",
        metavar="NAME",
        help="use this tree: the name of a checkout, or `runtime`",
        autocompletion=complete_tree,
    ),
]
Notes = Annotated[
    list[str] | None, typer.Option("--notes", metavar="DIR", help="also use the notes in this folder; can be repeated")
]


def at_most(limit: int) -> int:
    """`--limit 0` means all."""
    return min(limit, 1 << 30) or 1 << 30


def open_workspace(python: str | None = None, tree: str | None = None, notes: Sequence[str] | None = None) -> Workspace:
    """What a command asks: --python, --tree and --notes say of which torch, source and notes.

    Progress is shown on stderr, so that stdout stays clean.
    """
    from ptexplore.temporary import clear_left_over
    from ptexplore.workspace.workspace import Workspace

    clear_left_over()
    return Workspace(python, tree, notes=notes or (), watch=progress_bar, notice=warn)


def open_console(*, stderr: bool = False) -> Console:
    """What a command prints on; rich is imported when there is something to print."""
    from ptexplore.render.terminal.console import make_console

    return make_console(stderr=stderr)


def linking(locate: Callable[[Place], tuple[str, int] | None]) -> Callable[[Place], str | None]:
    """Where a place's line is, as a link's address: for the editor that the project's file names, else `file://`."""
    from pathlib import Path

    from ptexplore.render.terminal.console import address_of
    from ptexplore.source.fetch.project_file import find_project

    project = find_project(Path.cwd())
    editor = project.editor if project is not None else None

    def address(place: Place) -> str | None:
        location = locate(place)
        return address_of(*location, editor) if location is not None else None

    return address


def warn(text: str) -> None:
    """Tell the user on stderr of something that is not an error."""
    print(clean(text), file=sys.stderr)


def print_json(document: Any) -> None:
    """What `--json` prints: a record of `view/documents/`, or plain data."""
    from msgspec import to_builtins

    text = json.dumps(to_builtins(document))
    print(text.replace("\x7f", "\\u007f"))  # the one control character that JSON has as it is


def fetch_if_none(workspace: Workspace) -> None:
    """Fetch the source of the installed torch, or what the project pins, where no source of PyTorch is here."""
    from ptexplore.source.fetch.install import Request

    if workspace.choice().checkout is None:
        with progress_bar() as watcher:
            workspace.fetch(Request(), watcher)
