"""Prints which operators have a kernel for a dispatch key, or have none, as a table."""

from __future__ import annotations

import shlex

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.model.coverage import KeyCoverage, OperatorAtKey
from ptexplore.render.terminal.console import Locate, folded, linked, place_text, print_command
from ptexplore.safe_text import clean
from ptexplore.view.place_marks import mark_of
from ptexplore.view.words.coverage import ON_ROW, counted, title

_WIDEST = 120  # columns of a table: a wider one is hard to follow from left to right
_NAME, _KERNEL = 0.4, 0.4  # the widest name and kernel, as parts of a row
_GAP = 2


def print_coverage(console: Console, coverage: KeyCoverage, locate: Locate) -> None:
    """Print the counts, then a row for each operator: its name, what a call runs, and where that is."""
    folded(console, Text(title(coverage), style="bold"), "", "  ")
    folded(console, Text(counted(coverage), style="dim"), "  ", "  ")
    for place in coverage.fallbacks:
        where = Text(place_text(place, console.width - 20), style=linked(locate(place)) or "cyan")
        console.print(Text.assemble(("  boxed fallback: ", "dim"), where), soft_wrap=True)
    rows = coverage.rows
    if rows:
        console.print()
        _print_rows(console, coverage, min(console.width, _WIDEST), locate)
    console.print()
    if coverage.left_out:
        command = f"ptexplore op --{coverage.side} {shlex.quote(coverage.key)} --limit 0"
        print_command(console, command, f"{coverage.left_out:,} more  ")
    elif rows:
        print_command(console, f"ptexplore op {shlex.quote(rows[0].name)}", "an operator  ")


def _print_rows(console: Console, coverage: KeyCoverage, width: int, locate: Locate) -> None:
    rows = coverage.rows
    name = min(max(cell_len(row.name) for row in rows), int(width * _NAME))
    kernel = min(max(cell_len(_kernel(row)) for row in rows), int(width * _KERNEL))
    last = "kernels for other keys" if coverage.side == "missing" else "where"
    heading = f" {'operator':<{name}}{' ' * _GAP}{f'at {coverage.key}':<{kernel}}{' ' * _GAP}{last}"
    console.print(Text(heading, style="bold"), soft_wrap=True)
    for row in rows:
        line = Text(f" {clean(row.name)}", style="green")
        if cell_len(row.name) > name:
            console.print(line, soft_wrap=True)
            line = Text(" ")
        line.pad_right(name + 1 - cell_len(line.plain))
        line = Text.assemble(line, " " * _GAP, clean(_kernel(row)))
        start = name + 1 + _GAP + kernel + _GAP
        if cell_len(line.plain) > start - _GAP:
            console.print(line, soft_wrap=True)
            line = Text("")
        line.pad_right(start - cell_len(line.plain))
        line.append_text(_last(row, coverage, width - start, locate))
        console.print(line, soft_wrap=True)


def _kernel(row: OperatorAtKey) -> str:
    return ON_ROW[row.has].format(row.kernel)


def _last(row: OperatorAtKey, coverage: KeyCoverage, room: int, locate: Locate) -> Text:
    """Returns the last column: the place of a kernel, or the keys that have one where this key has none."""
    if coverage.side == "missing":
        return Text(", ".join(row.elsewhere), style="dim")
    if row.place is None:
        return Text("")
    where = f"{clean(place_text(row.place, max(room - 2, 20)))} {mark_of(row.place)}".rstrip()
    return Text(where, style=linked(locate(row.place)) or "cyan")
