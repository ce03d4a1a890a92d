"""The tree of what ran, as a screen that can be left for the source and come back to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from ptexplore.tui.widgets.trail import TrailPane

if TYPE_CHECKING:
    from ptexplore.model.trace import Trail
    from ptexplore.tui.library import Library


class TrailScreen(Screen[None]):
    """One Trail; opening a row leads to the reading screen, and T back here, where the cursor was."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,backspace", "leave", "Source")]

    def __init__(self, library: Library, trail: Trail) -> None:
        super().__init__()
        self._library = library
        self._trail = trail

    def compose(self) -> ComposeResult:
        yield TrailPane(self._library, self._trail)
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#trail").focus()

    def action_leave(self) -> None:
        """Back to the source."""
        self.app.pop_screen()
