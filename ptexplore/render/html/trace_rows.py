"""A row of a trace on a page: its title with what it cost, and the lines below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ptexplore.model.trace import Session, Trail, walk
from ptexplore.render.html.places import Shown, places
from ptexplore.render.html.source_markup import escaped
from ptexplore.view.site.site import Site, between
from ptexplore.view.trace.page import percent
from ptexplore.view.trace.screen import stepped

if TYPE_CHECKING:
    from ptexplore.view.line import Line
    from ptexplore.view.trace.page import TraceRowFacts, TrailView

_BAR = 48  # pixels


class RowParts(NamedTuple):
    """What rows are made with: places, the cards of operators by hop, the instructions of the whole trace."""

    show: Shown
    cards: dict[int, str]
    whole: int


def row_parts(site: Site, trail: Trail, session: Session | None, shown: TrailView, url: str) -> RowParts:
    """What the rows of a view are made with, on the page `url`."""
    cards = {
        hop.id: escaped(between(url, site.operators[hop.op]))
        for hop in walk(trail.hops)
        if hop.kind == "op" and hop.op and hop.op in site.operators
    }
    whole = stepped(trail, session) if shown.counted else 0
    return RowParts(places(site, url, {info.name: info for info in trail.trees}), cards, whole)


def bar(share: float) -> str:
    """A bar for a share: of the whole, and of that the part."""
    all_of_it = f'<svg width="{_BAR}" height="8" aria-hidden="true"><rect width="{_BAR}" height="8"/>'
    return all_of_it + f'<rect class="of" width="{min(1, share) * _BAR:.1f}" height="8"/></svg>'


def lines_of(row: TraceRowFacts, parts: RowParts) -> str:
    """What stands below a row's title."""
    lines = "".join(line_of(line, parts.show) for line in row.lines)
    if row.hop not in parts.cards:
        return lines
    # Below the title, which opens and closes: what is pressed there must be one thing.
    return f'<div class=place><a href="{parts.cards[row.hop]}">the operator\'s card</a></div>{lines}'


def title_of(row: TraceRowFacts, whole: int) -> str:
    """A row's title with all that its heading says; `whole` counts the instructions of the trace, 0 for none."""
    parts = [_cost(row, whole)] if whole else []
    for span in row.heading(counted=bool(whole)):
        text = escaped(span.text.strip())
        if span.style == "title" or (span.text == row.title and not span.style):
            parts.append(f"<code>{text}</code>")
        elif span.style in ("inside", "below"):
            parts.append(f"<span class=w>{text}{' frames inside' if span.style == 'inside' else ''}</span>")
        elif span.style not in ("hop", "count"):
            parts.append(f"<span class={span.style}>{text}</span>")
    return " ".join(parts)


def _cost(row: TraceRowFacts, whole: int) -> str:
    """A bar for the share of the trace's instructions that a row has with all that is below it, and their number."""
    if row.instructions is None:
        return "<span class=cost></span>"
    share = row.instructions / whole
    return f"<span class=cost>{bar(share)}<span>{percent(share)}</span><span>{row.instructions:,}</span></span>"


def line_of(line: Line, show: Shown) -> str:
    """One line below a title: a place, or a text."""
    after = f" <span class=note>{escaped(line.after)}</span>" if line.after else ""
    if line.ref is None:
        return f"<div class={line.style}>{escaped(line.text)}{after}</div>"
    also = f" · {show(line.also.ref, line.also.text)}" if line.also is not None and line.also.ref is not None else ""
    return f"<div class=place>{show(line.ref, line.text)}{also}{after}</div>"
