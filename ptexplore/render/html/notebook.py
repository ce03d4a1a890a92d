"""Pieces of HTML for notebooks: self-contained, folded by <details>, without scripts, style sheets and classes.

Viewers of notebooks drop scripts and style sheets. The pieces have text, <details>, <pre>, and inline styles that do
not choose colours: a page may be light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ptexplore.model.places import SourceRef
from ptexplore.render.html.source_markup import escaped
from ptexplore.view.line import Line
from ptexplore.view.place_marks import mark_of
from ptexplore.view.trace.page import ScreenRow, TraceView, percent

OPEN = 4  # levels of rows that are open at first.
_FOLDERS = 2  # parts of a path that are shown, with the file's name.
_NESTED = 40  # levels: browsers nest at most 512 elements.
_ALL = "font-size: 0.92em; line-height: 1.45"
_QUIET = "opacity: 0.7"
_CODE = "font-family: monospace"
_INSIDE = "margin-left: 1.4em"
_LEAF = "margin-left: 1.1em"  # the room of the triangle that rows with rows inside have.
_WIDE = "overflow-x: auto; line-height: 1.25; margin: 0.3em 0"


@dataclass(frozen=True, slots=True)
class FoldedPart:
    """A part that opens and closes: a heading, and HTML inside it."""

    heading: str
    inside: str
    is_open: bool = False


def folded(title: str, facts: Iterable[str], parts: Iterable[FoldedPart]) -> str:
    """Returns a title, facts below it, and parts that open and close."""
    return f'<div style="{_ALL}">{_head(title, facts)}{"".join(map(_part, parts))}</div>'


def remark(text: str) -> str:
    """Returns a line of text that stands beside a result."""
    return f'<div style="{_ALL}">{_quiet(text)}</div>'


def preformatted(inside: str) -> str:
    """Returns HTML of aligned text. `inside` is HTML already."""
    return f'<pre style="{_WIDE}">{inside}</pre>'


def trace_rows(view: TraceView, parts: Iterable[FoldedPart] = ()) -> str:
    """Returns a view of a trace: title, facts, how it ended, the rows, and further parts."""
    ending = "".join(f"<div>{_line(line)}</div>" for line in view.ending)
    ended = f'<div style="margin: 0.4em 0">{ending}</div>' if ending else ""
    findings = "".join(f"<div>! {escaped(finding)}</div>" for finding in view.findings)
    signs = "".join(
        f'<div style="{_QUIET}"><b>{escaped(sign)}</b> {escaped(means)}</div>' for sign, means in view.legend
    )
    rows = "".join(_rows(view))
    last = f"{findings}{signs}{''.join(map(_part, parts))}"
    return f'<div style="{_ALL}">{_head(view.title, view.facts)}{ended}{rows}{last}</div>'


def _head(title: str, facts: Iterable[str]) -> str:
    return f"<div><b>{escaped(title)}</b></div>{''.join(map(_quiet, facts))}"


def _quiet(text: str) -> str:
    return f'<div style="{_QUIET}">{escaped(text)}</div>'


def _part(part: FoldedPart) -> str:
    return f"<details{' open' * part.is_open}><summary>{escaped(part.heading)}</summary>{part.inside}</details>"


def _rows(view: TraceView) -> Iterator[str]:
    """Yields the rows. A row opens and closes the rows below it that are deeper."""
    opened: list[int] = []
    for row, after in zip_longest(view.table, view.table[1:]):
        level = after.level if after is not None else -1
        if level > row.level and len(opened) < _NESTED:
            yield f"<details{' open' * (row.level < OPEN)}><summary>{_row(row, view.columns)}</summary>"
            yield f'<div style="{_INSIDE}">'
            opened.append(row.level)
        else:
            yield f'<div style="{_LEAF}">{_row(row, view.columns)}</div>'
        while opened and level <= opened[-1]:
            yield "</div></details>"
            opened.pop()


def _row(row: ScreenRow, columns: Sequence[str]) -> str:
    """Returns a row on one line: name, share, cells with their column's name, details, and place."""
    times = f" ×{row.times}" if row.times > 1 else ""
    name = f'<span style="{_CODE}">{escaped(row.name)}</span>{times}'
    measured = [percent(row.share)] if row.share is not None else []
    measured += [f"{column} {cell}" for cell, column in zip(row.cells, columns, strict=False) if cell]
    status = "" if row.status == "observed" or row.known is not None else row.status
    texts = [", ".join(measured), row.what, status]
    after = "".join(f" &nbsp;{escaped(text)}" for text in texts if text)
    place = f" &nbsp;{_place(row.place)}" if row.place is not None else ""
    return f"{f'<b>{name}</b>' if row.heading else name}{after}{place}"


def _place(ref: SourceRef) -> str:
    """Returns a place: the file's name with its folder, and the whole path on hover."""
    if ref.path is None:
        return "?"
    parts = ref.path.split("/")
    short = "/".join(("…", *parts[-_FOLDERS:])) if len(parts) > _FOLDERS + 1 else ref.path
    line = f":{ref.line}" if ref.line else ""
    whole, mark = escaped(f"{ref.path}{line}  {ref.precision}"), mark_of(ref)
    shown = escaped(f"{short}{line}{f' {mark}' if mark else ''}")
    return f'<span title="{whole}" style="{_CODE}; {_QUIET}">{shown}</span>'


def _line(line: Line) -> str:
    """Returns a line about an error, with its label in bold."""
    spans = (f"<b>{escaped(span.text)}</b>" if span.style == "label" else escaped(span.text) for span in line.spans)
    return "&nbsp;" * (2 * line.indent) + "".join(spans)
