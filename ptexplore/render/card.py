"""Print an operator's card in a terminal."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ptexplore.render.console import Locate, place
from ptexplore.render.notes import print_marks
from ptexplore.render.plain import clean
from ptexplore.view.card import Card
from ptexplore.view.card_lines import HIDDEN, CardLine, card_lines

_STYLES = {"name": "bold", "strong": "bold", "dim": "dim"}


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


def _print(console: Console, line: CardLine, locate: Locate) -> None:
    if line.style == "heading":
        console.print(Text(f"\n{clean(line.text)}", style="bold"))
        return
    if line.ref is not None:
        text = place(line.ref, locate, clean(line.text))
        text.append(f" {clean(line.after)}" if line.after else "", style="dim")
    else:
        shown = clean(line.text)
        if line.style == "dim" and shown.endswith(HIDDEN):
            shown = f"{shown.removesuffix(HIDDEN)}--full shows them"
        text = Text.assemble(
            (shown, _STYLES.get(line.style, "")), (f"  {clean(line.after)}" if line.after else "", "dim")
        )
    console.print(Padding.indent(text, line.indent) if line.indent else text)
