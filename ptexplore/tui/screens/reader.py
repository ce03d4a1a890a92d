"""The reading screen: files on the left, the source in the middle, notes on the right, the path above."""

from __future__ import annotations

import asyncio
import contextlib
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from ptexplore.annotations.progress import ReadingProgress
from ptexplore.errors import PtexploreError
from ptexplore.lookup.link_targets import is_own
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Ask, ChoiceScreen, two_lines
from ptexplore.tui.key_line import KeyLine
from ptexplore.tui.messages import GoHome, Left, Moved, OpenOperator, OpenUses, ShowTrace, Tell, open_stop
from ptexplore.tui.open_file import OpenFile
from ptexplore.tui.places import CARD, FOLDER, HOME, TRACE, History, Place, Recent, keep_recent
from ptexplore.tui.widgets.file_tree import FileTree
from ptexplore.tui.widgets.folder_pane import FolderPane
from ptexplore.tui.widgets.notes_pane import NotesPane
from ptexplore.tui.widgets.source import SourceView
from ptexplore.tui.widgets.stop_list import StopList
from ptexplore.tui.widgets.symbol_pane import SymbolPane
from ptexplore.tui.widgets.uses import Uses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from ptexplore.annotations.marks import Mark
    from ptexplore.annotations.records import Tour
    from ptexplore.tui.library import Library

_AT_ONCE = 40_000  # characters of a file that has its colours with its first paint
_KEPT = 24  # files that stay in memory, for going back and forward
_STAYS = 1.0  # seconds after which a place counts as visited
WIDE = 110  # columns; from this width on, files and notes are beside the source
ROOMY = 120  # columns; below this width, the panes beside the source are narrower
NARROW = 40  # columns; below this width, source cannot be read
_PAINTS = 1.0  # seconds after which a screen that does not paint is no longer waited for

# Keys that the last line drops first. `?` lists every key.
_LEAST = ("home", "find", "everything", "last_trace", "fetch", "word(1)", "files", "trace", "note(1)", "quit",
          "scroll_notes(3)", "uses", "notes", "back", "tour('contents')")  # fmt: skip
EMPTY = "Choose a file on the left (Enter), or search: ctrl+p. ? shows every key."


class ReadingScreen(Screen[None]):
    """The screen for reading source. `place` is the cursor's place; `begin` is called first."""

    DEFAULT_CSS = """
    #crumb { height: 1; padding: 0 1; background: $panel; color: $text; }
    #status { height: 1; padding: 0 1; background: $panel; color: $text-muted; }
    #notice { height: auto; max-height: 4; padding: 0 1; background: $warning; color: $text; display: none; }
    #files { width: 34; border-right: vkey $panel; }
    #side { width: 46; border-left: vkey $panel; overflow-y: auto; padding: 0 1; }
    #files:focus, #files:focus-within, StopList:focus { border-right: vkey $accent; }
    #side:focus-within { border-left: vkey $accent; }
    #middle { width: 1fr; }
    #source { height: 1fr; }
    ReadingScreen.-touring #side { width: 60; max-width: 38%; }
    ReadingScreen.-tight #files { width: 24; }
    ReadingScreen.-tight #side { width: 32; }
    ReadingScreen.-small #panes { layout: vertical; }
    ReadingScreen.-small #files { width: 100%; height: 1fr; border-right: none; }
    ReadingScreen.-small #side { width: 100%; max-width: 100%; height: 45%; border-left: none; border-top: solid $panel;
        layout: horizontal; }
    ReadingScreen.-small.-touring #side { height: 80%; } /* its text has at least half of a screen of 24 lines */
    ReadingScreen.-small.-touring NotesPane .head { margin-bottom: 0; }
    ReadingScreen.-small #side:focus-within { border-left: none; border-top: solid $accent; }
    ReadingScreen.-small SymbolPane, ReadingScreen.-small SymbolPane:focus { width: 1fr; height: 1fr;
        max-height: 100%; margin: 0; }
    ReadingScreen.-small NotesPane { width: 1fr; height: 1fr; max-height: 100%; }
    ReadingScreen.-small.-choosing #middle { display: none; }
    ReadingScreen.-narrow #status, ReadingScreen.-narrow Footer { display: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find"),
        Binding("ctrl+o,alt+left,backspace", "back", "Back", key_display="^o"),
        Binding("f,alt+right,ctrl+i", "forward", show=False),
        Binding("e", "files", "Files"),
        Binding("i", "notes", "Callers, notes"),
        Binding("tab", "list", "The list", key_display="tab"),
        Binding("colon", "line", show=False),
        Binding("o", "edit", show=False),
        Binding("y", "permalink", show=False),
        Binding("escape", "app.away", "Leave the tour", key_display="esc"),
        Binding("S", "walk", "Open the stop", key_display="S"),
        Binding("P", "drawings", "Whole picture", key_display="P"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
        self.begin: Callable[[], None] = lambda: None
        self._wants_files: bool | None = None  # the reader's choice; None: the width decides
        self._wants_notes: bool | None = None
        self.history = History()
        self.files = FileTree(library)
        self.stops = StopList()
        self.source = SourceView()
        self.folder = FolderPane(library)
        self.uses = Uses(library)
        self.notes = NotesPane(library)
        self.symbol = SymbolPane(library)
        self._side = Vertical(self.symbol, self.notes, id="side")
        self._file = lru_cache(_KEPT)(self._read)
        self.leave_tour: Callable[[], bool] = lambda: False  # leaves a tour if the reader is back where it was opened
        self._status_text = ""
        self._status_place: Place | None = None
        self._hidden = False  # while a file is opened

    def on_mount(self) -> None:
        """Open the first thing before the first paint, which then shows it."""
        self.begin()

    def compose(self) -> ComposeResult:
        """The panes."""
        yield Static(id="crumb")
        yield Static(id="notice")
        with Horizontal(id="panes"):
            yield self.files
            yield self.stops
            yield Vertical(self.source, self.folder, self.uses, id="middle")
            yield self._side
        yield Static(id="status")
        yield KeyLine(_LEAST, self._idle)

    @property
    def place(self) -> Place | None:
        """The place of the cursor, or the folder whose page is shown; None while nothing is open."""
        return self.folder.as_left or self.source.place

    @property
    def _shown_file(self) -> OpenFile | None:
        """The file that is shown; None while a folder's page is shown."""
        return self.source.file if self.folder.place is None else None

    # --- panes ---

    def action_files(self) -> None:
        """Give the files the focus, and show them if needed. If they have the focus, hide them.

        In a tour, its stops are then in their place.
        """
        hidden = None if self.stops.tour is not None else False
        self._wants_files = hidden if self.files.has_focus else True
        self._arrange()
        (self.files if self._wants_files else self._middle).focus()

    def action_notes(self) -> None:
        """Show or hide the notes."""
        self._wants_notes = not self._side.display
        self._arrange()
        self._follow_symbol()

    @property
    def wants_notes(self) -> bool | None:
        """Whether the reader wants the panes beside the source. None: the width decides."""
        return self._wants_notes

    @wants_notes.setter
    def wants_notes(self, wanted: bool | None) -> None:
        self._wants_notes = wanted
        self._arrange()

    def scroll_beside(self, lines: int) -> None:
        """Scroll the pane beside the source: a stop or a note, else the facts about the symbol."""
        self.show_notes()
        has_note = self.notes.stop is not None or bool(self.notes.marks) or not self.symbol.display
        (self.notes if has_note else self.symbol).scroll_relative(y=lines, animate=False)

    def show_notes(self) -> None:
        """Show the notes at any width: the reader needs them now."""
        if not self._side.display:
            self._wants_notes = True
            self._arrange()

    def follow_cursor(self) -> None:
        """Make the panes beside the source follow the cursor again."""
        if self.place is not None:
            self.notes.follow(self.place)
            self._follow_symbol()
            self._status()
        else:
            self.notes.empty()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key has something to do: `S` needs a stop about the line, others need a file."""
        if action == "walk":
            return bool(self.notes.marks) and self.notes.stop is None
        if action == "drawings":
            return self._side.display and bool(self.notes.wide_drawings)
        if action in ("find", "notes"):
            return self._shown_file is not None
        return super().check_action(action, parameters)

    def action_drawings(self) -> None:
        """Show the drawings of the stop or note that are wider than their pane over the whole screen."""
        from ptexplore.tui.screens.drawings import Drawings

        self.app.push_screen(Drawings(self.notes.wide_drawings))

    def _idle(self) -> tuple[str, ...]:
        """Returns the actions that have nothing to do now, or that the reader does not look for.

        For example, "next stop" has nothing to do in a file without stops.
        """
        file = self._shown_file
        in_tour = self.notes.stop is not None
        no_stops = () if file is not None and file.notes and not in_tour else ("note(1)",)
        # Esc closes the list of uses first; that list shows the key while it has the focus.
        away = () if (in_tour and not self.uses.display) or self.uses.has_focus else ("app.away",)
        no_list = () if self.uses.display and not self.uses.has_focus else ("list",)
        # In a tour, a reader looks for the way out of the tour, and must not take q for it: q ends everything.
        return (*no_stops, *no_list, *(("quit",) if in_tour else ("scroll_notes(3)",)), *away)

    def action_list(self) -> None:
        """Give the focus to the list of uses, if it is shown and does not have it; else to the next pane."""
        if self.uses.display and not self.uses.has_focus:
            self.uses.focus()
        else:
            self.focus_next()

    def action_walk(self) -> None:
        """Walk a tour from the stop about this line. If there are several, the reader chooses."""
        marks = self.notes.marks
        if len(marks) == 1:
            self.post_message(open_stop(marks[0].stop))
        else:
            choice = ChoiceScreen("which stop?", [two_lines(mark.title, mark.stop) for mark in marks])
            self.app.push_screen(choice, partial(self._walk, marks))

    def _walk(self, marks: Sequence[Mark], at: int | None) -> None:
        if at is not None:
            self.post_message(open_stop(marks[at].stop))

    def _follow_symbol(self) -> None:
        """Look up the thing under the cursor, if its pane is shown. In a tour, the stop is shown in its place."""
        file, place = self._shown_file, self.place
        if file is None or place is None:
            self.symbol.forget()
        elif self._side.display and self.notes.stop is None:
            self.symbol.follow(file, place)

    def on_filled(self) -> None:
        """Divide the room beside the source: the symbol above, the notes below. An empty pane gives its room away."""
        touring = self.notes.stop is not None
        # A small screen has room for one of them. A note about the line comes first, because it says the most.
        alone = touring or (bool(self.notes.marks) and self.has_class("-small"))
        self.symbol.display = self.symbol.option_count > 0 and not alone
        self.notes.display = touring or not self.notes.blank or not self.symbol.display
        self.symbol.set_class(not self.notes.display or self.notes.has_class("-listing"), "-alone")

    def show_stops(self, tour: Tour | None, number: int = 0, progress: ReadingProgress | None = None) -> None:
        """List the stops of the current tour on the left; None: there is no tour any longer."""
        self.stops.show(tour, number, progress or ReadingProgress())
        self.set_class(tour is not None, "-touring")
        self._arrange()
        if self.place is None:
            self._crumb()

    def show_source_alone(self) -> bool:
        """Close the panes over the source and give it the focus. Returns False if there was nothing to do."""
        alone = self._middle.has_focus and not self.uses.display and not self.source.finding.text
        if self.uses.display:
            self.uses.display = False
            self.refresh_bindings()
        elif self.has_class("-small") and self.files.display and self.place is not None:
            self._wants_files = None
        self.source.finding.text = ""
        self._arrange()
        self.source.refresh()
        self._middle.focus()
        return not alone

    @property
    def _middle(self) -> SourceView | FolderPane:
        """The main pane: a file, or a folder's page."""
        return self.source if self.folder.place is None else self.folder

    def _arrange(self, width: int | None = None) -> None:
        width = width or self.size.width
        small = width < WIDE
        self.set_class(small, "-small")
        self.set_class(width < ROOMY and not small, "-tight")
        self.set_class(width < NARROW, "-narrow")
        empty = self.place is None
        self.stops.display = self.stops.tour is not None and not small and self._wants_files is None
        files = self._wants_files if self._wants_files is not None else not (small or self.stops.display)
        self.files.display = files or (empty and not self.stops.display)
        self.set_class(small and self.files.display, "-choosing")
        beside = not small and self.folder.place is None  # notes are about lines
        self._side.display = self._wants_notes if self._wants_notes is not None else beside
        if small and self.uses.display:  # a list of uses takes the room of the notes
            self._side.display = False

    # --- opening places ---

    def say_opening(self, place: Place) -> None:
        """Show the name of the file that is being opened, and hide the text of the old place."""
        shown = self._shown_file
        is_shown = shown is not None and (shown.indexed.tree.info.name, shown.path) == (place.tree, place.path)
        if is_shown or place.line < 1 or self.library.tree(place.tree) is None:
            return
        self.warn("")
        self.query_one("#status", Static).update("")
        before, after = "opening ", " …"
        room = self.size.width - 2 - len(before) - len(after)
        self.query_one("#crumb", Static).update(Content(f"{before}{_end_of(clean(place.path), room)}{after}"))
        self._hide_text(True)

    def _hide_text(self, hidden: bool) -> None:
        self._hidden = hidden
        for pane in (self.source, self.folder, self.symbol, self.notes):  # not by a class: all would be styled again
            pane.styles.text_opacity = 0.0 if hidden else 1.0

    async def open(self, place: Place, origin: Place | None = None) -> None:
        """Show a place. First its file's name is painted, because reading the file takes a moment."""
        self.say_opening(place)
        if self._hidden:
            painted = asyncio.Event()
            self.call_after_refresh(painted.set)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(painted.wait(), _PAINTS)
        if origin is not None:
            self.go_from(origin, place)
        else:
            self.go(place)
        self._hide_text(False)

    def go(self, place: Place, *, remember: bool = True, lit: tuple[int, int] | None = None) -> None:
        """Show a place, if its tree is here. The old place goes into the history."""
        if place.line in (TRACE, CARD, HOME):
            card = OpenOperator(place.path, place)
            self.post_message({TRACE: ShowTrace(went_back=True), HOME: GoHome(went_back=True)}.get(place.line, card))
            return
        if self.library.tree(place.tree) is None:
            self.tell(f"the tree {place.tree} is not here")
            return
        left = self.place
        if remember and left is not None and left != place:  # another column is another place: it may be a local name
            self.history.leave(left)
        self._status_text = ""
        if place.line == FOLDER:
            self._go_to_folder(place)
            return
        file = self._file(place.tree, place.path)
        self.folder.leave()
        self.source.display = True
        self.source.show(file, place.line, place.column, lit, place.top)
        self._crumb()  # together with the text: the rest of the screen still belongs to the old place
        self._follow_symbol()
        self.warn("; ".join(file.notices))
        if self.has_class("-small"):  # the files disappear after one was chosen
            self._wants_files = None
        self._arrange()
        if not file.parsed and len(file.text) < _AT_ONCE:
            file.parse()
        # Further work begins after the text is on the screen: a thread would delay it.
        self.call_after_refresh(self._afterwards, file, elsewhere=left is None or left.path != place.path)
        self.source.focus()
        self.set_timer(_STAYS, lambda: self._remember(place), name="recent")

    def _go_to_folder(self, place: Place) -> None:
        """Show a folder's page, and the folder among the files."""
        self.show_folder(place)
        if self.has_class("-small"):
            self._wants_files = None
        self._arrange()
        self.folder.focus()
        self.call_after_refresh(self._after_folder, place)

    def _after_folder(self, place: Place) -> None:
        self.files.reveal(place.tree, place.path, folder=True)
        self._ask_for_notes()

    def go_from(self, origin: Place, place: Place) -> None:
        """Show a place that was opened from a screen over this one. Going back leads to that screen."""
        self.go(place)
        self.history.leave(origin)

    def show_folder(self, place: Place) -> None:
        """Show a folder's page. The focus stays."""
        try:
            self.folder.show(place)
        except PtexploreError as error:
            self.tell(error.one_line)
            return
        self.uses.display = False
        self.source.display = False
        self._arrange()
        self.warn("")
        self.notes.follow(place)
        self.symbol.forget()
        self._crumb()
        self._status()

    def _afterwards(self, file: OpenFile, *, elsewhere: bool) -> None:
        if elsewhere:
            self.files.reveal(file.indexed.tree.info.name, file.path)
        if not file.parsed and file.there:
            self.run_worker(partial(self._prepare, file.parse), thread=True, group="colour", exclusive=True)
        self._ask_for_notes()

    def _ask_for_notes(self) -> None:
        """Read the notes, if they are not read yet. The first thing that is opened does this."""
        if not self.library.marked:
            self.run_worker(partial(self._prepare, self.library.read_marks), thread=True, group="notes")

    def _prepare(self, work: Callable[[], object]) -> None:
        work()
        self.app.call_later(self._redraw)

    def _redraw(self) -> None:
        """Redraw: colours are known now, or the dots before lines and the notes on the cursor's line."""
        if self.is_attached and self.place is not None:
            self.source.refresh()
            self.notes.follow(self.place)
            if self.folder.place is not None and self.library.lacks:  # the number of stops without source is known now
                self.folder.show(self.folder.place)
            self._status()

    def _remember(self, place: Place) -> None:
        """Keep the place among the recent ones, if the reader is still in that file."""
        current, file = self.place, self.source.file
        if current is None or file is None or (current.tree, current.path) != (place.tree, place.path):
            return
        symbol = file.around(current.line)
        name = symbol.qualified if symbol is not None and file.there else ""
        with contextlib.suppress(OSError):  # a failure to keep recent places is not worth a message
            keep_recent(Recent(current.tree, current.path, current.line, name))

    def _read(self, tree: str, path: str) -> OpenFile:
        indexed = self.library.tree(tree)
        assert indexed is not None
        file = OpenFile(self.library, indexed, path)
        indexed.tree.forget()  # only the last files are kept, in this screen's cache
        return file

    def warn(self, text: str) -> None:
        """Show a warning above the content, until another place is shown."""
        notice = self.query_one("#notice", Static)
        notice.display = bool(text)
        notice.update(Content(clean(text)))

    def action_back(self) -> None:
        """Go back."""
        if self.uses.display:  # the list belongs to the place that is left
            self.uses.display = False
            self._arrange()
            self.refresh_bindings()
        if self.place is not None:
            self.go_back(self.place)

    def go_back(self, left: Place) -> None:
        """Go to the place before `left`, which may be a screen that was over this one.

        If a tour was opened on a line, the last step back leaves the tour, on that line.
        """
        if not self.leave_tour():
            self._go_in_history(self.history.back, left, "this is the first place")
            self.leave_tour()

    def action_forward(self) -> None:
        """Go forward to the place that the reader went back from."""
        if self.place is not None:
            self._go_in_history(self.history.forward, self.place, "this is the last place")

    def _go_in_history(self, step: Callable[[Place], Place | None], current: Place, end: str) -> None:
        place = step(current)
        if place is None:
            self.tell(end)
        else:
            self.go(place, remember=False)

    # --- messages ---

    def tell(self, text: str) -> None:
        """Show a line of text, until the cursor moves."""
        self._status_text, self._status_place = text, self.place
        self._status()

    def _status(self) -> None:
        file, place = self._shown_file, self.place
        stops = file.stops if file is not None else ""
        if self.notes.stop is not None:
            stops = ""  # the current stop shows its own place
        elif self.notes.marks:
            stops = "S: the stop of a tour about this line (●) · "
        text = self._status_text or (f"{stops}{file.standing}" if file is not None else self.library.standing)
        position = f"{place.line}:{place.column + 1} of {len(file.raw)}" if file is not None and place else ""
        shown = clean(text)
        if self._status_text and len(shown) > self.size.width - len(position) - 4:
            position = ""  # a message counts more
        room = max(self.size.width - len(position) - 4, 10)
        shown = shown if len(shown) <= room else f"{shown[: room - 1]}…"
        self.query_one("#status", Static).update(Content(f"{shown:<{room}}  {position}"))

    def _crumb(self) -> None:
        self.query_one("#crumb", Static).update(self._path_and_definition())

    def _path_and_definition(self) -> Content:
        file, place = self._shown_file, self.place
        if self.size.width < NARROW:
            return Content(f"{self.size.width} columns: widen")
        if self.folder.place is not None:
            return Content.styled(clean(self.folder.title), "bold")
        if file is None or place is None:
            tour = self.stops.tour
            return Content(EMPTY) if tour is None else Content.styled(clean(tour.title), "bold")
        symbol = file.around(place.line)
        around = f"  ›  {symbol.qualified}" if symbol is not None else ""
        path, room = file.path, self.size.width - 2
        if symbol is not None and len(path) + len(around) > room:  # the end of both says most
            around = f"  ›  {symbol.qualified.rpartition('::')[2]}"
        path = _end_of(path, room - len(around))
        return Content.assemble((clean(path), "bold"), (clean(around), "$text-accent"))

    def on_moved(self, event: Moved) -> None:
        """Follow the cursor to another line."""
        if event.place != self._status_place:
            self._status_text = ""
        self.notes.follow(event.place)
        self.symbol.noted = frozenset(mark.stop for mark in self.notes.marks)
        self._crumb()
        self._status()
        self._follow_symbol()

    def on_left(self, event: Left) -> None:
        """Put the place before a jump into the history."""
        self.history.leave(event.place)

    def on_tell(self, event: Tell) -> None:
        """Show a message of the source pane."""
        self.tell(event.text)

    # --- uses, searching, lines ---

    def on_open_uses(self, event: OpenUses) -> None:
        """List the uses of a name below the source."""
        event.stop()
        self.uses.ask(event.name, event.only or self._own(event.name))
        self._arrange()

    def _own(self, name: str) -> str:
        """Returns the path of the current file, if no other file sees its things with that name."""
        file = self._shown_file
        if file is None:
            return ""
        named = [each for each in file.outline if each.qualified == name or each.qualified.endswith(f"::{name}")]
        return file.path if named and all(is_own(each.path, static=each.static) for each in named) else ""

    def action_find(self) -> None:
        """Search in this file."""
        if self._shown_file is None:
            self.tell("no file is open")
            return
        self.app.push_screen(Ask("find in this file", self.source.finding.text), self._find)

    def _find(self, text: str | None) -> None:
        file = self.source.file
        if text is None or file is None:
            return
        self.source.finding.text = text
        if text:
            self.source.action_found(1)
            count = self.source.finding.count(file)
            self.tell(f"{text!r}: {count} in this file; . and , go to the next and the previous" if count else
                      f"{text!r} is not in this file")  # fmt: skip
        self.source.refresh()

    def action_line(self) -> None:
        """Go to a line."""
        if self._shown_file is not None:
            self.app.push_screen(Ask("go to line"), self._line)

    def _line(self, text: str | None) -> None:
        file, place = self.source.file, self.place
        if not text or file is None or place is None:
            return
        if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(file.raw):
            self.go(Place(place.tree, place.path, int(text)))
        else:
            self.tell(f"this file has no line {text}")

    # --- outside ---

    def _where(self) -> tuple[str, int] | None:
        file, place = self._shown_file, self.place
        if file is None or place is None:
            return None
        return file.indexed.tree.place_of(place.path, place.line)

    def action_edit(self) -> None:
        """Open the reader's editor, which has the terminal until it ends."""
        where = self._where()
        if where is None:
            self.tell("no file to open")
            return
        trouble = ""
        with self.app.suspend():
            try:  # inside the block: an error that leaves it would leave the terminal without its screen
                self.library.edit(*where)
            except PtexploreError as error:
                trouble = error.one_line
        if trouble:
            self.tell(trouble)
        self.app.refresh()

    def action_permalink(self) -> None:
        """Copy the permalink of the line. It is also shown, because some terminals do not copy."""
        file, place = self._shown_file, self.place
        if file is None or place is None:
            return
        url, remark = file.permalink(place.line)
        if url is None:
            self.tell(remark)
        else:
            self.app.copy_to_clipboard(url)
            shown = f"{url}\n{remark}" if remark else url
            self.app.notify(shown, title="copied, if the terminal can copy", timeout=12, markup=False)

    def on_resize(self, event: events.Resize) -> None:
        """Fit the panes to the new width."""
        self._arrange(event.size.width)
        self._crumb()
        self._status()


def _end_of(path: str, room: int) -> str:
    """Returns a path, cut to its end if it is too long: the end says most."""
    return path if len(path) <= room else f"…{path[-max(room - 1, 8) :]}"
