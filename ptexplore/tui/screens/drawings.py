"""Drawings that are wider than the pane beside the source, over the whole screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ptexplore.safe_text import clean
from ptexplore.tui.key_line import KeyLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult


class Drawings(ModalScreen[None]):
    """The drawings, one below the other. They scroll in both directions; Escape, q and P close the screen."""

    DEFAULT_CSS = """
    Drawings #drawn { width: 100%; height: 1fr; border: round $accent; }
    Drawings Static { width: auto; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "scroll(-8, 0)", "Scroll", key_display="h j k l"),
        Binding("j", "scroll(0, 1)", show=False),
        Binding("k", "scroll(0, -1)", show=False),
        Binding("l", "scroll(8, 0)", show=False),
        Binding("escape,q,P", "dismiss", "Close", key_display="esc"),
    ]

    def __init__(self, drawings: Sequence[str]) -> None:
        super().__init__()
        self._drawings = drawings

    def compose(self) -> ComposeResult:
        """The drawings, with one line between them."""
        text = "\n\n".join("\n".join(map(clean, drawn.rstrip().split("\n"))) for drawn in self._drawings)
        with ScrollableContainer(id="drawn") as box:
            box.border_title = "P or Esc: back to the stop"
            yield Static(Content.styled(text, "$text-accent"))
        yield KeyLine()

    def action_scroll(self, columns: int, lines: int) -> None:
        """Scroll by some columns and lines."""
        self.query_one("#drawn").scroll_relative(x=columns, y=lines, animate=False)
