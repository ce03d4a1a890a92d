"""One line to type: what to find, which line to go to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from textual.app import ComposeResult


class Ask(ModalScreen[str | None]):
    """Asks for a line at the foot of the screen; None where the reader thought better of it."""

    DEFAULT_CSS = """
    Ask { align: center bottom; background: transparent; }
    Ask Input { width: 100%; border: none; height: 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back")]

    def __init__(self, what: str, text: str = "") -> None:
        super().__init__()
        self._what = what
        self._text = text

    def compose(self) -> ComposeResult:
        """The line."""
        yield Input(self._text, placeholder=self._what, select_on_focus=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """That is it."""
        self.dismiss(event.value)
