"""Prints tensors in memory: each storage as rows of cells, a table of the tensors, and what calls would do."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import PIPE_WIDTH, drawn, folded
from ptexplore.safe_text import clean
from ptexplore.view.tensor.page import COLUMNS, BlockView, TensorPage, called
from ptexplore.view.tensor.strip import shortened, strip

WIDEST = 100  # columns in a pipe, which has no width of its own
GAP = "  "
LEAST_FACTS = 36  # columns; if fewer are left beside the table, facts are below their row


def print_tensors(console: Console, page: TensorPage) -> None:
    """Print the whole page."""
    width = WIDEST if console.width >= PIPE_WIDTH else console.width
    title = Text(clean(page.title), style="bold")
    torch = Text(f"torch {clean(page.torch)}", style="dim")
    if title.cell_len + 3 + torch.cell_len <= width:
        title.append(" " * (width - title.cell_len - torch.cell_len))
        title.append_text(torch)
    _fold(console, title, "", "  ", width)
    for block in page.blocks:
        console.print()
        _print_block(console, block, width)
    console.print()
    _print_table(console, page, width)
    if page.answers:
        console.print()
        calls = [called(shortened(answer.name, width), answer.method) for answer in page.answers]
        column = min(max(map(cell_len, calls)), width // 2)
        for call, answer in zip(calls, page.answers, strict=True):
            line = Text.assemble((f"{clean(call):<{column}}", "bold"), GAP, clean(answer.told))
            _fold(console, line, "", " " * (column + len(GAP)), width)
    for note in page.notes:
        _fold(console, Text(clean(note), style="dim"), "", "  ", width)
    if page.after is not None:
        console.print()
        print_tensors(console, page.after)


def _print_block(console: Console, block: BlockView, width: int) -> None:
    console.print(Text(clean(block.heading), style="bold"), soft_wrap=True)
    for spans in strip(block.tensors, block.cells, width).lines():
        line = drawn(spans)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _print_table(console: Console, page: TensorPage, width: int) -> None:
    cells = [(shortened(row.cells[0], width), *row.cells[1:]) for row in page.rows]
    rows = [COLUMNS[:-1], *cells]
    sizes = [max(cell_len(row[column]) for row in rows) for column in range(len(COLUMNS) - 1)]
    left = sum(sizes) + len(GAP) * len(sizes)
    console.print(Text(_row(COLUMNS[:-1], sizes).rstrip(), style="dim"), soft_wrap=True)
    for row, shown in zip(page.rows, cells, strict=True):
        text = _row([clean(cell) for cell in shown], sizes)
        line = Text.assemble((text[: sizes[0]], "bold"), text[sizes[0] :])
        if width - left >= LEAST_FACTS:
            _fold(console, line.append(clean(row.facts)), "", " " * left, width)
            continue
        console.print(Text(line.plain.rstrip()), soft_wrap=True)
        _fold(console, Text(clean(row.facts)), " " * (sizes[0] + len(GAP)), " " * (sizes[0] + len(GAP)), width)


def _row(cells: Sequence[str], sizes: Sequence[int]) -> str:
    return "".join(f"{cell:<{size}}{GAP}" for cell, size in zip(cells, sizes, strict=True))


def _fold(console: Console, text: Text, first: str, further: str, width: int) -> None:
    """Fold text at the width of this page; a pipe has no width."""
    whole, console.width = console.width, width
    try:
        folded(console, text, first, further)
    finally:
        console.width = whole
