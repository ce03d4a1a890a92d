"""Formats a row of a trace for a page: its title with its cost, and the lines below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ptexplore.model.trace import Session, Trace, walk
from ptexplore.render.html.places import Shown, places
from ptexplore.render.html.source_markup import escaped
from ptexplore.view.site.site import Site, between
from ptexplore.view.trace.page import percent
from ptexplore.view.trace.screen import stepped

if TYPE_CHECKING:
    from ptexplore.view.line import Line
    from ptexplore.view.trace.page import TraceRowFacts, TraceView

_BAR = 48  # pixels


class RowParts(NamedTuple):
    """The data for making rows: a function for places, the operators' cards by hop, the trace's instructions."""

    show: Shown
    cards: dict[int, str]
    whole: int


def row_parts(site: Site, trace: Trace, session: Session | None, shown: TraceView, url: str) -> RowParts:
    """Returns the data that the rows of a view are made with, on the page `url`."""
    cards = {
        hop.id: escaped(between(url, site.operators[hop.op]))
        for hop in walk(trace.hops)
        if hop.kind == "op" and hop.op and hop.op in site.operators
    }
    whole = stepped(trace, session) if shown.counted else 0
    return RowParts(places(site, url, {info.name: info for info in trace.trees}), cards, whole)


def bar(share: float, own: float | None = None) -> str:
    """Returns a bar that shows a share of the whole; the darker part is what the function does itself, if known."""
    all_of_it = f'<svg width="{_BAR}" height="8" aria-hidden="true"><rect width="{_BAR}" height="8"/>'
    kind = "of" if own is None else "in"
    itself = f'<rect class="of" width="{min(1, own) * _BAR:.1f}" height="8"/>' if own is not None else ""
    return f'{all_of_it}<rect class="{kind}" width="{min(1, share) * _BAR:.1f}" height="8"/>{itself}</svg>'


def lines_of(row: TraceRowFacts, parts: RowParts) -> str:
    """Returns the lines below a row's title."""
    lines = "".join(line_of(line, parts.show) for line in row.lines)
    if row.hop not in parts.cards:
        return lines
    # The link is below the title, because the title opens and closes the row: a click there must do one thing only.
    return f'<div class=place><a href="{parts.cards[row.hop]}">the operator\'s card</a></div>{lines}'


def heading_of(row: TraceRowFacts, whole: int) -> str:
    """Returns a row's title with everything in its heading. `whole` is the trace's number of instructions, or 0."""
    parts = [_cost(row, whole)] if whole else []
    for span in row.heading(counted=bool(whole)):
        text = escaped(span.text.strip())
        if span.style == "title" or (span.text == row.title and not span.style):
            parts.append(f"<code>{text}</code>")
        elif span.style in ("inside", "below"):
            frames = f" frame{'' if text == '+1' else 's'} inside" if span.style == "inside" else ""
            parts.append(f"<span class=w>{text}{frames}</span>")
        elif span.style not in ("hop", "count"):
            parts.append(f"<span class={span.style}>{text}</span>")
    return " ".join(parts)


def _cost(row: TraceRowFacts, whole: int) -> str:
    """Returns a bar and a number for the instructions of a row, with everything below it, as a share of the trace."""
    if row.instructions is None:
        return "<span class=cost></span>"
    share = row.instructions / whole
    return f"<span class=cost>{bar(share)}<span>{percent(share)}</span><span>{row.instructions:,}</span></span>"


def line_of(line: Line, show: Shown) -> str:
    """Returns one line below a title: a place, or a text."""
    after = f" <span class=note>{escaped(line.after)}</span>" if line.after else ""
    if line.ref is None:
        return f"<div class={line.style}>{escaped(line.text)}{after}</div>"
    also = f" · {show(line.also.ref, line.also.text)}" if line.also is not None and line.also.ref is not None else ""
    return f"<div class=place>{show(line.ref, line.text)}{also}{after}</div>"
