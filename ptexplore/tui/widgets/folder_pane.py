"""A folder's page in the middle of the reading screen: its purpose, and everything in it that the reader can open."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets.option_list import Option

from ptexplore.safe_text import clean
from ptexplore.tui.asking import Leads, Links
from ptexplore.tui.messages import Fetch, GoHome, OpenPlace, OpenTour, Tell, TraceSuggested
from ptexplore.tui.places import FOLDER, Place
from ptexplore.view.notes.folder import MAP_IN_WORDS, map_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptexplore.tui.library import Library
    from ptexplore.view.notes.folder import FolderRow, FolderView

_CODE = re.compile(r"`([^`]+)`")
_NAMES = 18  # columns of the names that are lined up before the sentences
_ROOMY = 70  # columns; from this width on, a sentence is beside its name
_EDGES = 8  # columns of padding and scroll bar


class FolderPane(Links):
    """The page of one folder. `place` is that folder; None while no page is shown."""

    DEFAULT_CSS = """
    FolderPane, FolderPane:focus { height: 1fr; padding: 0 2; text-overflow: fold; }
    FolderPane { display: none; }
    FolderPane > .option-list--option-highlighted, FolderPane:focus > .option-list--option-highlighted {
        background: $primary 35%; color: $foreground; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open"),
        Binding("l,right", "select", show=False),
        Binding("h,left", "around", show=False),
        Binding("a", "everything", "All of it"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__(id="folder")
        self._library = library
        self._view: FolderView | None = None
        self._everything = False
        self._unread = False  # whether the page is as it was opened: no key was pressed on it
        self.place: Place | None = None

    def show(self, place: Place) -> None:
        """Show the page of a folder; `place.line` is FOLDER."""
        kept = place == self.place
        self._view = self._library.folder(place.tree, place.path)
        self._everything = self._everything if kept else place.whole
        self.place = place
        self.display = True
        self.fill(list(self._page_lines(self._view)), keep=kept)
        if not kept:
            self._unread = not 0 < place.top < self.option_count
            if self._unread:
                self.call_after_refresh(self._begin)
            else:
                self.highlighted = place.top

    def _begin(self) -> None:
        self.scroll_home(animate=False, immediate=True)
        self.scroll_to_highlight()

    def scroll_to_highlight(self, top: bool = False) -> None:
        """Keep the cursor in view. But a page begins with its first line: if no link is there, it has no cursor yet."""
        super().scroll_to_highlight(top)
        if self._unread and self.scroll_offset.y:
            self.highlighted = None
            self.scroll_home(animate=False, immediate=True)

    def leave(self) -> None:
        """Close the page."""
        self.place = None
        self.display = False

    @property
    def as_left(self) -> Place | None:
        """The same place in its current view; None while no page is shown."""
        return replace(self.place, top=self.highlighted or 0, whole=self._everything) if self.place else None

    @property
    def title(self) -> str:
        """The line above the panes: the folder's path, and the title of the page."""
        view = self._view
        if view is None:
            return ""
        name = view.folder or view.spot.tree.label
        return f"{name}  ›  {view.title}" if view.page is not None and view.folder else name

    # --- the content ---

    def _page_lines(self, view: FolderView) -> Iterator[Option]:
        page = view.page
        if page is None:
            around = self._library.folder_pages.sentence(view.folder)
            if around is not None:
                yield from _prose(around.text)
            yield _read(Content.styled("This folder has no description yet.", "dim"))
        else:
            yield from _prose(page.intro)
        yield from self._map(view)
        if view.start:
            yield _heading("Start here")
            for number, row in enumerate(view.start, 1):
                symbol = f"  {row.entry.symbol}" if row.entry.symbol else ""
                missing = "" if row.spot is not None else "  not in this tree"
                path = clean(_inside(row.entry.path, view.folder))
                text = Content.assemble(
                    (f"{number}  ", "dim"), (path, "bold $text-primary"), (clean(symbol), "dim"),
                    (missing, "$text-warning"), "\n   ", self._hanging(row.entry.why, 3),
                )  # fmt: skip
                ref = row.spot.ref if row.spot is not None else None
                if ref is None or ref.path is None:
                    yield _read(text)
                else:
                    yield Leads(text, OpenPlace(Place(view.spot.tree.name, ref.path, ref.line or 1)))
        yield from self._inside(view)
        if view.tours:
            yield _heading("Tours through here")
            for through in view.tours:
                stops = f"  {through.stops} of {len(through.tour.stops)} stops"
                text = Content.assemble((clean(through.tour.title), "$text-primary"), (stops, "dim"))
                yield Leads(text, OpenTour(through.tour.id, through.first))
        if page is not None and page.expression:
            yield _heading("Try")
            text = Content.assemble(("trace ", "dim"), (clean(page.expression), "bold $text-accent"))
            yield Leads(text, TraceSuggested(page))
        if page is not None and page.build:
            yield _heading("In a build")
            yield from _prose(page.build)
        if view.newer:
            yield _heading(f"In {clean(view.version)}")
            yield from _prose(view.newer)
        for fact in view.facts:
            yield _read(Content.styled(f"\n{clean(fact)}", "dim"))

    def _map(self, view: FolderView) -> Iterator[Option]:
        """Yields the way from Python to the machine, folder by folder. Only the page of the whole tree has it."""
        if view.folder:
            return
        rows = [row for row in map_rows(self._library.folder_pages) if self._has(view, row.folder)]
        yield _heading("Learn")
        home = Content.assemble(("the learning path and the tours", "$text-primary"), ("  H", "dim"))
        yield Leads(home, GoHome())
        if self._library.lacks:
            yield Leads(Content.styled(clean(self._library.lacks), "$text-warning"), Fetch())
        if rows:
            yield _heading("From Python to the machine")
            yield _read(Content.styled(MAP_IN_WORDS, "dim"))
        for number, row in enumerate(rows):
            arrow = "" if number == len(rows) - 1 else "\n   │"
            says = Content.assemble("\n   ", self._hanging(row.text, 3)) if row.text else ""
            text = Content.assemble(
                "   ", (clean(row.folder), "bold $text-primary"), (f"  {clean(row.name)}", "dim"), says, (arrow, "dim")
            )
            yield Leads(text, OpenPlace(Place(view.spot.tree.name, row.folder, FOLDER)))

    def _has(self, view: FolderView, folder: str) -> bool:
        indexed = self._library.tree(view.spot.tree.name)
        return indexed is not None and indexed.store.has_folder(folder)

    def _inside(self, view: FolderView) -> Iterator[Option]:
        """Yields the folders, with the rarely needed ones in one line; then the files in this folder."""
        common = [row for row in view.folders if self._everything or not row.rare]
        rare = [row for row in view.folders if row.rare and not self._everything]
        if common:
            yield _heading("Folders", f"  files in {clean(view.spot.tree.label)}")
            yield from (self._folder(view, row) for row in common)
        if rare:
            names = ", ".join(clean(row.name) for row in rare)
            yield _read(Content.styled(f"rarely needed: {names}  (a shows them)", "dim"))
        if view.files and self._everything:
            yield _heading("Files")
            for file in view.files:
                name = clean(file.path.rpartition("/")[2])
                text = Content.assemble((name, "$text-primary"), (f"  {file.lines:,} lines", "dim"))
                yield Leads(text, OpenPlace(Place(view.spot.tree.name, file.path)))
        elif view.files:
            more = f"{len(view.files):,} files are here  (a lists them; e shows them on the left)"
            yield _read(Content.styled(more, "dim"))

    def _folder(self, view: FolderView, row: FolderRow) -> Option:
        count = f"{row.files:,}" if row.files else "-"
        name = (f"{clean(row.name):<{_NAMES}}", "$text-primary")
        beside = self.size.width >= _ROOMY
        says = self._hanging(row.text, _NAMES + 8 if beside else 3) if row.text else ""
        text = Content.assemble(name, (f"{count:>6}  ", "dim"), "" if beside or not row.text else "\n   ", says)
        if not row.files:
            return _read(text)
        return Leads(text, OpenPlace(Place(view.spot.tree.name, row.path, FOLDER)))

    def _hanging(self, text: str, indent: int) -> Content:
        """Returns a sentence whose further lines are indented like the first."""
        whole = _CODE.sub(lambda match: match[0].replace(" ", "\u00a0"), text)  # code is not broken
        lines = textwrap.wrap(whole, max(self.size.width - _EDGES - indent, 20), break_long_words=False)
        return Content("\n" + " " * indent).join(map(coded, lines))

    def on_resize(self) -> None:
        """Fit the lines to the new width."""
        if self._view is not None and self.place is not None:
            self.fill(list(self._page_lines(self._view)), keep=True)

    # --- keys ---

    def on_key(self) -> None:
        """The reader moves: from now on the cursor keeps its line."""
        self._unread = False

    def action_around(self) -> None:
        """Go to the folder around this one."""
        if self.place is not None and self.place.path:
            around = self.place.path.rpartition("/")[0]
            self.post_message(OpenPlace(Place(self.place.tree, around, FOLDER)))

    def action_everything(self) -> None:
        """Show or hide the rarely needed folders, and the files."""
        self._everything = not self._everything
        if self._view is not None:
            self.fill(list(self._page_lines(self._view)), keep=True)
            folders, files = len(self._view.folders), len(self._view.files)
            counted = f"all folders ({folders:,}) and files ({files:,}) are listed below; a hides those rarely needed"
            self.post_message(Tell(counted if self._everything else "files and rarely needed folders are hidden"))


def _inside(path: str, folder: str) -> str:
    """Returns a path relative to a folder, if it is inside of the folder."""
    return path.removeprefix(f"{folder}/") if folder else path


def _read(text: Content) -> Option:
    """Returns a line of text without a link."""
    return Leads(text)


def _heading(text: str, after: str = "") -> Option:
    return _read(Content.assemble("\n", (text, "bold $text-accent"), (after, "dim")))


def _prose(text: str) -> Iterator[Option]:
    """Yields one option for each paragraph."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        yield _read(Content.assemble("\n" if number else "", coded(" ".join(paragraph.split()))))


def coded(text: str) -> Content:
    """Returns a sentence with its code in colour."""
    parts: list[Content] = []
    at = 0
    for match in _CODE.finditer(text):
        parts += [Content(clean(text[at : match.start()])), Content.styled(clean(match[1]), "$text-accent")]
        at = match.end()
    return Content.assemble(*parts, clean(text[at:]))
