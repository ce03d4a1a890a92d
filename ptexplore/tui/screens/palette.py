"""The palette: finds symbols, operators, files, folders, notes and text while you type. Enter opens a result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Thread
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from ptexplore.errors import PtexploreError
from ptexplore.lookup.find import SORTS, FindView, HitGroup, Sort, asked, hits
from ptexplore.lookup.query_length import LONGEST
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Choices
from ptexplore.tui.jobs import Job
from ptexplore.tui.key_line import KeyLine
from ptexplore.tui.messages import message_for
from ptexplore.tui.widgets.colours import cut_to
from ptexplore.view.line import Span, after_name
from ptexplore.view.opening import open_hit
from ptexplore.view.place_marks import mark_of
from ptexplore.view.why_there import why_there
from ptexplore.view.words.headings import heading
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from ptexplore.lookup.operators import Catalogue
    from ptexplore.lookup.trees import Candidate, IndexedTree
    from ptexplore.tui.library import Library

NOTHING = "nothing found: type fewer letters, or tab for another kind"
EMPTY = "type a name, part of a name (TensIt, add_k), a path, words of a note"
MORE = "there are more: tab shows one kind, more letters narrow the list"
COLLECTING = "operators follow in a moment: ptexplore collects them once"
WITH_OPERATORS = (None, "operator")  # the kinds of results that have operators: all sorts, and operators only
SEARCHING = "searching …; the first result opens when it is found"
NO_INDEX = "no source is indexed yet: Esc, then Enter builds the index"

# Called with the number of the question, the results, and the text of an error.
Hear = Callable[[int, "FindView | None", str], object]


class Searcher:
    """A search in a thread with its own connections. Old questions are dropped.

    `last` is the number of the last question. If the operators of the installed torch are not collected yet, that
    begins with the search and runs beside it. `collecting` says that it is still running. After it, the last question
    is answered again.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.last = 0
        self.collecting = False
        self._collected: Job | None = None  # the job that collects, or has collected
        self._asked: tuple[str, Sort, Hear] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._pool.submit(self._warm)

    def ask(self, query: str, sort: Sort, hear: Hear) -> None:
        """Search. `hear` is called in the thread, unless another question came meanwhile."""
        self.last += 1
        self._asked = query, sort, hear
        self._pool.submit(self._answer, self.last, query, sort, hear)

    def _collect(self) -> None:
        """Collect operators, in a separate thread: other results need not wait."""
        job = self._collected
        assert job is not None
        with contextlib.suppress(PtexploreError):  # a torch that does not start has none: other sorts are still found
            self.library.collect_operators(job)
        if not job.stopped:
            self._pool.submit(self._answer_again)

    def _answer_again(self) -> None:
        self.collecting = False
        del self._opened
        if self._asked is not None:
            self._answer(self.last, *self._asked)

    def _answer(self, number: int, query: str, sort: Sort, hear: Hear) -> None:
        view: FindView | None = None
        trouble = ""
        try:
            if number == self.last:
                trees, catalogue = self._opened
                notes = self.library.searched_notes()
                view = hits(trees, catalogue, notes, query, sort, lambda: number != self.last)
                for indexed in trees:
                    indexed.tree.forget()
        except PtexploreError as error:
            trouble = error.one_line
        if number == self.last:
            hear(number, view, trouble)

    def _warm(self) -> None:
        """Read the data that every question needs, before the first question."""
        with contextlib.suppress(PtexploreError):  # a question will report the error
            trees, catalogue = self._opened
            if catalogue is None and self.library.lacks_operators:  # begin now: it takes longer than typing a name
                self._collected = Job("operators", lambda _step: None)
                self.collecting = True
                Thread(target=self._collect, name="operators", daemon=True).start()
            for indexed in trees:
                indexed.store.search("abc", 1)
                indexed.store.files_like("abc", 1)
            self.library.searched_notes()

    @cached_property
    def _opened(self) -> tuple[list[IndexedTree], Catalogue | None]:
        trees = self.library.reopened_trees()
        return trees, self.library.workspace.catalogue_at_hand(trees)

    def close(self) -> None:
        """Close without waiting."""
        self.last += 1
        if self._collected is not None:
            self._collected.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)


class Palette(ModalScreen[Message | None]):
    """The palette. It returns the message that opens the reader's choice; None if the reader closed the palette."""

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
        Binding("enter", "open", "Open", priority=True),
        Binding("down,ctrl+n,ctrl+j", "step('cursor_down')", "Choose", key_display="↑↓", priority=True),
        Binding("tab", "sort(1)", "One kind only", priority=True),
        Binding("shift+tab", "sort(-1)", show=False, priority=True),
        Binding("escape,ctrl+c", "dismiss(None)", "Close", key_display="esc"),
        Binding("up,ctrl+k", "step('cursor_up')", show=False, priority=True),
        Binding("pagedown", "step('page_down')", show=False, priority=True),
        Binding("pageup", "step('page_up')", show=False, priority=True),
    ]

    def __init__(self, searcher: Searcher) -> None:
        super().__init__()
        self._searcher = searcher
        self._hits: list[Candidate] = []
        self._number = self._heard = -1  # numbers of the last question and of the last answered one
        self._stepped = self._opens = False  # since the last letter: did the reader move in the list; press Enter?
        self._sort: Sort | None = None
        self._shown_message = EMPTY
        self._typed = ""  # the text of the last question
        self._early = ""  # text that was typed before the input line existed

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(placeholder="search", select_on_focus=False, max_length=LONGEST)
            yield Static(id="sorts")
            choices = Choices(id="found")
            choices.can_focus = False  # the input line keeps the keys
            yield choices
            yield Static(EMPTY, id="told")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(Input).insert_text_at_cursor(self._early)
        self.on_input_changed()

    def on_key(self, event: events.Key) -> None:
        """Keep keys that were pressed before the input line has the focus."""
        lines = self.query(Input)
        if event.is_printable and event.character and not (lines and lines.first().has_focus):
            if lines:
                lines.first().insert_text_at_cursor(event.character)
            else:
                self._early += event.character
            event.stop()

    # --- asking ---

    def on_input_changed(self) -> None:
        """Search at once. The searcher drops the question before."""
        typed = self.query_one(Input).value
        if typed == self._typed and typed:
            return  # an Enter has already asked for it
        self._typed = typed
        sort, query = asked(typed)
        self._stepped = self._opens = False
        if sort is not self._sort:
            self._sort = sort
            tabs = [Content.styled(f" {s.name} {s.sign}".rstrip() + " ", "reverse" if s is sort else "") for s in SORTS]
            self.query_one("#sorts", Static).update(Content().join(tabs), layout=False)
        if query:
            app = self.app
            self._searcher.ask(query, sort, lambda *answer: app.call_later(self._hear, *answer))
            self._number = self._searcher.last
        else:
            self._number = self._heard = -1
            self._show([], EMPTY)

    def _hear(self, number: int, view: FindView | None, trouble: str) -> None:
        if number != self._number or not self.is_attached:
            return  # the text has changed meanwhile
        again, self._heard = self._heard == number, number
        chosen = self._chosen if again and self._stepped else None
        lacks_operators = self._searcher.collecting and self._sort is not None and self._sort.kind in WITH_OPERATORS
        if view is None or not (view.groups or trouble):
            nothing = NOTHING if self._searcher.library.trees else NO_INDEX
            self._show([], trouble or (COLLECTING if lacks_operators else nothing))
            return
        best = [HitGroup("best", view.best)] if view.best else []
        more = any(group.more != 0 for group in view.groups)
        summary = "; ".join([*map(remark_in_words, view.how), *([MORE] if more else [])])
        self._show([*best, *view.further], trouble or summary, COLLECTING if lacks_operators else "", chosen)
        # While operators are missing, the first result is not final: the reader sees that, and presses Enter for it.
        opens, self._opens = self._opens and not lacks_operators, False
        if opens and self._hits:
            self._open_chosen()

    @property
    def _chosen(self) -> Candidate | None:
        """The result under the cursor."""
        choices = self.query_one("#found", Choices)
        option = choices.highlighted_option
        return self._hits[int(option.id)] if option is not None and option.id is not None else None

    def _show(self, groups: Sequence[HitGroup], message: str, lacks: str = "", chosen: Candidate | None = None) -> None:
        """List the results, below a line on missing ones (`lacks`). The cursor goes to `chosen` if that is listed."""
        options = [Option(Content.styled(lacks, "$text-warning"), disabled=True)] if lacks else []
        self._hits = []
        room = self.query_one("#found").size.width
        groups = [group for group in groups if group.hits]  # for some sorts, all listed results are among the best
        for group in groups:
            if len(groups) > 1:
                options.append(Option(Content.styled(heading(group), "bold $text-muted"), disabled=True))
            for hit in group.hits:
                options.append(Option(_prompt(hit, room), id=str(len(self._hits))))
                self._hits.append(hit)
        choices = self.query_one("#found", Choices)
        choices.fill(options)
        same = next((n for n, hit in enumerate(self._hits) if chosen is not None and _is_same(hit, chosen)), None)
        if same is not None:
            choices.highlighted = choices.get_option_index(f"{same}")
        self._tell(message)

    def _tell(self, message: str) -> None:
        if message != self._shown_message:  # another message may have another height, which needs a new layout
            self._shown_message = message
            self.query_one("#told", Static).update(Content(clean(message)))

    # --- keys ---

    def action_sort(self, step: int) -> None:
        """Switch to the next sort of results, by typing its sign for the reader."""
        line = self.query_one(Input)
        sort, query = asked(line.value)
        sort = SORTS[(SORTS.index(sort) + step) % len(SORTS)]
        line.value = f"{sort.sign}{query}"
        line.cursor_position = len(line.value)

    # These keys reach the screen before letters that were typed earlier reach the input line. So each of them waits
    # in the queue of the input line, behind the letters.

    def action_step(self, name: str) -> None:
        """Move in the list."""
        self.query_one(Input).call_later(self._step, name)

    def action_open(self) -> None:
        """Open the chosen result. If the answer has not come yet, open the first result when it comes."""
        self.query_one(Input).call_later(self._open)

    def _step(self, name: str) -> None:
        self.on_input_changed()
        self._stepped = True
        getattr(self.query_one("#found", Choices), f"action_{name}")()

    def _open(self) -> None:
        self.on_input_changed()  # there may be new letters without an event so far
        if self._heard == self._number or self._stepped:
            self._open_chosen()
        else:
            self._opens = True
            self._tell(SEARCHING)

    def _open_chosen(self) -> None:
        self.query_one("#found", Choices).action_select()

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        opening = open_hit(self._hits[int(event.option.id or 0)])
        message = message_for(opening)
        if message is None:
            self._tell(opening.why)
        else:
            self.dismiss(message)


def _is_same(hit: Candidate, other: Candidate) -> bool:
    """Whether two results mean the same thing."""
    return (hit.kind, hit.name, hit.detail, hit.spot.ref) == (other.kind, other.name, other.detail, other.spot.ref)


def _prompt(hit: Candidate, room: int) -> Content:
    """Returns two lines: the name; then place, tree and precision, as far as they fit."""
    if hit.kind == "line":
        return Content.assemble((clean(hit.detail), "bold"), "\n  ", _place(hit, room - 2))
    kind = "stop" if hit.kind == "note" and "#" in hit.name else hit.kind
    kind = f"  {kind}" + (" (declared)" if hit.declared else " with its kernels" if kind == "operator" else "")
    name = ((clean(hit.name), "bold"), clean(after_name(hit.kind, hit.detail)))  # the end of a long name is cut off
    return Content.assemble(*name, "\n", (f"{kind}  ", "dim"), _place(hit, room - len(kind) - 2))


def _place(hit: Candidate, room: int) -> Content:
    ref = hit.spot.ref
    if ref.path is None:
        return Content.styled(clean(why_there(ref.reason) or "its place is not known"), "dim")
    where = f"{ref.path}:{ref.line}" if ref.line else ref.path
    also = ", ".join(dict.fromkeys(spot.tree.label for spot in hit.also))
    spans = [
        Span(where, "place"),
        Span(f"  {hit.spot.tree.label}{f' {ref.precision}' if mark_of(ref) else ''}"),
        Span(f"; also in {also}" if also else "", "reason"),
    ]
    # The precision and the line number stay; the front of a long path is cut.
    shown = cut_to(spans, room) if room > 0 else spans
    return Content.assemble(*((clean(s.text), "$text-accent" if s.style == "place" else "dim") for s in shown))
