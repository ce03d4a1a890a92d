"""Prints tensors in memory: each storage as rows of cells, a table of the tensors, and what calls would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import PIPE_WIDTH, captured, drawn, folded_within
from ptexplore.safe_text import clean
from ptexplore.view.tensor.page import (
    COLUMNS,
    LATER,
    NO_CHANGE,
    NO_DIFFERENCE,
    NOW,
    BlockView,
    DifferenceView,
    TensorPage,
    called,
)
from ptexplore.view.tensor.strip import short_names, strip

WIDEST = 100  # columns in a pipe, which has no width of its own
GAP = "  "
LEAST_FACTS = 30  # columns; if fewer are left beside the table, facts are below their row
LEAST_HALF = 70  # columns; if half of the terminal has fewer, two pages are below each other
MIDDLE = " │ "  # between two pages


def print_tensors(console: Console, page: TensorPage) -> None:
    """Print the whole page, and other pages beside or below it, with the differences."""
    width = WIDEST if console.width >= PIPE_WIDTH else console.width
    half = (width - len(MIDDLE)) // 2
    if not page.others:
        _print_page(console, page, width)
    elif len(page.others) == 1 and half >= LEAST_HALF:
        _print_beside(console, page, page.others[0].page, half)
    else:
        _print_page(console, page, width)
        for other in page.others:
            console.print()
            _print_page(console, other.page, width)
    for other in page.others:
        for first, second, differences in other.pairs:
            console.print()
            _print_differences(console, (first, second), differences, width)


def _print_beside(console: Console, first: TensorPage, second: TensorPage, half: int) -> None:
    sides = [captured(_print_page, console, page, half) for page in (first, second)]
    for left, right in zip_longest(*sides, fillvalue=""):
        line = Text.from_ansi(left)
        line.append(" " * (half - line.cell_len)).append(MIDDLE, "dim").append_text(Text.from_ansi(right))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _print_differences(
    console: Console, names: tuple[str, str], differences: Sequence[DifferenceView], width: int
) -> None:
    """Print the properties in which two tensors differ as a table."""
    labels = short_names(names, width)
    first, second = (clean(labels[name]) for name in names)
    if not differences:
        told = NO_CHANGE.format(first) if first == second else NO_DIFFERENCE.format(first, second)
        folded_within(console, Text(told, style="dim"), "", "  ", width)
        return
    heads = (first, NOW, LATER) if first == second else ("", first, second)
    rows = [heads, *((row.name, *map(clean, row.values)) for row in differences)]
    sizes = [max(cell_len(row[column]) for row in rows) for column in range(3)]
    for number, row in enumerate(rows):
        console.print(Text(_row(row, sizes).rstrip(), style="" if number else "bold"), soft_wrap=True)


def _print_page(console: Console, page: TensorPage, width: int) -> None:
    """Print a page without those beside it."""
    names = short_names((row.cells[0] for row in page.rows), width)
    title = Text(clean(page.title), style="bold")
    torch = Text(f"torch {clean(page.torch)}", style="dim")
    if title.cell_len + 3 + torch.cell_len <= width:
        title.append(" " * (width - title.cell_len - torch.cell_len))
        title.append_text(torch)
    folded_within(console, title, "", "  ", width)
    for block in page.blocks:
        console.print()
        _print_block(console, block, names, width)
    console.print()
    _print_table(console, page, names, width)
    if page.answers:
        console.print()
        calls = [called(names[answer.name], answer.method) for answer in page.answers]
        column = min(max(map(cell_len, calls)), width // 2)
        for call, answer in zip(calls, page.answers, strict=True):
            line = Text.assemble((f"{clean(call):<{column}}", "bold"), GAP, clean(answer.told))
            folded_within(console, line, "", " " * (column + len(GAP)), width)
    for note in page.notes:
        folded_within(console, Text(clean(note), style="dim"), "", "  ", width)


def _print_block(console: Console, block: BlockView, names: Mapping[str, str], width: int) -> None:
    console.print(Text(clean("   ".join(block.facts)), style="bold"), soft_wrap=True)
    tensors = [(names[name], placed) for name, placed in block.tensors]
    for spans in strip(tensors, block.cells, width).lines():
        line = drawn(spans)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _print_table(console: Console, page: TensorPage, names: Mapping[str, str], width: int) -> None:
    cells = [(names[row.cells[0]], *row.cells[1:]) for row in page.rows]
    rows = [COLUMNS[:-1], *cells]
    sizes = [max(cell_len(row[column]) for row in rows) for column in range(len(COLUMNS) - 1)]
    left = sum(sizes) + len(GAP) * len(sizes)
    console.print(Text(_row(COLUMNS[:-1], sizes).rstrip(), style="dim"), soft_wrap=True)
    for row, shown in zip(page.rows, cells, strict=True):
        text = _row([clean(cell) for cell in shown], sizes)
        line = Text.assemble((text[: sizes[0]], "bold"), text[sizes[0] :])
        if width - left >= LEAST_FACTS:
            folded_within(console, line.append(clean(row.facts)), "", " " * left, width)
            continue
        console.print(Text(line.plain.rstrip()), soft_wrap=True)
        folded_within(console, Text(clean(row.facts)), " " * (sizes[0] + len(GAP)), " " * (sizes[0] + len(GAP)), width)


def _row(cells: Sequence[str], sizes: Sequence[int]) -> str:
    return "".join(f"{cell:<{size}}{GAP}" for cell, size in zip(cells, sizes, strict=True))
