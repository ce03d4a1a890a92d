"""`ptexplore doctor`: which torch, trees, caches and catalogue exist, how they relate, and what to type next."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from ptexplore.cli.options import Python, open_console, open_workspace, print_json
from ptexplore.errors import MISSING


def doctor(
    as_json: Annotated[bool, Option("--json", help="the report as JSON (format 1)")] = False,
    python: Python = None,
    unconfirmed: Annotated[bool, Option("--unconfirmed", help="list the registrations that are not confirmed")] = False,
) -> int:
    """Check the installed torch, its generated C++ and the catalogue of registrations."""
    with open_workspace(python) as workspace:
        report = workspace.health()
    if as_json:
        from ptexplore.view.documents.health import doctor_document

        print_json(doctor_document(report))
    else:
        from ptexplore.render.terminal.health import print_health

        print_health(open_console(), report, unconfirmed=unconfirmed)
    return 0 if report.sound else MISSING
