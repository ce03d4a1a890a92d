"""What a long step tells whoever watches it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Anything that shows progress; the caller renders it."""

    def step(self, name: str, done: float | None = None) -> None:
        """`name` is running; `done` is the part finished, 0.0 to 1.0, None where unknown."""


class Watcher(Progress, Protocol):
    """A Progress that also shows a word on the step that is running (how much, how fast)."""

    def detail(self, text: str) -> None:
        """`text` belongs to the step that is running."""


class Silent:
    """A Watcher nobody watches."""

    def step(self, name: str, done: float | None = None) -> None:
        """Do nothing."""

    def detail(self, text: str) -> None:
        """Do nothing."""
