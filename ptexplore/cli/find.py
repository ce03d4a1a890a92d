"""`ptexplore find QUERY`: symbols, operators, folders, files, notes, lines with a text. torch is not imported."""

from __future__ import annotations

from typing import Annotated, get_args

from typer import Argument, Option

from ptexplore.cli.completion import complete_kind, complete_name
from ptexplore.cli.options import AsJson, OnlyTree, Python, at_most, linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError

USUAL, FEW = 20, 3  # results of each kind: in a pipe; in a terminal, below the best


def find(
    query: Annotated[list[str], Argument(metavar="QUERY ...", help="what to search for", autocompletion=complete_name)],
    kind: Annotated[
        str | None,
        Option(
            metavar="KIND",
            help="only this kind: symbol, operator, folder, file, note, text; or function, class, …",
            autocompletion=complete_kind,
        ),
    ] = None,
    text: Annotated[bool, Option("--text", help="also lines that contain QUERY literally")] = False,
    declarations: Annotated[bool, Option("--declarations", help="also declarations and constructors")] = False,
    limit: Annotated[
        int | None,
        Option(
            min=0,
            metavar="N",
            help="at most N results of each kind (default 20; in a terminal 3 besides the best; 0: all)",
        ),
    ] = None,
    full: Annotated[bool, Option("--full", help="whole signatures, and every place with its precision")] = False,
    tree: OnlyTree = None,
    as_json: AsJson = False,
    python: Python = None,
) -> int:
    """Search symbols, operators, files, notes and text.

    QUERY: a name or a part of it (add_kernel, at::native::add, TensIt), a file, a folder, a question, a text.
    """
    from ptexplore.lookup.gathering import GROUPS
    from ptexplore.model.symbols import SymbolKind

    words = " ".join(query).strip()
    kinds = (*GROUPS, *get_args(SymbolKind))
    if kind is not None and kind not in kinds:
        raise PtexploreError(f"{kind} is not a kind", f"the kinds are {', '.join(kinds)}", "--kind symbol", USAGE)
    if not words:
        raise PtexploreError("nothing to search for", "the query is empty", "ptexplore find add_kernel", USAGE)
    with open_workspace(python, tree) as workspace:
        view = workspace.find(
            words, kind=kind, limit=at_most(USUAL if limit is None else limit), text=text, declarations=declarations
        )
        if as_json:
            from ptexplore.view.documents.search import find_document

            print_json(find_document(view))
        else:
            from ptexplore.render.terminal.search import print_find

            console = open_console()
            few = FEW if limit is None and console.is_terminal else None
            print_find(console, view, linking(workspace.locate), full=full, few=few)
    return 0
