"""Prints the page about torch.compile: facts, then tables, each row with the lines below it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import PIPE_WIDTH, address_of, folded_within, linked, print_command
from ptexplore.safe_text import clean
from ptexplore.view.compile_page import CompilePage, PageLine, PagePlace, PageRow, PageSection

_WIDEST = 110  # columns: a wider page is hard to follow from left to right
_GAP = "  "
_LEVEL = 2  # columns of one indent


def print_compile(console: Console, page: CompilePage, command: str = "", *, links: bool = True) -> None:
    """Print the page. `command` runs it again with the option that the page offers.

    Without `links`, no line is a link to its file: a saved run may come from another machine.
    """
    width = _WIDEST if console.width >= PIPE_WIDTH else min(console.width, _WIDEST)
    title = Text(clean(page.title.split("\n")[0]), style="bold")
    version = clean(page.version)
    if cell_len(title.plain) + 3 + len(version) <= width:
        title.append(" " * (width - cell_len(title.plain) - len(version)))
        title.append(version, "not bold dim")
    folded_within(console, title, "", _GAP, width)
    for fact in page.facts:
        folded_within(console, Text(clean(fact)), "", _GAP, width)
    for finding in page.findings:
        folded_within(console, Text(f"! {clean(finding)}", style="yellow"), "", _GAP, width)
    for section in page.sections:
        console.print()
        _section(console, section, width, links=links)
    if page.next_step and command:
        console.print()
        print_command(console, command, "compile the expression as a whole  ")


def _section(console: Console, section: PageSection, width: int, *, links: bool) -> None:
    sizes = [
        max(len(heading), *(len(row.cells[number]) if number < len(row.cells) else 0 for row in section.rows))
        for number, heading in enumerate(section.columns)
    ]
    heading = "".join(f"{name:>{size}}{_GAP}" for name, size in zip(section.columns, sizes, strict=True))
    console.print(Text(f"{heading}{section.heading}", style="dim"), soft_wrap=True)
    left = sum(sizes) + len(_GAP) * len(sizes)
    name = min(
        max((cell_len(row.name) for row in section.rows if row.text or row.place), default=0), (width - left) // 2
    )
    place = max((cell_len(row.place.name) for row in section.rows if row.place is not None), default=0)
    before = left + name + len(_GAP) + (place + len(_GAP) if place else 0)
    beside = all(before + cell_len(row.text) <= width for row in section.rows if row.text)
    for row in section.rows:
        _row(console, row, sizes, (left, name, place), width, links=links, beside=beside)
    for line in section.code:
        console.print(Text(f"  {clean(line)}"), soft_wrap=True)
    for line in (*section.after, *_generated(section.files)):
        console.print(Text(f"{' ' * left}{clean(line)}", style="dim"), soft_wrap=True)


def _generated(files: Sequence[str]) -> Iterator[str]:
    """Yields a line about the files of generated code, if there are any."""
    if len(files) == 1:
        yield f"generated code: {files[0]}"
    elif files:
        is_absolute = all(map(os.path.isabs, files))  # a saved run may have any text as a name
        where = f" in {os.path.commonpath(files)}" if is_absolute else ""
        yield f"generated code: {len(files)} files{where}; --open NAME shows it"


def _row(
    console: Console,
    row: PageRow,
    sizes: list[int],
    columns: tuple[int, int, int],
    width: int,
    *,
    links: bool,
    beside: bool,
) -> None:
    """Print a row. `beside`: its text is a column, since all texts of the section fit. Else it is a line below."""
    left, name, place = columns
    cells = "".join(
        f"{row.cells[number] if number < len(row.cells) else '':>{size}}{_GAP}" for number, size in enumerate(sizes)
    )
    out = Text.assemble(cells, (clean(row.name), "bold"))
    if row.text or row.place is not None:
        out.append(" " * max(left + name - out.cell_len, 0) + _GAP)
    if row.place is not None:
        out.append_text(_place(row.place, links=links))
        out.append(" " * max(left + name + len(_GAP) + place - out.cell_len, 0) + (_GAP if row.text else ""))
    elif place:
        out.append(" " * (place + len(_GAP)))
    if beside:
        out.append(clean(row.text))
    out.rstrip()
    folded_within(console, out, "", " " * (left + 2), width)
    if row.text and not beside:
        folded_within(console, Text(clean(row.text)), " " * (left + _LEVEL), " " * (left + 2 * _LEVEL), width)
    for line in row.lines:
        _line(console, line, left, width, links=links)


def _line(console: Console, line: PageLine, left: int, width: int, *, links: bool) -> None:
    start = left + _LEVEL * (line.indent + 1)
    out = Text()
    if line.label:
        out.append(f"{line.label} ", "dim")
    if line.place is not None:
        out.append_text(_place(line.place, links=links))
        out.append(_GAP)
    out.append(clean(line.text), "bold" if line.is_strong else "")
    out.rstrip()
    folded_within(console, out, " " * start, " " * (start + 2), width)


def _place(place: PagePlace, *, links: bool) -> Text:
    address = (
        address_of(place.file, place.line, None)
        if links and place.file and os.path.isabs(place.file) and Path(place.file).exists()
        else None
    )
    return Text(clean(place.name), style=linked(address) or "cyan")
