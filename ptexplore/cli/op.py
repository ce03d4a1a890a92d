"""`ptexplore op NAME`: the operator's card. Reads the catalogue; torch is not imported."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from ptexplore.cli.completion import complete_operator
from ptexplore.cli.options import Python, linking, open_console, open_workspace, print_json


def op(
    name: Annotated[str, Argument(metavar="NAME", help="the operator's name", autocompletion=complete_operator)],
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)")] = False,
    full: Annotated[bool, Option("--full", help="every dispatch key, not only the common ones")] = False,
    python: Python = None,
) -> int:
    """Show an operator: schema, kernels of each dispatch key, derivative, Python names.

    NAME: add, add.Tensor, aten::add.Tensor, torch.add, Tensor.add_ or F.conv2d.
    """
    with open_workspace(python) as workspace:
        card = workspace.operator(name)
        if as_json:
            from ptexplore.view.documents.card import card_document

            print_json(card_document(card, workspace.runtime))
        else:
            from ptexplore.render.terminal.card import print_card

            print_card(open_console(), card, linking(workspace.place_of), full=full)
    return 0
