"""The app of `browse`: it holds the screens and the parts behind them, and gives each key to the right part."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from rich.segment import Segment
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.worker import WorkerFailed

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Ask, ChoiceScreen, ConsentScreen, two_lines
from ptexplore.tui.jobs import JobRunner, end_with_terminal
from ptexplore.tui.messages import (
    Fetch,
    Follow,
    GoBack,
    GoHome,
    GoToStop,
    OpenDefinition,
    OpenHop,
    OpenOperator,
    OpenPlace,
    OpenTour,
    OpenTrace,
    ShowFolder,
    ShowTrace,
    StepCall,
    TraceSuggested,
    message_for,
)
from ptexplore.tui.places import FOLDER, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.color import Color
    from textual.message import Message

    from ptexplore.capture.allowed import AllowedRun
    from ptexplore.lookup.trees import Candidate, IndexedTree
    from ptexplore.model.trace import Session, Trace
    from ptexplore.tui.library import Library
    from ptexplore.tui.navigation import Navigator
    from ptexplore.tui.screens.palette import Searcher
    from ptexplore.tui.screens.reader import ReadingScreen
    from ptexplore.tui.touring import Touring
    from ptexplore.view.notes.tour import TourWalk
    from ptexplore.workspace.consent import NotYours

_RESTS = 1.0  # seconds without a key
_SWITCHES = 0.001  # seconds that a lookup in a thread may keep the screen waiting; Python's own value is 5 ms
_TRACE = "last_trace"  # the name of the screen with the last trace


class _Gate(LineFilter):
    """The one gate to the screen: no text steers the terminal or turns its direction, even if it was not cleaned."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Clean the segments. Their texts are already decoded here."""
        del background
        if all(segment.control or (segment.text.isascii() and segment.text.isprintable()) for segment in segments):
            return segments
        return [segment if segment.control else segment._replace(text=clean(segment.text)) for segment in segments]


_GATE = _Gate()


WHILE_BUILDING = frozenset({"quit", "theme"})  # keys that work while the index is built


@dataclass(frozen=True)
class Start:
    """The thing to open first: a candidate, a folder, a tour, a trace. The reader chooses among several candidates.

    A map is the page of the whole first tree.
    """

    kind: Literal["map", "folder", "candidates", "tour", "last_trace"] = "map"
    name: str = ""  # a folder's path, a tour's id, or the text that was asked for
    tree: str = ""
    stop: str | None = None
    candidates: Sequence[Candidate] = ()
    trace: Trace | None = None
    session: Session | None = None


class _ReadingParts(NamedTuple):
    """The reading screen and the parts behind it."""

    reader: ReadingScreen
    jobs: JobRunner
    navigator: Navigator
    touring: Touring


class Browser(App[None]):
    """PyTorch's source, notes and tours in the terminal.

    `reader` is the reading screen. `navigator` goes to places, `touring` walks a tour, `jobs` runs labs and traces.
    `settled` is called when most of the lasting objects exist, `rested` while the reader presses no key. `crash` is the
    error that ended the app, if any.
    """

    TITLE = "ptexplore"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority, whichever pane has the focus: keys typed right after it go to the search, not to the source.
        Binding("ctrl+p", "palette", "Search", key_display="^p", priority=True),
        Binding("s", "palette", show=False),
        Binding("greater_than_sign", "tour('forward')", "Next stop", key_display=">"),
        Binding("less_than_sign", "tour('back')", "Previous stop", key_display="<", show=False),
        Binding("equals_sign", "tour('show_source')", key_display="=", show=False),
        Binding("c", "tour('contents')", "Contents"),
        Binding("L", "lab", "Run lab", key_display="L"),
        Binding("a", "tour('answer')", "Answer"),
        Binding("J", "scroll_notes(3)", "Scroll the stop", key_display="J K"),
        Binding("K", "scroll_notes(-3)", show=False),
        Binding("H", "home", "Home", key_display="H"),
        Binding("x", "trace", "Trace"),
        Binding("T", "last_trace", "Last trace", key_display="T"),
        Binding("F", "fetch", "Fetch source", key_display="F"),
        Binding("question_mark,f1", "keys", "Keys", key_display="?"),
        Binding("t", "theme", show=False),
        Binding("q,ctrl+q,ctrl+c", "quit", "Quit", key_display="q"),
    ]

    def __init__(
        self,
        library: Library,
        begin: Callable[[Library], Start],
        missing: Sequence[str] = (),
        target: str | None = None,
    ) -> None:
        """`begin` returns the thing to open once there are indexes. `missing` names the trees without an index.

        `target` is the text that the user asked for: until there are indexes, its shipped page is shown.
        """
        super().__init__()
        self._target = target
        self._is_building = False  # the other screens need an index
        self._begin = begin
        self._missing = missing
        self._searcher: Searcher | None = None
        self.crash: Exception | None = None
        self._switches: float | None = None  # Python's own value, to restore it
        self.settled: Callable[[], object] = lambda: None
        self.rested: Callable[[], object] = lambda: None
        self._last_input = 0.0  # when the last key came; 0 after `rested` was called
        self._read(library)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters of every line on every screen. The last one is the gate: no text steers the terminal."""
        return [*super().get_line_filters(), _GATE]

    def _read(self, library: Library) -> None:
        """Use these trees and notes. The screens and parts for the old ones are made again."""
        self.library = library
        self.__dict__.pop("_parts", None)

    @cached_property
    def _parts(self) -> _ReadingParts:
        """The reading screen with its parts. Loading them takes a while, and the page before the index needs none."""
        from ptexplore.tui.navigation import Navigator
        from ptexplore.tui.screens.reader import ReadingScreen
        from ptexplore.tui.touring import Touring

        reader = ReadingScreen(self.library)
        jobs = JobRunner(self, reader)
        touring = Touring(self, self.library, reader, jobs, self._keep_trace)
        return _ReadingParts(reader, jobs, Navigator(self, self.library, reader), touring)

    @property
    def reader(self) -> ReadingScreen:
        """The reading screen."""
        return self._parts.reader

    @property
    def jobs(self) -> JobRunner:
        """The runner of labs and traces."""
        return self._parts.jobs

    @property
    def navigator(self) -> Navigator:
        """The part that goes to places."""
        return self._parts.navigator

    @property
    def touring(self) -> Touring:
        """The part that walks a tour."""
        return self._parts.touring

    # --- the first screen ---

    def on_mount(self) -> None:
        """Show the first screen. The notes are read after it is drawn, before anyone needs one."""
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a signal must leave the terminal as it was
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(name, partial(self.exit, return_code=128 + name))
        end_with_terminal()
        self._switches = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCHES)
        self.theme = "textual-light" if os.environ.get("PTEXPLORE_THEME") == "light" else "textual-dark"
        if self._missing:
            from ptexplore.tui.screens.building import Building

            self._is_building = True
            self.push_screen(Building(self.library, self._missing, self._target), self._built)
        else:
            self._show_reader()
        self.set_timer(0.7, lambda: self.run_worker(self._settle, thread=True, exit_on_error=False))
        self.set_interval(_RESTS, self._rest)

    def _built(self, trees: Sequence[IndexedTree] | None) -> None:
        self._is_building = False
        self._close()
        self._read(self.library if trees is None else replace(self.library, trees=trees))
        if self.library.trees:
            self._show_reader()
        else:
            self.exit()

    def _show_reader(self) -> None:
        try:
            start = self._begin(self.library)
        except PtexploreError as error:  # a target can be looked up only once there is an index
            self.crash = error
            self.exit()
            return
        self.reader.begin = lambda: self._open(start)
        self.push_screen(self.reader)

    def _open(self, start: Start) -> None:
        if start.kind == "folder":
            self.reader.go(Place(start.tree, start.name, FOLDER))
        elif start.kind == "candidates":
            self.navigator.choose(start.name, start.candidates)
        elif start.kind == "tour":
            self.touring.open(start.name, start.stop)
        elif start.trace is not None:
            self.post_message(OpenTrace(start.trace, start.session))
        elif self.library.trees:
            self.reader.go(Place(self.library.trees[0].tree.info.name, "", FOLDER))

    def _settle(self) -> None:
        with contextlib.suppress(PtexploreError):  # a screen that needs the notes reports the error
            self.library.read_marks()
        self.settled()

    async def on_event(self, event: events.Event) -> None:
        """Note when the reader does something."""
        if isinstance(event, events.InputEvent):
            self._last_input = time.monotonic()
        await super().on_event(event)

    def _rest(self) -> None:
        if self._last_input and time.monotonic() - self._last_input > _RESTS:
            self._last_input = 0.0
            self.rested()

    # --- messages from panes and screens ---

    async def on_open_place(self, event: OpenPlace) -> None:
        """Open a line of a file. Keys that you press meanwhile wait for the new place."""
        await self.navigator.show_reader().open(event.place, event.origin)

    def on_show_folder(self, event: ShowFolder) -> None:
        """Show a folder's page beside the files, or on a small screen one line about the folder."""
        if not self.reader.has_class("-small"):
            self.reader.show_folder(event.place)
            return
        with contextlib.suppress(PtexploreError):
            sentence = self.library.folder_pages.sentence(event.place.path)
            if sentence is not None:
                self.reader.tell(f"{event.place.path or event.place.tree}: {sentence.text}")

    def on_go_home(self, event: GoHome) -> None:
        """Show the home screen."""
        self._home(went_back=event.went_back)

    def on_trace_suggested(self, event: TraceSuggested) -> None:
        """Trace the expression of a folder's page."""
        from ptexplore.capture.probing import TraceRequest
        from ptexplore.workspace.consent import of_page

        page = of_page(event.page, TraceRequest(native=True))
        try:
            if page.is_allowed:
                self._run(page.allowed())
                return
        except PtexploreError as error:
            self.notify(clean(error.one_line), markup=False, timeout=12)
            return
        self.push_screen(
            ConsentScreen(page.origin, list(page.lines())), lambda yes: self._answered(page, yes=bool(yes))
        )

    def _answered(self, asked: NotYours, *, yes: bool) -> None:
        """Run the code, if the reader has seen all of it and agreed."""
        if not yes:
            self.reader.tell("the code was not run")
            return
        try:
            self._run(asked.allow())
        except PtexploreError as error:
            self.notify(clean(error.one_line), markup=False, timeout=12)

    def on_open_definition(self, event: OpenDefinition) -> None:
        """Open the definition of the name under the cursor."""
        self.navigator.open_definition(event.name, event.place)

    def on_open_operator(self, event: OpenOperator) -> None:
        """Open an operator's card."""
        from ptexplore.tui.screens.card import CardScreen

        self.push_screen(CardScreen(self.library, event.name, event.back), self._follow)

    def on_go_back(self, event: GoBack) -> None:
        """Go back to the place before."""
        self.reader.go_back(event.left)

    def on_open_tour(self, event: OpenTour) -> None:
        """Walk a tour, from a stop on."""
        self.navigator.show_reader()
        self.touring.open(event.tour, event.at, event.origin)

    def on_show_trace(self, event: ShowTrace) -> None:
        """Show the last trace."""
        self.action_last_trace()
        if self.is_screen_installed(_TRACE):
            self.get_screen(_TRACE).went_back = event.went_back  # type: ignore[attr-defined]

    def on_open_hop(self, event: OpenHop) -> None:
        """Show a hop of the last trace."""
        if self.is_screen_installed(_TRACE):
            self.action_last_trace()
            screen = self.get_screen(_TRACE)
            screen.call_after_refresh(screen.go_to, event.hop)  # type: ignore[attr-defined]

    def on_go_to_stop(self, event: GoToStop) -> None:
        """Show a stop of the current tour."""
        self.touring.go_to(event.number)

    def on_follow(self, event: Follow) -> None:
        """Open the thing that a stop points to."""
        from ptexplore.view.opening import open_see

        opening = open_see(event.see, self.library.trees)
        message = message_for(opening)
        if message is not None:
            self.post_message(message)
        else:
            self.reader.tell(opening.why)

    def on_open_trace(self, event: OpenTrace) -> None:
        """Show a trace as a tree."""
        self._keep_trace(event.trace, event.session, event.ran)
        self.action_last_trace()

    def on_step_call(self, event: StepCall) -> None:
        """Run the last trace again and step only one operator call."""
        run = event.ran.stepping(event.call)
        self.jobs.run(f"step {event.call}", lambda job: self.library.trace(run, job), self._traced)
        self.notify("Esc on the reading screen stops it", title=clean(f"step {event.call}"))

    def _follow(self, message: Message | None) -> None:
        """Post the message that a screen ended with."""
        if isinstance(message, OpenPlace):  # before the screen below is painted with the old place
            self.reader.say_opening(message.place)
        if message is not None:
            self.post_message(message)

    # --- keys ---

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key has something to do: tour keys need a tour, trace keys a trace."""
        if self._is_building and action not in WHILE_BUILDING:
            return False
        if action == "tour":
            return self.touring.walk is not None and self.screen is self.reader
        if action == "scroll_notes":
            return self.screen is self.reader
        if action == "lab":
            return bool(self.touring.labs) and self.screen is self.reader
        if action == "fetch":
            return bool(self.library.lacks)
        if action == "last_trace":
            return self.is_screen_installed(_TRACE)
        return super().check_action(action, parameters)

    def action_home(self) -> None:
        """Show the home screen."""
        self._home(went_back=False)

    def _home(self, *, went_back: bool) -> None:
        from ptexplore.tui.screens.home import Home

        if not isinstance(self.screen, Home):
            self.navigator.show_reader()
            self.push_screen(Home(self.library, went_back=went_back), self._follow)

    def action_palette(self) -> None:
        """Open the search for anything."""
        from ptexplore.tui.screens.palette import Palette, Searcher

        if not isinstance(self.screen, Palette):
            self._searcher = self._searcher or Searcher(self.library)
            self.push_screen(Palette(self._searcher), self._follow)

    def action_tour(self, step: str) -> None:
        """Walk the tour. `step` is the name of a method of Touring."""
        getattr(self.touring, step)()

    def action_lab(self) -> None:
        """Run a lab of the stop."""
        self.touring.choose_lab()

    def action_scroll_notes(self, lines: int) -> None:
        """Scroll the pane beside the source while the source has the focus."""
        if self.screen is self.reader:
            self.reader.scroll_beside(lines)

    def action_theme(self) -> None:
        """Switch between dark and light."""
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_keys(self) -> None:
        """Show the list of keys."""
        from ptexplore.tui.screens.keys import Keys

        self.push_screen(Keys())

    def action_away(self) -> None:
        """Stop the running job, else close the panes over the source, else leave the tour."""
        if not self.jobs.stop() and not self.reader.show_source_alone():
            self.touring.leave()

    # --- jobs ---

    def on_fetch(self, _event: Fetch) -> None:
        """Handle the reader's choice to fetch."""
        self.action_fetch()

    def action_fetch(self) -> None:
        """Offer to fetch the source of the installed torch from the network: some hundred megabytes."""
        from ptexplore.source.fetch.remotes import INSTEAD

        where = f"the source that {INSTEAD} names" if os.environ.get(INSTEAD) else "its public repository"
        options = [
            two_lines(f"fetch the source of torch {self.library.torch} (or what ptexplore.toml pins), and index it",
                      f"from {where}: minutes, some hundred MB; Esc stops it, F continues"),
            two_lines("not now", "ptexplore fetch does the same, also from other places"),
        ]  # fmt: skip
        self.push_screen(ChoiceScreen(self.library.lacks, options), self._fetch)

    def _fetch(self, at: int | None) -> None:
        if at == 0:
            self.navigator.show_reader()
            self.jobs.run("fetch", self.library.fetch, self._fetched)

    def _fetched(self, library: Library) -> str:
        self.call_later(self._read_anew, library)
        return "the source is here"

    def _read_anew(self, library: Library) -> None:
        """Use the new trees, and return to the stop of the tour, or to the place, where the reader is."""
        walk, place = self.touring.walk, self.reader.place
        self._close()
        if self.is_screen_installed(_TRACE):
            self.uninstall_screen(_TRACE)
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self._read(library)
        self.reader.begin = lambda: self._go_on(walk, place)
        self.push_screen(self.reader)
        self.run_worker(self._settle, thread=True, exit_on_error=False)

    def _go_on(self, walk: TourWalk | None, place: Place | None) -> None:
        if walk is not None:
            self.touring.open(walk.tour.id, walk.stop.id)
        elif place is not None:
            self.reader.go(place)

    def action_trace(self) -> None:
        """Ask for an expression and trace it."""
        self.push_screen(Ask("trace an expression, for example torch.add(a, b)"), self._trace)

    def _trace(self, line: str | None) -> None:
        from ptexplore.capture.probing import TraceRequest
        from ptexplore.workspace.typed import typed

        expression = (line or "").strip()
        if expression:
            self._run(typed(TraceRequest(expression=expression, native=True)))

    def _run(self, run: AllowedRun) -> None:
        """Trace allowed code in the background."""
        title = f"trace {run.request.expression}"
        started = self.jobs.run(title, lambda job: self.library.trace(run, job), self._traced)
        if started and self.screen is not self.reader:
            self.notify("Esc on the reading screen stops it", title=clean(title))

    def _traced(self, traced: tuple[Trace, Session | None, AllowedRun]) -> str:
        self.post_message(OpenTrace(*traced))
        return ""

    def _keep_trace(self, trace: Trace, session: Session | None = None, ran: AllowedRun | None = None) -> None:
        """Make the screen of the new trace, and remove the screen of the one before."""
        from ptexplore.tui.screens.trace import TraceScreen

        if self.is_screen_installed(_TRACE):
            if self.screen is self.get_screen(_TRACE):
                self.pop_screen()
            self.uninstall_screen(_TRACE)
        self.install_screen(TraceScreen(self.library, trace, session, ran), _TRACE)
        self.reader.symbol.trace = trace
        self.reader.symbol.show_again()
        self.refresh_bindings()

    def action_last_trace(self) -> None:
        """Go back to the tree of the last trace, where the reader left it."""
        if self.is_screen_installed(_TRACE) and self.screen is not self.get_screen(_TRACE):
            self.navigator.show_reader()
            self.get_screen(_TRACE).went_back = False  # type: ignore[attr-defined]
            self.push_screen(_TRACE)

    # --- the end ---

    async def action_quit(self) -> None:
        """Quit. Running jobs are stopped first."""
        self._close()
        self.exit()

    def on_unmount(self) -> None:
        """Stop the jobs and searches of the app, however the app ends."""
        self._close()
        if self._switches is not None:
            sys.setswitchinterval(self._switches)

    def _close(self) -> None:
        if "_parts" in self.__dict__:
            self.jobs.close()
        if self._searcher is not None:
            self._searcher.close()
            self._searcher = None

    def _fatal_error(self) -> None:
        """End at once, with the terminal as it was. Our caller reports the error in three parts."""
        failed: BaseException | None = self._exception
        if isinstance(failed, WorkerFailed):
            failed = failed.error
        if not self._exit:  # an error while the screens close is of no interest to a reader who is leaving
            self.crash = failed if isinstance(failed, Exception) else None
        self._close_messages_no_wait()

    def panic(self, *renderables: object) -> None:
        """Ends as `_fatal_error` does, also after an error that Textual would draw itself."""
        del renderables
        self._fatal_error()
