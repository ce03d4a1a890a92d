"""`ptexplore refs SYMBOL`: who uses it, grouped by how. torch is not imported."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from ptexplore.cli.completion import complete_symbol, complete_use
from ptexplore.cli.options import AsJson, OnlyTree, Python, at_most, linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError


def refs(
    symbol: Annotated[
        str, Argument(metavar="SYMBOL", help="its name, whole or from the last :: on", autocompletion=complete_symbol)
    ],
    kind: Annotated[
        str | None,
        Option(
            metavar="KIND",
            help="only one group: calls, registrations, stubs, tests, YAML, …",
            autocompletion=complete_use,
        ),
    ] = None,
    limit: Annotated[int, Option(min=0, metavar="N", help="at most N of each group (default 20; 0: all)")] = 20,
    tree: OnlyTree = None,
    as_json: AsJson = False,
    python: Python = None,
) -> int:
    """SYMBOL: add_kernel, at::native::add_kernel, add_stub, aten::add.Tensor, TensorIterator."""
    from ptexplore.lookup.refs import GROUPS
    from ptexplore.view.search.documents import refs_to_document

    group = next((g for g in GROUPS if kind and g.lower() in (kind.lower(), f"{kind.lower()}s")), None)
    if kind is not None and group is None:
        raise PtexploreError(f"there is no kind {kind}", f"kinds are {', '.join(GROUPS)}", "--kind calls", USAGE)
    name = symbol.strip()
    if not name:
        raise PtexploreError("there is nothing to look for", "the name is empty", "ptexplore refs add_kernel", USAGE)
    with open_workspace(python, tree) as workspace:
        view = workspace.refs(name, kind=group, limit=at_most(limit))
        if as_json:
            print_json(refs_to_document(view))
        else:
            from ptexplore.render.terminal.refs import print_refs

            print_refs(open_console(), view, linking(workspace.locate))
    return 0
