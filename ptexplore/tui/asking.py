"""Screens that ask the reader: a list to choose from, one of several things, a line of text, consent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ptexplore.safe_text import clean
from ptexplore.tui.key_line import KeyLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.message import Message


class Choices(OptionList):
    """Options in the given order, for the arrow keys and vim's keys. Lines of plain text are disabled."""

    DEFAULT_CSS = """
    Choices { border: none; padding: 0; background: transparent; height: 1fr; text-wrap: nowrap;
              text-overflow: ellipsis; scrollbar-size-vertical: 1; }
    Choices:focus { border: none; }
    Choices > .option-list--option-disabled { color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
    ]

    def fill(self, options: Sequence[Option], *, keep: bool = False) -> None:
        """Show these options. With `keep`, the cursor stays on its line."""
        before = self.highlighted
        if options:  # in one step: if the list were emptied first, the screen would be laid out twice
            self.set_options(options)
        else:
            self.clear_options()
        if keep and before is not None and before < len(options) and not options[before].disabled:
            self.highlighted = before
        else:
            self.highlighted = next((n for n, option in enumerate(options) if not option.disabled), None)


class Leads(Option):
    """A line whose message opens a place or screen. A line without a message is only text.

    `remark` is shown while the cursor is on the line.
    """

    def __init__(self, text: Content, message: Message | None = None, remark: str = "") -> None:
        super().__init__(text, disabled=message is None)
        self.message = message
        self.remark = remark


class Links(Choices):
    """Lines with links, as high as their text. Enter or a click opens one."""

    DEFAULT_CSS = """
    Links, Links:focus { height: auto; text-wrap: wrap; }
    Links > .option-list--option-highlighted { background: transparent; }
    Links:focus > .option-list--option-highlighted { background: $primary 35%; color: $foreground; text-style: none; }
    """

    def action_page_down(self) -> None:
        """Scroll one screen down: text without links may be several screens high."""
        self._page(1)

    def action_page_up(self) -> None:
        """Scroll one screen up."""
        self._page(-1)

    def action_first(self) -> None:
        """Go to the first link, and show the text above it."""
        super().action_first()
        self.scroll_home(animate=False, immediate=True)

    def action_cursor_up(self) -> None:
        """Go to the link before; above the first link, scroll to the text there."""
        open_ = next((n for n in range(self.option_count) if not self.get_option_at_index(n).disabled), None)
        if self.scroll_offset.y and self.highlighted in (None, open_):
            self.scroll_home(animate=False, immediate=True)
        else:
            super().action_cursor_up()

    def _page(self, direction: int) -> None:
        height = self.scrollable_content_region.height
        top = min(max(self.scroll_offset.y + direction * max(height - 1, 1), 0), self.max_scroll_y)
        if top == self.scroll_offset.y:
            self.action_last() if direction > 0 else self.action_first()
            return
        begins = self._index_to_line  # Textual has no public way to ask where an option begins
        seen = [n for n in range(self.option_count) if top <= begins[n] < top + height]
        open_ = [n for n in seen if not self.get_option_at_index(n).disabled]
        self.highlighted = (open_[0] if direction > 0 else open_[-1]) if open_ else None
        self.scroll_to(y=top, animate=False, immediate=True)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Open the link of the line."""
        event.stop()
        if isinstance(event.option, Leads) and event.option.message is not None:
            self.app.post_message(event.option.message)


class ChoiceScreen(ModalScreen[int | None]):
    """A choice among several things with one name: nothing is chosen silently.

    The cursor begins at option `at`. The screen returns the number of the chosen option, or None.
    """

    DEFAULT_CSS = """
    ChoiceScreen { align: center middle; }
    ChoiceScreen > Vertical { width: 90%; max-width: 110; height: auto; max-height: 90%; border: round $accent;
                              background: $surface; padding: 0 1; }
    ChoiceScreen Static { text-style: bold; }
    ChoiceScreen Choices { height: auto; max-height: 70vh; text-wrap: wrap; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+o,alt+left,backspace", "dismiss(None)", "Close", key_display="esc")
    ]

    def __init__(self, title: str, options: Sequence[Content], at: int = 0) -> None:
        super().__init__()
        self._title = title
        self._options = options
        self._at = at

    def compose(self) -> ComposeResult:
        """The title above the list."""
        with Vertical():
            yield Static(Content(clean(self._title)))
            yield Choices(*map(Option, self._options))
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(Choices).highlighted = self._at

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Return the number of the option."""
        self.dismiss(event.option_index)


def two_lines(name: str, facts: str) -> Content:
    """Returns an option: a name, and below it the facts that distinguish it from the others."""
    return Content.assemble(clean(name), "\n", (f"  {clean(facts)}", "dim"))


class Ask(ModalScreen[str | None]):
    """A question at the foot of the screen. The screen returns the typed line, or None if the reader closes it."""

    DEFAULT_CSS = """
    Ask { align: center bottom; background: transparent; }
    Ask Input, Ask Input:focus { width: 100%; border: none; height: 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Continue", priority=True),
        Binding("escape", "dismiss(None)", "Close", key_display="esc"),
    ]

    def __init__(self, question: str, text: str = "") -> None:
        super().__init__()
        self._question = question
        self._text = text

    def compose(self) -> ComposeResult:
        """The input line."""
        yield Input(self._text, placeholder=self._question, select_on_focus=True)
        yield KeyLine()

    def action_submit(self) -> None:
        """Return the text."""
        self.dismiss(self.query_one(Input).value)


_ORIGIN = 90  # characters of the origin's name
SETTLED = 0.5  # seconds that the last line of the code must be on the screen before a key counts as an answer


class ConsentScreen(ModalScreen[bool]):
    """All foreign code that would run. `y` is a yes only after the last line of it was on the screen.

    A `y` that was typed before, or pasted with the text that led here, does not count.
    """

    DEFAULT_CSS = """
    ConsentScreen { align: center middle; }
    ConsentScreen > Vertical { width: 90%; height: 90%; border: round $warning; background: $surface; padding: 0 1; }
    ConsentScreen VerticalScroll { height: 1fr; }
    ConsentScreen #left { height: auto; max-height: 2; }
    ConsentScreen #code { height: auto; text-wrap: wrap; text-overflow: fold; }
    ConsentScreen .bold { text-style: bold; max-height: 2; }
    ConsentScreen #origin { height: auto; max-height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "Yes, run it"),
        Binding("space,pagedown,ctrl+d,j,down", "further", "Further", key_display="space"),
        Binding("n,escape,q,enter,ctrl+o,alt+left,backspace", "dismiss(False)", "No", key_display="n"),
    ]

    def __init__(self, origin: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._origin = origin
        self._lines = lines
        self._read_at: float | None = None  # when the last line came on the screen

    def compose(self) -> ComposeResult:
        """The title and origin above the code."""
        with Vertical():
            origin = clean(self._origin)
            origin = origin if len(origin) <= _ORIGIN else f"{origin[: _ORIGIN // 3]}…{origin[-_ORIGIN * 2 // 3 :]}"
            yield Static(Content("Code that you did not type. It would run with your rights:"), classes="bold")
            yield Static(Content(f"from {origin}"), id="origin")
            with VerticalScroll():
                yield Static(Content("\n".join(map(clean, self._lines))), id="code")
            yield Static(Content.styled("", "$text-warning"), id="left")
        yield KeyLine()

    def on_mount(self) -> None:
        self._say("y runs it and remembers your yes for exactly this code. Any other key means no.")
        code = self.query_one(VerticalScroll)
        self.watch(code, "scroll_y", self._look_later, init=False)
        self._look_later()

    def on_resize(self) -> None:
        """Look again: other lines may be on the screen now."""
        self._look_later()

    def _look_later(self) -> None:
        self.call_after_refresh(self._look)

    def _look(self) -> None:
        """Note the time when the last line was painted on the screen, or scrolled to."""
        code = self.query_one(VerticalScroll)
        box = self.query_one(Vertical).content_region
        is_seen = code.size.height > 0 and box.contains_region(code.region)  # lines outside the box are not drawn
        if self._read_at is None and is_seen and code.scroll_offset.y >= code.max_scroll_y:
            self._read_at = time.monotonic()

    def action_further(self) -> None:
        """Show the next lines."""
        self.query_one(VerticalScroll).scroll_page_down(animate=False)

    def action_agree(self) -> None:
        """Agree, if all of the code was on the screen."""
        if self._read_at is None:
            self._say("there is more code below: space shows it. y works only after the last line.")
        elif time.monotonic() < self._read_at + SETTLED:
            self._say("you pressed y too soon: read the code, then press y again")
        else:
            self.dismiss(True)

    def _say(self, text: str) -> None:
        self.query_one("#left", Static).update(Content.styled(text, "$text-warning"))
