"""An operator's card as a screen: schema, keys, kernels, derivative. Each place opens."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static
from textual.widgets.option_list import Option

from ptexplore.safe_text import clean
from ptexplore.tui.asking import Choices
from ptexplore.tui.jobs import Job, hand_over
from ptexplore.tui.key_line import KeyLine
from ptexplore.tui.messages import GoBack, OpenPlace, message_for
from ptexplore.tui.places import CARD, Place
from ptexplore.tui.widgets.colours import content, hung
from ptexplore.view.card import Card, card_lines
from ptexplore.view.line import without_certainty
from ptexplore.view.opening import open_line

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from ptexplore.tui.library import Library
    from ptexplore.view.line import Line


_ABOVE = 2  # lines of a dispatch key above its first place: the key, the kernel
_LEAST = ("quit", "last_trace", "fetch", "home", "trace")  # keys that the last line drops first


class CardScreen(Screen[Message | None]):
    """The card of one operator. It returns the message that opens the reader's choice; None if the reader went back."""

    DEFAULT_CSS = """
    CardScreen Choices { padding: 0 1; text-wrap: wrap; }
    CardScreen #told { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "key(1)", "Next dispatch key", key_display="n p"),
        Binding("p", "key(-1)", show=False),
        Binding("f", "full", "All keys"),
        Binding("ctrl+o,alt+left,backspace", "back", "Back", key_display="^o"),
        Binding("escape,q", "dismiss(None)", "Close", key_display="esc"),
    ]

    def __init__(self, library: Library, name: str, back: Place | None = None) -> None:
        """If going back led to the card, `back` is how the reader left it."""
        super().__init__()
        self._library = library
        self._operator = name
        self._back = back
        self._job: Job | None = None
        self._card: Card | None = None
        self._full = back.whole if back is not None else False
        self._lines: list[Line] = []

    def compose(self) -> ComposeResult:
        yield Choices()
        yield Static(Content(clean(f"reading the card of {self._operator} …")), id="told")
        yield KeyLine(_LEAST)

    def on_unmount(self) -> None:
        """Stop building data for a screen that is gone."""
        if self._job is not None:
            self._job.stop()

    def on_mount(self) -> None:
        self._job = Job(f"card {self._operator}", lambda step: self.app.call_later(self._tell, step))
        # In a thread: it may have to read indexes and compare checkouts.
        read = partial(self._library.card, self._operator, self._job)
        work = partial(hand_over, self.app, read, self._show, lambda error: self._tell(error.one_line))
        self.run_worker(work, thread=True, exit_on_error=False)

    def _show(self, card: Card) -> None:
        if not self.is_attached:
            return
        left = self._back if self._card is None else None
        self._card = card
        self._lines = list(card_lines(card, full=self._full))
        room = self.size.width - 4
        options = [Option(_prompt(line, room), disabled=not line.leads) for line in self._lines]
        choices = self.query_one(Choices)
        choices.fill(options, keep=True)
        if left is not None and left.top < len(options):
            choices.highlighted = left.top
        hidden = not self._full and len(card.common) < len(card.keys)
        self._tell(f"n: the next dispatch key{'; f: every key' if hidden else ''}; ↓: more below")

    def on_resize(self) -> None:
        """Fit the lines to the new width."""
        if self._card is not None:
            self._show(self._card)

    def _tell(self, text: str) -> None:
        if self.is_attached:
            self.query_one("#told", Static).update(Content(clean(text)))

    def action_back(self) -> None:
        """Go back. If going back led to this card, go to the place before the card."""
        choices = self.query_one(Choices)
        left = Place("", self._operator, CARD, 0, choices.highlighted or 0, self._full)
        self.dismiss(GoBack(left) if self._back is not None else None)

    def action_key(self, step: int) -> None:
        """Go to the first place of the next dispatch key, or of the one before."""
        choices = self.query_one(Choices)
        at = choices.highlighted or 0
        firsts = []
        for number, line in enumerate(self._lines):
            if line.style == "strong":
                firsts += [n for n in range(number, len(self._lines)) if self._lines[n].leads][:1]
        left = [first for first in firsts if (first > at if step > 0 else first < at)]
        if left:
            choices.highlighted = left[0 if step > 0 else -1]
            choices.scroll_to_highlight(top=True)
            choices.scroll_relative(y=-_ABOVE, animate=False)

    def action_full(self) -> None:
        """Switch between all dispatch keys and the common ones."""
        self._full = not self._full
        if self._card is not None:
            self._show(self._card)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        opening = open_line(self._lines[event.option_index], self._library.trees)
        message = message_for(opening)
        if isinstance(message, OpenPlace):
            message.origin = Place("", self._operator, CARD, 0, event.option_index, self._full)
        if message is not None:
            self.dismiss(message)
        else:
            self._tell(opening.why)


def _prompt(line: Line, room: int) -> Content:
    text = Content.assemble(" " * line.indent, content(without_certainty(line.spans)))
    return Content.assemble("\n", text) if line.style == "heading" else hung(text, room, line.indent + 2)
