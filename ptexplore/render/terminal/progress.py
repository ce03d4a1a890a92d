"""A progress display on stderr: a rich bar in a terminal, one line a step elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ptexplore.safe_text import clean


class _Bar:
    """One rich task a step name; `done` is the share from 0 to 1, None while it cannot be told."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._tasks: dict[str, Any] = {}

    def step(self, name: str, done: float | None = None) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=None if done is None else 1.0)
        if done is not None:
            self._bar.update(self._tasks[name], total=1.0, completed=done)


EVERY = 3.0  # seconds between two lines that say how far a step is


class ProgressLines:
    """One line a step, for logs and pipes; of a long one also how far it is."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._said = 0.0

    def step(self, name: str, done: float | None = None) -> None:
        """Say a step when it begins, and then now and again the share of it that is done."""
        now = time.monotonic()
        if name not in self._seen:
            self._seen.add(name)
            print(f"  {clean(name)}", file=sys.stderr, flush=True)
        elif done is not None and done < 1 and now - self._said >= EVERY:
            print(f"  {clean(name)}: {done:.0%}", file=sys.stderr, flush=True)
        else:
            return
        self._said = now


@contextmanager
def progress_bar(title: str) -> Iterator[_Bar | ProgressLines]:
    """Show steps as they are reported; the bar goes away when all is done."""
    print(title, file=sys.stderr, flush=True)
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar)
