"""The stops of the current tour, on the left: the reader's stop, the stops that were read, those visited."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from ptexplore.safe_text import clean
from ptexplore.tui.asking import Leads, Links
from ptexplore.tui.messages import GoToStop
from ptexplore.tui.widgets.notes_pane import READ_SIGNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptexplore.annotations.progress import ReadingProgress
    from ptexplore.annotations.records import Tour

_INDENT = 6  # columns in front of a title, for its sign and number


class StopList(Links):
    """Every stop of a tour. `tour` is None while there is no tour. Enter goes to a stop."""

    DEFAULT_CSS = """
    StopList, StopList:focus { width: 34; height: 1fr; border-right: vkey $panel; padding: 0; }
    ReadingScreen.-tight StopList { width: 24; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Go there")]

    def __init__(self) -> None:
        super().__init__(id="stops")
        self.tour: Tour | None = None
        self._again: Callable[[], None] = lambda: None
        self._wide = 0

    def show(self, tour: Tour | None, number: int, progress: ReadingProgress) -> None:
        """List the stops of a tour; the reader is at stop `number`. None: there is no tour any longer."""
        self.tour = tour
        if tour is None:
            return
        self._again = lambda: self.show(tour, number, progress)
        self._wide = self.size.width
        read = f"{progress.visited_of(tour)} of {len(tour.stops)} seen, {progress.of(tour)} done"
        title = Content.assemble((f"{clean(tour.title)}\n", "bold"), (f"{read}\n✓ done   · seen\n", "dim"))
        stops = [self._stop(tour, at, current=at == number, progress=progress) for at in range(1, len(tour.stops) + 1)]
        leave = Leads(Content.styled("\n   leave the tour", "dim"), GoToStop(len(tour.stops) + 1))
        self.fill([Leads(title), *stops, leave])
        self.highlighted = number  # the title is the first line

    def on_resize(self) -> None:
        """Fit the titles to the new width."""
        if self.tour is not None and self.size.width != self._wide:
            at = self.highlighted
            self._again()
            self.highlighted = at

    def _stop(self, tour: Tour, number: int, *, current: bool, progress: ReadingProgress) -> Leads:
        stop = tour.stops[number - 1]
        sign = READ_SIGNS[progress.state(tour.name_of(stop))]
        room = max(self._wide - _INDENT - 1, 10)
        title = ("\n" + " " * _INDENT).join(textwrap.wrap(clean(stop.title), room))
        parts = (f"{'▸' if current else ' '}{sign}{number:>3} ", "bold $text-accent" if current else "dim"), (
            title, "bold" if current else "")  # fmt: skip
        return Leads(Content.assemble(*parts), GoToStop(number))
