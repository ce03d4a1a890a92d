"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ptexplore.cli.completion import complete_tree

Python = Annotated[str | None, typer.Option("--python", metavar="PATH", help="the torch of another Python")]
AsJson = Annotated[bool, typer.Option("--json", help="as JSON (format 1)")]
OnlyTree = Annotated[
    str | None,
    typer.Option(
        "--tree", metavar="NAME", help="only this tree: a checkout's name, or runtime", autocompletion=complete_tree
    ),
]
Tree = Annotated[
    str | None,
    typer.Option(
        "--tree", metavar="NAME", help="this tree: a checkout's name, or runtime", autocompletion=complete_tree
    ),
]
Notes = Annotated[
    list[str] | None, typer.Option("--notes", metavar="DIR", help="these notes, over the shipped ones; again for more")
]


def at_most(limit: int) -> int:
    """`--limit 0` means all."""
    return limit or 1 << 30
