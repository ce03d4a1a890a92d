"""Prints the pages of `show`: a header with name and place, then the source with line numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ptexplore.render.terminal.console import captured, folded, print_marks, styled
from ptexplore.render.terminal.highlight import shown_lines
from ptexplore.render.terminal.search import LocateIn, path_line, placed, where

if TYPE_CHECKING:
    from ptexplore.view.search.show import Page


def page_lines(console: Console, pages: Iterable[Page], locate: LocateIn | None) -> Iterator[str]:
    """Yields every page as lines ready to print, coloured if the console is."""
    colour = console.is_terminal and not console.no_color
    for number, page in enumerate(pages):
        if number:
            yield ""
        yield from captured(_header, console, page, locate)
        yield from _body(page, colour=colour)
        if page.marks:
            yield from captured(print_marks, console, page.marks, "\nnotes")
        if page.kernels:
            yield from captured(_kernels, console, page)


def _header(console: Console, page: Page, locate: LocateIn | None) -> None:
    candidate = page.candidate
    detail = candidate.detail if candidate.symbol is not None else ""
    title = styled((f"{candidate.name}{detail}", "bold cyan"), (f"  {candidate.kind}", "bold dim cyan"))
    folded(console, title, "", "    ")
    last = page.first + len(page.lines) - 1
    lines = f"  lines {page.first}-{last}" if last > page.first else f"  line {last}"
    layer = page.spot.ref.layer
    facts = styled((lines if page.lines else "", "dim"), (f", {layer} layer" if layer else "", "dim"))
    folded(console, where(page.spot, locate).append_text(facts), "", "    ")
    if candidate.kind == "operator":
        folded(console, styled((candidate.detail, "")), "", "    ")
    for fact in page.facts:
        folded(console, styled((fact, "yellow")), "", "    ")
    if page.lines:
        console.print()


def _body(page: Page, *, colour: bool) -> Iterator[str]:
    width = len(str(page.first + len(page.lines)))
    marked = {mark.line for mark in page.marks}
    for number, (_plain, line) in enumerate(shown_lines(page, colour=colour), page.first):
        gutter = f"{'>' if number == page.mark else ' '}{number:>{width}}{'*' if number in marked else ' '}"
        if colour:
            style = "1;33" if number == page.mark else "1;36" if number in marked else "90"
            gutter = f"\x1b[{style}m{gutter}\x1b[0m"
        yield f"{gutter} {line}".rstrip()


def _kernels(console: Console, page: Page) -> None:
    console.print(Text("\nthe kernel of each dispatch key", style="bold"))
    for kernel in page.kernels:
        indent = "  " * (kernel.depth + 1)
        keys = f"{', '.join(kernel.keys)}  " if kernel.keys else ""
        title = styled((keys, "bold"), (f"{'→ ' if kernel.depth else ''}{kernel.name}", ""))
        folded(console, title, indent, indent + "  ")
        tree = kernel.ref.tree if kernel.ref.path else ""
        folded(console, placed(path_line(kernel.ref), tree, kernel.ref), indent + "  ", indent + "    ")
