"""Prints an autograd graph: what each node keeps, the node, the code that made it, and the line of its formula."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ptexplore.model.places import SourceRef
from ptexplore.render.terminal.console import PIPE_WIDTH, Locate, folded, linked, place_text
from ptexplore.safe_text import clean
from ptexplore.view.graph.memory import MemoryTable
from ptexplore.view.graph.page import GraphRow, GraphView
from ptexplore.view.graph.run import RunView
from ptexplore.view.place_marks import mark_of
from ptexplore.view.words import graph as says

WIDEST = 120  # columns of a row in a pipe, which has no width of its own
KEPT = 8  # columns
NAME, MADE = 0.42, 0.28  # the widest name and code, as parts of a row
_GAP = "  "


def print_graph(console: Console, view: GraphView, locate: Locate) -> None:
    """Print the facts, the rows, and why the named tensors get a gradient, or none."""
    width = WIDEST if console.width >= PIPE_WIDTH else console.width
    console.print(Text(clean(view.title), style="bold"), soft_wrap=True)
    for fact in view.facts:
        folded(console, Text(clean(fact), style="dim"), "", "  ")
    for name, why in view.why:
        folded(console, Text.assemble((clean(name), "bold"), f"  {clean(why)}"), "", "  ")
    if view.rows:
        console.print()
        _Rows(console, view, locate, width).draw()
    for table in view.memory:
        _print_memory(console, table)
    if view.run is not None:
        _print_run(console, view.run, locate, width)
    for line in view.left_out:
        console.print(Text(line, style="dim"))
    places = [row.place for row in (view.rows if view.run is None else view.run.rows)]
    if any(mark_of(place) == "~" for place in places):
        console.print()
        folded(console, Text(says.SKEWED, style="dim"), "", "  ")


def _print_memory(console: Console, memory: MemoryTable) -> None:
    """Print who holds memory: the sum of each kind of owner, and the largest owners below it."""
    console.print()
    for fact in memory.facts:
        folded(console, Text(clean(fact), style="dim"), "", "  ")
    if not memory.rows:
        return
    console.print(Text(f"{says.BYTES:>{KEPT}}  {'':>4}  {memory.column}", style="dim"), soft_wrap=True)
    for row in memory.rows:
        margin = "" if row.heading else "  "
        line = Text(f"{row.bytes:>{KEPT}}  {row.share:>4}  {margin}")
        line.append(clean(row.text), "bold" if row.heading else "")
        folded(console, line, "", " " * (KEPT + 8) + margin)
        for text in row.further:
            folded(console, Text(clean(text)), " " * (KEPT + 10), " " * (KEPT + 12))


def _print_run(console: Console, run: RunView, locate: Locate, width: int) -> None:
    """Print what backward did: a row for each node, and its formulas on further lines if there are few rows."""
    console.print()
    for fact in run.facts:
        folded(console, Text(clean(fact), style="dim"), "", "  ")
    if not run.rows:
        return
    heads = (says.ORDER, says.THREAD if run.has_threads else "", says.TIME, says.NODE)
    cells = [(row.number, row.thread if run.has_threads else "", row.took, clean(row.name)) for row in run.rows]
    sizes = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    sizes[-1] = min(sizes[-1], int(width * NAME))
    console.print(Text(f"{_run_row(heads, sizes)}{_GAP}{says.GRADIENTS}", style="dim"), soft_wrap=True)
    for row, shown in zip(run.rows, cells, strict=True):
        line = Text(_run_row(shown, sizes))
        margin = line.cell_len - max(sizes[-1], cell_len(shown[-1])) + 2
        place = _place_text(row.place, locate)
        room = width - line.cell_len - len(_GAP) - (place.cell_len + len(_GAP) if place else 0)
        is_beside = cell_len(row.gradients) <= room
        if is_beside:
            line.append(f"{_GAP}{clean(row.gradients)}")
        if place:
            line.append(" " * max(width - place.cell_len - line.cell_len, len(_GAP))).append_text(place)
        console.print(line, soft_wrap=True)
        further = [] if is_beside else [Text(clean(row.gradients))]
        further += [Text(clean(formula), style="dim") for formula in row.formulas]
        for text in further:
            for part in text.wrap(console, max(width - margin, 20)):
                console.print(Text.assemble(" " * margin, part), soft_wrap=True)


def _run_row(cells: Sequence[str], sizes: Sequence[int]) -> str:
    """Returns the cells of a row: numbers to the right, the name to the left."""
    numbers = [f"{cell:>{size}}" for cell, size in zip(cells[:-1], sizes[:-1], strict=True) if size]
    return _GAP.join([*numbers, f"{cells[-1]:<{sizes[-1]}}"])


def _place_text(place: SourceRef | None, locate: Locate) -> Text:
    """Returns a place with its mark, as a link where it is on this machine."""
    if place is None:
        return Text("")
    mark = mark_of(place)
    text = f"{place_text(place, 0)}{f' {mark}' if mark else ''}"
    return Text(clean(text), style=linked(locate(place)) or ("yellow" if mark else "green"))


def print_printed(console: Console, text: str) -> None:
    """Print the output of the code on the given console (stderr)."""
    console.print(Text(says.PRINTED, style="dim"))
    for line in text.splitlines():
        console.print(Text(f"  {clean(line)}"))


class _Rows:
    """The rows in columns: bytes, node, code, saved tensors, place."""

    def __init__(self, console: Console, view: GraphView, locate: Locate, width: int) -> None:
        self.console, self.locate, self.width, self.rows = console, locate, width, view.rows
        self.kept = KEPT if any(row.kept for row in view.rows) else 0
        longest = max(cell_len(row.lead + row.name) for row in view.rows)
        self.name = min(longest, int(width * NAME))
        made = max(cell_len(row.made) for row in view.rows)
        self.made = min(made, int(width * MADE))
        self.what = self.kept + self.name + len(_GAP) + (self.made + len(_GAP) if self.made else 0) + 2

    def draw(self) -> None:
        """Draw the headings and each row, on one line or with what it keeps on a second one."""
        kept = f"{says.KEPT:>{self.kept}}" if self.kept else ""
        heading = f"{kept}  {says.NODE:<{self.name}}{_GAP}"
        heading += f"{says.MADE:<{self.made}}{_GAP}" if self.made else ""
        where = says.WHERE
        room = self.width - len(heading) - len(where)
        self._print(Text(heading + (f"{says.KEEPS:<{room}}" if room > len(says.KEEPS) else "") + where, style="dim"))
        for row in self.rows:
            self._row(row)

    def _row(self, row: GraphRow) -> None:
        out = Text(f"{row.kept:>{self.kept}}  " if self.kept else "  ")
        out.append(row.lead, "dim").append(clean(row.name), "bold" if row.heading else "")
        if row.made:
            self._pad(out, self.kept + 2 + self.name)
            out.append(f"{_GAP}{clean(row.made)}", "cyan")
        place = _place_text(row.place, self.locate)
        room = self.width - max(out.cell_len, self.what - len(_GAP)) - len(_GAP) - (place.cell_len + 2 if place else 0)
        is_beside = bool(row.keeps) and cell_len(row.keeps) <= room
        if is_beside:
            self._pad(out, self.what - len(_GAP))
            out.append(f"{_GAP}{clean(row.keeps)}")
        if place:
            self._pad(out, self.width - place.cell_len - len(_GAP))
            out.append(_GAP).append_text(place)
        self._print(out)
        if row.keeps and not is_beside:
            margin = f"{' ' * (self.kept + 2)}{row.hanging}    "
            for line in Text(clean(row.keeps)).wrap(self.console, max(self.width - cell_len(margin), 20)):
                self._print(Text.assemble((margin, "dim"), line))

    def _pad(self, out: Text, column: int) -> None:
        out.append(" " * max(column - out.cell_len, 0))

    def _print(self, text: Text) -> None:
        text.rstrip()
        self.console.print(text, soft_wrap=True)
