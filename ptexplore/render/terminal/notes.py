"""Print what became of anchors and labs, and what was trusted; all that comes from notes is stripped of controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded
from ptexplore.safe_text import clean
from ptexplore.view.notes.check import MEANING, WORDS, Checked, CheckView, where_to

if TYPE_CHECKING:
    from ptexplore.annotations.records import Problem, Tour
    from ptexplore.view.notes.labs import LabResult

_STYLE = {"exact": "green", "moved": "cyan", "changed": "yellow", "unpinned": "dim", "absent": "dim"}
_LABS = {"passed": "green", "failed": "red", "untrusted": "yellow"}


def print_check(console: Console, view: CheckView, *, everything: bool) -> None:
    """The anchors by outcome with where they went, what was wrong in files, the labs that failed, and the sums."""
    for outcome, found in view.groups:
        head = Text(f"{WORDS.get(outcome, outcome)} {len(found)}", style=_STYLE.get(outcome, "bold red"))
        head.append(f"  {MEANING[outcome]}", style="dim")
        console.print(head)
        for one in found if everything or outcome != "exact" else ():
            _anchor(console, one)
    for problem in view.problems:
        folded(console, Text(f"{clean(str(problem.where))}: {clean(problem.text)}", style="red"), "", "    ")
    for lab in view.labs or ():
        if lab.outcome != "passed":
            folded(console, Text(clean(lab_line(lab)), style=_LABS[lab.outcome]), "", "    ")
    console.print(_sums(view))


def _anchor(console: Console, one: Checked) -> None:
    name = Text(f"{clean(one.resolved.stop)}", style="bold")
    folded(console, name.append(f"  {clean(where_to(one.resolved))}", style="not bold"), "  ", "      ")
    if not one.resolved.placed and one.resolved.outcome != "absent":
        folded(console, Text(f"written at {clean(str(one.stop.anchor.where))}", style="dim"), "      ", "      ")


def _sums(view: CheckView) -> Text:
    sums = ", ".join(f"{n} {WORDS.get(name, name)}" for name, n in view.summary.items() if n)  # type: ignore[call-overload]
    out = Text(f"{len(view.anchors)} anchors on {clean(view.tree.label)}: {sums or 'none'}")
    if view.problems:
        out.append(f"; {len(view.problems)} problems in files")
    if view.labs is not None:
        passed = sum(one.outcome == "passed" for one in view.labs)
        out.append(f"; {passed} of {len(view.labs)} labs passed")
    return out


def lab_line(lab: LabResult) -> str:
    """One lab's end, in a line."""
    time = f" ({lab.seconds:.1f} s)" if lab.outcome != "untrusted" else ""
    why = f": {lab.why}" if lab.why else ""
    place = f"  {lab.where}" if lab.outcome != "passed" else ""
    return clean(f"lab {lab.outcome}  {lab.name}{time}{why}{place}")


def print_trusted(tours: Sequence[Tour], problems: Sequence[Problem], *, revoked: bool) -> None:
    """Every lab of these files, what it runs, and that it may now."""
    for tour in tours:
        print(clean(f"{'no longer trusted' if revoked else 'trusted'}: {tour.where.file} (sha256 {tour.sha[:12]}…)"))
        for stop in tour.stops:
            for lab in stop.labs if not revoked else ():
                print(clean(f"  {stop.id}/{lab.id}  line {lab.where.line}"))
                code = [*lab.setup, *(f"{name} = {value}" for name, value in lab.variables), *lab.contexts, lab.run]
                for line in "\n".join(code).split("\n"):
                    print(f"    {clean(line)}")
    if not tours:
        print("there are no labs in it: nothing to trust")
    for problem in problems:
        print(clean(f"{problem.where}: {problem.text}"))
