"""The first screen: the learning path, tours with how far one is, recent places, the trees at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.widgets.option_list import Option

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.messages import OpenPlace, OpenTour
from ptexplore.tui.reading.recent import load_recent
from ptexplore.tui.widgets.lists import Choices

if TYPE_CHECKING:
    from textual import events

    from ptexplore.annotations.concepts import LearningPath
    from ptexplore.annotations.load import NoteLibrary as Notes
    from ptexplore.tui.library import Library
    from ptexplore.tui.reading.recent import Recent
    from ptexplore.view.notes.tour import ConceptRow, PathView, TourRow
    from ptexplore.view.trees import IndexedTree

WIDE = 110
_STATE = {"done": ("✓", "$text-success"), "begun": ("◐", "$text-warning"), "open": ("○", "dim")}
_RELATION = {"runtime": "the installed torch", "matches": "the source of the installed torch",
             "consistent": "agrees with the installed torch where both have a file",
             "version-skew": "another version than the installed torch"}  # fmt: skip


class Home(Screen["Message | None"]):
    """Ends with the message that opens what was chosen; None for the bare reading screen."""

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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "", "Read"),
        Binding("tab", "app.focus_next", "Other side", show=True),
        Binding("l,right", "side(1)", show=False),
        Binding("h,left", "side(0)", show=False),
        Binding("e,escape", "leave", "Files"),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library
        self._told: dict[str, str] = {}
        self._opens: dict[str, Message] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        with Horizontal(id="columns"):
            yield Choices(id="path")
            yield Choices(id="places")
        yield Static(id="told")
        yield Footer()

    def on_mount(self) -> None:
        parts = ("ptexplore", "bold $text-primary"), "  read PyTorch, guided  ", (self._torch(), "dim")
        self.query_one("#title", Static).update(Content.assemble(*parts))
        self.query_one("#path", Choices).focus()

    def on_screen_resume(self) -> None:
        self.query_one("#places", Choices).fill([*self._recent(load_recent()), *self._trees()])
        self.run_worker(self._read, thread=True, exclusive=True, exit_on_error=False)

    def _read(self) -> None:
        """Read the notes, in a thread: dozens of stops take a moment."""
        from ptexplore.annotations.concepts import load_path

        try:
            library = self._library.notes
            path = load_path(library)
        except PtexploreError as error:
            self.app.call_later(self._failed, f"notes cannot be read: {error.message}: {error.why}")
            return
        self.app.call_later(self.fill, library, path)

    def _failed(self, why: str) -> None:
        if self.is_attached:
            self.query_one("#path", Choices).fill([_heading(clean(why))])

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < WIDE, "-small")

    def fill(self, library: Notes, path: LearningPath) -> None:
        """Everything, as it is now."""
        from ptexplore.annotations.progress import load_progress
        from ptexplore.view.notes.tour import listing, path_view

        if not self.is_attached:
            return
        self._told.clear()
        self._opens.clear()
        progress = load_progress()
        self.query_one("#path", Choices).fill(list(self._path(path_view(library, path, progress))), keep=True)
        rows = listing(library, progress)
        self.query_one("#places", Choices).fill([*self._tours(rows), *self._recent(load_recent()), *self._trees()])
        if progress.trouble:
            self.query_one("#told", Static).update(Content(clean(f"what was read is not known: {progress.trouble}")))

    def _torch(self) -> str:
        torch = self._library.torch
        return f"installed: torch {torch}" if torch is not None else "no torch is installed"

    # --- rows ---

    def _option(self, text: Content, message: Message | None, told: str = "") -> Option:
        name = str(len(self._told))
        self._told[name] = told
        if message is not None:
            self._opens[name] = message
        return Option(text, id=name, disabled=message is None)

    def _path(self, path: PathView) -> list[Option]:
        found = [_heading(f"Learning path  {path.done}/{path.total}")]
        for title, rows in path.stages:
            done = sum(row.state == "done" for row in rows)
            found.append(
                Option(
                    Content.assemble("\n", (title, "bold $text-accent"), (f"  {done}/{len(rows)}", "dim")),
                    disabled=True,
                )
            )
            found += [self._concept(row, path.following) for row in rows]
        return found

    def _concept(self, row: ConceptRow, following: str | None) -> Option:
        mark, style = _STATE[row.state]
        names = [name for name, _done in row.stops]
        first = next((name for name, done in row.stops if not done), names[0] if names else None)
        here = ("  ← next", "bold $text-accent") if following in names and row.state != "done" else ("", "")
        text = Content.assemble((f"{mark} ", style), clean(row.concept.title), here)
        return self._option(text, _tour(first) if first else None, row.concept.question)

    def _tours(self, rows: tuple[TourRow, ...]) -> list[Option]:
        found = [_heading("Tours")]
        notes = False
        for row in rows:
            if row.tour.kind == "note" and not notes:
                notes = True
                found.append(_heading("\nNotes"))
            done = f"{row.done}/{row.total}"
            level = f"  {row.tour.level}" if row.tour.level else ""
            text = Content.assemble((f"{done:>6}  ", "dim"), clean(row.tour.title), (level, "dim"))
            found.append(self._option(text, OpenTour(row.tour.id), row.tour.summary or row.tour.id))
        return found

    def _recent(self, places: list[Recent]) -> list[Option]:
        known = [one for one in places if self._there(one)]
        found = [_heading("\nRecent places")] if known else []
        for one in known[:9]:
            name = one.symbol.rpartition("::")[2] or one.path.rpartition("/")[2]
            text = Content.assemble(f"  {clean(name)}", (f"  {clean(one.path)}:{one.line}", "dim"))
            told = f"{one.symbol or one.path}  {one.path}:{one.line} in {one.tree}"
            found.append(self._option(text, OpenPlace(one.tree, one.path, one.line), told))
        return found

    def _there(self, one: Recent) -> bool:
        indexed = self._library.tree(one.tree)
        return indexed is not None and indexed.tree.exists(one.path)

    def _trees(self) -> list[Option]:
        found = [_heading("\nTrees at hand")]
        for indexed in self._library.trees:
            info = indexed.tree.info
            what = "extension" if _other(indexed) else _RELATION[info.relation]
            count = indexed.store.counts()["files"]
            parts = Content.assemble(
                f"  {clean(info.label)}", (f"  {', '.join(info.layers)}: {count:,} files; {what}", "dim")
            )
            found.append(Option(parts, disabled=True))
        found += [
            Option(Content.styled(f"  {clean(one)}", "$text-warning"), disabled=True) for one in self._library.advice
        ]
        return found

    # --- keys ---

    def on_option_list_option_highlighted(self, event: Choices.OptionHighlighted) -> None:
        if event.option_list.has_focus:
            self.query_one("#told", Static).update(Content(clean(self._told.get(event.option.id or "", ""))))

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        message = self._opens.get(event.option.id or "")
        if message is not None:
            self.dismiss(message)

    def action_side(self, side: int) -> None:
        self.query_one(("#path", "#places")[side], Choices).focus()

    def action_leave(self) -> None:
        self.dismiss(None)


def _heading(text: str) -> Option:
    return Option(Content.styled(text, "bold"), disabled=True)


def _tour(name: str) -> OpenTour:
    tour, _, stop = name.partition("#")
    return OpenTour(tour, stop)


def _other(indexed: IndexedTree) -> bool:
    return indexed.checkout is not None and indexed.checkout.project != "pytorch"
