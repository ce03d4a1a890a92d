"""Prints a folder's page: its purpose, where to start, what is inside, the tours through it, the next commands."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ptexplore.render.terminal.console import folded, print_next, styled
from ptexplore.render.terminal.tour import print_prose
from ptexplore.safe_text import clean
from ptexplore.view.notes.folder import ROOT, plain_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptexplore.view.notes.folder import FolderRow, FolderView, ShippedPage

_WIDEST = 34  # columns of a name


def print_folder(console: Console, view: FolderView, *, everything: bool) -> None:
    """Print the page. `everything` also lists every file, and describes folders that are rarely needed."""
    tree = styled((f"  {view.spot.tree.label}", "magenta"), (f"  {view.total:,} files", "dim"))
    title = f"  {view.title}" if view.page is not None and view.folder else ""
    name = view.folder or view.title
    folded(console, styled((name, "bold cyan"), (title, "bold")).append_text(tree), "", "    ")
    page = view.page
    if page is None:
        console.print(Text("  this folder has no description yet", style="dim"))
    else:
        for fact in view.facts:
            folded(console, styled((fact, "dim")), "  ", "    ")
        console.print()
        print_prose(console, page.intro)
        _start(console, view)
    _folders(console, view, everything=everything)
    _files(console, view, everything=everything)
    if page is not None and page.build:
        console.print(Text("\nIn a build", style="bold"))
        print_prose(console, page.build)
    if view.newer:
        console.print(Text(f"\nIn {clean(view.version)}", style="bold"))
        print_prose(console, view.newer)
    _tours(console, view)
    _next(console, view)


def print_shipped(console: Console, page: ShippedPage) -> None:
    """Print the page of a folder without an index: prose only, and the command that adds the rest."""
    console.print(styled((page.title, "bold cyan")))
    for part in page.parts:
        console.print(Text(f"\n{clean(part.heading)}" if part.heading else "", style="bold"))
        print_prose(console, part.text)
    remark = "This source is not indexed yet. The index adds files, lines and tours, in about a minute:"
    folded(console, Text(f"\n{remark}", style="dim"))
    print_next(console, "ptexplore index")


def _start(console: Console, view: FolderView) -> None:
    if not view.start:
        return
    console.print(Text("\nStart here", style="bold"))
    for number, row in enumerate(view.start, 1):
        ref = row.spot.ref if row.spot is not None else None
        line = f":{ref.line}" if ref is not None and ref.line else ""
        name = styled((f"{row.entry.path}{line}", "cyan" if ref is not None else "dim"))
        if row.entry.symbol:
            name.append_text(styled((f"  {row.entry.symbol}", "dim")))
        if ref is None:
            name.append_text(styled(("  not in this tree", "yellow")))
        folded(console, name, f"  {number}  ", "       ")
        folded(console, styled((plain_sentence(row.entry.why), "")), "     ", "     ")


def _folders(console: Console, view: FolderView, *, everything: bool) -> None:
    common = [row for row in view.folders if everything or not row.rare]
    rare = [row for row in view.folders if row.rare and not everything]
    if common:
        console.print(Text("\nFolders", style="bold"))
        _rows(console, common)
    if rare:
        names = ", ".join(row.name for row in rare)
        folded(console, styled((f"rarely needed: {names} (--all)", "dim")), "  ", "    ")


def _rows(console: Console, rows: Sequence[FolderRow]) -> None:
    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.add_column(overflow="fold", max_width=_WIDEST)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for row in rows:
        count = f"{row.files:,}" if row.files else "-"  # no file in it is of a kind that ptexplore reads
        table.add_row(styled((row.name, "cyan")), styled((count, "dim")), styled((plain_sentence(row.text), "")))
    console.print(table)


def _files(console: Console, view: FolderView, *, everything: bool) -> None:
    if not view.files:
        return
    if not everything:
        console.print(Text(f"\n  {len(view.files):,} files are here: --all lists them", style="dim"))
        return
    console.print(Text("\nFiles", style="bold"))
    for file in view.files:
        folded(console, styled((file.path, ""), (f"  {file.lines:,} lines", "dim")), "  ", "    ")


def _tours(console: Console, view: FolderView) -> None:
    if not view.tours:
        return
    console.print(Text("\nTours through here", style="bold"))
    for row in view.tours:
        stops = f"  {row.stops} of {len(row.tour.stops)} stops"
        command = f"  ptexplore tour {row.tour.id} {row.first}"
        folded(console, styled((row.tour.title, ""), (stops, "dim"), (command, "cyan")), "  ", "    ")


def _next(console: Console, view: FolderView) -> None:
    commands = [f"ptexplore trace {shlex.quote(view.page.expression)}"] if view.page and view.page.expression else []
    commands.append(f"ptexplore browse {shlex.quote(view.folder or ROOT)}")
    console.print()
    for number, command in enumerate(commands):
        console.print(styled(("      " if number else "next: ", "dim"), (command, "cyan")))
