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
from ptexplore.tui.lists import Choices
from ptexplore.tui.messages import OpenOperator, OpenPlace, OpenTour
from ptexplore.view.plain import clean

if TYPE_CHECKING:
    from ptexplore.model import SourceRef
    from ptexplore.tui.library import Library
    from ptexplore.view.card import Card
    from ptexplore.view.card_lines import CardLine

_STYLES = {"name": "bold $text-primary", "heading": "bold", "strong": "bold", "dim": "dim", "text": "", "place": ""}
_PRECISION = {"registered": "$text-success", "located": "$text-success", "consistent": "$text-secondary"}


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
        self._lines: list[CardLine] = []

    def compose(self) -> ComposeResult:
        yield Choices()
        yield Static(Content(clean(f"reading the card of {self._asked} …")), id="told")
        yield Footer()

    def on_mount(self) -> None:
        self.run_worker(self._read, thread=True, exit_on_error=False)

    def _read(self) -> None:
        """In a thread: indexes may have to be looked through, and checkouts compared."""
        try:
            card = self._library.runs.card(self._asked)
        except PtexploreError as error:
            told = f"{error.message}: {error.why}" if error.why else error.message
            self.app.call_later(self._tell, told)
            return
        self.app.call_later(self._show, card)

    def _show(self, card: Card) -> None:
        if not self.is_attached:
            return
        from ptexplore.view.card_lines import HIDDEN, card_lines

        self._card = card
        self._lines = list(card_lines(card, full=self._full))
        options = [
            Option(_prompt(line), id=str(number), disabled=not _leads(line)) for number, line in enumerate(self._lines)
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
        if ref.path is None or ref.line is None:
            found = ", ".join(f"{one.path}:{one.line}" for one in ref.candidates)
            self._tell(found or ref.reason or f"its place is {ref.precision}")
        elif ref.layer == "atlas" or self._library.tree(ref.tree) is None:
            self._tell(f"{ref.path}:{ref.line}: its text is not here: ptexplore fetch, ptexplore index")
        else:
            self.dismiss(OpenPlace(ref.tree, ref.path, ref.line))


def _leads(line: CardLine) -> bool:
    """Whether Enter does something there."""
    known = line.ref is not None and (line.ref.path is not None or bool(line.ref.candidates))
    return known or line.operator is not None or line.stop is not None


def _prompt(line: CardLine) -> Content:
    before = " " * line.indent if line.style != "heading" else "\n"
    after = (f"  {clean(line.after)}" if line.after else "", "dim")
    ref = line.ref
    if ref is None:
        style = "$text-accent" if line.operator or line.stop else _STYLES[line.style]
        return Content.assemble(before, (clean(line.text), style), after)
    where = (f"{ref.path}:{ref.line}" if ref.line else ref.path) if ref.path else ""
    label = f"{clean(line.text)} " if line.text else ""
    reason = f" ({clean(ref.reason)})" if ref.reason else ""
    precision = (ref.precision, _PRECISION.get(ref.precision, "$text-warning"))
    gap = "  " if where else ""
    return Content.assemble(
        before, (label, "dim"), (clean(where), "$text-accent"), gap, precision, (reason, "dim"), after
    )
