"""Draw page data in a terminal with rich, at any width, in a pipe, with and without colour."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ptexplore.model.places import SourceRef
from ptexplore.safe_text import clean
from ptexplore.view.line import Span, Tone, place_spans

if TYPE_CHECKING:  # most commands print something else
    from ptexplore.model.trace import Session
    from ptexplore.view.trace.explain import Explanation
    from ptexplore.view.trace.rows import TraceRow, TrailView

Locate = Callable[[SourceRef], tuple[str, int] | None]  # a place in a tree -> file and line on this machine

COUNTS = "instr"  # the heading of the column of instructions
PIPE_WIDTH = 4000  # columns: a path:line that another program reads is never broken

STYLES: dict[Tone, str] = {
    "": "", "strong": "bold", "dim": "dim", "good": "green", "fair": "cyan", "doubt": "yellow", "bad": "red",
    "other": "magenta", "link": "",
}  # fmt: skip


def make_console(*, stderr: bool = False) -> Console:
    """A console that obeys NO_COLOR and never reads markup; in a pipe it folds nothing unless COLUMNS says so."""
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal and not _columns_set():
        console = Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=PIPE_WIDTH)
    return console


def _columns_set() -> bool:
    return os.environ.get("COLUMNS", "").isdigit()


def drawn(spans: Iterable[Span], locate: Locate | None = None) -> Text:
    """Spans as text; places are hyperlinks where `locate` knows their file."""
    out = Text(overflow="fold")
    for span in spans:
        found = locate(span.ref) if locate is not None and span.ref is not None else None
        link = f"underline link {Path(found[0]).as_uri()}#L{found[1]}" if found else ""
        out.append(clean(span.text), style=link or STYLES[span.tone])
    return out


def precision(ref: SourceRef) -> Text:
    """How precisely a place is known, as a word."""
    return drawn([Span(ref.precision, ref.precision)])


@dataclass(frozen=True, slots=True)
class _Tree:
    """What is the same for all rows of a tree: where to, how places become links, the width of the counts' column."""

    console: Console
    locate: Locate
    column: int = 0

    def draw(self, rows: Sequence[TraceRow], guide: str = "") -> None:
        """Rows with guides two columns wide: traces nest deeply, and a path must fit beside them."""
        for number, row in enumerate(rows):
            last = number == len(rows) - 1
            inner = guide + ("  " if last else "│ ")
            hanging = " " * self.column + inner + ("│ " if row.children else "  ")
            first = self.count(row) + guide + ("└ " if last else "├ ")
            heading = row.heading(counted=self.column > 0)
            title = drawn(span for span in heading if span.style != "count")  # which has a column of its own
            lines = [drawn(line.spans, self.locate) for line in row.lines]
            if row.beside is not None:
                beside = self.beside(row, self.console.width - len(hanging) - len(title) - 2)
                title, lines = (Text.assemble(title, "  ", beside), lines[1:]) if beside else (title, lines)
            folded(self.console, title, first, hanging)
            for line in lines:
                folded(self.console, line, hanging, hanging + "  ")
            self.draw(row.children, inner)

    def beside(self, row: TraceRow, room: int) -> Text | None:
        """A row's first place, for the room that is left beside its title; None where it does not fit.

        Among counted frames, which are many, a path may lose folders at its beginning.
        """
        line = row.lines[0]
        whole = drawn(line.spans, self.locate)
        if len(whole) <= room or self.column == 0 or len(row.lines) > 1 or line.ref is None or line.ref.path is None:
            return whole if len(whole) <= room else None
        folders = line.ref.path.split("/")
        for left_out in range(1, len(folders)):
            shorter = whole.copy()
            gone = len("/".join(folders[:left_out]))
            at = shorter.plain.find(line.ref.path)
            shorter = Text.assemble(shorter[:at], "…", shorter[at + gone :])
            if len(shorter) <= room:
                return shorter
        return None

    def count(self, row: TraceRow) -> str:
        """A row's instructions, right-aligned; nothing where the tree has none."""
        shown = "" if row.instructions is None else f"{row.instructions:,}"
        return f"{shown:>{self.column - 1}} " if self.column else ""


def _column(rows: Sequence[TraceRow]) -> int:
    """How wide the column of instructions is, with the space after it."""
    return max((max(len(f"{row.instructions or 0:,}") + 1, _column(row.children)) for row in rows), default=0)


def folded(console: Console, text: Text, first: str, further: str) -> None:
    """Print a line, folded where the terminal is narrower, with the tree's guides before each part."""
    room = max(console.width - max(len(first), len(further)), 20)
    for number, part in enumerate(text.divide(_breaks(text.plain, room))):
        shown = part[len(part.plain) - len(part.plain.lstrip()) :] if number else part
        shown.rstrip()
        console.print(Text.assemble((further if number else first, "dim"), shown), soft_wrap=True)


def _breaks(text: str, room: int) -> list[int]:
    """Where to fold so that no part is wider than `room`: after a space, else after a slash, else anywhere."""
    breaks: list[int] = []
    start = 0
    while len(text) - start > room:
        part = text[start : start + room + 1]
        at = part.rfind(" ") + 1 or part.rfind("/", 0, room) + 1 or room
        start += min(at, room)
        breaks.append(start)
    return breaks


def print_trail(console: Console, view: TrailView, locate: Locate) -> None:
    """The whole trace: what was asked and bound, the tree, findings, what was left out, what to type next."""
    for fact in view.facts:
        folded(console, Text(clean(fact), style="dim"), "", "  ")
    console.print()
    column = max(_column(view.rows), len(COUNTS) + 1) if view.counted else 0
    heading = Text(f"{COUNTS:>{column - 1}} " if column else "", style="dim")
    console.print(Text.assemble(heading, (clean(view.title), "bold")))
    _Tree(console, locate, column).draw(view.rows)
    if view.findings:
        console.print()
        for finding in view.findings:
            console.print(Text(f"! {clean(finding)}", style="yellow"))
    console.print()
    for line in view.left_out:
        folded(console, Text(line, style="dim"), "", "  ")
    for label, step in zip(("next:", *[" " * 5] * 9), view.next_steps, strict=False):
        console.print(Text.assemble((f"{label} ", "dim"), (clean(step), "cyan")))
    for label, step in zip(("read:", *[" " * 5] * 9), view.read, strict=False):
        console.print(Text.assemble((f"{label} ", "dim"), (clean(step), "cyan")))


def print_output(console: Console, session: Session) -> None:
    """What the traced code itself printed, on the console given (stderr), so that it is neither lost nor mixed in."""
    for observation in session.observations:
        if observation.kind == "output" and observation.data.get("text"):
            console.print(Text("the expression printed:", style="dim"))
            for line in str(observation.data["text"]).splitlines():
                console.print(Text(f"  {clean(line)}"))


def print_explanation(console: Console, explanation: Explanation, locate: Locate) -> None:
    """One hop: its facts, its places, the reasons, the observations it is concluded from."""
    console.print(Text(clean(explanation.title), style="bold"))
    width = max(len(name) for name, _ in explanation.facts)
    for name, value in explanation.facts:
        folded(console, Text(clean(value)), f"  {name:<{width}}  ", " " * (width + 4))
    for label, ref in explanation.places:
        folded(console, drawn(place_spans(ref), locate), f"  {label:<{width}}  ", " " * (width + 4))
    if explanation.why:
        console.print(Text("because", style="bold"))
        for reason in explanation.why:
            folded(console, Text(clean(reason)), "  - ", "    ")
    if explanation.observations:
        console.print(Text("observed", style="bold"))
        for observation in explanation.observations:
            data = clean(json.dumps(observation.data, default=str))
            label = f"  #{observation.id} {observation.recorder}/{observation.kind}: "
            folded(console, Text(data[:600], style="dim"), label, "    ")
