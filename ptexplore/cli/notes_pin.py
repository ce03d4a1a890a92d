"""`ptexplore notes pin`: write down where every anchor is on its baseline, after a look at what changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from ptexplore.cli.command_workspace import open_workspace
from ptexplore.cli.completion import complete_tour
from ptexplore.cli.options import Notes, Python, Tree
from ptexplore.errors import FAILED, MISSING, PtexploreError
from ptexplore.writing import write_whole

if TYPE_CHECKING:
    from ptexplore.workspace.anchor_pins import LockChange


def pin_notes(
    only: Annotated[
        list[str] | None, Argument(metavar="[TOUR[#STOP] ...]", help="only these", autocompletion=complete_tour)
    ] = None,
    yes: Annotated[bool, Option("--yes", help="write without asking")] = False,
    notes: Notes = None,
    tree: Tree = None,
    python: Python = None,
) -> int:
    """
    Show how anchors.lock would change, ask, and write it.
    Only what is on the baseline's own tree (`baseline:` in the front matter) is pinned.
    """
    from ptexplore.safe_text import clean

    with open_workspace(python, tree, notes or ()) as workspace:
        for problem in workspace.library.problems:
            print(clean(f"{problem.where}: {problem.text}"), file=sys.stderr)
        plan = workspace.plan_pins(only or ())
    done = [_pin(lock, agreed=yes) for lock in plan.locks]
    for baseline, count in plan.elsewhere.items():
        what = f"{count} stops are written on {baseline}, and the tree is {plan.tree.name} {plan.tree.version}"
        print(f"not pinned: {what}", file=sys.stderr)
    if plan.elsewhere and all(done):
        why = f"the tree in use is {plan.tree.version}"
        hint = f"ptexplore fetch --ref {next(iter(plan.elsewhere))}"
        raise PtexploreError(f"nothing is pinned of {', '.join(plan.elsewhere)}", why, hint, MISSING)
    return 0 if all(done) and not plan.elsewhere else FAILED


def _pin(lock: LockChange, *, agreed: bool) -> bool:
    """Write one folder's lock, after a look at what changes; False if it is not as it should be then."""
    from difflib import unified_diff

    from ptexplore.safe_text import clean

    for why in lock.refused:
        print(f"cannot be pinned: {clean(why)}", file=sys.stderr)
    if not lock.changes:
        return not lock.refused
    for line in unified_diff(lock.old.splitlines(), lock.text.splitlines(), lock.shown, lock.shown, lineterm="", n=0):
        print(clean(line))
    if not (agreed or _agreed(lock.shown)):
        print(f"{lock.shown} is left as it is (--yes writes it)", file=sys.stderr)
        return False
    write_whole(lock.file, lock.text)
    print(f"{lock.shown}: {lock.anchors} anchors")
    return not lock.refused


def _agreed(shown: str) -> bool:
    if not sys.stdin.isatty():
        return False
    print(f"write {shown}? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
