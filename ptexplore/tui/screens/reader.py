"""The reading screen: files on the left, the source in the middle, notes on the right, and where one is above."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from ptexplore.safe_text import clean
from ptexplore.tui.library import Place
from ptexplore.tui.messages import Coloured, Edit, Moved, OpenPlace, OpenUses
from ptexplore.tui.reading.files import OpenFile
from ptexplore.tui.reading.history import History
from ptexplore.tui.screens.asking import Ask
from ptexplore.tui.widgets.notes_pane import NotesPane
from ptexplore.tui.widgets.source import SourceView
from ptexplore.tui.widgets.tree import FileTree
from ptexplore.tui.widgets.uses import Uses

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from ptexplore.tui.library import Library

_AT_ONCE = 40_000  # characters of a file whose colours are there with its first paint
_KEPT = 24  # files that stay read, for going back and forth
_STAYS = 1.0  # seconds after which a place is one where the reader was
WIDE = 110  # columns from which on files and notes stand beside the source
ROOMY = 120  # columns below which what stands beside the source takes less
NARROW = 40  # columns below which source cannot be read

EMPTY = "Choose a file on the left (Enter), or search: ctrl+p. ? shows every key."


class ReadingScreen(Screen[None]):
    """Reading source. `place` is where the cursor is; `stop_job` stops what runs, and says whether anything did."""

    DEFAULT_CSS = """
    Reader { layers: base; }
    #crumb { height: 1; padding: 0 1; background: $panel; color: $text; }
    #status { height: 1; padding: 0 1; background: $panel; color: $text-muted; }
    #notice { height: auto; max-height: 4; padding: 0 1; background: $warning; color: $text; display: none; }
    #files { width: 34; border-right: vkey $panel; }
    #side { width: 46; border-left: vkey $panel; overflow-y: auto; padding: 0 1; }
    #middle { width: 1fr; }
    #source { height: 1fr; }
    Reader.-tight #files { width: 24; }
    Reader.-tight #side { width: 32; }
    Reader.-small #panes { layout: vertical; }
    Reader.-small #files { width: 100%; height: 1fr; border-right: none; }
    Reader.-small #side { width: 100%; height: 45%; border-left: none; border-top: solid $panel; }
    Reader.-small.-choosing #middle { display: none; }
    Reader.-narrow #status, Reader.-narrow Footer { display: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find"),
        Binding("ctrl+o,alt+left,backspace", "back", "Back", key_display="^o"),
        Binding("f,alt+right,ctrl+i", "forward", show=False),
        Binding("e", "files", "Files"),
        Binding("i", "notes", "Notes"),
        Binding("colon", "line", show=False),
        Binding("o", "edit", show=False),
        Binding("y", "permalink", show=False),
        Binding("escape", "away", show=False),
    ]

    def __init__(self, library: Library, stop_job: Callable[[], bool]) -> None:
        super().__init__()
        self.library = library
        self._stop_job = stop_job
        self._wants_files: bool | None = None  # what the reader asked for; None: as the width has it
        self._wants_notes: bool | None = None
        self.history = History()
        self._files: dict[tuple[str, str], OpenFile] = {}
        self._told = ""
        self._told_at: Place | None = None
        self.begin: Callable[[], None] | None = None  # what is done first, once

    def on_mount(self) -> None:
        """Whatever is opened first."""
        begin, self.begin = self.begin, None
        if begin is not None:
            begin()

    def compose(self) -> ComposeResult:
        """The panes."""
        yield Static(id="crumb")
        yield Static(id="notice")
        with Horizontal(id="panes"):
            yield FileTree(self.library, id="files")
            with Vertical(id="middle"):
                yield SourceView(id="source")
                yield Uses(self.library, id="uses")
            with Vertical(id="side"):
                yield NotesPane(self.library)
        yield Static(id="status")
        yield Footer(show_command_palette=False, compact=True)

    @property
    def place(self) -> Place | None:
        """Where the cursor is; None while nothing is open, or when the screen is going."""
        found = self.query(SourceView)
        return found.first().place if found else None

    # --- panes ---

    @property
    def source(self) -> SourceView:
        return self.query_one(SourceView)

    @property
    def files(self) -> FileTree:
        return self.query_one(FileTree)

    @property
    def notes(self) -> NotesPane:
        return self.query_one(NotesPane)

    def action_files(self) -> None:
        """Show or hide the files; shown, they have the keys."""
        shown = self.files.display
        self._wants_files = not shown
        self._arrange()
        if shown:
            self.source.focus()
        else:
            self.files.focus()

    def action_notes(self) -> None:
        """Show or hide the notes."""
        self._wants_notes = not self.query_one("#side").display
        self._arrange()

    def show_notes(self) -> None:
        """The notes are what is read now, however wide the screen is."""
        if not self.query_one("#side").display:
            self._wants_notes = True
            self._arrange()

    def action_away(self) -> None:
        """Close what lies over the source; what runs for the reader ends first."""
        if self._stop_job():
            return
        uses = self.query_one(Uses)
        if uses.display:
            uses.display = False
        elif self.has_class("-small") and self.files.display and self.source.file is not None:
            self._wants_files = None
        self.source.finding.text = ""
        self._arrange()
        self.source.refresh()
        self.source.focus()

    def _arrange(self, width: int | None = None) -> None:
        width = width or self.size.width
        small = width < WIDE
        self.set_class(small, "-small")
        self.set_class(width < ROOMY and not small, "-tight")
        self.set_class(width < NARROW, "-narrow")
        empty = self.source.file is None
        files = self._wants_files if self._wants_files is not None else not small
        self.files.display = files or empty
        self.set_class(small and self.files.display, "-choosing")
        self.query_one("#side").display = self._wants_notes if self._wants_notes is not None else not small

    # --- going places ---

    def go(
        self, place: Place, *, keep: bool = False, remember: bool = True, lit: tuple[int, int] | None = None
    ) -> bool:
        """Show a place; the one left behind can be gone back to. False where there is no such tree."""
        indexed = self.library.tree(place.tree)
        if indexed is None:
            self.tell(f"there is no tree {place.tree} here")
            return False
        here = self.place
        if remember and here is not None and (here.tree, here.path, here.line) != (place.tree, place.path, place.line):
            self.history.leave(here)
        file = self._file(place.tree, place.path)
        self._told = ""
        self.source.show(file, place.line, place.column, lit)
        self._notice(file)
        self.set_class(False, "-choosing")
        self._arrange()
        if not file.parsed and len(file.text) < _AT_ONCE:
            file.parse()
        # What else there is to do comes after the text is on the screen: a thread's work would hold it up.
        self.call_after_refresh(self._afterwards, file, elsewhere=here is None or here.path != place.path)
        if not keep:
            self.source.focus()
        self.set_timer(_STAYS, lambda: self._remember(place), name="recent")
        return True

    def _afterwards(self, file: OpenFile, *, elsewhere: bool) -> None:
        if elsewhere:
            self.files.reveal(file.indexed.tree.info.name, file.path)
        if not file.parsed and file.there:
            self._colour(file)
        if not self.library.marked:  # the first file asks for the notes
            self.run_worker(self._read_notes, thread=True, group="notes")

    def _remember(self, place: Place) -> None:
        """Keep the place among the recent ones if the reader is in that file still."""
        from ptexplore.tui.reading.recent import Recent, keep

        here, file = self.place, self.source.file
        if here is None or (here.tree, here.path) != (place.tree, place.path):
            return
        symbol = file.around(here.line) if file is not None and file.there else None
        try:
            keep(Recent(here.tree, here.path, here.line, symbol.qualified if symbol is not None else ""))
        except OSError:
            return  # a list of places that cannot be kept is no trouble worth a line

    def _read_notes(self) -> None:
        self.library.read_notes()
        self.app.call_later(self._notes_read)

    def _notes_read(self) -> None:
        if self.is_attached:
            self.source.refresh()  # the dots before its lines
            if self.place is not None:
                self.notes.follow(self.place)

    def _file(self, tree: str, path: str) -> OpenFile:
        indexed = self.library.tree(tree)
        assert indexed is not None
        file = self._files.pop((tree, path), None)
        if file is None:
            file = OpenFile(self.library, indexed, path)
            indexed.tree.forget()  # what is shown is kept here, not for every file ever read
        self._files[(tree, path)] = file
        while len(self._files) > _KEPT:
            self._files.pop(next(iter(self._files)))
        return file

    @work(thread=True, group="colour", exclusive=True)
    def _colour(self, file: OpenFile) -> None:
        file.parse()
        self.post_message(Coloured())  # to nobody, where the screen went meanwhile

    def on_coloured(self) -> None:
        """The colours of what is open are there."""
        self.source.refresh()

    def _notice(self, file: OpenFile) -> None:
        self.warn("; ".join(file.notices))

    def warn(self, text: str) -> None:
        """What must be known of what is shown, above it, until something else is shown."""
        notice = self.query_one("#notice", Static)
        notice.display = bool(text)
        notice.update(Content(clean(text)))

    def action_back(self) -> None:
        """The place before."""
        self._step(-1)

    def action_forward(self) -> None:
        """Where we went back from."""
        self._step(1)

    def _step(self, step: int) -> None:
        here = self.place
        if here is None:
            return
        place = self.history.back(here) if step < 0 else self.history.forward(here)
        if place is None:
            self.tell("this is the first place" if step < 0 else "this is the last place")
        else:
            self.go(place, remember=False)

    # --- what is said ---

    def tell(self, text: str) -> None:
        """A line for the reader, until the cursor moves on from where it is now."""
        self._told, self._told_at = text, self.place
        self._status()

    def _status(self) -> None:
        file, place = self.source.file, self.place
        text = self._told or (file.standing if file is not None else self.library.standing)
        position = f"{place.line}:{place.column + 1} of {len(file.raw)}" if file is not None and place else ""
        room = max(self.size.width - len(position) - 4, 10)
        shown = clean(text)
        shown = shown if len(shown) <= room else f"{shown[: room - 1]}…"
        self.query_one("#status", Static).update(Content(f"{shown:<{room}}  {position}"))

    def _crumb(self) -> None:
        file, place = self.source.file, self.place
        if self.size.width < NARROW:
            self.query_one("#crumb", Static).update(Content(f"{self.size.width} columns: widen"))
            return
        if file is None or place is None:
            self.query_one("#crumb", Static).update(Content(EMPTY))
            return
        symbol = file.around(place.line)
        around = f"  ›  {symbol.qualified}" if symbol is not None else ""
        path, room = file.path, self.size.width - 2
        if len(path) + len(around) > room:  # the end of either says most
            around = f"  ›  {symbol.qualified.rpartition('::')[2]}" if symbol is not None else ""
        if len(path) + len(around) > room:
            path = f"…{path[-max(room - len(around) - 1, 8) :]}"
        self.query_one("#crumb", Static).update(
            Content.assemble((clean(path), "bold"), (clean(around), "$text-accent"))
        )

    def on_moved(self, event: Moved) -> None:
        """The cursor is on another line."""
        if event.place != self._told_at:
            self._told = ""
        self._crumb()
        self._status()
        self.notes.follow(event.place)

    def on_source_view_tell(self, event: SourceView.Tell) -> None:
        """What the source has to say."""
        self.tell(event.text)

    # --- uses, searching, lines ---

    def on_open_uses(self, event: OpenUses) -> None:
        """List the uses of a name below the source."""
        event.stop()
        self.query_one(Uses).ask(event.name)

    def action_find(self) -> None:
        """Search in this file."""
        if self.source.file is None:
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
            self.tell(f"{text!r}: {count} in this file; . and , go to the next and the one before" if count else
                      f"{text!r} is not in this file")  # fmt: skip
        self.source.refresh()

    def action_line(self) -> None:
        """Go to a line."""
        if self.source.file is not None:
            self.app.push_screen(Ask("go to line"), self._line)

    def _line(self, text: str | None) -> None:
        here = self.place
        if not text or here is None:
            return
        if not text.isdecimal() or not 1 <= int(text) <= len(self.source.file.raw if self.source.file else ()):
            self.tell(f"there is no line {text} in this file")
            return
        self.go(Place(here.tree, here.path, int(text)))

    # --- outside ---

    def _where(self) -> tuple[str, int] | None:
        file, place = self.source.file, self.place
        if file is None or place is None:
            return None
        return file.indexed.tree.place_of(place.path, place.line)

    def action_edit(self) -> None:
        """Open the line in the reader's editor."""
        where = self._where()
        if where is None:
            self.tell("there is no file to open")
        else:
            self.post_message(Edit(*where))

    def action_permalink(self) -> None:
        """Copy the permalink of the line; shown as well, since not every terminal copies."""
        file, place = self.source.file, self.place
        if file is None or place is None:
            return
        url, why = file.permalink(place.line)
        if url is None:
            self.tell(why)
            return
        self.app.copy_to_clipboard(url)
        self.app.notify(url, title="copied, where the terminal copies", timeout=12, markup=False)

    def on_resize(self, event: events.Resize) -> None:
        """Panes as the width has room for them."""
        self._arrange(event.size.width)
        self._crumb()
        self._status()

    def on_open_place(self, event: OpenPlace) -> None:
        """On a small screen the files go away once one was chosen."""
        if self.has_class("-small") and not event.keep:
            self._wants_files = None
