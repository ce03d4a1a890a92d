"""What fetching shows in a terminal: a bar with git's own figures while it runs, and plain lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ptexplore.render.plain import clean
from ptexplore.render.progress import Lines


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


class _Lines(Lines):
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
