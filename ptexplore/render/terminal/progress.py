"""Shows the progress of long work on stderr: a bar in a terminal, one line per step elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ptexplore.safe_text import clean

EVERY = 3.0  # seconds between two lines on the progress of a step


class _Bar:
    """One rich task per step, finished when the next begins. `done` is a share from 0 to 1, or None if unknown."""

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
        """Show git's figures on the running step: amount and speed."""
        if self._last and text:
            self._bar.update(self._tasks[self._last], detail=clean(text))


class ProgressLines:
    """One line per step, for logs and pipes. Long steps also print their progress."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._printed = 0.0

    def step(self, name: str, done: float | None = None) -> None:
        """Print a step when it starts, and then its progress every few seconds."""
        begun = name in self._seen
        if begun and (done is None or done >= 1 or time.monotonic() - self._printed < EVERY):
            return
        self._seen.add(name)
        self._printed = time.monotonic()
        print(f"  {clean(name)}{f': {done:.0%}' if begun else ''}", file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        """Does nothing: a log needs no changing figures."""


@contextmanager
def progress_bar(title: str = "") -> Iterator[_Bar | ProgressLines]:
    """Show steps as they are reported, under a title if there is one. The bar disappears at the end."""
    if title:
        print(clean(title), file=sys.stderr, flush=True)
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from ptexplore.render.terminal.console import gated

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[detail]}", markup=False, style="dim"),
        TimeElapsedColumn(),
    )
    console = gated(Console(stderr=True, markup=False, highlight=False, force_jupyter=False))
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar)
