"""An operator's card as a screen: schema, keys, kernels, derivative, and each place opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.widgets.option_list import Option

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.messages import OpenOperator, OpenPlace, OpenTour
from ptexplore.tui.widgets.colours import content
from ptexplore.tui.widgets.lists import Choices
from ptexplore.view.trees import why_not

if TYPE_CHECKING:
    from ptexplore.model.places import SourceRef
    from ptexplore.tui.library import Library
    from ptexplore.view.card import Card
    from ptexplore.view.line import Line


class CardScreen(Screen[Message | None]):
    """The card of one operator. Ends with the message that opens what was chosen; None where the reader went back."""

    DEFAULT_CSS = """
    CardScreen Choices { padding: 0 1; text-wrap: wrap; }
    CardScreen #told { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "Open", show=True),
        Binding("f", "full", "All keys"),
        Binding("escape,q,backspace", "leave", "Back"),
    ]

    def __init__(self, library: Library, name: str) -> None:
        super().__init__()
        self._library = library
        self._asked = name
        self._card: Card | None = None
        self._full = False
        self._lines: list[Line] = []

    def compose(self) -> ComposeResult:
        yield Choices()
        yield Static(Content(clean(f"reading the card of {self._asked} …")), id="told")
        yield Footer()

    def on_mount(self) -> None:
        self.run_worker(self._read, thread=True, exit_on_error=False)

    def _read(self) -> None:
        """In a thread: indexes may have to be looked through, and checkouts compared."""
        try:
            card = self._library.card(self._asked)
        except PtexploreError as error:
            told = f"{error.message}: {error.why}" if error.why else error.message
            self.app.call_later(self._tell, told)
            return
        self.app.call_later(self._show, card)

    def _show(self, card: Card) -> None:
        if not self.is_attached:
            return
        from ptexplore.view.card import HIDDEN, card_lines

        self._card = card
        self._lines = list(card_lines(card, full=self._full))
        options = [
            Option(_prompt(line), id=str(number), disabled=not line.leads) for number, line in enumerate(self._lines)
        ]
        self.query_one(Choices).fill(options, keep=True)
        hidden = not self._full and any(HIDDEN in line.text for line in self._lines)
        self._tell("f shows every dispatch key" if hidden else "")

    def _tell(self, text: str) -> None:
        if self.is_attached:
            self.query_one("#told", Static).update(Content(clean(text)))

    def action_full(self) -> None:
        """Every dispatch key, or the common ones."""
        self._full = not self._full
        if self._card is not None:
            self._show(self._card)

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        line = self._lines[int(event.option.id or 0)]
        if line.operator is not None:
            self.dismiss(OpenOperator(line.operator))
        elif line.stop is not None:
            tour, _, stop = line.stop.partition("#")
            self.dismiss(OpenTour(tour, stop))
        elif line.ref is not None:
            self._open(line.ref)

    def _open(self, ref: SourceRef) -> None:
        why = why_not(ref, self._library.trees)
        if why is None and ref.path is not None:
            self.dismiss(OpenPlace(ref.tree, ref.path, ref.line or 1))
        else:
            self._tell(why or "")


def _prompt(line: Line) -> Content:
    return Content.assemble("\n" if line.style == "heading" else " " * line.indent, content(line.spans))
