"""`ptexplore notes ACTION`: what people wrote about the source; one small file an action."""

from __future__ import annotations

from importlib import import_module

from typer import Context, Typer

from ptexplore.cli.typer_commands import Command, verbatim
from ptexplore.errors import USAGE, PtexploreError

EPILOG = """\
folders: those that came with ptexplore, then what ptexplore.toml names (else ./notes), or --notes DIR instead
"""
ACTIONS = {  # each has a file notes_ACTION here
    "check": "where every anchor is on this tree",
    "new": "begin a note on a symbol or a line",
    "pin": "write anchors.lock: where each anchor is on its baseline",
    "trust": "allow the labs of notes from elsewhere to run",
    "export": "tours as files of VS Code's CodeTour",
}


def make_notes() -> Typer:
    """The command with all its actions."""
    app = Typer(rich_markup_mode=None)
    app.callback(invoke_without_command=True, epilog=verbatim(EPILOG))(notes)
    for action, text in ACTIONS.items():
        module = import_module(f"ptexplore.cli.notes_{action}")
        app.command(action, cls=Command, short_help=text)(getattr(module, f"{action}_notes"))
    return app


def notes(ctx: Context) -> None:
    """Check, begin, pin, trust and export notes on PyTorch's source (docs/annotations.md)."""
    if ctx.invoked_subcommand is None:
        why = f"actions are {', '.join(ACTIONS)}"
        raise PtexploreError("an action is needed", why, "ptexplore notes check", USAGE)
