"""`ptexplore op NAME`: the operator's card or ladder, or lists of operators. torch is not imported here."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.completion import complete_operator
from ptexplore.cli.options import Python, at_most, linking, open_console, open_workspace, print_json
from ptexplore.errors import USAGE, PtexploreError

if TYPE_CHECKING:
    from ptexplore.model.ladder import OperatorSet


def op(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="the operator's name", autocompletion=complete_operator)
    ] = None,
    has: Annotated[
        str | None, Option("--has", metavar="KEY", help="list operators with a kernel for a dispatch key")
    ] = None,
    missing: Annotated[
        str | None,
        Option("--missing", metavar="KEY", help="list operators that have no kernel for it, and no composite one"),
    ] = None,
    core: Annotated[bool, Option("--core", help="list the operators of Core ATen, with Inductor's lowerings")] = False,
    prims: Annotated[bool, Option("--prims", help="list the prims, with Inductor's lowerings")] = False,
    limit: Annotated[int, Option(min=0, metavar="N", help="of a list: at most N operators (default 30; 0: all)")] = 30,
    as_json: Annotated[bool, Option("--json", help="as JSON (format 1)")] = False,
    full: Annotated[bool, Option("--full", help="every dispatch key, not only the common ones")] = False,
    ladder: Annotated[
        bool,
        Option("--ladder", help="what decomposes NAME, with its line: torch.export, torch.compile, prims, autograd"),
    ] = False,
    python: Python = None,
) -> int:
    """Show an operator: schema, kernels of each dispatch key, derivative, Python names.

    NAME: add, add.Tensor, aten::add.Tensor, torch.add, Tensor.add_ or F.conv2d. KEY: MPS, PrivateUse1, SparseCPU, Meta.
    """
    lists = [flag for flag, is_asked in (("--core", core), ("--prims", prims)) if is_asked]
    asked = [*(question for question in (name, has, missing) if question is not None), *lists]
    if len(asked) != 1:
        given = "nothing was asked for" if not asked else f"{len(asked)} questions were asked: {', '.join(asked)}"
        why = "NAME shows one operator; --has, --missing, --core and --prims list operators"
        raise PtexploreError(given, why, "ptexplore op add, or ptexplore op --missing MPS", USAGE)
    if ladder and (name is None or full):
        given = "--ladder is for one operator" if name is None else "--ladder and --full are two screens"
        why = "it shows what decomposes the operator NAME"
        raise PtexploreError(given, why, f"ptexplore op {shlex.quote(name or 'gelu')} --ladder", USAGE)
    if name is not None:
        return _card(name, python, as_json=as_json, full=full, ladder=ladder)
    if lists:
        return _list("core" if core else "prims", at_most(limit), python, as_json=as_json)
    return _coverage(has, missing, at_most(limit), python, as_json=as_json)


def _card(name: str, python: str | None, *, as_json: bool, full: bool, ladder: bool) -> int:
    with open_workspace(python) as workspace:
        card = workspace.operator(name, ladder=ladder)
        if as_json:
            from ptexplore.view.documents.card import card_document

            print_json(card_document(card, workspace.runtime))
        elif card.ladder is not None:
            from ptexplore.render.terminal.ladder import print_ladder

            print_ladder(open_console(), card, card.ladder, linking(workspace.place_of))
        else:
            from ptexplore.render.terminal.card import print_card

            print_card(open_console(), card, linking(workspace.place_of), full=full)
    return 0


def _list(of: OperatorSet, limit: int | None, python: str | None, *, as_json: bool) -> int:
    with open_workspace(python) as workspace:
        operators = workspace.operator_list(of, limit)
        if as_json:
            from ptexplore.view.documents.ladder import list_document

            print_json(list_document(operators, workspace.runtime))
        else:
            from ptexplore.render.terminal.ladder import print_operator_list

            print_operator_list(open_console(), operators, linking(workspace.place_of))
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
