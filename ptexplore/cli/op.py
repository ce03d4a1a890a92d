"""`ptexplore op NAME`: the operator's card. Reads the catalogue; torch is not imported."""

from __future__ import annotations

import json
import sys
from typing import Annotated

from typer import Argument, Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.cli.completion import complete_operator
from ptexplore.cli.options import Python


def op(
    name: Annotated[
        str, Argument(metavar="NAME", help="as in add, torch.add or aten::add.Tensor", autocompletion=complete_operator)
    ],
    as_json: Annotated[bool, Option("--json", help="the card as JSON (format 1)")] = False,
    full: Annotated[bool, Option("--full", help="every dispatch key, not only the common ones")] = False,
    python: Python = None,
) -> int:
    """An operator's card. NAME: add, add.Tensor, aten::add.Tensor, torch.add, Tensor.add_ or F.conv2d."""
    with open_workspace(python) as workspace:
        card = workspace.operator(name)
        if as_json:
            from ptexplore.view.card import card_to_document

            json.dump(card_to_document(card, workspace.runtime), sys.stdout)
            print()
            return 0
        from ptexplore.render.terminal.card import print_card
        from ptexplore.render.terminal.console import make_console

        print_card(make_console(), card, workspace.place_of, full=full)
    return 0
