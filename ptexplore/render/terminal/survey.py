"""Prints the report of a survey in a terminal, or as Markdown for a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ptexplore.capture.survey import WAYS
from ptexplore.render.terminal.console import folded, styled
from ptexplore.safe_text import clean
from ptexplore.view.survey import PLACED, Report, Share, SurveyRow, outcome_inside

COLUMNS = ("operator", "traced", "keys seen", "leaf kernel", "frames", "predicted", "result", *WAYS)
NAMED = 40  # exceptions of one kind that a terminal shows


def print_survey(console: Console, report: Report) -> None:
    """Print the shares, and the exceptions by name."""
    console.print(styled((report.title, "bold")))
    for name, value in report.about.items():
        folded(console, styled((f"{name}: {value}", "dim")), "  ", "    ")
    table = Table(box=None, show_header=False, pad_edge=False)
    for share in report.shares:
        table.add_row(styled((f"  {share.name}", "")), f"{share.count} of {share.total}", share.percent, _asked(share))
    console.print(table)
    for group in report.exceptions:
        console.print(Text(f"\n{clean(group.title)}: {len(group.entries)}", style="bold"))
        for name, why in group.entries[:NAMED]:
            folded(console, styled((name, "cyan"), (f"  {why}" if why else "", "")), "  ", "    ")
        if len(group.entries) > NAMED:
            console.print(Text(f"  {len(group.entries) - NAMED} more: --markdown lists all", style="dim"))
    if report.missing:
        missing = f"\n{len(report.missing)} operators are not surveyed yet: ptexplore survey continues"
        console.print(Text(missing, style="yellow"))


def _asked(share: Share) -> Text:
    if share.asked is None:
        return Text("")
    met = share.total > 0 and share.count >= share.asked * share.total
    return Text(f"{'met' if met else 'missed'}: the goal is {share.asked:.0%}", style="green" if met else "red")


def markdown(report: Report) -> Iterator[str]:
    """Yields the whole report with every operator, line by line."""
    yield f"### {_cell(report.title)}"
    yield ""
    for name, value in report.about.items():
        yield f"- {_cell(name)}: {_cell(value)}"
    yield ""
    shares = ((_cell(share.name), str(share.count), str(share.total), share.percent) for share in report.shares)
    yield from _table(("what", "count", "of", "share"), shares)
    for group in report.exceptions:
        yield f"#### {_cell(group.title)} ({len(group.entries)})"
        yield ""
        yield from _table(("name", "why"), ((_code(name), _cell(why)) for name, why in group.entries))
    yield "#### Every operator"
    yield ""
    yield from _table(COLUMNS, map(_cells, report.rows))
    if report.missing:
        yield f"Not surveyed: {_cell(', '.join(report.missing))}"


def _cells(row: SurveyRow) -> tuple[str, ...]:
    placed = sum(count for name, count in row.frames.items() if name in PLACED)
    frames = f"{placed} of {sum(row.frames.values())}" if row.frames else ""
    keys = _cell(", ".join(row.keys))
    inside = (outcome_inside(row, way) for way in WAYS)
    return _code(row.op), row.state, keys, _code(row.leaf), frames, row.prediction, row.result, *map(_cell, inside)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _cell(text: str) -> str:
    """Escape prose for a cell, so that no character of it is markup or ends the cell."""
    return clean(re.sub(r"[\\|<>*_`\[]", r"\\\g<0>", text))


def _code(text: str) -> str:
    """Format a name as code: C++ names are full of characters that Markdown would read."""
    return f"`{clean(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text else ""
