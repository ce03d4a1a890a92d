"""Walk a tour on the reading screen: the stop in the notes pane, its source beside it, progress kept by stable ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static
from textual.widgets.option_list import Option

from ptexplore.errors import PtexploreError
from ptexplore.tui.library import Place
from ptexplore.tui.lists import Choices
from ptexplore.view.plain import clean

if TYPE_CHECKING:
    from ptexplore.annotations.records import Lab, Tour
    from ptexplore.tui.library import Library
    from ptexplore.tui.reader import Reader
    from ptexplore.view.tour import Guide, StopView


class Walk:
    """One reader's walk through one tour."""

    def __init__(self, library: Library, reader: Reader, tour: Tour, stop: str | None = None) -> None:
        self.library = library
        self.reader = reader
        self.tour = tour
        self.at = self._first(stop)
        self._guide: Guide | None = None
        self._saves = True

    def _first(self, stop: str | None) -> int:
        """The stop asked for, else the one at which the tour was left; the first where it was read to its end."""
        from ptexplore.annotations.progress import load_progress

        names = [one.id for one in self.tour.stops]
        if stop in names:
            return names.index(stop) + 1
        progress = load_progress()
        last = progress.last.get(self.tour.id)
        return names.index(last) + 1 if last in names and progress.of(self.tour) < len(names) else 1

    @property
    def view(self) -> StopView | None:
        """The stop that is shown."""
        return self.reader.notes.stop

    def show(self) -> None:
        """The stop in the notes pane, and its source where its anchor is placed: nowhere else.

        To place an anchor reads files, so it is done in a thread; of several steps in a row the last one counts.
        """
        number = self.at
        self.reader.run_worker(lambda: self._place(number), thread=True, group="stop", exclusive=True)

    def _place(self, number: int) -> None:
        try:
            if self._guide is None:
                self._guide = self.library.apart_guide()
            view = self._guide.stop(self.tour, number)
        except PtexploreError as error:
            told = f"{error.message}: {error.why}" if error.why else error.message
            self.reader.app.call_later(self.reader.tell, told)
        else:
            self.reader.app.call_later(self._placed, view)

    def _placed(self, view: StopView) -> None:
        app: Any = self.reader.app
        if view.number != self.at or app.walk is not self:
            return  # the reader went on meanwhile
        self.reader.show_notes()
        self.reader.notes.show_stop(view)
        self._remember(last=(self.tour.id, view.stop.id))
        self.reader.call_after_refresh(self.here)  # the panes have their sizes then

    def here(self) -> None:
        """The source of the stop that is shown."""
        view = self.view
        if view is None:
            return
        one = view.resolved
        if view.spot is not None:
            lit = (one.line, max(one.end_line, one.line))
            column = self._column(view, view.spot.tree.name)
            self.reader.go(Place(view.spot.tree.name, one.path, one.line, column), lit=lit)
        else:
            self.reader.source.light(None)
            self.reader.warn(f"stop {self.at} is {view.outcome}: what is open below is not its source")

    def _column(self, view: StopView, tree: str) -> int:
        """Where what the stop means is on its line: the anchor's token, else the symbol's name, if it is there once."""
        one, indexed = view.resolved, self.library.tree(tree)
        name = view.stop.anchor.token or re.split(r"::|\.", one.name)[-1]
        line = (indexed.tree.line(one.path, one.line) or "") if indexed is not None else ""
        found = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", line)] if name else []
        return found[0] if len(found) == 1 else 0

    def next(self) -> bool:
        """The next stop; this one is read. False after the last."""
        self._remember(done=self.tour.name_of(self.tour.stops[self.at - 1]))
        if self.at == len(self.tour.stops):
            return False
        self.at += 1
        self.show()
        return True

    def back(self) -> None:
        """The stop before."""
        if self.at == 1:
            self.reader.tell("this is the first stop")
            return
        self.at -= 1
        self.show()

    def go(self, number: int | None) -> None:
        """To a stop by its number."""
        if number is not None:
            self.at = number
            self.show()

    @property
    def labs(self) -> tuple[Lab, ...]:
        """The labs of this stop."""
        return self.tour.stops[self.at - 1].labs

    def passed(self, lab: Lab) -> None:
        """A lab of this stop came to what it expects."""
        self._remember(lab=f"{self.tour.name_of(self.tour.stops[self.at - 1])}/{lab.id}")

    def _remember(
        self, *, done: str | None = None, lab: str | None = None, last: tuple[str, str] | None = None
    ) -> None:
        """Keep progress; where that cannot be written it is said once, and the walk goes on."""
        from ptexplore.annotations.progress import remember

        if not self._saves:
            return
        try:
            remember(done=done, lab=lab, last=last)
        except OSError as error:
            self._saves = False
            self.reader.app.notify(clean(f"{error.filename}: {error.strerror or error}"), title="progress is not kept")


class Contents(ModalScreen["int | None"]):
    """The stops of a tour with what was read; ends with the number chosen, 0 to leave the tour."""

    DEFAULT_CSS = """
    Contents { align: center middle; }
    Contents > Vertical { width: 90%; max-width: 90; height: auto; max-height: 90%; border: round $primary;
                          background: $surface; padding: 0 1; }
    Contents Choices { height: auto; max-height: 100%; }
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

        done = load_progress().done
        options = []
        for number, stop in enumerate(self._tour.stops, 1):
            mark = "✓" if self._tour.name_of(stop) in done else " "
            labs = f"  {len(stop.labs)} lab{'s' if len(stop.labs) > 1 else ''}" if stop.labs else ""
            text = Content.assemble(f"{mark} {number:>2}  ", (clean(stop.title), "bold" if number == self._at else ""))
            options.append(Option(Content.assemble(text, (labs, "dim")), id=str(number)))
        found = self.query_one(Choices)
        found.fill([*options, Option(Content.styled("leave the tour", "dim"), id="0")])
        found.highlighted = self._at - 1
        found.focus()

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        self.dismiss(int(event.option.id or self._at))
