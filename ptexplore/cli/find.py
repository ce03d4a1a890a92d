"""`ptexplore find QUERY`: symbols, operators, files, notes, and the lines that hold a text. torch is not imported."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, get_args

from ptexplore.cli.searching import add_options, at_most, search_in
from ptexplore.errors import FAILED, USAGE, PtexploreError


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "find",
        help="where is this name? symbols, operators, files, notes, text",
        description="QUERY: a name or a part of it (add_kernel, at::native::add, TensIt), an operator, a file, a text.",
    )
    parser.add_argument("query", metavar="QUERY", nargs="+")
    parser.add_argument(
        "--kind", metavar="KIND", help="only this: symbol, operator, file, note, text; or function, class, …"
    )
    parser.add_argument("--text", action="store_true", help="also the lines that hold QUERY as it stands")
    parser.add_argument(
        "--declarations", action="store_true", help="also declarations of what is defined, constructors of classes"
    )
    add_options(parser, limit=20, what="at most N of each sort")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what the query may mean."""
    from ptexplore.cli.noted import on_trees
    from ptexplore.symbols import SymbolKind
    from ptexplore.view.find import GROUPS, Wanted, find

    query = " ".join(options.query).strip()
    kinds = (*GROUPS, *get_args(SymbolKind))
    if options.kind is not None and options.kind not in kinds:
        raise PtexploreError(
            f"there is no kind {options.kind}", f"kinds are {', '.join(kinds)}", "--kind symbol", USAGE
        )
    if not query:
        raise PtexploreError("there is nothing to look for", "the query is empty", "ptexplore find add_kernel", USAGE)
    here = search_in(options)
    wanted = Wanted(at_most(options.limit), options.kind, options.text, options.declarations)
    noted = on_trees(here.trees) if options.kind in (None, "note") else {}
    view = find(here.trees, here.catalogue, query, wanted, noted)
    if not view.groups:
        raise _nothing(here.trees, query, options.kind)
    if options.json:
        from ptexplore.view.search_documents import find_to_document

        json.dump(find_to_document(view), sys.stdout)
        print()
        return 0
    from ptexplore.render.console import make_console
    from ptexplore.render.find import print_find

    print_find(make_console(), view, here.locate)
    return 0


def _nothing(trees: Any, query: str, kind: str | None) -> PtexploreError:
    import shlex

    from ptexplore.view.trees import label, nearest_names

    close = nearest_names(trees, query)
    what = f"no {kind} fits {query}" if kind else f"nothing fits {query}"
    searched = ", ".join(label(one.tree.info) for one in trees)
    why = f"searched by name and by text in {searched}" if kind is None else f"searched in {searched}"
    if close:
        return PtexploreError(
            what, f"{why}; the closest are {', '.join(close)}", f"ptexplore find {shlex.quote(close[0])}"
        )
    if not any(one.checkout is not None for one in trees):
        return PtexploreError(what, f"{why}, which has no hand-written C++", "ptexplore fetch", FAILED)
    return PtexploreError(what, why, f"ptexplore find --text {shlex.quote(query.split(maxsplit=1)[0])}", FAILED)
