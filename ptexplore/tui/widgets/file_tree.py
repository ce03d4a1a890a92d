"""The trees' folders and files as a list that opens level by level. Only the visible rows cost time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ptexplore.safe_text import clean
from ptexplore.tui.messages import OpenPlace, ShowFolder
from ptexplore.tui.places import FOLDER, Place
from ptexplore.tui.widgets import colours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptexplore.tui.library import Library


@dataclass(frozen=True, slots=True)
class FileRow:
    """One visible row. `path` is "" for a whole tree. `layer` is the layer of a file, or of all files in a folder."""

    depth: int
    name: str
    tree: str
    path: str
    folder: bool
    open: bool
    layer: str = ""


@dataclass
class _Folder:
    """The content of a folder: folders by name, files with their layers, and the layers of everything inside."""

    folders: dict[str, _Folder] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    layers: set[str] = field(default_factory=set)

    def add(self, path: str, layer: str) -> None:
        """Add a file at its path."""
        *parents, name = path.split("/")
        folder = self
        folder.layers.add(layer)
        for part in parents:
            folder = folder.folders.setdefault(part, _Folder())
            folder.layers.add(layer)
        folder.files[name] = layer


class FileTree(ScrollView, can_focus=True):
    """Files to choose from. A file's layer is shown after its name, unless it is the checkout's."""

    DEFAULT_CSS = """
    FileTree { scrollbar-size-horizontal: 0; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open"),
        Binding("v", "folder_page", "Folder's page"),
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("right,l", "inside", show=False),
        Binding("left,h", "outside", show=False),
        Binding("pagedown,ctrl+d,space", "page(1)", show=False),
        Binding("pageup,ctrl+u", "page(-1)", show=False),
        Binding("home,g", "first", show=False),
        Binding("end,G", "last", show=False),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__(id="files")
        self._trees = {indexed.tree.info.name: indexed for indexed in library.trees}
        self._top: dict[str, _Folder] = {}  # of the trees that were read
        self._open: set[tuple[str, str]] = set()
        self._rows: list[FileRow] = []
        self.at = 0

    def on_mount(self) -> None:
        """Show the trees."""
        self._update()

    # --- open folders ---

    @work(thread=True, exclusive=True)
    def reveal(self, tree: str, path: str, *, folder: bool = False) -> None:
        """Open the folders around a file or a folder, and go there. It runs in a thread: reading a tree takes time."""
        if tree not in self._top:  # 50 ms for ten thousand files
            top = _Folder()
            for file in self._trees[tree].store.files():
                top.add(file.path, file.layer)
            self._top[tree] = top
        self.app.call_from_thread(self._reveal, tree, path, folder)

    def _reveal(self, tree: str, path: str, folder: bool) -> None:
        """Open a folder, or the folder of a file, and those around it."""
        parts = path.split("/") if path else []
        ends = range(len(parts) + folder)
        self._open.update((tree, "/".join(parts[:end])) for end in ends)
        self._update((tree, path))

    def _close(self, row: FileRow) -> None:
        """Close a folder. The folders inside it stay open."""
        self._open.discard((row.tree, row.path))
        self._update()

    def _update(self, wanted: tuple[str, str] | None = None) -> None:
        wanted = wanted or ((self.row.tree, self.row.path) if self.row is not None else None)
        self._rows = [row for name in self._trees for row in self._tree_rows(name)]
        widest = max((2 * row.depth + len(row.name) + 14 for row in self._rows), default=0)
        self.virtual_size = Size(widest, len(self._rows))
        self._go(next((n for n, row in enumerate(self._rows) if (row.tree, row.path) == wanted), self.at))

    def _tree_rows(self, tree: str) -> Iterator[FileRow]:
        info = self._trees[tree].tree.info
        is_open = (tree, "") in self._open
        yield FileRow(0, info.label, tree, "", folder=True, open=is_open, layer="+".join(info.layers))
        if is_open:
            yield from self._rows_in(tree, "", self._top[tree], 1)

    def _rows_in(self, tree: str, prefix: str, folder: _Folder, depth: int) -> Iterator[FileRow]:
        for first in sorted(folder.folders, key=str.lower):
            path, inner = prefix + first, folder.folders[first]
            while len(inner.folders) == 1 and not inner.files:  # a chain of folders with nothing else is one row
                ((only, inner),) = inner.folders.items()
                path += f"/{only}"
            is_open = (tree, path) in self._open
            layer = next(iter(inner.layers)) if len(inner.layers) == 1 else ""
            yield FileRow(depth, path.removeprefix(prefix), tree, path, folder=True, open=is_open, layer=layer)
            if is_open:
                yield from self._rows_in(tree, f"{path}/", inner, depth + 1)
        for name in sorted(folder.files, key=str.lower):
            yield FileRow(depth, name, tree, prefix + name, folder=False, open=False, layer=folder.files[name])

    @property
    def row(self) -> FileRow | None:
        """The row under the cursor."""
        return self._rows[self.at] if self.at < len(self._rows) else None

    # --- drawing ---

    def render_line(self, y: int) -> Strip:
        """Draw one row of the screen."""
        dark, width = self.app.current_theme.dark, self.size.width
        style = colours.part("base", dark=dark)
        number = self.scroll_offset.y + y
        if number >= len(self._rows):
            return Strip.blank(width, style)
        row = self._rows[number]
        if number == self.at:
            style += Style(reverse=True) if self.has_focus else colours.part("here", dark=dark)
        sign = ("▾ " if row.open else "▸ ") if row.folder else "  "
        layer = row.layer if row.depth == 0 or row.layer != "checkout" else ""
        name = Segment(f"{'  ' * row.depth}{sign}{clean(row.name)}", style + Style(bold=row.folder))
        pieces = [name, Segment(f"  {layer}" if layer else "", style + Style(dim=True))]
        return Strip(pieces).adjust_cell_length(max(width, 1), style)

    # --- keys and the mouse ---

    def _go(self, at: int) -> None:
        self.at = max(0, min(at, len(self._rows) - 1))
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if not top <= self.at < top + height:
            self.scroll_to(y=max(0, self.at - height // 2), animate=False, immediate=True, force=True)
        self.refresh()

    def action_move(self, step: int) -> None:
        """Move up or down."""
        self._go(self.at + step)

    def action_page(self, step: int) -> None:
        """Move a screen up or down."""
        self._go(self.at + step * max(1, self.size.height - 1))

    def action_first(self) -> None:
        self._go(0)

    def action_last(self) -> None:
        self._go(len(self._rows) - 1)

    def action_choose(self) -> None:
        """Show a file; open or close a folder."""
        row = self.row
        if row is None:
            return
        if not row.folder:
            self.post_message(OpenPlace(Place(row.tree, row.path)))
        elif row.open:
            self._close(row)
        else:
            self.post_message(ShowFolder(Place(row.tree, row.path, FOLDER)))
            if row.tree in self._top:
                self._reveal(row.tree, row.path, folder=True)
            else:
                self.reveal(row.tree, row.path, folder=True)

    def action_folder_page(self) -> None:
        """Show the page of the folder, or of the file's folder."""
        if self.row is not None:
            path = self.row.path if self.row.folder else self.row.path.rpartition("/")[0]
            self.post_message(OpenPlace(Place(self.row.tree, path, FOLDER)))

    def action_inside(self) -> None:
        """Open a folder; if it is open, go into it."""
        row = self.row
        if row is not None and row.folder and row.open:
            self.action_move(1)
        else:
            self.action_choose()

    def action_outside(self) -> None:
        """Close a folder, else go to the folder around."""
        row = self.row
        if row is None:
            return
        if row.folder and row.open:
            self._close(row)
        else:
            parents = (n for n in range(self.at - 1, -1, -1) if self._rows[n].depth < row.depth)
            self._go(next(parents, self.at))

    def on_click(self, event: events.Click) -> None:
        """Choose the row under the mouse."""
        at = self.scroll_offset.y + event.y
        if at < len(self._rows):
            self._go(at)
            self.action_choose()
