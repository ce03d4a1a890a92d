"""Interfaces through which a long step reports progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Something that shows progress. The caller decides how."""

    def step(self, name: str, done: float | None = None) -> None:
        """Step `name` is running. `done` is the finished part, 0.0 to 1.0, or None if it is unknown."""


class Watcher(Progress, Protocol):
    """A Progress that also shows a detail of the running step (how much, how fast)."""

    def detail(self, text: str) -> None:
        """Shows `text` as a detail of the running step."""


class Silent:
    """A Watcher that shows nothing."""

    def step(self, name: str, done: float | None = None) -> None:
        """Does nothing."""

    def detail(self, text: str) -> None:
        """Does nothing."""
