"""The home screen: the learning path, tours with the reader's progress, recent places, the trees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.widgets.option_list import Option

from ptexplore.annotations.concepts import LearningPath, load_path
from ptexplore.annotations.progress import load_progress
from ptexplore.lookup.trees import project
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Choices, Leads
from ptexplore.tui.jobs import hand_over
from ptexplore.tui.messages import Fetch, GoBack, OpenPlace, OpenTour, open_stop
from ptexplore.tui.places import HOME, Place, load_recent
from ptexplore.tui.screens.reader import WIDE
from ptexplore.view.notes.tour import ConceptRow, PathView, TourRow, listing, path_view

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from ptexplore.errors import PtexploreError
    from ptexplore.tui.library import Library

_RECENT = 9  # recent places that are listed
_THIS = Place("", "", HOME)
_STATE = {"done": ("✓", "$text-success"), "begun": ("◐", "$text-warning"), "open": ("○", "dim")}
_RELATION = {"runtime": "the installed torch", "matches": "the source of the installed torch",
             "consistent": "same as the installed torch, where both have a file",
             "version-skew": "a different version from the installed torch"}  # fmt: skip


class Home(Screen[Message | None]):
    """The home screen. It returns the message that opens the reader's choice; None for the bare reading screen."""

    DEFAULT_CSS = """
    Home #title { height: auto; padding: 0 1; background: $panel; }
    Home #columns { height: 1fr; }
    Home Choices { width: 1fr; height: 1fr; padding: 0 1; }
    Home #places { text-wrap: wrap; }
    Home #path { border-right: vkey $panel; }
    Home.-small #columns { layout: vertical; }
    Home.-small #path { border-right: none; border-bottom: solid $panel; }
    Home #told { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-small"), (WIDE, "-wide")]  # noqa: RUF012  (textual does not declare it as a ClassVar)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "Read"),
        Binding("tab", "app.focus_next", "Other side", show=True),
        Binding("l,right", "side(1)", show=False),
        Binding("h,left", "side(0)", show=False),
        Binding("e,escape", "dismiss(None)", "Files"),
        Binding("ctrl+o,alt+left,backspace", "back", show=False),
    ]

    def __init__(self, library: Library, *, went_back: bool = False) -> None:
        """`went_back` says that going back led here. Then the same key leads further back."""
        super().__init__()
        self._library = library
        self._went_back = went_back

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        with Horizontal(id="columns"):
            yield Choices(id="path")
            yield Choices(id="places")
        yield Static(id="told")
        yield Footer()

    def on_mount(self) -> None:
        torch = self._library.torch
        installed = f"installed: torch {torch}" if torch is not None else "no torch is installed"
        title = Content.assemble(("ptexplore", "bold $text-primary"), "  read PyTorch, guided  ", (installed, "dim"))
        self.query_one("#title", Static).update(title)

    def on_screen_resume(self) -> None:
        self.query_one("#places", Choices).fill([*self._recent(), *self._trees()])
        read = partial(hand_over, self.app, self._read, self._show, self._failed)
        self.run_worker(read, thread=True, exclusive=True, exit_on_error=False)

    def _read(self) -> LearningPath:
        """Read the notes. This runs in a thread, because dozens of stops take a moment."""
        return load_path(self._library.notes)

    def _failed(self, error: PtexploreError) -> None:
        if self.is_attached:
            self.query_one("#path", Choices).fill([_heading(clean(f"notes cannot be read: {error.one_line}"))])

    def _show(self, path: LearningPath) -> None:
        """Show everything with the current progress."""
        if not self.is_attached:
            return
        notes, progress = self._library.notes, load_progress()
        self.query_one("#path", Choices).fill(self._path(path_view(notes, path, progress)), keep=True)
        rows = listing(notes, progress)
        self.query_one("#places", Choices).fill([*self._tours(rows), *self._recent(), *self._trees()])
        if progress.trouble:
            self._tell(f"your progress cannot be read: {progress.trouble}")

    def _tell(self, text: str) -> None:
        self.query_one("#told", Static).update(Content(clean(text)))

    # --- rows ---

    def _path(self, path: PathView) -> list[Option]:
        options = [_heading(f"Learning path  {path.done}/{path.total}")]
        for title, rows in path.stages:
            done = f"  {sum(row.state == 'done' for row in rows)}/{len(rows)}"
            stage = Content.assemble("\n", (title, "bold $text-accent"), (done, "dim"))
            options += [Option(stage, disabled=True), *(self._concept(row, path.following) for row in rows)]
        return options

    def _concept(self, row: ConceptRow, following: str | None) -> Option:
        mark, style = _STATE[row.state]
        names = [name for name, _state in row.stops]
        first = next((name for name, state in row.stops if state != "read"), names[0] if names else None)
        pointer = "  ← next" if following in names and row.state != "done" else ""
        text = Content.assemble((f"{mark} ", style), clean(row.concept.title), (pointer, "bold $text-accent"))
        return Leads(text, open_stop(first) if first else None, f"question: {row.concept.question}")

    def _tours(self, rows: tuple[TourRow, ...]) -> list[Option]:
        options = [_heading("Tours, stops done")]
        notes = False
        for row in rows:
            if row.tour.kind == "note" and not notes:
                notes = True
                options.append(_heading("\nNotes"))
            done = f"{row.done}/{row.total}"
            level = f"  {row.tour.level}" if row.tour.level else ""
            visited = f"  {row.visited} seen" if row.visited > row.done else ""
            text = Content.assemble((f"{done:>6}  ", "dim"), clean(row.tour.title), (f"{level}{visited}", "dim"))
            options.append(Leads(text, OpenTour(row.tour.id), row.tour.summary or row.tour.id))
        return options

    def _recent(self) -> list[Option]:
        options = []
        for place in load_recent():
            indexed = self._library.tree(place.tree)
            if indexed is None or not indexed.tree.exists(place.path):
                continue
            name = place.symbol.rpartition("::")[2] or place.path.rpartition("/")[2]
            text = Content.assemble(f"  {clean(name)}", (f"  {clean(place.path)}:{place.line}", "dim"))
            remark = f"{place.symbol or place.path}  {place.path}:{place.line} in {place.tree}"
            options.append(Leads(text, OpenPlace(Place(place.tree, place.path, place.line)), remark))
        return [_heading("\nRecent places"), *options[:_RECENT]] if options else []

    def _trees(self) -> list[Option]:
        options = [_heading("\nTrees")]
        for indexed in self._library.trees:
            info = indexed.tree.info
            relation = _RELATION[info.relation] if project(indexed) == "pytorch" else "extension"
            facts = f"  {', '.join(info.layers)}: {indexed.store.counts()['files']:,} files; {relation}"
            options.append(Option(Content.assemble(f"  {clean(info.label)}", (facts, "dim")), disabled=True))
        advice = [(text, None) for text in self._library.advice]
        offers = [(self._library.lacks, Fetch())] if self._library.lacks else []
        return options + [
            Leads(Content.styled(f"  {clean(text)}", "$text-warning"), message) for text, message in [*advice, *offers]
        ]

    # --- keys ---

    def on_option_list_option_highlighted(self, event: Choices.OptionHighlighted) -> None:
        if event.option_list.has_focus:
            self._tell(event.option.remark if isinstance(event.option, Leads) else "")

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        if isinstance(event.option, Leads):
            message = event.option.message
            if isinstance(message, (OpenPlace, OpenTour)):
                message.origin = _THIS
            self.dismiss(message)

    def action_back(self) -> None:
        """Go to the place where this screen was opened, or further back."""
        self.dismiss(GoBack(_THIS) if self._went_back else None)

    def action_side(self, side: int) -> None:
        self.query_one(("#path", "#places")[side], Choices).focus()


def _heading(text: str) -> Option:
    return Option(Content.styled(text, "bold"), disabled=True)
