"""The app: which screen is shown, what a target leads to, and how it ends; `browse` runs it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.worker import WorkerFailed

from ptexplore.errors import PtexploreError
from ptexplore.tui import hangup, messages
from ptexplore.tui.guided import Guided
from ptexplore.tui.library import Place
from ptexplore.tui.reader import Reader
from ptexplore.tui.source import SourceView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ptexplore.model import Trail
    from ptexplore.tui.library import Library
    from ptexplore.view.targets import Candidate
    from ptexplore.view.trees import IndexedTree


@dataclass(frozen=True)
class Start:
    """What is opened first: one of `candidates` (where there are several the reader chooses), a folder, a tour, …"""

    kind: Literal["home", "folder", "candidates", "tour", "trail"] = "home"
    name: str = ""  # a folder's path, a tour's id, what was asked for
    tree: str = ""
    stop: str | None = None
    candidates: Sequence[Candidate] = ()
    trail: Trail | None = None


class Browser(Guided):
    """PyTorch's source, notes and tours in the terminal."""

    TITLE = "ptexplore"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "keys", "Keys", key_display="?"),
        Binding("t", "theme", show=False),
        Binding("q,ctrl+q,ctrl+c", "quit", "Quit", key_display="q"),
    ]

    def __init__(self, library: Library, begin: Callable[[Library], Start], missing: Sequence[str] = ()) -> None:
        """`begin` says what is opened once there are indexes; `missing` names the trees that have none."""
        super().__init__()
        self.library = library
        self._start = begin
        self._missing = missing
        self.reader = Reader(library)
        self.crash: Exception | None = None

    def on_mount(self) -> None:
        """The first screen."""
        for name in (signal.SIGTERM, signal.SIGHUP):  # whoever ends us finds the terminal as it was
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(name, self.exit)
        hangup.watch()
        self.theme = "textual-light" if os.environ.get("PTEXPLORE_THEME") == "light" else "textual-dark"
        if self._missing:
            from ptexplore.tui.building import Building

            self.push_screen(Building(self.library, self._missing), self._built)
        else:
            self._begin()

    def _built(self, trees: Sequence[IndexedTree] | None) -> None:
        if trees is not None:
            self.library = replace(self.library, trees=trees, _marks=None)
        self.reader = Reader(self.library)
        if self.library.trees:
            self._begin()
        else:
            self.exit()

    def _begin(self) -> None:
        try:
            start = self._start(self.library)
        except PtexploreError as error:  # a target can be looked up only once there is an index
            self.crash = error
            self.exit()
            return
        self.reader.begin = lambda: self._open(start)  # before the first paint, which shows it
        self.push_screen(self.reader)

    def _open(self, start: Start) -> None:
        if start.kind == "folder":
            self.reader.files.reveal(start.tree, start.name, folder=True)
            self.reader.files.focus()
        elif start.kind == "candidates":
            self.choose(start.name, start.candidates)
        elif start.kind == "tour":
            self.post_message(messages.OpenTour(start.name, start.stop))
        elif start.kind == "trail" and start.trail is not None:
            self.post_message(messages.OpenTrail(start.trail, start.name))
        else:
            self.reader.files.focus()
            self.action_home()

    # --- going to what was asked for ---

    def show_reader(self) -> Reader:
        """The reading screen, whatever lay over it."""
        while self.screen is not self.reader and len(self.screen_stack) > 1:
            self.pop_screen()
        return self.reader

    def on_open_place(self, event: messages.OpenPlace) -> None:
        """A line of a file."""
        self.show_reader().go(Place(event.tree, event.path, event.line, event.column), keep=event.keep)

    def on_open_symbol(self, event: messages.OpenSymbol) -> None:
        """What bears a name."""
        from ptexplore.view.targets import candidates

        try:
            self.choose(event.name, candidates(self.library.trees, self.library.catalogue, event.name))
        except PtexploreError as error:
            self.show_reader().tell(error.message)

    def on_source_view_definition(self, event: SourceView.Definition) -> None:
        """The definition of what the cursor is on."""
        from ptexplore.tui.defining import definitions

        found, told = definitions(self.library, event.name, event.place)
        if found:
            self.choose(event.name, found, told)
        else:
            self.reader.tell(told)

    def choose(self, name: str, found: Sequence[Candidate], told: str = "") -> None:
        """Go to the one candidate; where there are several, the reader says which. `told` is what to know of them."""
        from ptexplore.tui.choice import Choice, row

        if not found:
            self.show_reader().tell(f"there is nothing named {name} in these trees")
        elif len(found) == 1:
            self._take(found[0], told)
        else:
            title = f"{name} names {len(found)} things" if not told else f"{told} ({len(found)} things)"
            self.push_screen(Choice(title, [row(one) for one in found]), lambda at: self._chosen(found, at))

    def _chosen(self, found: Sequence[Candidate], at: int | None) -> None:
        if at is not None:
            self._take(found[at])

    def _take(self, one: Candidate, told: str = "") -> None:
        ref = one.spot.ref
        if one.kind == "operator":
            self.post_message(messages.OpenOperator(one.name))
        elif ref.path is None:
            self.show_reader().tell(f"{one.name}: {ref.reason or 'no place is known'}")
        else:
            line = one.first or ref.line or 1
            last = one.last if one.first else one.symbol.end_line if one.symbol is not None else None
            lit = (one.symbol.begin if one.symbol is not None else line, last) if last and last > line else None
            column = self._column(one, line)
            self.show_reader().go(Place(one.spot.tree.name, ref.path, line, column), lit=lit)
            if ref.precision in ("ambiguous", "unknown"):
                self.reader.tell(f"{ref.precision}: {ref.reason}")
            elif told:
                self.reader.tell(told)

    def _column(self, one: Candidate, line: int) -> int:
        """Where the name is on its line, so that a definition is shown with the cursor on it."""
        indexed = self.library.tree(one.spot.tree.name)
        if one.symbol is None or indexed is None or one.spot.ref.path is None:
            return 0
        text = indexed.tree.line(one.spot.ref.path, line) or ""
        return max(0, text.find(one.symbol.name))

    def on_edit(self, event: messages.Edit) -> None:
        """The reader's editor has the terminal until it ends."""
        try:
            with self.suspend():
                self.library.runs.edit(event.file, event.line)
        except PtexploreError as error:
            self.reader.tell(f"{error.message}: {error.why}")
        self.refresh()

    # --- the whole ---

    def action_theme(self) -> None:
        """Dark or light."""
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_keys(self) -> None:
        """Every key."""
        from ptexplore.tui.keys import Keys

        self.push_screen(Keys())

    def _fatal_error(self) -> None:
        """End at once and leave the terminal as it was; what went wrong is said in three parts, by who ran us."""
        failed: BaseException | None = self._exception
        if isinstance(failed, WorkerFailed):
            failed = failed.error
        if not self._exit:  # what fails because the screens are going is no news to who left them
            self.crash = failed if isinstance(failed, Exception) else None
        self._close_messages_no_wait()

    def panic(self, *renderables: object) -> None:
        """The same for errors that would draw themselves."""
        del renderables
        self._fatal_error()
