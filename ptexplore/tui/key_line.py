"""The keys at the foot of the screen: as many as there is room for, none of them cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual import events
from textual.widgets import Footer

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from textual.app import ComposeResult


class KeyLine(Footer):
    """A footer that leaves out whole keys where not all fit: those of `least` first, then the first ones."""

    def __init__(self, least: Sequence[str] = (), idle: Callable[[], Container[str]] = tuple) -> None:
        """`least` are actions, the one that a reader misses least first; `idle` says which have nothing to do now."""
        super().__init__(show_command_palette=False, compact=True)
        self._least = tuple(least)
        self._idle = idle
        self._room = 0

    def compose(self) -> ComposeResult:
        """The keys that fit, in the order that they have."""
        self._room = self.app.size.width
        # Textual binds each key to `compact`, and the binding keeps keys that were removed: a dozen with every file.
        getattr(self, "__watchers", {}).pop("compact", None)
        idle = self._idle()
        every: list[Any] = list(super().compose())
        keys = [key for key in every if key.action not in idle]
        order = {action: number for number, action in enumerate(self._least)}
        out = sorted(keys, key=lambda key: order.get(key.action, len(order)))
        while len(out) > 1 and sum(map(_wide, out)) > self._room:
            out.pop(0)
        yield from (key for key in keys if key in out)

    def on_resize(self, event: events.Resize) -> None:
        """There is other room: other keys fit."""
        if event.size.width != self._room:
            self.call_after_refresh(self.recompose)


def _wide(key: Any) -> int:
    """Columns of a key, with the blanks between its parts and behind it."""
    return cell_len(key.key_display) + cell_len(key.description) + 2
