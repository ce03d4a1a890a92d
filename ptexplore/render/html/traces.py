"""The pages of saved traces: each a tree that opens and closes, every frame with its places."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from ptexplore.model.nesting import Unrolling, unrolled
from ptexplore.model.trace import Session, Trail, walk
from ptexplore.render.html.pages import render
from ptexplore.render.html.places import Shown, places
from ptexplore.render.html.source_markup import escaped
from ptexplore.view.site.site import Site, between
from ptexplore.view.trace.page import Options, ScreenRow, TraceRow, TrailView, percent
from ptexplore.view.trace.rows import stops_to_read
from ptexplore.view.trace.screen import stepped
from ptexplore.view.trace.views import view

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output
    from ptexplore.view.line import Line

_BAR = 48  # pixels
_OPEN = 3  # levels that are open when the page is


def tree(site: Site, trail: Trail, session: Session | None, shown: TrailView, url: str) -> Markup:
    """The nested rows of a trace, on the page `url`; if instructions were counted, with a bar for what each costs."""
    show = places(site, url, {info.name: info for info in trail.trees})
    cards = {
        hop.id: escaped(between(url, site.operators[hop.op]))
        for hop in walk(trail.hops)
        if hop.kind == "op" and hop.op and hop.op in site.operators
    }
    out: list[str] = []
    whole = stepped(trail, session) if shown.counted else 0
    unrolled(_rows(out, shown.rows, _Parts(show, cards, whole), 0))
    return Markup("".join(out))


def table(site: Site, trail: Trail, shown: TrailView, url: str) -> Markup:
    """The rows of a view that fits a screen, as a table on the page `url`; nothing for a tree."""
    if not shown.table:
        return Markup("")
    show = places(site, url, {info.name: info for info in trail.trees})
    has_shares = any(row.share is not None for row in shown.table)
    has_own = any(row.own is not None for row in shown.table)
    headings = [
        *(["share"] if has_shares else []),
        *(["self"] if has_own else []),
        shown.name,
        *shown.columns,
        "",
        "where",
    ]
    out = [
        "<div class=wide><table class=steps tabindex=0><thead><tr>",
        *(f"<th scope=col>{escaped(heading)}</th>" for heading in headings),
        "</tr></thead><tbody>\n",
    ]
    for row in shown.table:
        times = f" <span class=times>×{row.times}</span>" if row.times > 1 else ""
        name = f"{'&nbsp;' * (2 * row.level)}<code>{escaped(row.name)}</code>{times}"
        cells = [f"<td>{_share(row)}</td>"] if has_shares else []
        cells += [f"<td class=own>{percent(row.own)}</td>"] if has_own else []
        cells.append(f"<th scope=row>{f'<strong>{name}</strong>' if row.heading else name}</th>")
        cells += [
            f"<td>{escaped(cell)}</td>" for cell in (*row.cells, *[""] * len(shown.columns))[: len(shown.columns)]
        ]
        cells.append(f"<td class={row.status}>{escaped(row.what)}</td>")
        cells.append(f"<td>{show(row.place) if row.place is not None else ''}</td>")
        out.append(f"<tr>{''.join(cells)}</tr>\n")
    out.append("</tbody></table></div>")
    return Markup("".join(out))


def _share(row: ScreenRow) -> str:
    if row.share is None:
        return ""
    return f"<span class=cost>{_bar(row.share)}<span>{percent(row.share)}</span></span>"


def _bar(share: float) -> str:
    """A bar for a share: of the whole, and of that the part."""
    bar = f'<svg width="{_BAR}" height="8" aria-hidden="true"><rect width="{_BAR}" height="8"/>'
    return bar + f'<rect class="of" width="{min(1, share) * _BAR:.1f}" height="8"/></svg>'


class _Parts(NamedTuple):
    """What rows are made with: places, the cards of operators by hop, the instructions of the whole trace."""

    show: Shown
    cards: dict[int, str]
    whole: int


def _rows(out: list[str], rows: Sequence[TraceRow], parts: _Parts, depth: int) -> Unrolling[None]:
    out.append("<ul class=trace>\n" if not depth else "<ul>\n")
    for row in rows:
        out.append(f"<li data-hop={row.hop} data-kind={row.kind} data-status={row.status}>")
        title, lines = _title(row, parts.whole), "".join(_line(line, parts.show) for line in row.lines)
        if row.hop in parts.cards:  # below the title, which opens and closes: what is pressed there must be one thing
            lines = f'<div class=place><a href="{parts.cards[row.hop]}">the operator\'s card</a></div>{lines}'
        if row.children:
            out.append(f"<details{' open' if depth < _OPEN else ''}><summary>{title}</summary>{lines}\n")
            yield _rows(out, row.children, parts, depth + 1)
            out.append("</details>")
        else:
            out.append(f"<div class=leaf>{title}</div>{lines}")
        out.append("</li>\n")
    out.append("</ul>\n")


def _title(row: TraceRow, whole: int) -> str:
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


def _cost(row: TraceRow, whole: int) -> str:
    """A bar for the share of the trace's instructions that a row has with all that is below it, and their number."""
    if row.instructions is None:
        return "<span class=cost></span>"
    share = row.instructions / whole
    return f"<span class=cost>{_bar(share)}<span>{percent(share)}</span><span>{row.instructions:,}</span></span>"


def _line(line: Line, show: Shown) -> str:
    after = f" <span class=note>{escaped(line.after)}</span>" if line.after else ""
    if line.ref is None:
        return f"<div class={line.style}>{escaped(line.text)}{after}</div>"
    also = f" · {show(line.also.ref, line.also.text)}" if line.also is not None and line.also.ref is not None else ""
    return f"<div class=place>{show(line.ref, line.text)}{also}{after}</div>"


@dataclass
class Traces:
    """Writes the traces of one site; each with the name of its page."""

    site: Site
    out: Output
    given: Sequence[tuple[str, Trail, Session | None]]
    titles: Mapping[str, str]  # "tour#stop" -> how it is called

    def observed(self) -> dict[str, list[tuple[str, str, int]]]:
        """The traces that ran each operator: expression, page, how many times."""
        traces: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for name, trail, _session in self.given:
            hops = (hop for hop in walk(trail.hops) if hop.kind == "op" and hop.status == "observed")
            for op, times in sorted(Counter(hop.op for hop in hops if hop.op).items()):
                traces[op].append((trail.expression, self.url(name), times))
        return traces

    @staticmethod
    def url(name: str) -> str:
        return f"traces/{name}.html"

    def _places(self, trail: Trail, url: str) -> Shown:
        return places(self.site, url, {info.name: info for info in trail.trees})

    def write(self) -> None:
        """The page of each, and the list."""
        for name, trail, session in self.given:
            shown, url = view(trail, Options(view="tree"), session), self.url(name)
            first = view(trail, Options(), session)
            stops = [stop for stop in stops_to_read(trail) if stop in self.site.stops]
            page = render(
                self.site, "trace.html", url, kind="trace", id=name, title=trail.expression, view=shown,
                first=first, table=table(self.site, trail, first, url),
                tree=tree(self.site, trail, session, shown, url),
                ending=Markup("".join(_line(line, self._places(trail, url)) for line in shown.ending)),
                left=shown.left_out,
                notes=[(stop, self.titles.get(stop, stop), self.site.stops[stop]) for stop in stops],
            )  # fmt: skip
            self.out.write(url, page)
        if not self.given:
            return
        rows = [(trail.expression, self.url(name), trail.torch.version) for name, trail, _session in self.given]
        url = "traces/index.html"
        self.out.write(url, render(self.site, "traces.html", url, kind="traces", id="", title="Traces", traces=rows))
