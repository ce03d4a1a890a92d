"""`ptexplore refs SYMBOL`: who uses it, grouped by how. torch is not imported."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ptexplore.cli.searching import add_options, at_most, search_in
from ptexplore.errors import USAGE, PtexploreError


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "refs",
        help="who uses this name: calls, registrations, stubs, tests, YAML",
        description="SYMBOL: add_kernel, at::native::add_kernel, add_stub, aten::add.Tensor, TensorIterator.",
    )
    parser.add_argument("symbol", metavar="SYMBOL")
    parser.add_argument("--kind", metavar="KIND", help="only one group: calls, registrations, stubs, tests, YAML, …")
    add_options(parser, limit=20, what="at most N of each group")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the uses of a name."""
    from ptexplore.view.refs import GROUPS, refs

    kind = next(
        (g for g in GROUPS if options.kind and g.lower() in (options.kind.lower(), f"{options.kind.lower()}s")), None
    )
    if options.kind is not None and kind is None:
        raise PtexploreError(
            f"there is no kind {options.kind}", f"kinds are {', '.join(GROUPS)}", "--kind calls", USAGE
        )
    symbol = options.symbol.strip()
    if not symbol:
        raise PtexploreError("there is nothing to look for", "the name is empty", "ptexplore refs add_kernel", USAGE)
    here = search_in(options)
    view = refs(here.trees, symbol, at_most(options.limit), kind)
    if options.json:
        from ptexplore.view.search_documents import refs_to_document

        json.dump(refs_to_document(view), sys.stdout)
        print()
        return 0
    from ptexplore.render.console import make_console
    from ptexplore.render.refs import print_refs

    print_refs(make_console(), view, here.locate)
    return 0
