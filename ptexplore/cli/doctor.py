"""`ptexplore doctor`: what torch, trees, caches and catalogue are there, how they relate, and what to type next."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="is all that ptexplore needs there, and is it true?",
        description="Check the installed torch, its regenerated C++ and the catalogue; count what is confirmed.",
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON (format 1)")
    parser.add_argument("--python", metavar="PATH", help="the torch of another Python")
    parser.add_argument("--unconfirmed", action="store_true", help="list every registration that is not confirmed")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report; 3 where a registration in generated C++ is not confirmed."""
    from ptexplore.cli.looking import checkouts
    from ptexplore.cli.ready import ready
    from ptexplore.errors import MISSING
    from ptexplore.view.health import health, health_to_document

    here = ready(options.python)
    note, found = checkouts(here)
    report = health(here.runtime, here.tree, here.store, found, note)
    if options.json:
        json.dump(health_to_document(report), sys.stdout)
        print()
    else:
        from ptexplore.render.console import make_console
        from ptexplore.render.health import print_health

        print_health(make_console(), report, unconfirmed=options.unconfirmed)
    return 0 if report.sound else MISSING
