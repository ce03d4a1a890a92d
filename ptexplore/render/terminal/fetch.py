"""What fetching shows in a terminal: a bar while it runs; what came, what there is and what is in use as lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ptexplore.render.terminal.progress import ProgressLines
from ptexplore.safe_text import clean
from ptexplore.source.fetch.checkouts import fits, is_in_place
from ptexplore.view.checkouts import REASONS, describe

if TYPE_CHECKING:
    from ptexplore.model.places import Checkout, Runtime
    from ptexplore.source.fetch.checkouts import CheckoutChoice
    from ptexplore.source.fetch.install import FetchOutcome


class _Bar:
    """One rich task a step, finished when the next begins; the detail is what git says of amount and speed."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._tasks: dict[str, Any] = {}
        self._last = ""

    def step(self, name: str, done: float | None = None) -> None:
        if name != self._last and self._last:
            self._bar.update(self._tasks[self._last], total=1.0, completed=1.0)
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(clean(name), total=None, detail="")
        self._last = name
        if done is not None:
            self._bar.update(self._tasks[name], total=1.0, completed=done)

    def detail(self, text: str) -> None:
        """What git says of the running step: amount and speed."""
        if self._last and text:
            self._bar.update(self._tasks[self._last], detail=clean(text))


class _Lines(ProgressLines):
    def detail(self, text: str) -> None:
        """Nothing: a log needs no figures that change."""
        del text


@contextmanager
def fetch_progress() -> Iterator[_Bar | _Lines]:
    """Show the steps of a fetch on stderr; the bar goes away when all is done."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[detail]}", markup=False, style="dim"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, markup=False, highlight=False), transient=True) as bar:
        yield _Bar(bar)


def print_lines(lines: Sequence[str]) -> None:
    """Print lines whose names come from outside."""
    for line in lines:
        print(clean(line))


def listing_lines(document: dict[str, Any]) -> list[str]:
    """The list for a terminal: one checkout and its folder, the one in use marked by a star."""
    rows = document["checkouts"]
    lines = [] if rows else ["nothing was fetched yet; next: ptexplore fetch"]
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        mark = "*" if row["in_use"] else "+" if row["project"] != "pytorch" else " "
        place = "in place" if row["in_place"] else row["kind"]
        gone = "" if row["there"] else "  (its folder is gone)"
        lines += [f"{mark} {row['name']:{width}}  {place:8}  {row['is']}{gone}", f"  {'':{width}}  {row['root']}"]
    if document["current"]:
        lines.append(f"in use: {document['current']} ({document['reason']})")
    elif rows:
        lines.append("in use: none")
    return lines + ([f"  note  {document['note']}"] if document["note"] else [])


def outcome_lines(outcome: FetchOutcome, choice: CheckoutChoice, runtime: Runtime | None) -> list[str]:
    """What came, from where, where it lies, what to know of it, and which checkout is read now."""
    found = outcome.checkout
    lines = [f"{found.name}: {describe(found)}{'' if outcome.new else ' (was there already)'}"]
    lines += [f"  from  {found.origin}", f"  lies  {found.root}"]
    lines += [f"  note  {note}" for note in outcome.notes]
    if found.project != "pytorch":
        return [*lines, f"  read  beside PyTorch's own source, as {found.project}"]
    if runtime is not None and not fits(found, runtime):
        lines.append(f"  note  the installed torch is {runtime.version}; this is not known to be its source")
    return lines + choice_lines(choice)


def choice_lines(choice: CheckoutChoice) -> list[str]:
    """Which checkout is in use, and why."""
    name = f"{choice.checkout.name} ({REASONS[choice.reason]})" if choice.checkout else "none"
    return [f"in use: {name}"] + ([f"  note  {choice.note}"] if choice.note else [])


def removed_lines(gone: Checkout) -> list[str]:
    """What was removed, and what of it stays."""
    return [f"removed {gone.name}{f'; its folder {gone.root} stays as it is' if is_in_place(gone) else ''}"]
