"""The palette: symbols, operators, files, notes and text, found while one types; Enter opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from ptexplore.safe_text import clean
from ptexplore.tui.messages import OpenOperator, OpenPlace, OpenTour
from ptexplore.tui.widgets.lists import Choices
from ptexplore.view.search.find import SORTS, asked

if TYPE_CHECKING:
    from textual.timer import Timer

    from ptexplore.tui.reading.searching import Searcher
    from ptexplore.view.search.find import HitGroup, SearchHit, Sort
    from ptexplore.view.trees import Spot

_SOON = 0.04  # seconds that results wait for the rest of them: a list drawn once costs half of one drawn twice
EMPTY = "type a name, a part of one (TensIt, add_k), a path, words of a note"


class Palette(ModalScreen[Message | None]):
    """Ends with the message that opens what was chosen; None where the reader left."""

    DEFAULT_CSS = """
    Palette { align: center top; }
    Palette > Vertical { width: 90%; max-width: 130; height: 85%; margin-top: 1; border: round $primary;
                         background: $surface; padding: 0 1; }
    Palette Input { border: none; height: 1; padding: 0; background: $surface; }
    Palette Input:focus { border: none; }
    Palette #sorts { height: 1; color: $text-muted; }
    Palette #told { height: auto; max-height: 3; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Close"),
        Binding("tab", "sort(1)", "Sort", priority=True),
        Binding("shift+tab", "sort(-1)", show=False, priority=True),
        Binding("down,ctrl+n,ctrl+j", "step('cursor_down')", show=False, priority=True),
        Binding("up,ctrl+k", "step('cursor_up')", show=False, priority=True),
        Binding("pagedown,ctrl+d", "step('page_down')", show=False, priority=True),
        Binding("pageup,ctrl+u", "step('page_up')", show=False, priority=True),
    ]

    def __init__(self, searcher: Searcher, typed: str = "") -> None:
        super().__init__()
        self._searcher = searcher
        self._typed = typed
        self._found: list[SearchHit] = []
        self._number = -1
        self._waiting: Timer | None = None
        self._sort: Sort | None = None
        self._told = EMPTY

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(self._typed, placeholder="search", select_on_focus=False)
            yield Static(id="sorts")
            found = Choices(id="found")
            found.can_focus = False  # the keys go to what is typed
            yield found
            yield Static(EMPTY, id="told")

    def on_mount(self) -> None:
        self._search()

    # --- asking ---

    def on_input_changed(self) -> None:
        """Search at once: what was asked before is dropped by who searches."""
        self._search()

    def _search(self) -> None:
        sort, query = asked(self.query_one(Input).value)
        self._tabs(sort)
        if query:
            app = self.app
            self._searcher.ask(query, sort, lambda *heard: app.call_later(self._heard, *heard))
            self._number = self._searcher.last
        else:
            self._number = -1
            self._show([], EMPTY)

    def _tabs(self, sort: Sort) -> None:
        if sort is not self._sort:
            self._sort = sort
            tabs = [Content.styled(f" {s.name} {s.sign}".rstrip() + " ", "reverse" if s is sort else "") for s in SORTS]
            self.query_one("#sorts", Static).update(Content(" ").join(tabs), layout=False)

    def _heard(self, number: int, groups: list[HitGroup], whole: bool, trouble: str) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        if number != self._number or not self.is_attached:
            return  # something else was typed meanwhile
        if not whole:
            self._waiting = self.set_timer(_SOON, lambda: self._found_so_far(number, groups))
        else:
            self._answered(groups, trouble)

    def _found_so_far(self, number: int, groups: list[HitGroup]) -> None:
        if number == self._number and groups:
            self._answered(groups, "")

    def _answered(self, groups: list[HitGroup], trouble: str) -> None:
        if trouble:
            self._show(groups, trouble)
        elif groups:
            more = any(group.more != 0 for group in groups)
            self._show(groups, "there are more: tab shows one sort alone, more letters narrow it" if more else "")
        else:
            none = "no source is indexed yet: Esc, then Enter builds the index"
            self._show([], "nothing fits" if self._searcher.indexed else none)

    def _show(self, groups: list[HitGroup], told: str) -> None:
        options: list[Option] = []
        self._found = []
        for group in groups:
            if len(groups) > 1:
                options.append(Option(Content.styled(group.name, "bold $text-muted"), disabled=True))
            for one in group.found:
                options.append(Option(_prompt(one), id=str(len(self._found))))
                self._found.append(one)
        self.query_one("#found", Choices).fill(options)
        self._tell(told)

    def _tell(self, told: str) -> None:
        if told != self._told:  # another line may be of another height: the screen is laid out anew
            self._told = told
            self.query_one("#told", Static).update(Content(clean(told)))

    # --- keys ---

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_sort(self, step: int) -> None:
        """Ask for the next sort of results: by its sign, which is typed for the reader."""
        given = self.query_one(Input)
        sort, query = asked(given.value)
        sort = SORTS[(SORTS.index(sort) + step) % len(SORTS)]
        given.value = f"{sort.sign}{query}"
        given.cursor_position = len(given.value)
        self._search()

    def action_step(self, name: str) -> None:
        """The keys that walk the list."""
        getattr(self.query_one("#found", Choices), f"action_{name}")()

    def on_input_submitted(self) -> None:
        """Enter opens what is chosen."""
        self.query_one("#found", Choices).action_select()

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        found = self._found[int(event.option.id or 0)]
        message = opening(found)
        if message is None:
            why = found.spot.ref.reason or "ptexplore fetch brings the source"
            self._tell(f"its text is not here: {why}")
        else:
            self.dismiss(message)


def opening(found: SearchHit) -> Message | None:
    """What opens a result; None where it has no text on this machine."""
    if found.kind == "operator":
        return OpenOperator(found.name)
    if found.kind == "note":
        tour, _, stop = found.name.partition("#")
        return OpenTour(tour, stop)
    ref = found.spot.ref
    if ref.path is None or ref.layer == "atlas":
        return None
    return OpenPlace(ref.tree, ref.path, ref.line or 1)


def _prompt(one: SearchHit) -> Content:
    """Two lines: what it is; where, in which tree, how sure."""
    if one.kind == "line":
        return Content.assemble((clean(one.detail), "bold"), "\n  ", _place(one.spot, one.others))
    detail = one.detail
    if one.kind == "operator" and "(" in detail:
        detail = detail[detail.find("(") :]  # a schema begins with the operator's own name
    gap = "" if detail.startswith("(") or not detail else "  "
    kind = f"  {one.kind}" + (" (declared)" if one.role == "declaration" else "")
    first = ((clean(one.name), "bold"), clean(gap + detail), (kind if one.kind != "file" else "", "dim"))
    return Content.assemble(*first, "\n  ", _place(one.spot, one.others))


def _place(spot: Spot, others: tuple[Spot, ...]) -> Content:
    ref = spot.ref
    if ref.path is None:
        return Content.styled(clean(ref.reason or "its place is not known"), "dim")
    where = f"{ref.path}:{ref.line}" if ref.line else ref.path
    also = ", ".join(dict.fromkeys(one.tree.label for one in others))
    also = f"; also in {also}" if also else ""
    return Content.assemble(
        (clean(where), "$text-accent"), (f"  {clean(spot.tree.label)} {ref.precision}{also}", "dim")
    )
