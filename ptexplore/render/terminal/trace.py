"""Prints a trace as a tree of rows with their places, one hop with all its evidence, and the output of the code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ptexplore.model.observed import Printed, records
from ptexplore.model.trace import walk
from ptexplore.render.terminal.console import Locate, drawn, folded, print_command
from ptexplore.render.terminal.screen import print_screen, print_step
from ptexplore.safe_text import clean
from ptexplore.view.line import place_spans

if TYPE_CHECKING:
    from ptexplore.model.trace import Session
    from ptexplore.view.trace.explain import Explanation
    from ptexplore.view.trace.page import TraceRow, TraceView

GUIDES = 120  # columns, at most half of the terminal; deeper rows get only their nearest guides
COUNTS = "instr"  # the heading of the column of instructions


@dataclass(frozen=True, slots=True)
class _Tree:
    """The settings that all rows of a tree share: the console, the links of places, the width of the counts' column."""

    console: Console
    locate: Locate
    column: int = 0

    def draw(self, rows: Sequence[TraceRow]) -> None:
        """Draw rows with guides two columns wide: traces nest deeply, and a path must fit beside the guides."""
        most = min(GUIDES, max(self.console.width // 4, 6) * 2)
        pending = [(row, "", 0, number == len(rows) - 1) for number, row in enumerate(rows)][::-1]
        while pending:
            row, guides, level, last = pending.pop()
            inner = (guides + ("  " if last else "│ "))[-most:]
            cut = f"⋯{level} " if level * 2 > most else ""
            guide = cut + guides[len(cut) :]
            hanging = (
                " " * self.column + (cut and " " * len(cut)) + inner[len(cut) :] + ("│ " if row.children else "  ")
            )
            heading = row.heading(counted=self.column > 0)
            title = drawn(span for span in heading if span.style != "count")  # the count has its own column
            lines = [drawn(line.spans, self.locate) for line in row.lines]
            if row.beside is not None:
                beside = self.beside(row, lines[0], self.console.width - len(hanging) - len(title) - 2)
                title, lines = (Text.assemble(title, "  ", beside), lines[1:]) if beside else (title, lines)
            folded(self.console, title, self.count(row) + guide + ("└ " if last else "├ "), hanging)
            for line in lines:
                folded(self.console, line, hanging, hanging + "  ")
            inside = row.children
            pending += [(child, inner, level + 1, number == len(inside) - 1) for number, child in enumerate(inside)][
                ::-1
            ]

    def beside(self, row: TraceRow, place: Text, room: int) -> Text | None:
        """Returns a row's first place for the room beside its title; None if it does not fit.

        There are many counted frames, so among these a path may lose folders at its front.
        """
        if len(place) <= room:
            return place
        ref = row.lines[0].ref
        if self.column == 0 or len(row.lines) > 1 or ref is None or ref.path is None:
            return None
        begin = place.plain.find(ref.path)
        for end, letter in enumerate(ref.path):
            if letter == "/" and len(place) - end + 1 <= room:
                return Text.assemble(place[:begin], "…", place[begin + end :])
        return None

    def count(self, row: TraceRow) -> str:
        """Returns a row's instructions, right-aligned; "" if the tree has no counts."""
        shown = "" if row.instructions is None else f"{row.instructions:,}"
        return f"{shown:>{self.column - 1}} " if self.column else ""


def _column(rows: Sequence[TraceRow]) -> int:
    """Returns the width of the column of instructions, with the space after it."""
    return max((len(f"{row.instructions or 0:,}") + 1 for row in walk(rows)), default=0)


def print_trace(console: Console, view: TraceView, locate: Locate, *, plain: bool = False) -> None:
    """Print the whole view: facts, ending, rows, findings, what is left out, and the next commands."""
    if view.view != "tree":
        print_screen(console, view, locate, plain=plain)
        return
    for fact in view.facts:
        folded(console, Text(clean(fact), style="dim"), "", "  ")
    if view.ending:
        console.print()
    for ending_line in view.ending:
        indent = "  " * ending_line.indent
        folded(console, drawn(ending_line.spans, locate), indent, f"{indent}  ")
    column = max(_column(view.rows), len(COUNTS) + 1) if view.counted else 0
    heading = f"{COUNTS:>{column - 1}} " if column else ""
    console.print(Text.assemble((f"\n{heading}", "dim"), (clean(view.title), "bold")))
    _Tree(console, locate, column).draw(view.rows)
    if view.findings:
        console.print()
    for finding in view.findings:
        console.print(Text(f"! {clean(finding)}", style="yellow"))
    console.print()
    for line in view.left_out:
        folded(console, Text(line, style="dim"), "", "  ")
    for number, step in enumerate(view.next_steps):
        print_step(console, step, f"{'' if number else 'next:':5} ")
    for number, command in enumerate(view.read):
        print_command(console, command, f"{'' if number else 'read:':5} ")


def print_output(console: Console, session: Session) -> None:
    """Print the output of the traced code on the given console (stderr), so that it is neither lost nor mixed in."""
    given = (("--setup", session.options.setup), ("--var", session.options.variables))
    what = "expression" if session.program is None else "script"
    who = " or ".join((what, *(name for name, texts in given if texts)))  # the printer is unknown
    for printed in records(session.observations, "output", Printed):
        print_printed(console, who, printed.text)


def print_printed(console: Console, who: str, text: str) -> None:
    """Print the output of the user's code, with the name of the code that printed it."""
    console.print(Text(f"the {who} printed:", style="dim"))
    for line in text.splitlines():
        console.print(Text(f"  {clean(line)}"))


def print_explanation(console: Console, explanation: Explanation, locate: Locate) -> None:
    """Print one hop: its facts, its places, the reasons, and the observations behind it."""
    console.print(Text(clean(explanation.title), style="bold"))
    width = max(len(name) for name, _ in explanation.facts)
    rows = [(name, Text(clean(value))) for name, value in explanation.facts]
    rows += [(label, drawn(place_spans(ref), locate)) for label, ref in explanation.places]
    for label, text in rows:
        folded(console, text, f"  {label:<{width}}  ", " " * (width + 4))
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
