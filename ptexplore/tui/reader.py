"""The reading screen: files on the left, the source in the middle, notes on the right, and where one is above."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Footer, Static

from ptexplore.tui.asking import Ask
from ptexplore.tui.files import OpenFile
from ptexplore.tui.history import History
from ptexplore.tui.library import Place
from ptexplore.tui.messages import Arrived, Coloured, Edit, Moved, OpenPlace, OpenUses
from ptexplore.tui.notes_pane import NotesPane
from ptexplore.tui.panes import NARROW, Panes
from ptexplore.tui.source import SourceView
from ptexplore.tui.tree import FileTree
from ptexplore.tui.uses import Uses
from ptexplore.view.plain import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from ptexplore.tui.library import Library

_AT_ONCE = 40_000  # characters of a file whose colours are there with its first paint
_KEPT = 24  # files that stay read, for going back and forth

EMPTY = "Choose a file on the left (Enter), or search: ctrl+p. ? shows every key."


class Reader(Panes):
    """Reading source. `place` is where the cursor is."""

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

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
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
        self.post_message(Arrived(place))
        return True

    def _afterwards(self, file: OpenFile, *, elsewhere: bool) -> None:
        if elsewhere:
            self.files.reveal(file.indexed.tree.info.name, file.path)
        if not file.parsed and file.there:
            self._colour(file)

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
