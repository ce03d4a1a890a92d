"""Print an operator's card in a terminal."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ptexplore.render.terminal.console import Locate, drawn
from ptexplore.render.terminal.marks import print_marks
from ptexplore.safe_text import clean
from ptexplore.view.card import HIDDEN, Card, card_lines
from ptexplore.view.line import Line


def print_card(console: Console, card: Card, locate: Locate, *, full: bool) -> None:
    """Schema, YAML entry, kernels by key, derivative, bindings, Python implementations, other overloads."""
    for line in card_lines(card, full=full, listed=False):
        _print(console, line, locate)
    if card.siblings:
        console.print(Text("\nother overloads", style="bold"))
        console.print(Padding.indent(Text(", ".join(card.siblings)), 2))
    if card.notes:
        print_marks(console, [replace(mark, line=0) for mark in card.notes], "\nto read")
    console.print(Text.assemble(("\nnext: ", "dim"), (f"ptexplore op {card.operator.name} --json", "cyan")))


def _print(console: Console, line: Line, locate: Locate) -> None:
    if line.style == "heading":
        console.print(Text(f"\n{clean(line.text)}", style="bold"))
        return
    if line.text.endswith(HIDDEN):
        line = replace(line, text=f"{line.text.removesuffix(HIDDEN)}--full shows them")
    text = drawn(line.spans, locate)
    console.print(Padding.indent(text, line.indent) if line.indent else text)
