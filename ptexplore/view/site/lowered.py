"""A run of `lower` as a page of the site: its first screen, and each operator beside what it became on each rung."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct, structs

from ptexplore.model.rungs import LowerReport, Rung, RungName, RungOperator
from ptexplore.resolve.lowering import step_between
from ptexplore.view.compile_page import CompilePage, FileLabels, PagePlace
from ptexplore.view.lower_page import labels_of_run, lower_page, short
from ptexplore.view.site.compiled import without_folders

MOST_ROWS = 2_000
NO_LINE = "no line known"


class OperatorsOnPage(Struct, frozen=True):
    """Operators of one kind in a cell: the function that is called, and the name of each call, with its type."""

    called: str
    calls: tuple[str, ...]  # "addmm  float32[2, 4]"


class LinkedRow(Struct, frozen=True):
    """The operators of one line, or one operator and those made of it: a cell for each rung."""

    place: PagePlace | None
    text: str  # your line, or why there is none; "" if it is the line of the row above
    cells: tuple[tuple[OperatorsOnPage, ...], ...]


class LinkedRungs(Struct, frozen=True):
    """Rungs side by side. `left` counts the rows that are not shown."""

    rungs: tuple[RungName, ...]
    rows: tuple[LinkedRow, ...]
    left: int = 0


class LoweredOnPage(Struct, frozen=True):
    """The content of the page of a run. Folders of the machine that made the run are not in it."""

    page: CompilePage
    linked: LinkedRungs | None  # by torch's own links
    by_line: LinkedRungs | None  # rungs without links


def lowered_on_page(report: LowerReport) -> LoweredOnPage:
    """Returns the page of a run."""
    names = labels_of_run(report)
    made = [rung for rung in report.rungs if rung.failure is None]
    targets = {rung.links_to for rung in made if rung.links_to is not None}
    linked = [rung for rung in made if rung.links_to is not None or rung.name in targets]
    others = [rung for rung in made if rung not in linked]
    page = lower_page(report, on_site=True)
    sections = tuple(without_folders(section, report.run.cwd) for section in page.sections)
    return LoweredOnPage(replace(page, sections=sections), _linked(linked, names), _by_line(others, names))


def _linked(rungs: Sequence[Rung], names: FileLabels) -> LinkedRungs | None:
    """Returns the operators of the highest rung, each with those made of it. Operators made of none have own rows."""
    if len(rungs) < 2:
        return None
    first, *lower = rungs
    into: list[dict[str, tuple[str, ...]]] = []
    added: list[list[RungOperator]] = []
    kept: list[Rung] = [first]
    for rung in lower:
        step = step_between(rungs, first.name, rung.name)
        if step is None:
            continue
        kept.append(rung)
        into.append({way.name: way.into for way in step.operators})
        of_none = set(step.added)
        added.append([operator for operator in rung.operators if operator.name in of_none])
    rows: list[LinkedRow] = []
    by_name = [{operator.name: operator for operator in rung.operators} for rung in kept[1:]]
    for operator in first.operators:
        cells = [
            [known[name] for name in made.get(operator.name, ()) if name in known]
            for made, known in zip(into, by_name, strict=True)
        ]
        rows.append(_row(operator, [[operator], *cells], names))
    for number, operators in enumerate(added, 1):
        rows += [_row(each, [[each] if at == number else [] for at in range(len(kept))], names) for each in operators]
    return _side_by_side(kept, rows)


def _by_line(rungs: Sequence[Rung], names: FileLabels) -> LinkedRungs | None:
    """Returns the operators of rungs without links, by your lines, in the order in which a rung first names a line."""
    if not rungs:
        return None
    groups: dict[tuple[str, int], list[list[RungOperator]]] = {}
    for number, rung in enumerate(rungs):
        for operator in rung.operators:
            key = (operator.at.file, operator.at.line) if operator.at is not None else ("", 0)
            groups.setdefault(key, [[] for _ in rungs])[number].append(operator)
    rows = [_row(next(each for held in operators for each in held), operators, names) for operators in groups.values()]
    return _side_by_side(rungs, rows)


def _side_by_side(rungs: Sequence[Rung], rows: Sequence[LinkedRow]) -> LinkedRungs:
    """Returns the rows; a line that the row above has, too, is not repeated."""
    shown = [
        structs.replace(row, place=None, text="") if before is not None and row.place == before.place else row
        for before, row in zip((None, *rows), rows[:MOST_ROWS], strict=False)
    ]
    return LinkedRungs(tuple(rung.name for rung in rungs), tuple(shown), max(0, len(rows) - MOST_ROWS))


def _row(operator: RungOperator, cells: Sequence[Sequence[RungOperator]], names: FileLabels) -> LinkedRow:
    at = operator.at
    text = at.text if at is not None else NO_LINE
    return LinkedRow(names.place(at) if at is not None else None, text, tuple(map(_cell, cells)))


def _cell(operators: Sequence[RungOperator]) -> tuple[OperatorsOnPage, ...]:
    calls: dict[str, list[str]] = {}
    for each in operators:
        calls.setdefault(short(each.operator), []).append("  ".join(filter(None, (each.name, each.type))))
    return tuple(OperatorsOnPage(called, tuple(held)) for called, held in calls.items())
