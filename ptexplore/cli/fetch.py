"""`ptexplore fetch`: bring PyTorch's source, or an extension's, and say which is in use."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptexplore.model import Runtime

EPILOG = """\
Without --ref and --from: the commit that the installed torch was built from, or what ptexplore.toml pins.
Nothing that comes is executed; a folder given by --from is used in place and never written to.
"""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "fetch",
        help="bring PyTorch's own source: the text of hand-written C++",
        description="Fetch the source of PyTorch, or of an extension of it, and choose which is read.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ref", metavar="TAG|SHA", help="this tag or commit")
    parser.add_argument(
        "--from", dest="source", metavar="DIR|FILE|URL", help="a folder, an archive (tar.xz, tar.gz, zip) or a remote"
    )
    parser.add_argument("--name", metavar="NAME", help="it is the source of an extension, read beside PyTorch's")
    parser.add_argument("--list", action="store_true", help="what was fetched, and which is in use")
    parser.add_argument("--use", metavar="NAME", help='always read this one; "auto" takes that back')
    parser.add_argument("--remove", metavar="NAME", help="delete a checkout; a folder used in place stays")
    parser.add_argument("--json", action="store_true", help="with --list: as JSON (format 1)")
    parser.add_argument("--python", metavar="PATH", help="the torch of another Python")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Fetch, or list, choose or remove what was fetched."""
    _check(options)
    if options.list:
        return _list(options)
    if options.use is not None:
        return _use(options)
    if options.remove is not None:
        return _remove(options)
    return _fetch(options)


def _check(options: argparse.Namespace) -> None:
    from ptexplore.errors import USAGE, PtexploreError

    actions = {"--list": options.list, "--use": options.use, "--remove": options.remove}
    given = [name for name, value in actions.items() if value not in (None, False)]
    asked = {"--ref": options.ref, "--from": options.source, "--name": options.name}
    given_too = [name for name, value in asked.items() if value is not None]
    help_ = "ptexplore fetch --help"
    if len(given) > 1 or (given and given_too):
        words = " and ".join([*given, *given_too])
        raise PtexploreError(f"{words} do not go together", "each is an action of its own", help_, USAGE)
    if options.json and not options.list:
        raise PtexploreError("--json goes with --list", "fetching itself has no document", help_, USAGE)


def _fetch(options: argparse.Namespace) -> int:
    from ptexplore.render.fetch import fetch_progress, print_lines
    from ptexplore.source.checkouts import choose
    from ptexplore.source.fetching import fetch
    from ptexplore.source.placing import Request
    from ptexplore.source.project import find_project
    from ptexplore.view.checkouts import outcome_lines

    request = Request(options.source, options.ref, options.name or "pytorch", named=options.name is not None)
    project = find_project(Path.cwd())
    pinned = project is not None and project.pin is not None
    from_torch = request.source is None and request.ref is None and not pinned
    runtime = _runtime(options.python, required=from_torch or options.python is not None)
    with fetch_progress() as watcher:
        outcome = fetch(request, runtime, project, watcher)
    print_lines(outcome_lines(outcome, choose(runtime), runtime))
    return 0


def _list(options: argparse.Namespace) -> int:
    from ptexplore.render.fetch import print_lines
    from ptexplore.source.checkouts import checkouts, choose
    from ptexplore.view.checkouts import listing_document, listing_lines

    choice = choose(_runtime(options.python, required=options.python is not None))
    document = listing_document(checkouts(), choice)
    if options.json:
        json.dump(document, sys.stdout)
        print()
    else:
        print_lines(listing_lines(document))
    return 0


def _use(options: argparse.Namespace) -> int:
    from ptexplore.render.fetch import print_lines
    from ptexplore.source.checkouts import choose, use
    from ptexplore.view.checkouts import choice_lines

    use(None if options.use == "auto" else options.use)
    print_lines(choice_lines(choose(_runtime(options.python, required=False))))
    return 0


def _remove(options: argparse.Namespace) -> int:
    from ptexplore.render.fetch import print_lines
    from ptexplore.source.checkouts import choose, remove
    from ptexplore.view.checkouts import choice_lines, removed_lines

    gone = removed_lines(remove(options.remove))
    print_lines([*gone, *choice_lines(choose(_runtime(options.python, required=False)))])
    return 0


def _runtime(python: str | None, *, required: bool) -> Runtime | None:
    from ptexplore.errors import PtexploreError
    from ptexplore.source.runtime import find_runtime

    try:
        return find_runtime(python)
    except PtexploreError:
        if required:
            raise
        return None
