"""Prints an operator's ladder, and lists of operators of Core ATen or of prims."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.text import Text

from ptexplore.model.ladder import OperatorLadder, OperatorList
from ptexplore.render.terminal.card import WIDEST, print_table
from ptexplore.render.terminal.console import Locate, folded, print_command
from ptexplore.safe_text import clean
from ptexplore.view.card import Card, core_line
from ptexplore.view.ladder import ladder_tables, list_table, list_title, unknown_lines


def print_ladder(console: Console, card: Card, ladder: OperatorLadder, locate: Locate) -> None:
    """Print what happens to an operator on each rung, then what each table of torch has for it."""
    width = min(console.width, WIDEST)
    folded(console, Text(clean(card.operator.schema), style="bold"), "", "    ")
    folded(console, Text(clean(core_line(ladder.core))), "  ", "  ")
    for table in ladder_tables(ladder):
        console.print()
        print_table(console, table, width, locate)
    console.print()
    for line in unknown_lines(ladder.unknown):
        folded(console, Text(clean(line), style="dim"), "", "  ")
    print_command(console, f"ptexplore op {shlex.quote(card.operator.name)} --ladder --json", "as JSON  ")


def print_operator_list(console: Console, operators: OperatorList, locate: Locate) -> None:
    """Print the operators of a list, each with what becomes of it with Inductor."""
    title, *further = list_title(operators)
    folded(console, Text(title, style="bold"), "", "  ")
    for line in (*further, *unknown_lines(operators.unknown)):
        folded(console, Text(clean(line), style="dim"), "  ", "  ")
    if operators.rows:
        console.print()
        print_table(console, list_table(operators), min(console.width, WIDEST), locate)
    console.print()
    left = operators.total - len(operators.rows)
    if left:
        print_command(console, f"ptexplore op --{shlex.quote(operators.of)} --limit 0", f"{left:,} more  ")
    elif operators.rows:
        name = next((row.name for row in operators.rows if not row.later), operators.rows[0].name)
        print_command(console, f"ptexplore op {shlex.quote(name)} --ladder", "an operator  ")
