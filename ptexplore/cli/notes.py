"""`ptexplore notes ACTION`: what people wrote about the source; one small file an action."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptexplore.annotations.load import Library
    from ptexplore.cli.ready import Indexed

EPILOG = """\
folders: those that came with ptexplore, then what ptexplore.toml names (else ./notes), or --notes DIR instead
"""


def register(commands: Any) -> None:
    """Add the command to the parser, and every action to the command."""
    from ptexplore.cli import notes_check, notes_export, notes_new, notes_pin, notes_trust

    parser: argparse.ArgumentParser = commands.add_parser(
        "notes",
        help="do notes and tours still point at the right lines?",
        description="Check, begin, pin, trust and export notes on PyTorch's source (docs/annotations.md).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    for action in (notes_check, notes_new, notes_pin, notes_trust, notes_export):
        action.register(actions)


def add_folders(parser: argparse.ArgumentParser) -> None:
    """The option that says whose notes."""
    parser.add_argument(
        "--notes", metavar="DIR", action="append", default=[], help="these notes, over the shipped ones"
    )


def add_tree(parser: argparse.ArgumentParser) -> None:
    """The options that say which source."""
    parser.add_argument("--tree", metavar="NAME", help="this tree: a checkout's name, or runtime")
    parser.add_argument("--python", metavar="PATH", help="the torch of another Python")


def library_of(options: argparse.Namespace) -> Library:
    """The notes that the options name. Raises PtexploreError where a folder is not there."""
    from ptexplore.annotations.load import layers, load

    return load(layers(options.notes))


def tree_of(options: argparse.Namespace) -> Indexed:
    """The tree that anchors are placed on: the checkout in use, else the installed torch's own text; --tree names one.

    What has no index gets one; a folder used in place is read again where it changed. Raises as `ready.indexes` does.
    """
    from ptexplore.cli.ready import checkout_index, indexes, sources
    from ptexplore.source.registry import is_in_place

    runtime, found = sources(options.python)
    chosen = next((one for one in found if one.name == (options.tree or one.name) and one.project == "pytorch"), None)
    if chosen is not None and runtime is not None and is_in_place(chosen):
        checkout_index(chosen, runtime)
    name = options.tree or (chosen.name if chosen is not None else "runtime")
    return next(iter(indexes(options.python, name)))
