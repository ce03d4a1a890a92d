"""The notes beside the source: the notes on the cursor's line, or the stop of the current tour."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownFence

from ptexplore.annotations.about import holds
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Leads, Links
from ptexplore.tui.messages import Filled, Follow, OpenPlace, open_stop
from ptexplore.tui.places import FOLDER, Place
from ptexplore.tui.widgets.colours import STYLES
from ptexplore.view.notes.check import MEANING, TONES
from ptexplore.view.notes.labs import LAB_TONES, LabResult, lab_code, lab_facts
from ptexplore.view.notes.predictions import Span, choice_lines, given_steps, lab_question, verdict
from ptexplore.view.notes.prose import DRAWING, prose_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.timer import Timer
    from textual.widget import Widget

    from ptexplore.annotations.concepts import Concept
    from ptexplore.annotations.marks import Mark
    from ptexplore.annotations.progress import ReadState
    from ptexplore.annotations.records import Lab, See, Stop, Tour
    from ptexplore.tui.library import Library
    from ptexplore.view.notes.tour import Proof, StopView

NOTHING = "No tour has a stop in this file. ctrl+p finds other stops, ? shows every key."
OF_A_FOLDER = "Enter opens the line at the cursor, h the outer folder. a lists everything. ctrl+p searches, ? is help."
READING = "the notes are being read …"
READ_SIGNS: dict[ReadState, str] = {"read": "✓", "visited": "·", "new": " "}
_PAUSE = 0.15  # seconds between two notes that are drawn
WIDER = "wider than this pane: P shows all of it"
TOUR = "> next  < previous  = source  c contents  J K scroll  Esc leaves the tour"


class NotesPane(VerticalScroll):
    """The notes on the cursor's line, until a stop is shown. The stop stays until `leave`."""

    DEFAULT_CSS = """
    NotesPane { height: 1fr; scrollbar-size-vertical: 1; }
    NotesPane.-listing { height: auto; max-height: 35%; }
    NotesPane Static { height: auto; }
    NotesPane .head { margin-bottom: 1; }
    NotesPane .foot { margin-top: 1; }
    NotesPane Markdown { padding: 0; background: transparent; }
    NotesPane MarkdownFence { margin: 0 0 1 0; overflow: hidden hidden; }
    NotesPane MarkdownFence > Label { width: 1fr; padding: 0 0 0 2; text-wrap: wrap; text-overflow: fold; }
    NotesPane MarkdownFence.-drawn > Label { text-wrap: nowrap; text-overflow: ellipsis; }
    NotesPane MarkdownFence.-drawn.-tight > Label { padding: 0; }
    NotesPane MarkdownFence.-wider > .wider { display: block; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("space,ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__(id="notes")
        self._library = library
        self._shown: tuple[str, ...] | None = None  # the stops on the line that is shown
        self._waits: Timer | None = None
        self._drawn = 0.0
        self.stop: StopView | None = None
        self.marks: Sequence[Mark] = ()  # the notes on the cursor's line; none while a stop is shown
        self.blank = False  # whether there is no note on the line
        self._head = self._foot = Static()

    # --- following the cursor ---

    def follow(self, place: Place) -> None:
        """Show the notes for the cursor's new place."""
        if self.stop is not None:
            return
        if place.line == FOLDER:
            self._unmark()
            if self._shown != (OF_A_FOLDER,):
                self._shown = (OF_A_FOLDER,)
                self._replace([Static(Content.styled(OF_A_FOLDER, "dim"))])
            return
        if not self._library.marked:  # it is not known yet whether there are notes
            if self._shown in (None, (OF_A_FOLDER,)):
                self._shown = (READING,)
                self._replace([Static(Content.styled(READING, "dim"))])
            return
        marks = self._library.marks(place.tree, place.path)
        marks = [mark for mark in marks if holds(mark, place.path, place.line)]
        marks.sort(key=lambda mark: (abs(mark.line - place.line), mark.stop))
        in_file = () if marks else self._library.marks(place.tree, place.path)
        names = tuple(mark.stop for mark in marks or in_file)
        if tuple(mark.stop for mark in marks) != tuple(mark.stop for mark in self.marks):
            self.marks = marks
            self.app.refresh_bindings()
        names = names if marks else (place.path, *names)
        if names != self._shown:
            self._shown = names
            self.app.refresh_bindings()
            if self._waits is not None:
                self._waits.stop()
            # Notes that are only passed do not slow down a reader who runs through a file.
            if time.monotonic() - self._drawn < _PAUSE:
                self._waits = self.set_timer(_PAUSE, partial(self._draw, marks, in_file, place.tree))
            else:
                self._draw(marks, in_file, place.tree)

    def empty(self) -> None:
        """Show no note, because no place is open."""
        self._unmark()
        self._replace([], blank=True)

    def _unmark(self) -> None:
        """Drop the notes on the cursor's line."""
        if self.marks:
            self.marks = ()
            self.app.refresh_bindings()

    def _draw(self, marks: Sequence[Mark], in_file: Sequence[Mark], tree: str) -> None:
        """Show the notes on the line; if there are none, the lines of the file that have notes."""
        if self.stop is None:
            self._drawn = time.monotonic()
            parts = [part for mark in marks for part in self._note(mark)]
            listed = self._listed(in_file, tree) if in_file else [Static(Content.styled(NOTHING, "dim"))]
            self._replace(parts or listed, blank=not parts and not in_file, listing=not parts and bool(in_file))

    def _listed(self, in_file: Sequence[Mark], tree: str) -> list[Widget]:
        """Returns the stops of a file, each with a link to its line."""
        count = len(in_file)
        some = "1 stop of a tour" if count == 1 else f"{count} stops of tours"
        head = Content.assemble((f"{some} in this file", "bold"), ("   ● before a line; n goes to the next", "dim"))
        lines = (
            Leads(
                Content.assemble((f"line {mark.line}", "$text-accent"), f"  {clean(mark.title)}"),
                OpenPlace(Place(tree, mark.path, mark.line)),
            )
            for mark in in_file
        )
        return [Static(head), Links(*lines)]

    def _note(self, mark: Mark) -> list[Widget]:
        facts = "" if mark.outcome == "exact" else f"  {mark.outcome}"
        head = Content.assemble((clean(mark.title), "bold $text-accent"), (f"  {clean(mark.stop)}{facts}", "dim"))
        entry = self._library.notes.stop(mark.stop)
        parts = self._parts(*entry) if entry is not None else [Static(Content(clean(mark.text)))]
        says = Content.assemble(("S: ", "dim"), (f"walk {clean(mark.tour)} from here", "$text-accent"))
        walk = Links(Leads(says, open_stop(mark.stop)))
        return [Static(head), walk, Static(), *parts]

    @property
    def wide_drawings(self) -> list[str]:
        """The drawings that have more columns than the pane."""
        return [fence.code for fence in self.query(_Fence) if fence.has_class("-wider")]

    # --- a stop of a tour ---

    def show_stop(self, view: StopView, state: ReadState) -> None:
        """Show a stop: its state and place, its text, its labs and questions, its links."""
        self.stop, self._shown = view, None
        self._unmark()
        questions = (QuestionBox(concept) for concept in view.concepts)
        see = [Static(Content.styled("see also", "bold")), self._see(view.see)] if view.see else []
        self._head, self._foot = Static(_head(view, state), classes="head"), Static(_foot(view, state), classes="foot")
        self._replace([self._head, *self._parts(view.tour, view.stop), *questions, *see, self._foot])

    def show_state(self, state: ReadState) -> None:
        """Show that the current stop was marked as read, or as not read."""
        if self.stop is not None:
            self._head.update(_head(self.stop, state))
            self._foot.update(_foot(self.stop, state))

    def _see(self, see: Sequence[See]) -> Links:
        """Returns the links of a stop, each with a text."""
        return Links(*(Leads(self._in_words(place), Follow(place)) for place in see))

    def _in_words(self, see: See) -> Content:
        if see.kind == "op":
            return Content.assemble((clean(see.text.removeprefix("op:")), "$text-accent"), (", the operator", "dim"))
        if see.kind == "src":
            return Content.assemble((clean(see.symbol), "$text-accent"), (f" in {clean(see.path)}", "dim"))
        entry = self._library.notes.stop(see.text)
        title = entry[1].title if entry is not None else see.text
        return Content.assemble((clean(title), "$text-accent"), (f", {clean(see.text)}", "dim"))

    def leave(self) -> None:
        """Close the stop and follow the cursor again."""
        self.stop = self._shown = None

    def show_lab(self, lab: Lab) -> None:
        """Scroll to a lab of the current stop, because the reader is asked about it."""
        for box in self.query(LabBox):
            if box.lab is lab:
                self.scroll_to_widget(box, animate=False, top=True, immediate=True)

    def show_result(self, lab: Lab, result: LabResult | str, prediction: str = "") -> None:
        """Show how a lab of the current stop ended, beside the reader's prediction; or its progress."""
        for box in self.query(LabBox):
            if box.lab is lab:
                box.show_result(result, prediction)
                self.call_after_refresh(box.scroll_visible, animate=False)

    def show_question(self, concept: Concept, answer: str = "", proofs: Sequence[Proof] = (), grade: str = "") -> None:
        """Scroll to a question of the current stop, with the reader's answer and the model answer below it."""
        for box in self.query(QuestionBox):
            if box.concept is concept:
                box.show_answer(answer, proofs, grade)
                self.scroll_to_widget(box, animate=False, top=not answer, immediate=True)

    def _parts(self, tour: Tour, stop: Stop) -> list[Widget]:
        ids = [stop.id for stop in tour.stops]
        parse = partial(prose_tokens, number=lambda name: ids.index(name) + 1 if name in ids else None)
        return [LabBox(part.lab) if part.lab is not None else prose_widget(part.text, parse) for part in stop.parts]

    def _replace(self, parts: Sequence[Widget], *, blank: bool = False, listing: bool = False) -> None:
        self.blank = blank
        self.set_class(listing, "-listing")
        self.post_message(Filled())
        self.remove_children()
        self.mount_all(parts)
        self.scroll_home(animate=False)


class LabBox(Vertical):
    """A lab: its code, and its result."""

    DEFAULT_CSS = "LabBox { height: auto; border-left: thick $primary; padding-left: 1; margin: 1 0; }"

    def __init__(self, lab: Lab) -> None:
        super().__init__()
        self.lab = lab

    def compose(self) -> ComposeResult:
        facts = lab_facts(self.lab)
        code = "\n".join(map(clean, lab_code(self.lab)))
        yield Static(Content.assemble((f"lab {clean(self.lab.id)}", "bold"), ("   L runs it", "dim")))
        yield Static(Content.assemble((code, "$text-accent"), (f"\n{clean(facts)}" if facts else "", "dim")))
        yield Static(_asked(self.lab))
        yield Static(classes="result")

    def show_result(self, result: LabResult | str, prediction: str) -> None:
        """Put the result, or the progress, below the code."""
        if isinstance(result, str):
            text = Content.styled(clean(result), "dim")
        else:
            why = f"\n{clean(result.why)}" if result.why else ""
            outcome = (f"{result.outcome}{result.time}", f"bold {STYLES[LAB_TONES[result.outcome]]}")
            text = Content.assemble(
                outcome, why, "\n" if result.has_result else "", _beside(self.lab, prediction, result)
            )
        self.query_one(".result", Static).update(text)


class QuestionBox(Vertical):
    """A question for the reader to check, and the reader's answer."""

    DEFAULT_CSS = "QuestionBox { height: auto; border-left: thick $accent; padding-left: 1; margin: 1 0; }"

    def __init__(self, concept: Concept) -> None:
        super().__init__()
        self.concept = concept

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble(("question", "bold"), ("   a answers it", "dim")))
        yield Static(Content(clean(self.concept.question)))
        yield Static(classes="result")

    def show_answer(self, answer: str, proofs: Sequence[Proof] = (), grade: str = "") -> None:
        """Put the answer below the question, with the model answer, the lines that prove it, and the reader's grade."""
        if not answer:
            return
        parts = [("you answered  ", "dim"), (clean(answer), "")]
        if self.concept.answer:
            parts += [("\nanswer        ", "dim"), (clean(self.concept.answer), "bold")]
        for proof in proofs:
            parts.append((f"\n{clean(proof.place)}  {clean(proof.tree)}", "dim"))
            if proof.lines is not None:
                lines = enumerate(proof.lines.lines, proof.lines.first)
                parts += [(f"\n{number:>5} {clean(line)}", "") for number, line in lines]
        parts.append((f"\n{clean(grade)}", "dim") if grade else ("", ""))
        self.query_one(".result", Static).update(Content.assemble(*parts))


def _asked(lab: Lab) -> Content:
    """Returns what the reader predicts: the question, the first steps of the trace, the answers to choose from."""
    lines = [Content(clean(lab_question(lab)))]
    lines += [Content.assemble(("the trace has  ", "dim"), clean(step)) for step in given_steps(lab)]
    lines += [Content.assemble((f"{letter})  ", "dim"), clean(choice)) for letter, choice in choice_lines(lab)]
    return Content("\n").join(lines)


def _beside(lab: Lab, prediction: str, result: LabResult) -> Content:
    """Returns the reader's prediction and the lab's result, one below the other, and why."""
    if not result.has_result:
        return Content(f"\nyou predicted  {clean(prediction.strip())}" if prediction.strip() else "")
    judged = verdict(lab, prediction, result)
    parts: list[Content] = []
    if judged.predicted:
        you = Content.assemble(("you    ", "dim"), _marked(judged.predicted, judged.differs[0]))
        parts.append(Content.assemble(you, (f"  {judged.in_words}", STYLES.get(judged.tone, ""))))
    if lab.value is not None or lab.choices:
        parts.append(Content.assemble(("torch  ", "dim"), _marked(judged.result, judged.differs[1])))
    if lab.trace:
        parts.append(Content.assemble(("steps\n  ", "dim"), "\n  ".join(map(clean, result.steps))))
    if lab.why:
        parts.append(Content.assemble(("why    ", "dim"), clean(lab.why)))
    return Content("\n").join(parts)


def _marked(text: str, spans: Sequence[Span]) -> Content:
    shown = Content.styled(clean(text), "bold")
    for span in spans:
        shown = shown.stylize("underline $text-error", *span)
    return shown


class _Fence(MarkdownFence):
    """A block of code. A drawing is cut, because folded it would draw something else: a key shows all of it."""

    DEFAULT_CSS = """
    _Fence > .wider { display: none; color: $text-muted; }
    _Fence.-drawn > Label { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def compose(self) -> ComposeResult:
        """The block, and a line for a drawing that is wider than the pane."""
        yield from super().compose()
        yield Static(WIDER, classes="wider")

    def on_mount(self) -> None:
        self.set_class(self.lexer == DRAWING, "-drawn")

    def on_resize(self, event: events.Resize) -> None:
        """Say whether a drawing has more columns than the pane. One that just fits loses its indent."""
        wide = max(map(cell_len, self.code.rstrip().split("\n")), default=0)
        wider = self.lexer == DRAWING and wide > event.size.width
        self.set_class(wide + 2 > event.size.width, "-tight")
        if wider != self.has_class("-wider"):
            self.set_class(wider, "-wider")
            self.app.refresh_bindings()


class _Markdown(Markdown):
    BLOCKS = Markdown.BLOCKS | {"fence": _Fence}


def prose_widget(text: str, parse: Callable[[str], object] = prose_tokens) -> Markdown:
    """Returns a widget that draws Markdown. Notes are data, so only the safe part of Markdown is drawn."""
    parser = SimpleNamespace(parse=parse)
    return _Markdown(text, parser_factory=lambda: parser, open_links=False)  # type: ignore[arg-type,return-value]


_HOW_READ = "done: you predicted a lab of it right, or answered a question right"
_HOW_TO_READ = "not done yet: predict a lab right (L), or answer a question (a)"


def _head(view: StopView, state: ReadState) -> Content:
    """Returns number, title, state and place of a stop; and if the place has changed, how."""
    anchor = view.resolved
    read = (f"  {READ_SIGNS['read']}", "$text-success") if state == "read" else ("", "")
    parts: list[tuple[str, str]] = [
        (f"{view.number}/{view.total}  ", "dim"), (clean(view.stop.title), "bold $text-accent"), read,
    ]  # fmt: skip
    if not _as_written(view):
        parts += [("\n", ""), (view.outcome, f"bold {STYLES[TONES[anchor.outcome]]}")]
    if view.spot is not None:
        name = clean(anchor.path).rpartition("/")[2]  # the line above the source has the folder
        lead = "\n" if _as_written(view) else "  "
        parts += [(f"{lead}{name}:{anchor.line}", ""), (f"  {clean(view.spot.tree.label)}", "dim")]
    else:
        parts.append((f"  {clean(anchor.anchor.path)}", ""))
    style = "dim" if view.spot is not None else "$text-warning"
    parts += [(f"\n{clean(fact)}", style) for fact in _first_facts(view)]
    parts += [(f"\nmay be {clean(path)}:{line}", "$text-warning") for path, line in anchor.candidates[:8]]
    return Content.assemble(*parts)


def _first_facts(view: StopView) -> Sequence[str]:
    """Returns the facts above the text: none about a place as it was written, and one about a place that is not here.

    The others are below the text, which needs the room.
    """
    if view.spot is None:
        return view.facts[:1]
    return () if _as_written(view) else view.facts


def _as_written(view: StopView) -> bool:
    """Whether the source is exactly the text that the stop was written for. Then facts about it come last."""
    return view.resolved.outcome == "exact" and view.spot is not None


def _foot(view: StopView, state: ReadState) -> Content:
    """Returns facts on an unchanged place, the reading state of the stop, and the keys of a tour."""
    facts = [f"the source: {MEANING['exact']} as in {view.tour.baseline}"] if _as_written(view) else []
    facts += view.facts[len(_first_facts(view)) :]
    if view.url:
        facts.append(f"read {view.resolved.anchor.symbol or view.resolved.anchor.path} at {view.url}")
    lines = [*map(clean, facts), _HOW_READ if state == "read" else _HOW_TO_READ, TOUR]
    return Content.styled("\n".join(lines), "dim")
