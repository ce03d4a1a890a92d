"""The trees' folders and files, as a list that opens level by level; thousands of files cost what is visible."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import work
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ptexplore.safe_text import clean
from ptexplore.tui.messages import OpenPlace
from ptexplore.tui.reading.folders import FileRow, OpenFolders
from ptexplore.tui.widgets import colours

if TYPE_CHECKING:
    from textual import events

    from ptexplore.tui.library import Library

_LAYERS = {"generated": "generated", "wheel": "wheel", "checkout": ""}


class FileTree(ScrollView, can_focus=True):
    """Files to choose from. A file's layer stands after its name where it is not the checkout's."""

    DEFAULT_CSS = """
    FileTree { scrollbar-size-horizontal: 0; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open"),
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("right,l", "inside", show=False),
        Binding("left,h", "outside", show=False),
        Binding("pagedown,ctrl+d,space", "page(1)", show=False),
        Binding("pageup,ctrl+u", "page(-1)", show=False),
        Binding("home,g", "edge(0)", show=False),
        Binding("end,G", "edge(-1)", show=False),
    ]

    def __init__(self, library: Library, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._folders = OpenFolders(library.trees)
        self._rows: list[FileRow] = []
        self.at = 0

    def on_mount(self) -> None:
        """The trees themselves."""
        self._update()

    # --- what is open ---

    @work(thread=True, exclusive=True)
    def reveal(self, tree: str, path: str, *, folder: bool = False) -> None:
        """Open what leads to a file or a folder, and go there; in a thread, since a tree may have to be read."""
        self._folders.read(tree)
        self.app.call_from_thread(self._reveal, tree, path, folder)

    def _reveal(self, tree: str, path: str, folder: bool) -> None:
        self._folders.open(tree, path if folder else path.rpartition("/")[0])
        self._update((tree, path))

    def _update(self, wanted: tuple[str, str] | None = None) -> None:
        here = wanted or ((self.row.tree, self.row.path) if self.row is not None else None)
        self._rows = self._folders.rows()
        widest = max((2 * row.depth + len(row.name) + 14 for row in self._rows), default=0)
        self.virtual_size = Size(widest, len(self._rows))
        places = (n for n, row in enumerate(self._rows) if (row.tree, row.path) == here)
        self._go(next(places, min(self.at, max(0, len(self._rows) - 1))))
        self.refresh()

    @property
    def row(self) -> FileRow | None:
        """The row that the cursor is on."""
        return self._rows[self.at] if self.at < len(self._rows) else None

    # --- drawing ---

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        dark, width = self.app.current_theme.dark, self.size.width
        base = colours.part("base", dark=dark)
        number = self.scroll_offset.y + y
        if number >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[number]
        style = base
        if number == self.at:
            style = base + (Style(reverse=True) if self.has_focus else colours.part("here", dark=dark))
        sign = ("▾ " if row.open else "▸ ") if row.folder else "  "
        told = row.layer if row.depth == 0 else _LAYERS.get(row.layer, row.layer)
        name = Segment(f"{'  ' * row.depth}{sign}{clean(row.name)}", style + Style(bold=row.folder))
        pieces = [name, Segment(f"  {told}" if told else "", style + Style(dim=True))]
        return Strip(pieces).adjust_cell_length(max(width, 1), style)

    # --- keys and the mouse ---

    def _go(self, at: int) -> None:
        self.at = max(0, min(at, len(self._rows) - 1))
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if not top <= self.at < top + height:
            self.scroll_to(y=max(0, self.at - height // 2), animate=False, immediate=True, force=True)
        self.refresh()

    def action_move(self, step: int) -> None:
        """Up and down."""
        self._go(self.at + step)

    def action_page(self, step: int) -> None:
        """A screen up or down."""
        self._go(self.at + step * max(1, self.size.height - 1))

    def action_edge(self, at: int) -> None:
        """The first or the last row."""
        self._go(at if at >= 0 else len(self._rows) - 1)

    def action_choose(self) -> None:
        """Show a file; open or close a folder."""
        row = self.row
        if row is None:
            return
        if not row.folder:
            self.post_message(OpenPlace(row.tree, row.path))
        elif self._folders.is_read(row.tree):
            self._folders.toggle(row.tree, row.path)
            self._update()
        else:
            self.reveal(row.tree, row.path, folder=True)

    def action_inside(self) -> None:
        """Open a folder; on into it where it is open."""
        row = self.row
        if row is not None and row.folder and row.open:
            self.action_move(1)
        else:
            self.action_choose()

    def action_outside(self) -> None:
        """Close a folder, else go to the one around."""
        row = self.row
        if row is None:
            return
        if row.folder and row.open:
            self._folders.close(row.tree, row.path)
            self._update()
            return
        above = (n for n in range(self.at - 1, -1, -1) if self._rows[n].depth < row.depth)
        self._go(next(above, self.at))

    def on_click(self, event: events.Click) -> None:
        """Choose the row under the mouse."""
        at = self.scroll_offset.y + event.y
        if at < len(self._rows):
            self._go(at)
            self.action_choose()

    def on_focus(self) -> None:
        """The cursor shows whether keys come here."""
        self.refresh()

    def on_blur(self) -> None:
        """The same."""
        self.refresh()
