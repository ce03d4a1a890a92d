"""A saved trace as a tree that opens and closes, each frame with its places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptexplore.render.html.places import Shown, places
from ptexplore.render.html.words import escaped

if TYPE_CHECKING:
    from markupsafe import Markup

    from ptexplore.model.trace import Trail
    from ptexplore.view.line import Line
    from ptexplore.view.site.site import Site
    from ptexplore.view.trace.rows import TraceRow

_OPEN = 3  # levels that are open when the page is


def tree(site: Site, trail: Trail, rows: Sequence[TraceRow], here: str) -> Markup:
    """The nested rows of a trace."""
    from markupsafe import Markup

    show = places(site, here, {one.name: one for one in trail.trees})
    ops = {hop: escaped(url) for hop, url in _operators(site, trail, here).items()}
    out: list[str] = []
    _rows(out, rows, show, ops, 0)
    return Markup("".join(out))


def _operators(site: Site, trail: Trail, here: str) -> dict[int, str]:
    from ptexplore.model.trace import walk
    from ptexplore.view.site.site import between

    return {
        hop.id: between(here, site.operators[hop.op])
        for hop in walk(trail.hops)
        if hop.kind == "op" and hop.op is not None and hop.op in site.operators
    }


def _rows(out: list[str], rows: Sequence[TraceRow], show: Shown, ops: dict[int, str], depth: int) -> None:
    out.append("<ul class=trace>\n" if not depth else "<ul>\n")
    for row in rows:
        out.append(f"<li data-hop={row.hop} data-kind={row.kind} data-status={row.status}>")
        title, lines = _title(row), "".join(_line(line, show) for line in row.lines)
        if row.hop in ops:  # below the title, which opens and closes: what is pressed there must be one thing
            lines = f'<div class=place><a href="{ops[row.hop]}">the operator\'s card</a></div>{lines}'
        if row.children:
            out.append(f"<details{' open' if depth < _OPEN else ''}><summary>{title}</summary>{lines}\n")
            _rows(out, row.children, show, ops, depth + 1)
            out.append("</details>")
        else:
            out.append(f"<div class=leaf>{title}</div>{lines}")
        out.append("</li>\n")
    out.append("</ul>\n")


def _title(row: TraceRow) -> str:
    parts = []
    for span in row.heading(counted=False):
        text = escaped(span.text.strip())
        if span.style == "title":
            parts.append(f"<code>{text}</code>")
        elif span.style == "count":
            parts.append(f"<span class=count>{text.removesuffix('instr')}instructions</span>")
        elif span.style in ("inside", "below"):
            parts.append(f"<span class=w>{text}{' frames inside' if span.style == 'inside' else ''}</span>")
        elif span.style != "hop":
            parts.append(f"<span class={span.style}>{text}</span>")
    return " ".join(parts)


def _line(line: Line, show: Shown) -> str:
    if line.ref is None:
        return f"<div class={line.style}>{escaped(line.text)}</div>"
    also = f" · {show(line.also.ref, line.also.text)}" if line.also is not None and line.also.ref is not None else ""
    return f"<div class=place>{show(line.ref, line.text)}{also}</div>"
