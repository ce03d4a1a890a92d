"""`ptexplore refs SYMBOL`: the uses of a name, grouped by kind. torch is not imported."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.completion import complete_symbol, complete_use
from ptexplore.cli.options import AsJson, OnlyTree, Python, at_most, linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.workspace.workspace import Workspace


def refs(
    symbol: Annotated[
        str, Argument(metavar="SYMBOL", help="the qualified name, or its last part", autocompletion=complete_symbol)
    ],
    kind: Annotated[
        str | None,
        Option(
            metavar="KIND",
            help="only one group: calls, registrations, stubs, tests, YAML, …",
            autocompletion=complete_use,
        ),
    ] = None,
    callers: Annotated[bool, Option("--callers", help="show callers, and their callers, as a tree")] = False,
    depth: Annotated[
        int | None, Option(min=1, max=20, metavar="N", help="with --callers: how many levels (default 3)")
    ] = None,
    limit: Annotated[
        int | None,
        Option(
            min=0, metavar="N", help="at most N of each group (default 20; 0: all); with --callers: of each function"
        ),
    ] = None,
    full: Annotated[bool, Option("--full", help="a line for each use: place, function, certainty")] = False,
    tree: OnlyTree = None,
    as_json: AsJson = False,
    python: Python = None,
) -> int:
    """List the uses of a name.

    SYMBOL: add_kernel, at::native::add_kernel, add_stub, aten::add.Tensor, TensorIterator.
    """
    from ptexplore.lookup.callers import DEPTH
    from ptexplore.lookup.refs import GROUPS

    group = next((g for g in GROUPS if kind and g.lower() in (kind.lower(), f"{kind.lower()}s")), None)
    if kind is not None and group is None:
        raise PtexploreError(f"{kind} is not a kind", f"the kinds are {', '.join(GROUPS)}", "--kind calls", USAGE)
    name = symbol.strip()
    if not name:
        raise PtexploreError("nothing to look up", "the name is empty", "ptexplore refs add_kernel", USAGE)
    if depth is not None and not callers:
        raise PtexploreError(
            "--depth needs --callers", "only --callers shows levels", "ptexplore refs NAME --callers", USAGE
        )
    if callers and kind is not None:
        why = "--callers shows only calls"
        raise PtexploreError(
            "--callers and --kind cannot be combined", why, f"ptexplore refs {shlex.quote(name)} --callers", USAGE
        )
    with open_workspace(python, tree) as workspace:
        if callers:
            _callers(workspace, name, depth or DEPTH, limit, as_json=as_json)
            return 0
        view = workspace.refs(name, kind=group, limit=at_most(20 if limit is None else limit))
        if as_json:
            from ptexplore.view.documents.search import refs_document

            print_json(refs_document(view))
        else:
            from ptexplore.render.terminal.refs import print_refs

            print_refs(open_console(), view, linking(workspace.locate), full=full)
    return 0


def _callers(workspace: Workspace, name: str, depth: int, limit: int | None, *, as_json: bool) -> None:
    view = workspace.callers(name, depth=depth, limit=at_most(limit) if limit is not None else None)
    if as_json:
        from ptexplore.view.documents.callers import callers_document

        print_json(callers_document(view))
        return
    from ptexplore.render.terminal.callers import print_callers

    print_callers(open_console(), view, linking(workspace.locate))
