"""Draws one stop of a tour: its title and place, then its text with the source beside or below it, and its labs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from ptexplore.render.terminal.console import STYLES, folded, styled
from ptexplore.render.terminal.highlight import shown_lines
from ptexplore.render.terminal.search import placed
from ptexplore.safe_text import clean
from ptexplore.view.notes.check import TONES
from ptexplore.view.notes.labs import LAB_TONES, EditedRun, LabResult, lab_code, lab_facts, trace_command
from ptexplore.view.notes.predictions import Span, Verdict, choice_lines, given_steps, lab_question, verdict
from ptexplore.view.notes.prose import DRAWING, PICTURE, StopNumber, lines_of_drawings, prose_tokens

if TYPE_CHECKING:
    from ptexplore.annotations.concepts import Concept
    from ptexplore.annotations.records import Lab, See, Tour
    from ptexplore.view.notes.tour import Excerpt, Proof, StopView

WIDE = 120  # columns; from this width on, the source is beside the text
_LONGEST = 100  # columns of text with nothing beside it.
_INDENT = 2  # columns before a block of code.
_BAR = " │ "  # between the text and the source.
_BESIDE = 60  # columns of source that can be read; with fewer, the source is below the text.

# Only standard colours, as for source: the terminal's own theme defines them.
THEME = Theme({
    "markdown.code": "cyan",
    "markdown.link": "underline",
    "markdown.link_url": "dim",
    "markdown.item.bullet": "dim",
    "markdown.item.number": "dim",
    "markdown.block_quote": "italic",
    "markdown.hr": "dim",
})  # fmt: skip


def is_beside(console: Console, view: StopView) -> bool:
    """Whether the source is beside the stop's text."""
    return _columns_beside(console, view) > 0


def _columns_beside(console: Console, view: StopView) -> int:
    """Returns the columns of the text beside the source, wide enough for its drawings; 0: the source is below it."""
    if not console.is_terminal or console.width < WIDE:
        return 0
    drawn = (line for part in view.stop.parts for line in lines_of_drawings(part.text))
    widest = max(map(cell_len, drawn), default=0)
    columns = max(min(76, console.width * 42 // 100), widest + _INDENT)
    return columns if console.width - columns - len(_BAR) >= _BESIDE else 0


def prose_height(console: Console, view: StopView) -> int:
    """Returns the number of lines of the stop's text: as many lines of source fit beside it."""
    return len(_rendered(console, _text(view), _columns_beside(console, view)))


def source_height(console: Console, view: StopView, excerpt: Excerpt | None) -> int:
    """Returns the number of screen lines of the source: long lines are folded."""
    return len(_source(console, excerpt, _columns_beside(console, view)))


def print_stop(console: Console, view: StopView, excerpt: Excerpt | None) -> None:
    """Print the whole stop, but not the results of its labs: you predict these first."""
    beside = _columns_beside(console, view) if excerpt is not None else 0
    text = _rendered(console, _text(view), beside)
    source = _source(console, excerpt, beside)
    _header(console, view)
    if excerpt is not None and excerpt.cut:
        folded(console, Text(excerpt.cut, style="dim"), "  ", "    ")
    console.print()
    if beside:
        _print_beside(console, text, source, beside)
    else:
        _rows(console, text)
        if source:
            console.print(Text("\nsource", style="bold"))
        for line in source:
            console.print(line, soft_wrap=True)
    if view.see:
        console.print()
        folded(console, styled((f"see also: {', '.join(map(_command, view.see))}", "dim")), "", "  ")


def _header(console: Console, view: StopView) -> None:
    title = styled(
        (f"{view.number}/{view.total}  ", "dim"), (view.stop.title, "bold cyan"), (f"  {view.name}", "dim")
    )  # fmt: skip
    folded(console, title, "", "     ")
    anchor = view.resolved
    place = styled((view.outcome, STYLES[TONES[anchor.outcome]]))
    if view.spot is not None:
        lines = f"{anchor.line}-{anchor.end_line}" if anchor.end_line > anchor.line else f"{anchor.line}"
        place.append_text(placed(styled((f"  {anchor.path}:{lines}", "")), view.spot.tree.label, view.spot.ref))
    else:
        place.append_text(styled((f"  {anchor.anchor.path}  {anchor.anchor.symbol}", "")))
    folded(console, place, "  ", "    ")
    for fact in view.facts:
        folded(console, styled((fact, "yellow" if view.spot is None else "dim")), "  ", "    ")
    if view.url:
        folded(console, styled((f"read it at {view.url}", "dim")), "  ", "    ")


def _command(see: See) -> str:
    """Returns a link as the command that follows it."""
    if see.kind == "op":
        return f"ptexplore op {shlex.quote(see.text.removeprefix('op:'))}"
    return f"{see.symbol} in {see.path}" if see.kind == "src" else f"ptexplore tour {see.text.replace('#', ' ')}"


def print_intro(console: Console, tour: Tour) -> None:
    """Print the tour's title and introduction."""
    folded(console, styled((tour.title, "bold cyan")), "", "  ")
    if tour.intro:
        console.print()
        print_prose(console, tour.intro)


def print_prose(console: Console, text: str) -> None:
    """Print Markdown that has nothing beside it."""
    _rows(console, _rendered(console, prose(text)))


# --- prose ---


class _Code(CodeBlock):
    """A fenced block: its text, indented, and its kind if it is a picture."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = str(self.text).rstrip()
        if self.lexer_name == DRAWING:  # folded, its lines would draw something else
            yield from _strips(text.split("\n"), console.width if console.is_terminal else None)
            return
        kind = f"{self.lexer_name}:\n" if self.lexer_name in (PICTURE, "mermaid") else ""
        shown = Text.assemble((kind, "dim"), (text, "cyan"), overflow="fold")
        yield Padding(shown, (0, 0, 0, _INDENT))


def _strips(lines: Sequence[str], room: int | None) -> list[Text]:
    """Returns a drawing for `room` columns. The columns that do not fit follow below, as a second strip."""
    widest = max(map(cell_len, lines), default=0)
    if room is None or widest <= room:
        indent = " " * (_INDENT if room is None else min(_INDENT, room - widest))
        return [Text(f"{indent}{line}", style="cyan", no_wrap=True, overflow="ignore") for line in lines]
    rest = [chop_cells(line, room)[1:] for line in lines]
    first = [Text(chop_cells(line, room)[0] if line else "", style="cyan", no_wrap=True) for line in lines]
    more = ["".join(pieces) for pieces in rest]
    while more and not more[-1]:
        more.pop()
    heading = Text(f"and on its right, from column {room + 1}:", style="dim", no_wrap=True)
    return [*first, heading, *_strips(more, room)]


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.stylize("bold")
        yield Text("")
        yield text


class _Prose(Markdown):
    elements = Markdown.elements | {"fence": _Code, "code_block": _Code, "heading_open": _Heading}


def prose(text: str, number: StopNumber = lambda _name: None) -> Markdown:
    """Returns Markdown with plain headings, and code without a box. Links to stops of the tour show their numbers."""
    shown = _Prose("", hyperlinks=False)
    shown.parsed = prose_tokens(text, number)
    return shown


def _text(view: StopView) -> Group:
    numbers = {stop.id: number for number, stop in enumerate(view.tour.stops, 1)}
    parts: list[RenderableType] = []
    for part in view.stop.parts:
        shown = _lab(part.lab) if part.lab is not None else prose(part.text, numbers.get)
        parts += [Text(""), shown] if parts else [shown]
    for concept in view.concepts:
        parts += [Text(""), Text("question", style="bold"), Text(clean(concept.question))]
    return Group(*parts)


def _rendered(console: Console, text: RenderableType, beside: int = 0) -> list[list[Segment]]:
    """Returns the lines of a text. If the source is beside it, all have the width `beside`."""
    with console.use_theme(THEME):
        options = console.options.update(width=beside or min(console.width, _LONGEST), height=None)
        if beside:
            return console.render_lines(text, options)
        return list(Segment.split_lines(console.render(text, options)))  # a drawing may be wider than the text


# --- labs ---


def _lab(lab: Lab) -> RenderableType:
    code = list(map(clean, lab_code(lab)))
    first = len(code) - len(lab.run.strip().split("\n"))
    text = Text("\n".join(code[first:]), style="cyan", overflow="fold")
    facts = lab_facts(lab)
    if facts:
        text.append(f"\n({facts})", style="default dim")
    title = Text(f"lab {clean(lab.id)}", style="bold")
    if not first:
        return Group(title, Padding(text, (0, 0, 0, 2)))
    before = Text("\n".join(code[:first]), style="cyan", overflow="fold")
    return Group(title, Padding(before, (0, 0, 0, 2)), _pointed(text))


def _pointed(text: Text) -> Table:
    """Returns the part that a lab is about, marked apart from the code that only comes before it."""
    grid = Table.grid()
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    grid.add_row(Text(">", style="bold yellow"), text)
    return grid


def expected(lab: Lab) -> list[str]:
    """Returns the expected results of a lab, as lines."""
    lines = ["its trace has, in this order:"] if lab.trace else []
    lines += [f"  {clean(kind)} {clean(name)}" for kind, name in lab.trace]
    return [*lines, f"its value is {clean(lab.value)}"] if lab.value is not None else lines


def print_answers(console: Console, views: Sequence[StopView]) -> None:
    """Print the results of these stops' labs, and the model answers of their questions."""
    console.print(Text("answers", style="bold"))
    for view in views:
        for lab in view.stop.labs:
            folded(console, styled((f"{view.name}/{lab.id}", "bold")), "  ", "    ")
            for line in [*expected(lab), *filter(None, [clean(lab.why)])]:
                folded(console, Text(line, style="dim"), "    ", "      ")
        for concept in view.concepts:
            if concept.answer:
                folded(console, styled((f"{view.name}: ", "bold"), (concept.question, "bold")), "  ", "    ")
                folded(console, styled((concept.answer, "dim")), "    ", "      ")


def print_question(console: Console, lab: Lab) -> None:
    """Print what a reader predicts: the question, the first steps of the trace, the answers to choose from."""
    folded(console, styled((lab_question(lab), "bold")), "", "  ")
    for step in given_steps(lab):
        folded(console, styled(("the trace has  ", "dim"), (step, "")), "  ", "    ")
    for letter, choice in choice_lines(lab):
        folded(console, styled((f"{letter})  ", "dim"), (choice, "")), "  ", "      ")


def print_lab(console: Console, lab: Lab, result: LabResult, prediction: str = "") -> None:
    """Print how a lab ended, its result beside your prediction, and the command that shows more."""
    style = STYLES[LAB_TONES[result.outcome]]
    folded(console, styled((f"lab {lab.id}: {result.outcome}", style), (result.time, "dim")), "", "  ")
    if result.why:
        folded(console, styled((result.why, "yellow")), "  ", "    ")
    if result.outcome == "passed" and result.has_result:
        _print_verdict(console, lab, verdict(lab, prediction, result), result.steps)
        if lab.why:
            folded(console, styled(("why    ", "dim"), (lab.why, "")), "  ", "         ")
    command = trace_command(lab)
    if command is not None and result.outcome != "untrusted":
        folded(console, styled(("the whole trace: ", "dim"), (command, "cyan")), "  ", "    ")


def _print_verdict(console: Console, lab: Lab, judged: Verdict, steps: Sequence[str]) -> None:
    """Print the prediction and the result, one below the other, the parts that differ underlined; then the steps."""
    if judged.predicted:
        words = (f"   {judged.in_words}", STYLES[judged.tone])
        folded(
            console,
            styled(("you    ", "dim")).append_text(_marked(judged.predicted, judged.differs[0])),
            "  ",
            "         ",
        )
        console.print(styled(("  ", ""), words))
    if lab.value is not None or lab.choices:
        folded(
            console,
            styled(("torch  ", "dim")).append_text(_marked(judged.result, judged.differs[1])),
            "  ",
            "         ",
        )
    if lab.trace:
        folded(console, Text("steps of the trace, in order:", style="dim"), "  ", "    ")
        for line in steps:
            folded(console, styled((line, "bold" if line == judged.result else "")), "    ", "      ")


def _marked(text: str, spans: Sequence[Span]) -> Text:
    shown = styled((text, "bold"))
    for span in spans:
        shown.stylize("underline red", *span)
    return shown


def print_edited(console: Console, ran: EditedRun) -> None:
    """Print what a lab gave after the reader edited its expression."""
    if ran.failed is not None:
        folded(console, styled((ran.failed, "yellow")), "  ", "    ")
    if ran.value:
        folded(console, styled(("torch  ", "dim"), (ran.value, "bold")), "  ", "         ")
    for step in ran.steps:
        folded(console, styled((step, "")), "    ", "      ")


def print_model_answer(console: Console, concept: Concept, proofs: Sequence[Proof]) -> None:
    """Print a model answer, and the lines that prove it."""
    folded(console, styled(("answer  ", "dim"), (concept.answer, "")), "  ", "          ")
    for proof in proofs:
        console.print()
        folded(console, styled((proof.place, "cyan"), (f"  {proof.tree}" if proof.tree else "", "dim")), "  ", "    ")
        if proof.lines is not None:
            colour = console.is_terminal and not console.no_color
            digits = len(str(proof.lines.first + len(proof.lines.lines)))
            for number, (_plain, line) in enumerate(shown_lines(proof.lines, colour=colour), proof.lines.first):
                text = Text.from_ansi(line) if colour else Text(line)
                console.print(Text.assemble((f"  {number:>{digits}} ", "bright_black"), text), soft_wrap=True)


# --- source ---


def _source(console: Console, excerpt: Excerpt | None, beside: int) -> list[Text]:
    if excerpt is None:
        return []
    width = console.width - beside - len(_BAR) if beside else console.width
    colour = console.is_terminal and not console.no_color
    digits = len(str(excerpt.first + len(excerpt.lines)))
    out: list[Text] = []
    for number, (plain, line) in enumerate(shown_lines(excerpt, colour=colour), excerpt.first):
        marked = excerpt.marked[0] <= number <= excerpt.marked[1]
        text = Text.from_ansi(line) if colour else Text(line)
        is_token = number == excerpt.marked[0] and excerpt.token
        token = re.search(rf"\b{excerpt.token}\b", plain) if is_token else None
        if token is not None:
            text.stylize("bold reverse", *token.span())
        gutter = Text(f"{'>' if marked else ' '}{number:>{digits}} ", style="bold yellow" if marked else "bright_black")
        pieces = _pieces(text, width - len(gutter)) if console.is_terminal else [text]
        out += [Text.assemble(gutter if not n else " " * len(gutter), piece) for n, piece in enumerate(pieces)]
        if token is not None and not colour and len(pieces) == 1:
            out.append(Text(" " * (len(gutter) + token.start()) + "^" * len(token[0])))
    return out


def _pieces(text: Text, room: int) -> Sequence[Text]:
    """Fold a line to the room; further pieces are indented a little."""
    room = max(room, 8)
    plain, cuts, start = text.plain, [], 0
    while len(plain) - start > room - (2 if start else 0):
        end = start + room - (2 if start else 0)
        space = plain.rfind(" ", start, end) + 1
        start = space if space > start + room // 2 else end
        cuts.append(start)
    first, *rest = text.divide(cuts)
    return [first, *(Text.assemble("  ", piece) for piece in rest)]


# --- putting together ---


def _rows(console: Console, lines: Sequence[Sequence[Segment]]) -> None:
    for line in lines:
        console.print(Segments([*line, Segment.line()]), soft_wrap=True, end="")


def _print_beside(console: Console, text: Sequence[Sequence[Segment]], source: Sequence[Text], columns: int) -> None:
    """Print the text with the source on its right, and a bar between them."""
    bar = Segment(_BAR, console.get_style("dim"))
    empty = [Segment(" " * columns)]
    for left, right in zip_longest(text, source, fillvalue=None):
        segments = [*(left or empty), bar, *(right.render(console, end="") if right else ()), Segment.line()]
        console.print(Segments(segments), soft_wrap=True, end="")
