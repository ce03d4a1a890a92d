"""`ptexplore op NAME`: the operator's card, or operators by dispatch key. torch is not imported."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from ptexplore.cli.completion import complete_operator
from ptexplore.cli.options import Python, at_most, linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError


def op(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="the operator's name", autocompletion=complete_operator)
    ] = None,
    has: Annotated[
        str | None, Option("--has", metavar="KEY", help="list operators with a kernel for a dispatch key")
    ] = None,
    missing: Annotated[
        str | None, Option("--missing", metavar="KEY", help="list operators without one, composites aside")
    ] = None,
    limit: Annotated[
        int, Option(min=0, metavar="N", help="with --has or --missing: at most N operators (default 30; 0: all)")
    ] = 30,
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)")] = False,
    full: Annotated[bool, Option("--full", help="every dispatch key, not only the common ones")] = False,
    python: Python = None,
) -> int:
    """Show an operator: schema, kernels of each dispatch key, derivative, Python names.

    NAME: add, add.Tensor, aten::add.Tensor, torch.add, Tensor.add_ or F.conv2d. KEY: MPS, PrivateUse1, SparseCPU, Meta.
    """
    asked = [question for question in (name, has, missing) if question is not None]
    if len(asked) != 1:
        given = "nothing was asked for" if not asked else f"{len(asked)} questions were asked: {', '.join(asked)}"
        why = "NAME shows one operator; --has and --missing list operators"
        raise PtexploreError(given, why, "ptexplore op add, or ptexplore op --missing MPS", USAGE)
    if name is not None:
        return _card(name, python, as_json=as_json, full=full)
    return _coverage(has, missing, at_most(limit), python, as_json=as_json)


def _card(name: str, python: str | None, *, as_json: bool, full: bool) -> int:
    with open_workspace(python) as workspace:
        card = workspace.operator(name)
        if as_json:
            from ptexplore.view.documents.card import card_document

            print_json(card_document(card, workspace.runtime))
        else:
            from ptexplore.render.terminal.card import print_card

            print_card(open_console(), card, linking(workspace.place_of), full=full)
    return 0


def _coverage(has: str | None, missing: str | None, limit: int, python: str | None, *, as_json: bool) -> int:
    with open_workspace(python) as workspace:
        coverage = workspace.coverage(has or missing or "", "has" if has is not None else "missing", limit)
        if as_json:
            from ptexplore.view.documents.coverage import coverage_document

            print_json(coverage_document(coverage, workspace.runtime))
        else:
            from ptexplore.render.terminal.coverage import print_coverage

            print_coverage(open_console(), coverage, linking(workspace.place_of))
    return 0
