"""`ptexplore fetch`: fetch the source of PyTorch or of an extension, and choose which is in use."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from ptexplore.cli.completion import complete_checkout
from ptexplore.cli.options import Python, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.render.terminal.fetch import print_choice, print_listing, print_outcome, print_removed
from ptexplore.render.terminal.progress import progress_bar
from ptexplore.source.fetch import checkouts

EPILOG = """\
Without --ref and --from it fetches the commit that ptexplore.toml pins, or the one that the installed torch was built
from. Nothing in the source is executed. A folder given by --from is used in place and never written to.
"""


def fetch(
    ref: Annotated[str | None, Option(metavar="TAG|SHA", help="a tag, a branch or a commit")] = None,
    source: Annotated[
        str | None,
        Option("--from", metavar="DIR|FILE|URL", help="a folder, an archive (tar.xz, tar.gz, zip) or a git remote"),
    ] = None,
    name: Annotated[
        str | None, Option(metavar="NAME", help="this is the source of an extension, under this name")
    ] = None,
    listing: Annotated[bool, Option("--list", help="list the checkouts, and which one is in use")] = False,
    use: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help='always use this checkout; "auto" chooses automatically again',
            autocompletion=complete_checkout,
        ),
    ] = None,
    remove: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="delete a checkout; a folder used in place is not deleted",
            autocompletion=complete_checkout,
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="with --list: as JSON (format 1)")] = False,
    python: Python = None,
) -> int:
    """Download the source of PyTorch or of an extension, and choose which one is used."""
    actions = {"--list": listing or None, "--use": use, "--remove": remove}
    given = [option for option, value in actions.items() if value is not None]
    asked = [option for option, value in {"--ref": ref, "--from": source, "--name": name}.items() if value is not None]
    if len(given) > 1 or (given and asked):
        words = " and ".join([*given, *asked])
        why = "each of these options is a separate action"
        raise PtexploreError(f"{words} cannot be combined", why, "ptexplore fetch --help", USAGE)
    if as_json and not listing:
        why = "only the list of checkouts has a JSON document"
        raise PtexploreError("--json needs --list", why, "ptexplore fetch --help", USAGE)
    with open_workspace(python) as workspace:
        if listing:
            _ = workspace.runtime_if_any  # raises an error if `--python` names a Python without torch
            known, choice = checkouts.checkouts(), workspace.choice()
            if as_json:
                from ptexplore.view.documents.checkouts import checkouts_document

                print_json(checkouts_document(known, choice))
            else:
                print_listing(known, choice)
        elif use is not None:
            checkouts.use(None if use == "auto" else use)
            print_choice(workspace.choice())
        elif remove is not None:
            print_removed(checkouts.remove(remove))
            print_choice(workspace.choice())
        else:
            from ptexplore.source.fetch.install import Request

            request = Request(source, ref, name or "pytorch", named=name is not None)
            with progress_bar() as watcher:
                outcome = workspace.fetch(request, watcher)
            print_outcome(outcome, workspace.choice(), workspace.runtime_if_any)
    return 0
