"""Shared parts of several commands: options, the workspace that these select, and output."""

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
    """Converts a limit: `--limit 0` means all."""
    return min(limit, 1 << 30) or 1 << 30


def open_workspace(python: str | None = None, tree: str | None = None, notes: Sequence[str] | None = None) -> Workspace:
    """Opens the workspace of a command. --python, --tree and --notes select torch, source and notes.

    Progress goes to stderr, so that stdout has only the answer.
    """
    from ptexplore.temporary import clear_left_over
    from ptexplore.workspace.workspace import Workspace

    clear_left_over()
    return Workspace(python, tree, notes=notes or (), watch=progress_bar, notice=warn)


def open_console(*, stderr: bool = False) -> Console:
    """Returns the console for a command's output. rich is imported only before the first output."""
    from ptexplore.render.terminal.console import make_console

    return make_console(stderr=stderr)


def linking(locate: Callable[[Place], tuple[str, int] | None]) -> Callable[[Place], str | None]:
    """Returns a function: place -> the link to it, for the editor in the project's file, else `file://`."""
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
    """Shows on stderr something that is not an error."""
    print(clean(text), file=sys.stderr)


def print_json(document: Any) -> None:
    """Prints a document for `--json`: a record of `view/documents/`, or plain data."""
    from msgspec import to_builtins

    text = json.dumps(to_builtins(document))
    print(text.replace("\x7f", "\\u007f"))  # the only control character that JSON leaves as it is


def fetch_if_none(workspace: Workspace) -> None:
    """Fetches the source of the installed torch, or the one that the project pins, if no source of PyTorch is here."""
    from ptexplore.source.fetch.install import Request

    if workspace.choice().checkout is None:
        with progress_bar() as watcher:
            workspace.fetch(Request(), watcher)


def has_streams() -> bool:
    """Whether this process writes its errors to a file or a terminal, and not to an object of Python."""
    try:
        return sys.stderr.fileno() >= 0
    except (AttributeError, OSError, ValueError):
        return False
