"""What leads a reader through the source, for the app to inherit: home, tours, palette, cards, traces, labs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from ptexplore.errors import PtexploreError
from ptexplore.tui import messages
from ptexplore.tui.jobs import Running
from ptexplore.view.plain import clean

if TYPE_CHECKING:
    from textual.message import Message

    from ptexplore.annotations.records import Lab
    from ptexplore.model import Trail
    from ptexplore.tui.library import Library, Place
    from ptexplore.tui.reader import Reader
    from ptexplore.tui.searching import Searcher
    from ptexplore.tui.touring import Walk
    from ptexplore.view.labs import LabResult

_TRAIL = "trail"


class Guided(App[None]):
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
    library: Library
    reader: Reader
    walk: Walk | None = None
    job: Running | None = None
    _searcher: Searcher | None = None
    _prefix = ""  # what is said before each step of the job

    def show_reader(self) -> Reader:
        """The reading screen, whatever lay over it."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of a tour while there is one, of a trail once there was one."""
        if action in ("tour_next", "tour_back", "tour_contents", "tour_here"):
            return self.walk is not None and self.screen is self.reader
        if action == "lab":
            return self.walk is not None and bool(self.walk.labs) and self.screen is self.reader
        if action == "trail":
            return self.is_screen_installed(_TRAIL)
        return super().check_action(action, parameters)

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
        if self._searcher is None:
            self._searcher = Searcher(self.library)
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

    # --- what runs ---

    def action_lab(self) -> None:
        """Run the lab of the stop; where it has several, the reader says which."""
        labs = self.walk.labs if self.walk is not None else ()
        if len(labs) == 1:
            self._lab(labs[0])
        elif labs:
            from ptexplore.tui.choice import Choice

            rows = [(one.id, one.run.strip().partition("\n")[0]) for one in labs]
            self.push_screen(Choice("which lab?", rows), lambda at: self._lab(labs[at]) if at is not None else None)

    def _lab(self, lab: Lab) -> None:
        walk, library = self.walk, self.library
        if walk is None or not self._begin_job(f"lab {lab.id}"):
            return
        job, stop = self.job, walk.tour.stops[walk.at - 1]
        assert job is not None
        self.reader.notes.lab_said(lab, "running …  (Esc stops it)")

        def work() -> None:
            try:
                result, trail = library.runs.lab(walk.tour, stop, lab, job)
            except PtexploreError as error:
                said = "stopped" if job.stopped else f"{error.message}: {error.why}"
                self.call_from_thread(self._lab_failed, job, lab, said)
            else:
                self.call_from_thread(self._lab_done, job, walk, lab, result, trail)

        self.run_worker(work, thread=True, group="job", exit_on_error=False)

    def _lab_failed(self, job: Running, lab: Lab, said: str) -> None:
        self._end_job(job, f"{job.title}: {said}")
        self.reader.notes.lab_said(lab, said)

    def _lab_done(self, job: Running, walk: Walk, lab: Lab, result: LabResult, trail: Trail | None) -> None:
        also = "; T walks what ran" if trail is not None else ""
        self._end_job(job, f"{job.title}: {result.outcome}{also}")
        self.reader.notes.lab_said(lab, result)
        if result.outcome == "passed":
            walk.passed(lab)
        if trail is not None:
            self._keep_trail(trail)

    def action_trace(self) -> None:
        """Type an expression; see what runs."""
        from ptexplore.tui.asking import Ask

        self.push_screen(Ask("trace an expression, as torch.add(a, b)"), self._trace)

    def _trace(self, expression: str | None) -> None:
        if not expression or not expression.strip() or not self._begin_job(f"trace {expression.strip()}"):
            return
        job, library = self.job, self.library
        assert job is not None
        if self.screen is not self.reader:
            self.notify("Esc on the reading screen stops it", title=clean(job.title))

        def work() -> None:
            try:
                trail = library.runs.trace(expression.strip(), job)
            except PtexploreError as error:
                said = "stopped" if job.stopped else f"{error.message}: {error.why}"
                self.call_from_thread(self._end_job, job, f"{job.title}: {said}")
            else:
                self.call_from_thread(self._traced, job, trail)

        self.run_worker(work, thread=True, group="job", exit_on_error=False)

    def _traced(self, job: Running, trail: Trail) -> None:
        self._end_job(job, "")
        self.post_message(messages.OpenTrail(trail))

    def _begin_job(self, title: str) -> bool:
        """Make room for a job and say that it runs; False where another one still does."""
        if self.job is not None:
            self.reader.tell(f"{self.job.title} still runs: Esc stops it")
            return False
        self.job = Running(title, lambda name, _done: self.call_later(self._step, name))
        self.reader.tell(f"{title} runs: Esc stops it")
        return True

    def _step(self, name: str) -> None:
        if self.job is not None:
            self.reader.tell(f"{self.job.title}: {name} (Esc stops it)")

    def _end_job(self, job: Running, said: str) -> None:
        if self.job is job:
            self.job = None
        if said and self.screen is self.reader and len(said) < self.size.width - 24:  # beside it stands the position
            self.reader.tell(said)
        elif said:
            self.reader.tell("")
            self.notify(clean(said), markup=False, timeout=12)

    def stop_job(self) -> bool:
        """End what runs for the reader; False where nothing does."""
        job = self.job
        if job is None or job.stopped:
            return False
        self.reader.tell(f"stopping {job.title} …")
        self.run_worker(job.stop, thread=True, group="stopping", exit_on_error=False)
        return True

    # --- trails ---

    def on_open_trail(self, event: messages.OpenTrail) -> None:
        """What ran, as a tree."""
        self._keep_trail(event.trail)
        self.action_trail()

    def _keep_trail(self, trail: Trail) -> None:
        from ptexplore.tui.trail_screen import TrailScreen

        if self.is_screen_installed(_TRAIL):
            if self.screen is self.get_screen(_TRAIL):
                self.pop_screen()
            self.uninstall_screen(_TRAIL)
        self.install_screen(TrailScreen(self.library, trail), _TRAIL)
        self.refresh_bindings()

    def action_trail(self) -> None:
        """Back to the tree of what ran, where it was left."""
        if self.is_screen_installed(_TRAIL) and self.screen is not self.get_screen(_TRAIL):
            self.show_reader()
            self.push_screen(_TRAIL)

    # --- recent places ---

    def on_arrived(self, event: messages.Arrived) -> None:
        """Remember where the reader is, once they stay for a moment."""
        self._arrived(event.place)

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

    def close_all(self) -> None:
        """End what runs beside the screen."""
        job: Any = self.job
        if job is not None:
            job.stop()
        if self._searcher is not None:
            self._searcher.close()
