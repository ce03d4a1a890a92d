"""Prints the results of checking anchors and labs, and the trusted files. Text from notes is stripped of controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from ptexplore.annotations.records import Problem
from ptexplore.render.terminal.console import STYLES, folded, styled
from ptexplore.safe_text import clean
from ptexplore.view.notes.check import MEANING, TONES, WORDS, Checked, CheckView, where_to
from ptexplore.view.notes.folder import PagesCheck
from ptexplore.view.notes.labs import LAB_TONES, LabResult


def print_check(console: Console, view: CheckView, *, everything: bool) -> None:
    """Print the anchors by outcome with their new places, problems in files, failed labs, and the totals."""
    for outcome, anchors in view.groups:
        count = f"{WORDS.get(outcome, outcome)} {len(anchors)}"
        console.print(styled((count, STYLES[TONES[outcome]]), (f"  {MEANING[outcome]}", "dim")))
        for checked in anchors if everything or outcome != "exact" else ():
            _anchor(console, checked)
    for problem in view.problems:
        folded(console, styled((f"{problem.where}: {problem.text}", "red")), "", "    ")
    for problem in view.pages.differ if view.pages is not None else ():
        folded(console, styled((f"{problem.where}: {problem.text}", "yellow")), "", "    ")
    for lab in view.labs or ():
        if lab.outcome != "passed":
            folded(console, Text(lab_line(lab), style=STYLES[LAB_TONES[lab.outcome]]), "", "    ")
    if view.pages is not None and view.pages.pages:
        folded(console, Text(_pages(view.pages)), "", "    ")
    console.print(_sums(view))


def _pages(pages: PagesCheck) -> str:
    """Returns how many of the things that folder pages name are in a tree."""
    of = f"{pages.present:,} of {pages.named:,} files, names and folders"
    if pages.judged:
        return f"{pages.pages} pages of folders: {of} in them are here"
    newer = f"; {pages.newer} of the pages list differences for this version" if pages.newer else ""
    return f"{pages.pages} pages of folders, written on another version: {of} in them are in this tree{newer}"


def _anchor(console: Console, checked: Checked) -> None:
    resolved = checked.resolved
    folded(console, styled((resolved.stop, "bold"), (f"  {where_to(resolved)}", "")), "  ", "      ")
    if not resolved.placed and resolved.outcome != "absent":
        folded(console, styled((f"written at {checked.stop.anchor.where}", "dim")), "      ", "      ")


def _sums(view: CheckView) -> Text:
    sums = ", ".join(f"{n} {WORDS.get(name, name)}" for name, n in view.summary.items() if n)  # type: ignore[call-overload]
    parts = [f"{len(view.anchors)} anchors on {clean(view.tree.label)}: {sums or 'none'}"]
    if view.problems:
        parts.append(f"{len(view.problems)} problems in files")
    if view.labs is not None:
        parts.append(f"{sum(lab.outcome == 'passed' for lab in view.labs)} of {len(view.labs)} labs passed")
    return Text("; ".join(parts))


def lab_line(lab: LabResult) -> str:
    """Returns one line on how a lab ended."""
    why = f": {lab.why}" if lab.why else ""
    place = f"  {lab.where}" if lab.outcome != "passed" else ""
    return clean(f"lab {lab.outcome}  {lab.name}{lab.time}{why}{place}")


def print_trusted(
    files: Mapping[str, str], lines: Sequence[str], problems: Sequence[Problem], *, revoked: bool
) -> None:
    """Print all code of these files that was not shown before, their hashes, and that the code may run now."""
    for line in lines:
        print(clean(line))
    for sha, file in files.items():
        print(clean(f"{'no longer trusted' if revoked else 'trusted'}: {file} (sha256 {sha[:12]}…)"))
    if not files:
        print("it has no code: there is nothing to trust")
    for problem in problems:
        print(clean(f"{problem.where}: {problem.text}"))
