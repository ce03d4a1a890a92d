"""Writes the pages with all steps of a saved trace: flat, in reading order, so that no browser must nest deeply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from ptexplore.model.trace import Session, Trace, walk
from ptexplore.render.html.pages import render
from ptexplore.render.html.source_markup import escaped
from ptexplore.render.html.trace_rows import RowParts, heading_of, lines_of, row_parts
from ptexplore.view.site.site import Site
from ptexplore.view.trace.around import title_of
from ptexplore.view.trace.page import LeveledRow, Options, leveled
from ptexplore.view.trace.views import view

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output

ROWS = 2000  # rows of one page
INDENTED = 30  # levels that are indented; a deeper row shows the number of its level
_AROUND = 8  # rows around the first row of a page that the page names


@dataclass(frozen=True, slots=True)
class StepPages:
    """The pages with all steps of a trace: their URLs, the number of rows, and the place of each hop."""

    urls: Sequence[str]
    count: int
    places: dict[int, str]

    @property
    def first(self) -> str:
        """The first page."""
        return self.urls[0]

    def url_of(self, hop: int) -> str:
        """Returns the place of a hop's row. If a hop has no row of its own, this is the row before it."""
        return self.places.get(hop, self.first)


def write_steps(site: Site, out: Output, name: str, trace: Trace, session: Session | None, back: str) -> StepPages:
    """Write all steps of the trace `name`, whose own page is `back`."""
    shown = view(trace, Options(view="tree", full=True), session)
    rows = leveled(shown).rows
    parted = [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)] or [()]
    # A folder for each trace holds only these pages: no two names can collide.
    urls = [f"steps/{name}/{number}.html" for number in range(1, len(parted) + 1)]
    around: list[LeveledRow] = []  # the rows that the next row may be inside of
    own: dict[int, str] = {}
    for number, (url, some) in enumerate(zip(urls, parted, strict=True)):
        parts = row_parts(site, trace, session, shown, url)
        inside = [row for row in around if some and row.level < some[0].level]
        page = render(
            site, "steps.html", url, kind="trace", id=name, title=f"{title_of(trace)}: all steps", view=shown,
            heading=title_of(trace),
            back=back, urls=urls, number=number, count=len(rows),
            inside=[(row.title, own[row.hop]) for row in inside[-_AROUND:]], outer=len(inside[:-_AROUND]),
            rows=Markup("".join(_row(row, parts) for row in some)),
        )  # fmt: skip
        out.write(url, page)
        for row in some:
            del around[row.level :]
            around.append(row)
            own[row.hop] = f"{url}#h{row.hop}"
    return StepPages(urls, len(rows), _every_place(trace, own, urls[0]))


def _every_place(trace: Trace, own: dict[int, str], first: str) -> dict[int, str]:
    """Returns the place of every hop. Several equal hops share one row, the row of the first."""
    places: dict[int, str] = {}
    last = first
    for hop in walk(trace.hops):
        last = own.get(hop.id, last)
        places[hop.id] = last
    return places


def _row(row: LeveledRow, parts: RowParts) -> str:
    level = f"<span class=w>level {row.level}</span> " if row.level > INDENTED else ""
    title = f"<div class=leaf>{level}{heading_of(row, parts.whole)}</div>"
    indent = min(row.level, INDENTED)
    return f'<li id=h{row.hop} data-level={indent} data-kind="{escaped(row.kind)}">{title}{lines_of(row, parts)}</li>\n'
