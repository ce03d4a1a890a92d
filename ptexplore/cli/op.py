"""`ptexplore op NAME`: the operator's card. Reads the catalogue; torch is not imported."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "op",
        help="what is this operator: schema, keys, kernels, derivative?",
        description="An operator's card. NAME: add, add.Tensor, aten::add.Tensor, torch.add, Tensor.add_ or F.conv2d.",
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--json", action="store_true", help="the card as JSON (format 1)")
    parser.add_argument("--full", action="store_true", help="every dispatch key, not only the common ones")
    parser.add_argument("--python", metavar="PATH", help="the torch of another Python")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the card of the operator named."""
    from dataclasses import replace

    from ptexplore.cli.looking import look
    from ptexplore.cli.noted import on_lookup
    from ptexplore.cli.ready import ready
    from ptexplore.view.card import card
    from ptexplore.view.noted import on_card

    here = ready(options.python)
    lookup = look(here)
    found = card(lookup, options.name)
    found = replace(found, notes=on_card(found, on_lookup(lookup)))
    if options.json:
        from ptexplore.view.card_document import card_to_document

        json.dump(card_to_document(found, here.runtime), sys.stdout)
        print()
        return 0
    from ptexplore.render.card import print_card
    from ptexplore.render.console import make_console

    print_card(make_console(), found, lookup.place_of, full=options.full)
    return 0
