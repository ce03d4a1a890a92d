"""Prints an operator's card in a terminal."""

from __future__ import annotations

import shlex
from dataclasses import replace

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ptexplore.render.terminal.console import Locate, drawn, print_marks, print_next, styled
from ptexplore.view.card import HIDDEN, Card, card_lines


def print_card(console: Console, card: Card, locate: Locate, *, full: bool) -> None:
    """Print schema, YAML entry, kernels by key, derivative, bindings, Python implementations, other overloads."""
    for line in card_lines(card, full=full, listed=False):
        if line.style == "heading":
            console.print()
        told = line.text.replace(HIDDEN, "--full shows them") if line.text.endswith(HIDDEN) else line.text
        text = drawn(replace(line, text=told).spans, locate)
        console.print(Padding.indent(text, line.indent) if line.indent else text)
    if card.siblings:
        console.print(Text("\nother overloads", style="bold"))
        console.print(Padding.indent(styled((", ".join(card.siblings), "")), 2))
    if card.notes:
        print_marks(console, [replace(mark, line=0) for mark in card.notes], "\nto read")
    print_next(console, f"ptexplore op {shlex.quote(card.operator.name)} --json", "\n")
