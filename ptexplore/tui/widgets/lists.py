"""A list to choose from, by arrows and by vim's keys alike; what is no choice is passed over."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

VIM: list[BindingType] = [
    Binding("j", "cursor_down", show=False),
    Binding("k", "cursor_up", show=False),
    Binding("g", "first", show=False),
    Binding("G", "last", show=False),
    Binding("ctrl+d", "page_down", show=False),
    Binding("ctrl+u", "page_up", show=False),
]


class Choices(OptionList):
    """Options in the order given; a line that is only there to be read is a disabled one."""

    DEFAULT_CSS = """
    Choices { border: none; padding: 0; background: transparent; height: 1fr; text-wrap: nowrap;
              text-overflow: ellipsis; scrollbar-size-vertical: 1; }
    Choices:focus { border: none; }
    Choices > .option-list--option-disabled { color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = VIM

    def fill(self, options: list[Option], *, keep: bool = False) -> None:
        """Show these; `keep` leaves the cursor at the line where it is."""
        before = self.highlighted
        if options:  # at once: emptied first, the screen would be laid out twice
            self.set_options(options)
        else:
            self.clear_options()
        if keep and before is not None and before < len(options) and not options[before].disabled:
            self.highlighted = before
        else:
            self.highlighted = next((n for n, one in enumerate(options) if not one.disabled), None)
