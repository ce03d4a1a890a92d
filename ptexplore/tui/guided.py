"""What leads a reader through the source, for the app to inherit: home, tours, palette, cards, traces, labs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from ptexplore.errors import PtexploreError
from ptexplore.tui import messages
from ptexplore.tui.working import TRAIL, Working

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message import Message

    from ptexplore.tui.library import Place
    from ptexplore.tui.searching import Searcher


class Guided(Working):
    """The part of the app that knows where to go; the other part shows it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+p,s", "palette", "Search", key_display="^p"),
        Binding("greater_than_sign", "tour_next", "Next stop", key_display=">"),
        Binding("less_than_sign", "tour_back", "Stop before", key_display="<", show=False),
        Binding("equals_sign", "tour_here", key_display="=", show=False),
        Binding("c", "tour_contents", "Contents"),
        Binding("L", "lab", "Run lab", key_display="L"),
        Binding("J", "scroll_notes(3)", show=False),
        Binding("K", "scroll_notes(-3)", show=False),
        Binding("H", "home", "Home", key_display="H", show=False),
        Binding("x", "trace", "Trace", show=False),
        Binding("T", "trail", "Trail", key_display="T"),
    ]
    _searcher: Searcher | None = None
    settled: Callable[[], object] = staticmethod(lambda: None)  # called once most of what stays was made

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of a tour while there is one, of a trail once there was one."""
        if action in ("tour_next", "tour_back", "tour_contents", "tour_here"):
            return self.walk is not None and self.screen is self.reader
        if action == "lab":
            return self.walk is not None and bool(self.walk.labs) and self.screen is self.reader
        if action == "trail":
            return self.is_screen_installed(TRAIL)
        return super().check_action(action, parameters)

    def on_mount(self) -> None:
        """Notes are read before anyone asks for one, and after the first screen is drawn."""
        self.set_timer(0.7, lambda: self.run_worker(self._settle, thread=True, exit_on_error=False))

    def _settle(self) -> None:
        with contextlib.suppress(PtexploreError):  # whoever needs them says so
            self.library.read_notes()
        self.settled()

    def _read_notes(self) -> None:
        self.library.read_notes()
        self.call_later(self._notes_read)

    def _notes_read(self) -> None:
        self.reader.source.refresh()  # the dots before its lines
        if self.reader.place is not None:
            self.reader.notes.follow(self.reader.place)

    # --- home, palette, card ---

    def action_home(self) -> None:
        """What to read next."""
        from ptexplore.tui.home import Home

        if not isinstance(self.screen, Home):
            self.show_reader()
            self.push_screen(Home(self.library), self._follow)

    def action_palette(self) -> None:
        """Find anything."""
        from ptexplore.tui.palette import Palette
        from ptexplore.tui.searching import Searcher

        if isinstance(self.screen, Palette):
            return
        if self._searcher is not None and not self._searcher.serves(self.library):  # an index was built meanwhile
            self._searcher.close()
            self._searcher = None
        if self._searcher is None:
            self._searcher = Searcher(self.library)
            self._searcher.warm()
        self.push_screen(Palette(self._searcher), self._follow)

    def on_open_operator(self, event: messages.OpenOperator) -> None:
        """An operator's card."""
        from ptexplore.tui.card import CardScreen

        self.push_screen(CardScreen(self.library, event.name), self._follow)

    def _follow(self, message: Message | None) -> None:
        """Do what a screen ended with."""
        if message is not None:
            self.post_message(message)

    # --- tours ---

    def on_open_tour(self, event: messages.OpenTour) -> None:
        """Walk a tour, from a stop on."""
        from ptexplore.tui.touring import Walk
        from ptexplore.view.tour import find_tour

        reader = self.show_reader()
        try:
            tour = find_tour(self.library.notes, event.tour)
            self.walk = Walk(self.library, reader, tour, event.at)
            self.walk.show()
        except PtexploreError as error:
            reader.tell(f"{error.message}: {error.why}")
        self.refresh_bindings()

    def action_tour_next(self) -> None:
        """The next stop; after the last one the tour ends."""
        if self.walk is None:
            return
        if not self.walk.next():
            self.end_tour()
            self.reader.tell("that was the last stop: H shows what to read next")
        self.refresh_bindings()

    def action_tour_back(self) -> None:
        """The stop before."""
        if self.walk is not None:
            self.walk.back()
            self.refresh_bindings()

    def action_scroll_notes(self, lines: int) -> None:
        """Scroll the notes while the keys are the source's."""
        if self.screen is self.reader:
            self.reader.show_notes()
            self.reader.notes.scroll_relative(y=lines, animate=False)

    def action_tour_contents(self) -> None:
        """Every stop of the tour."""
        from ptexplore.tui.touring import Contents

        if self.walk is not None:
            self.push_screen(Contents(self.walk.tour, self.walk.at), self._to_stop)

    def _to_stop(self, number: int | None) -> None:
        if number == 0:
            self.end_tour()
        elif self.walk is not None:
            self.walk.go(number)
            self.refresh_bindings()

    def action_tour_here(self) -> None:
        """Back to the stop's own source, from wherever one read on."""
        if self.walk is not None:
            self.show_reader()
            self.walk.here()

    def end_tour(self) -> bool:
        """The notes follow the cursor again; False where no tour was walked."""
        if self.walk is None:
            return False
        self.walk = None
        self.reader.notes.leave()
        self.reader.source.light(None)
        place = self.reader.place
        if place is not None:
            self.reader.notes.follow(place)
        self.refresh_bindings()
        return True

    # --- recent places ---

    def on_arrived(self, event: messages.Arrived) -> None:
        """Remember where the reader is, once they stay for a moment; the first file asks for its notes."""
        self._arrived(event.place)
        if not self.library.marked:  # after the text is on the screen: a thread's work would hold it up
            self.reader.call_after_refresh(self.run_worker, self._read_notes, thread=True, group="notes")

    def _arrived(self, place: Place) -> None:
        self.set_timer(1.0, lambda: self._remember(place), name="recent")

    def _remember(self, place: Place) -> None:
        from ptexplore.tui.recent import Recent, keep

        here = self.reader.place
        if here is None or (here.tree, here.path) != (place.tree, place.path):
            return
        file = self.reader.source.file
        symbol = file.around(here.line) if file is not None and file.there else None
        try:
            keep(Recent(here.tree, here.path, here.line, symbol.qualified if symbol is not None else ""))
        except OSError:
            return  # a list of places that cannot be kept is no trouble worth a line

    async def action_quit(self) -> None:
        """Leave; what runs is ended first."""
        self.close_all()
        self.exit()

    def on_unmount(self) -> None:
        """However the app ends, what it started does, too."""
        self.close_all()

    def close_all(self) -> None:
        """End what runs beside the screen."""
        job: Any = self.job
        if job is not None:
            job.stop()
        if self._searcher is not None:
            self._searcher.close()
