"""Prints the list of tours with progress, the contents of one tour, and the path of concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ptexplore.render.terminal.console import folded, print_next, styled

if TYPE_CHECKING:
    from rich.console import Console

    from ptexplore.annotations.progress import ReadingProgress, ReadState
    from ptexplore.annotations.records import Problem, Tour
    from ptexplore.view.notes.tour import ConceptRow, PathView, State, TourRow

_MARKS: dict[State, tuple[str, str]] = {"done": ("[x]", "green"), "begun": ("[~]", "yellow"), "open": ("[ ]", "dim")}
_STOPS: dict[ReadState, tuple[str, str]] = {
    "read": ("[x]", "green"), "visited": ("[.]", "yellow"), "new": ("[ ]", "dim"),
}  # fmt: skip


def print_tours(console: Console, rows: Sequence[TourRow], due: int = 0) -> None:
    """Print every tour: your progress, its title and summary, the tours before it; then the next command.

    The first line names the number of questions that are `due` again.
    """
    if due:
        questions = f"{due} question{'s' if due > 1 else ''} to answer again: "
        folded(console, styled((questions, "bold"), ("ptexplore tour --review", "cyan")), "", "    ")
    for row in rows:
        tour = row.tour
        title = styled(
            (tour.id, "bold cyan"), (f"  {row.in_words}", "green" if row.done == row.total else "yellow"),
            (f"  {tour.title}", ""),
            (f"  {tour.level or tour.kind}{'' if tour.shipped else f', {tour.where.file}'}", "bold dim cyan"),
        )  # fmt: skip
        folded(console, title, "", "    ")
        after = f"after: {', '.join(tour.prerequisites)}" if tour.prerequisites else ""
        for text in filter(None, (tour.summary, after)):
            folded(console, styled((text, "dim")), "    ", "    ")
    chosen = next((row for row in rows if 0 < row.done < row.total), None)
    chosen = chosen or next((row for row in rows if row.done < row.total), rows[0])
    print_next(console, f"ptexplore tour {chosen.tour.id}", "\n")
    console.print(Text("      ptexplore tour --path shows the concepts by stage", style="dim"))


def print_contents(console: Console, tour: Tour, progress: ReadingProgress, current: int) -> None:
    """Print the stops of a tour by number, with marks for read and visited stops, and for the `current` one."""
    width = len(str(len(tour.stops)))
    for number, stop in enumerate(tour.stops, 1):
        mark = _STOPS[progress.state(tour.name_of(stop))]
        title = (f" {number:>{width}}  {stop.title}", "bold" if number == current else "")
        cursor = "> " if number == current else "  "
        folded(console, styled(mark, title, (f"  {stop.id}", "dim")), cursor, " " * (width + 8))
    console.print(Text("[x] done: a lab predicted right or a question answered right, [.] seen", style="dim"))


def print_path(console: Console, view: PathView) -> None:
    """Print every stage with its concepts: whether it is done, the question, the stops, the lab."""
    for title, rows in view.stages:
        done = sum(row.state == "done" for row in rows)
        console.print(Text.assemble((title, "bold"), (f"  {done}/{len(rows)}", "dim")))
        for row in rows:
            _concept(console, row)
        console.print()
    console.print(Text(f"{view.done} of {view.total} concepts: [x] all stops read, [~] begun", style="dim"))
    if view.following is not None:
        print_next(console, f"ptexplore tour {view.following.replace('#', ' ')}")


def _concept(console: Console, row: ConceptRow) -> None:
    concept = row.concept
    title = styled(_MARKS[row.state], (f" {concept.title}", "bold"), (f"  {concept.id}", "dim"))
    folded(console, title, "  ", "      ")
    folded(console, styled((concept.question, "")), "      ", "      ")
    stops = ", ".join(name if state == "new" else f"{name} ({state})" for name, state in row.stops) or "nothing yet"
    folded(console, styled((f"taught by {stops}", "dim")), "      ", "        ")
    if concept.lab:
        ran = " (it passed here)" if row.ran else ""
        folded(console, styled((f"lab {concept.lab}{ran}", "dim")), "      ", "        ")


def print_problems(console: Console, problems: Sequence[Problem]) -> None:
    """Print the problems in reading the notes: they may explain why something is missing in the list."""
    for problem in problems[:3]:
        folded(console, styled((f"{problem.where}: {problem.text}", "yellow")), "", "    ")
    if len(problems) > 3:
        console.print(Text(f"{len(problems) - 3} more: ptexplore notes check", style="dim"))
