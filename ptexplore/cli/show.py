"""`ptexplore show TARGET`: the source of a symbol, an operator, a file or a line. torch is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.completion import complete_kind, complete_name
from ptexplore.cli.options import AsJson, OnlyTree, Python, at_most, linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.render.terminal.search import LocateIn
    from ptexplore.view.notes.folder import FolderView, ShippedPage
    from ptexplore.view.search.show import ShowView


def show(
    target: Annotated[str, Argument(metavar="TARGET", help="what to show", autocompletion=complete_name)],
    every: Annotated[bool, Option("--all", help="show everything that TARGET may mean")] = False,
    kind: Annotated[
        str | None,
        Option(metavar="KIND", help="only this kind: function, class, operator, …", autocompletion=complete_kind),
    ] = None,
    full: Annotated[
        bool, Option("--full", help="for an operator: every dispatch key, not only the common ones")
    ] = False,
    in_editor: Annotated[bool, Option("--open", help="open the line in $VISUAL or $EDITOR")] = False,
    no_notes: Annotated[bool, Option("--no-notes", help="hide notes on these lines")] = False,
    no_pager: Annotated[bool, Option("--no-pager", help="do not use a pager")] = False,
    limit: Annotated[
        int, Option(min=0, metavar="N", help="at most N entries in a list of candidates (default 40; 0: all)")
    ] = 40,
    tree: OnlyTree = None,
    as_json: AsJson = False,
    python: Python = None,
) -> int:
    """
    Show the source of a symbol, an operator, a file or a line.

    TARGET: add_kernel, at::native::add_kernel, torch.nn.functional.relu, aten::add.Tensor, BinaryOps.cpp,
    BinaryOps.cpp:120, BinaryOps.cpp:10-40, VariableType_2.cpp; a folder: aten, c10, csrc, torch, torch/optim, "."
    """
    name = target.strip()
    if not name:
        raise PtexploreError("nothing to show", "the target is empty", "ptexplore show add_kernel", USAGE)
    with open_workspace(python, tree) as workspace:
        if in_editor:
            _open(workspace.show(name, kind=kind, everything=every, kernels=False, notes=False))
            return 0
        unindexed = workspace.unindexed_page(name) if kind is None and not (every or as_json) else None
        if unindexed is not None:
            _print_shipped(unindexed)
            return 0
        folder = workspace.folder(name) if kind is None else None
        if folder is not None:
            _print_folder(folder, every=every, as_json=as_json, paged=not no_pager)
            return 0
        view = workspace.show(name, kind=kind, everything=every, every_key=full, notes=not no_notes)
        if as_json:
            from ptexplore.view.documents.show import show_document

            print_json(show_document(view))
        else:
            _print(view, linking(workspace.locate), limit, paged=not no_pager)
    return 0


def _print_folder(view: FolderView, *, every: bool, as_json: bool, paged: bool) -> None:
    if as_json:
        from ptexplore.view.documents.folder import folder_document

        print_json(folder_document(view))
        return
    from ptexplore.render.terminal.console import captured
    from ptexplore.render.terminal.folder import print_folder
    from ptexplore.render.terminal.pager import page

    page(captured(print_folder, open_console(), view, everything=every), wanted=paged)


def _print_shipped(page: ShippedPage) -> None:
    from ptexplore.render.terminal.folder import print_shipped

    print_shipped(open_console(), page)


def _print(view: ShowView, locate: LocateIn, limit: int, *, paged: bool) -> None:
    from ptexplore.render.terminal.pager import page
    from ptexplore.render.terminal.search import print_candidates
    from ptexplore.render.terminal.show import page_lines

    console = open_console()
    if not view.pages:
        print_candidates(console, view, locate, at_most(limit))
    else:
        # A pager may not know hyperlinks; output directly to the terminal has them.
        page(page_lines(console, view.pages, None if paged else locate), wanted=paged)


def _open(view: ShowView) -> None:
    from ptexplore.render.terminal.pager import open_in_editor
    from ptexplore.render.terminal.search import next_target

    if len(view.pages) != 1:
        some = "; ".join(f"{candidate.name} at {next_target(candidate)}" for candidate in view.candidates[:5])
        why = f"{view.target} names {len(view.candidates)} things: {some}"
        hint = f"ptexplore show {next_target(view.candidates[0])} --open"
        raise PtexploreError("--open needs one place", why, hint, USAGE)
    page = view.pages[0]
    if page.file is None or page.file_line is None:
        raise PtexploreError("no file to open", f"the text of {view.target} is not here", "ptexplore fetch")
    open_in_editor(page.file, page.file_line)
