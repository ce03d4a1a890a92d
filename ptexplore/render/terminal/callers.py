"""Prints the callers of a function, their callers and so on: one row per caller, indented by its level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import folded, styled
from ptexplore.render.terminal.search import LocateIn, located, where
from ptexplore.view.search.caller_tree import caller_rows
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from ptexplore.lookup.callers import CallersView, FunctionCallers


def print_callers(console: Console, view: CallersView, locate: LocateIn) -> None:
    """Print each function with its callers, then the remarks."""
    for number, function in enumerate(view.functions):
        if number:
            console.print()
        _function(console, function, locate)
    if view.more:
        console.print(Text(f"\n{view.more} more functions have this name: use the qualified name of one", style="dim"))
    if view.remarks:
        console.print()
    for remark in map(remark_in_words, view.remarks):
        folded(console, styled((remark, "dim")), "", "  ")


def _function(console: Console, function: FunctionCallers, locate: LocateIn) -> None:
    folded(console, Text.assemble(styled((function.name, "bold cyan"), ("  ", "")), where(function.spot, locate)))
    rows = list(caller_rows(function))
    if not rows:
        console.print(styled(("  no call is indexed", "dim")))
    for row in rows:
        indent = "  " * row.level
        if row.spot is None:
            console.print(styled((f"{indent}{row.text}", "dim")))
            continue
        text = Text.assemble(styled((row.text, ""), ("  ", "")), located(row.spot, locate))
        if row.after:
            text.append_text(styled((f" {row.after}", "dim")))
        folded(console, text, indent, f"{indent}    ")
