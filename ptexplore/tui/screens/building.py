"""The screen while the index is built: the shipped page of the target to read, and one line of progress."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.jobs import Job, hand_over
from ptexplore.tui.widgets.folder_pane import coded
from ptexplore.view.notes.folder import page_of_folder, shipped_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from ptexplore.lookup.trees import IndexedTree
    from ptexplore.tui.library import Library
    from ptexplore.view.notes.folder import ShippedPage

ADDS = "once, in about a minute; then you have files, names, uses and search"
READY = "the index is ready. Enter: go on with files, names, uses and search"


class Building(Screen[Any]):
    """Builds the missing indexes at once, and shows what can be read without them.

    `target` is the text that the user asked for, or None. The screen returns the trees, or None if the reader goes on
    without an index.
    """

    DEFAULT_CSS = """
    Building .title { text-style: bold; padding: 0 2; background: $panel; }
    Building VerticalScroll { height: 1fr; padding: 1 0 0 2; }
    Building VerticalScroll Static, Building VerticalScroll Markdown { max-width: 90; }
    Building Markdown { padding: 0; background: transparent; }
    Building MarkdownFence { margin: 0 0 1 0; overflow: hidden hidden; }
    Building MarkdownFence > Label { width: auto; padding: 0; text-wrap: nowrap; }
    Building #progress { padding: 0 2; background: $panel; color: $text-accent; height: auto; max-height: 4; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Stop indexing"),
        Binding("enter", "build", "Go on"),
    ]

    def __init__(self, library: Library, missing: Sequence[str], target: str | None = None) -> None:
        super().__init__()
        self._library = library
        self._missing = missing
        self._page = _page_of(library, target)
        self._job: Job | None = None
        self._trees: Sequence[IndexedTree] | None = None  # with their indexes; kept while the reader reads on

    def compose(self) -> ComposeResult:
        """The page, and the line of progress below it."""
        yield Static(Content(clean(self._page.title)), classes="title")
        with VerticalScroll():
            for part in self._page.parts:
                yield Static(_drawn(part.heading, part.text))
        yield Static(id="progress")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin when the page is drawn, without a question: nobody opens a reader to be asked whether to find names."""
        self.query_one(VerticalScroll).focus()
        self.call_after_refresh(self.action_build)
        if self._page.stops:
            self.call_after_refresh(self.run_worker, self._add_stops())

    async def _add_stops(self) -> None:
        """Add the stops of a tour below the page, one after the other: together they would delay the first paint."""
        from ptexplore.tui.widgets.notes_pane import prose_widget

        scroll = self.query_one(VerticalScroll)
        for stop in self._page.stops:
            await scroll.mount(Static(_drawn(stop.heading, ""), classes="stop"), prose_widget(stop.text))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key has something to do: Enter while nothing is being indexed, Esc until there is an index."""
        del parameters
        if action == "build":
            return self._job is None
        return self._trees is None if action == "leave" else True

    def action_build(self) -> None:
        """Build the index in another process. If it is built, go on with it."""
        if self._trees is not None:
            self.dismiss(self._trees)
        elif self._job is None:
            self._show(f"indexing {' and '.join(map(_in_words, self._missing))}, {ADDS}")
            self.refresh_bindings()
            self._job = Job("indexing", lambda name: self.app.call_from_thread(self._step, name))
            build = partial(self._library.build_indexes, self._job)
            self.run_worker(partial(hand_over, self.app, build, self._built, self._failed), thread=True)

    def _step(self, name: str) -> None:
        tree, colon, step = name.partition(": ")
        self._show(f"indexing {_in_words(tree)}{colon}{step}" if colon else f"indexing: {name}", ADDS)

    def _built(self, trees: Sequence[IndexedTree]) -> None:
        """Go on, unless the reader has scrolled: then the page stays until Enter."""
        self._job = None
        self._trees = trees
        if self.query_one(VerticalScroll).scroll_y == 0:
            self.dismiss(trees)
        else:
            self._show(READY)
            self.refresh_bindings()

    def _show(self, *lines: str) -> None:
        if self.is_mounted:  # a step may come when the screen is gone
            self.query_one("#progress", Static).update(Content("\n".join(map(clean, lines))))

    def _failed(self, error: PtexploreError) -> None:
        self._job = None
        self.refresh_bindings()
        parts = (error.message, error.why, f"try: {error.hint}" if error.hint else "")
        further = "Enter: index again, Esc: " + ("read without the index" if self._library.trees else "leave")
        self._show(*filter(None, parts), further)

    def action_leave(self) -> None:
        """Stop the build; if nothing runs, go on without an index."""
        if self._job is not None:
            self._job.stop()
        else:
            self.dismiss(None)

    def on_unmount(self) -> None:
        """Stop the build when the screen is gone."""
        if self._job is not None:
            self._job.stop()


def _in_words(tree: str) -> str:
    return "the installed torch" if tree == "runtime" else tree


def _page_of(library: Library, target: str | None) -> ShippedPage:
    """Returns the shipped page for a target; without pages of notes, a page that says so."""
    try:
        pages = library.folder_pages
        page = page_of_folder((target or "").strip(), pages)  # before all notes are read, which takes longer
        return page if page is not None else shipped_page(target, pages, library.notes)
    except PtexploreError as error:
        return shipped_page(None, None, None, problem=error.one_line)


def _drawn(heading: str, text: str) -> Content:
    """Returns a part of a page: its heading, and its text with code in another colour."""
    lines = [Content.styled(clean(heading), "bold $text-primary")] if heading else []
    return Content("\n").join([*lines, *map(coded, text.splitlines()), Content("")])
