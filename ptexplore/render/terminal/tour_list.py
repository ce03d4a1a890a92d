"""Print the list of tours with progress, the contents of one, and the path of concepts."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ptexplore.render.terminal.console import folded
from ptexplore.safe_text import clean

if TYPE_CHECKING:
    from rich.console import Console

    from ptexplore.annotations.records import Problem, Tour
    from ptexplore.view.notes.tour import ConceptRow, PathView, TourRow

_MARK = {"done": "[x]", "begun": "[~]", "open": "[ ]"}
_STYLE = {"done": "green", "begun": "yellow", "open": "dim"}


def print_tours(console: Console, rows: Sequence[TourRow]) -> None:
    """Every tour: how far one is, its title and summary, what comes before it; then what to type."""
    for row in rows:
        tour = row.tour
        title = Text(clean(tour.id), style="bold cyan")
        title.append(
            f"  {row.done}/{row.total}", style="not bold green" if row.done == row.total else "not bold yellow"
        )
        title.append(f"  {clean(tour.title)}", style="default not bold")
        title.append(f"  {tour.level or tour.kind}" + ("" if tour.shipped else f", {tour.where.file}"), style="dim")
        folded(console, title, "", "    ")
        if tour.summary:
            folded(console, Text(clean(tour.summary), style="dim"), "    ", "    ")
        if tour.prerequisites:
            folded(console, Text(f"after: {clean(', '.join(tour.prerequisites))}", style="dim"), "    ", "    ")
    chosen = next((row for row in rows if 0 < row.done < row.total), None)
    chosen = chosen or next((row for row in rows if row.done < row.total), rows[0])
    console.print(Text.assemble(("\nnext: ", "dim"), (f"ptexplore tour {chosen.tour.id}", "cyan")))
    console.print(Text("      ptexplore tour --path shows the concepts by stage", style="dim"))


def contents_lines(console: Console, tour: Tour, done: Container[str], here: int) -> list[str]:
    """The stops of a tour by number, those that were read marked."""
    with console.capture() as captured:
        width = len(str(len(tour.stops)))
        for number, stop in enumerate(tour.stops, 1):
            read = tour.name_of(stop) in done
            line = Text(_MARK["done" if read else "open"], style=_STYLE["done" if read else "open"])
            line.append(
                f" {number:>{width}}  {clean(stop.title)}", style="default" + (" bold" if number == here else "")
            )
            line.append(f"  {stop.id}", style="dim not bold")
            folded(console, line, "> " if number == here else "  ", " " * (width + 8))
    return captured.get().split("\n")[:-1]


def print_path(console: Console, view: PathView) -> None:
    """Every stage with its concepts: done or not, the question, the stops, the lab."""
    for title, rows in view.stages:
        done = sum(row.state == "done" for row in rows)
        console.print(Text.assemble((title, "bold"), (f"  {done}/{len(rows)}", "dim")))
        for row in rows:
            _concept(console, row)
        console.print()
    console.print(Text(f"{view.done} of {view.total} concepts: [x] all of its stops read, [~] begun", style="dim"))
    if view.following is not None:
        command = f"ptexplore tour {view.following.replace('#', ' ')}"
        console.print(Text.assemble(("next: ", "dim"), (clean(command), "cyan")))


def _concept(console: Console, row: ConceptRow) -> None:
    one = row.concept
    line = Text(_MARK[row.state], style=_STYLE[row.state])
    line.append(f" {clean(one.title)}", style="default bold")
    line.append(f"  {one.id}", style="dim not bold")
    folded(console, line, "  ", "      ")
    folded(console, Text(clean(one.question)), "      ", "      ")
    stops = ", ".join(f"{name} (read)" if done else name for name, done in row.stops) or "nothing yet"
    folded(console, Text(f"taught by {clean(stops)}", style="dim"), "      ", "        ")
    if one.lab:
        ran = " (it passed here)" if row.ran else ""
        folded(console, Text(f"lab {clean(one.lab)}{ran}", style="dim"), "      ", "        ")


def print_problems(console: Console, problems: Sequence[Problem]) -> None:
    """What could not be read of the notes: it may be what is missed in the list."""
    for problem in problems[:3]:
        folded(console, Text(f"{clean(str(problem.where))}: {clean(problem.text)}", style="yellow"), "", "    ")
    if len(problems) > 3:
        console.print(Text(f"{len(problems) - 3} more: ptexplore notes check", style="dim"))
