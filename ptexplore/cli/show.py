"""`ptexplore show TARGET`: the source itself, of a symbol, an operator, a file or a line. torch is not imported."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from ptexplore.cli.searching import Searched, add_options, at_most, search_in
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.cli.ready import Ready
    from ptexplore.view.show import ShowView


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "show",
        help="show me: the source of a symbol, an operator, a file, a line",
        description="TARGET: add_kernel, at::native::add_kernel, torch.nn.functional.relu, aten::add.Tensor, "
        "BinaryOps.cpp, BinaryOps.cpp:120, BinaryOps.cpp:10-40, VariableType_2.cpp.",
    )
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--all", action="store_true", help="everything that TARGET names, one after the other")
    parser.add_argument("--kind", metavar="KIND", help="only this kind of thing: function, class, operator, …")
    parser.add_argument("--full", action="store_true", help="of an operator: every dispatch key, not only common ones")
    parser.add_argument("--open", action="store_true", help="open it in $VISUAL or $EDITOR, at the line")
    parser.add_argument("--no-notes", action="store_true", help="without the notes on these lines")
    parser.add_argument("--no-pager", action="store_true", help="never through the pager")
    add_options(parser, limit=40, what="at most N things in a list of what TARGET may name")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the source, or the list of what the target may name."""
    from ptexplore.view.show import Wanted, show

    target = options.target.strip()
    if not target:
        raise PtexploreError("there is nothing to show", "the target is empty", "ptexplore show add_kernel", USAGE)
    here = search_in(options)
    view = show(here.trees, here.catalogue, target, Wanted(options.all, options.kind))
    if options.open:
        return _open(view)
    if here.ready is not None and any(page.candidate.kind == "operator" for page in view.pages):
        view = _with_kernels(view, here.ready, full=options.full)
    if not options.no_notes:
        view = _with_marks(view, here)
    if options.json:
        from ptexplore.view.search_documents import show_to_document

        json.dump(show_to_document(view), sys.stdout)
        print()
        return 0
    return _print(view, here, options)


def _with_kernels(view: ShowView, ready: Ready, *, full: bool) -> ShowView:
    """The view with the kernels of each operator in it that the installed torch has."""
    from dataclasses import replace

    from ptexplore.cli.looking import look
    from ptexplore.view.card import card
    from ptexplore.view.show_kernels import kernels_of

    lookup = look(ready)
    pages = [
        replace(page, kernels=kernels_of(card(lookup, page.candidate.name), full=full))
        if page.candidate.kind == "operator" and ready.store.operator(page.candidate.name) is not None
        else page
        for page in view.pages
    ]
    return replace(view, pages=tuple(pages))


def _with_marks(view: ShowView, here: Searched) -> ShowView:
    from ptexplore.cli.noted import on_trees
    from ptexplore.view.show import with_marks

    shown = {page.spot.tree.name for page in view.pages}
    return with_marks(view, on_trees(one for one in here.trees if one.tree.info.name in shown))


def _print(view: ShowView, here: Searched, options: argparse.Namespace) -> int:
    from ptexplore.render.console import make_console
    from ptexplore.render.pager import page
    from ptexplore.render.show import page_lines, print_candidates

    console = make_console()
    if not view.pages:
        print_candidates(console, view, here.locate, at_most(options.limit))
        return 0
    # A pager need not know hyperlinks; what goes straight to the terminal carries them.
    page(page_lines(console, view.pages, here.locate if options.no_pager else None), wanted=not options.no_pager)
    return 0


def _open(view: ShowView) -> int:
    from ptexplore.render.pager import open_in_editor
    from ptexplore.render.show import next_target

    if len(view.pages) != 1:
        some = "; ".join(f"{one.name} at {next_target(one)}" for one in view.candidates[:5])
        why = f"{view.target} names {len(view.candidates)} things: {some}"
        hint = f"ptexplore show {next_target(view.candidates[0])} --open"
        raise PtexploreError("an editor opens one place", why, hint, USAGE)
    page = view.pages[0]
    if page.file is None or page.file_line is None:
        raise PtexploreError("there is no file to open", f"{view.target} has no text here", "ptexplore fetch")
    open_in_editor(page.file, page.file_line)
    return 0
