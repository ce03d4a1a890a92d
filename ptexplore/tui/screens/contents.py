"""The stops of a tour to choose from, with what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static
from textual.widgets.option_list import Option

from ptexplore.safe_text import clean
from ptexplore.tui.widgets.lists import Choices

if TYPE_CHECKING:
    from ptexplore.annotations.records import Tour


class TourContents(ModalScreen["int | None"]):
    """Ends with the number of the stop chosen; 0 to leave the tour, None to go on where one was."""

    DEFAULT_CSS = """
    TourContents { align: center middle; }
    TourContents > Vertical { width: 90%; max-width: 90; height: auto; max-height: 90%; border: round $primary;
                              background: $surface; padding: 0 1; }
    TourContents Choices { height: auto; max-height: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,c", "leave", "Close")]

    def __init__(self, tour: Tour, at: int) -> None:
        super().__init__()
        self._tour = tour
        self._at = at

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Content.styled(clean(self._tour.title), "bold"))
            yield Choices()

    def on_mount(self) -> None:
        from ptexplore.annotations.progress import load_progress

        read = load_progress().done
        options = []
        for number, stop in enumerate(self._tour.stops, 1):
            mark = "✓" if self._tour.name_of(stop) in read else " "
            labs = f"  {len(stop.labs)} lab{'s' if len(stop.labs) > 1 else ''}" if stop.labs else ""
            text = Content.assemble(f"{mark} {number:>2}  ", (clean(stop.title), "bold" if number == self._at else ""))
            options.append(Option(Content.assemble(text, (labs, "dim")), id=str(number)))
        choices = self.query_one(Choices)
        choices.fill([*options, Option(Content.styled("leave the tour", "dim"), id="0")])
        choices.highlighted = self._at - 1
        choices.focus()

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        self.dismiss(int(event.option.id or self._at))
