"""The keys at the foot of the screen: as many as fit, none of them cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual import events
from textual.widgets import Footer

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from textual.app import ComposeResult


class KeyLine(Footer):
    """A footer that drops whole keys if not all fit: first those in `least`, then from the left."""

    def __init__(self, least: Sequence[str] = (), idle: Callable[[], Container[str]] = tuple) -> None:
        """`least` are actions, the least needed first. `idle` returns the actions that have nothing to do now."""
        super().__init__(show_command_palette=False, compact=True)
        self._least = tuple(least)
        self._idle = idle
        self._room = 0

    def compose(self) -> ComposeResult:
        """The keys that fit, in their order."""
        self._room = self.app.size.width
        # Textual binds each key to `compact`, and the binding keeps removed keys alive: a dozen with every file.
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
        """Choose the keys again for the new width."""
        if event.size.width != self._room:
            self.call_after_refresh(self.recompose)


def _wide(key: Any) -> int:
    """Returns the columns of a key, with the blanks between its parts and after it."""
    return cell_len(key.key_display) + cell_len(key.description) + 2
