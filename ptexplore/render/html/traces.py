"""Writes the pages of saved traces: each is a tree that opens and closes, every frame with its places."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from markupsafe import Markup

from ptexplore.model.nesting import Unrolling, unrolled
from ptexplore.model.trace import Session, Status, Trace, walk
from ptexplore.render.html.pages import render
from ptexplore.render.html.places import Shown, places
from ptexplore.render.html.recordings import NONE, Listed
from ptexplore.render.html.source_markup import breaking, escaped
from ptexplore.render.html.trace_rows import bar, heading_of, line_of, lines_of, row_parts
from ptexplore.render.html.trace_steps import StepPages, write_steps
from ptexplore.view.site.recorded import labelled, meanings_on_page, on_page
from ptexplore.view.site.site import Site, between
from ptexplore.view.trace.around import title_of
from ptexplore.view.trace.legend import whole_legend
from ptexplore.view.trace.page import Options, ScreenRow, TraceRow, TraceView, percent
from ptexplore.view.trace.rows import stops_to_read
from ptexplore.view.trace.views import available, view
from ptexplore.view.words.legend import STATUS_MEANS

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output
    from ptexplore.render.html.trace_rows import RowParts
    from ptexplore.view.line import Line

_OPEN = 3  # levels that are open at first
_OPEN_IN_PROGRAM = 0  # of a program, which has many calls of its own
# Levels of nesting. A level is three elements. Browsers nest at most 512 elements and put deeper ones beside these.
# Each level is also indented by some pixels; site.css makes these few below the twelfth.
_NESTED = 40
_LEVELS = 30  # levels that are indented in the first view
_ONE_LINE = 41  # characters of a place beside a row
_Further = Callable[[TraceRow, int], str]


def tree(site: Site, trace: Trace, session: Session | None, shown: TraceView, url: str, steps: StepPages) -> Markup:
    """Returns the nested rows of a trace, on the page `url`. If instructions were counted, each has a bar for its cost.

    If rows inside a row are not shown here, a link leads to the pages with all `steps`.
    """

    def further(row: TraceRow, inside: int) -> str:
        if not (inside or row.inside or row.hidden):
            return ""
        what = f"{inside:,} row{'s' if inside > 1 else ''} inside" if inside else "the rows inside"
        where = escaped(between(url, steps.url_of(row.hop)))
        return f'<div class=place><a href="{where}">{what}, among all steps</a></div>'

    out: list[str] = []
    is_open = _OPEN_IN_PROGRAM if trace.traced.in_files else _OPEN
    unrolled(_rows(out, shown.rows, row_parts(site, trace, session, shown, url), further, 0, is_open))
    return Markup("".join(out))


def first_rows(site: Site, trace: Trace, shown: TraceView, url: str) -> Markup:
    """Returns the rows of a view that fits a screen, on the page `url`. Empty if the view is a tree.

    Nested rows without columns of their own open and close; all other rows are a table.
    """
    if not shown.table:
        return Markup("")
    show = places(site, url, {info.name: info for info in trace.trees})
    if not shown.columns and any(row.level for row in shown.table):
        return _folding(shown, show)
    return _table(shown, show)


def _folding(shown: TraceView, show: Shown) -> Markup:
    """Returns nested rows: share, name, details and place."""
    counted = any(row.share is not None for row in shown.table)
    head = f"<span class=name>{escaped(shown.name)}</span><span class=what>{escaped(shown.told)}</span>"
    head = f"{'<span class=share>instructions</span>' * counted}{head}<span class=at>where</span>"
    out = [f"<div class=calls-of><div class=head aria-hidden=true>{head}</div>\n<ul class=trace>"]
    opened: list[int] = []  # the levels of the rows whose parts are open
    for row, after in zip_longest(shown.table, shown.table[1:]):
        level = after.level if after is not None else -1
        times = f" <span class=times>×{row.times}</span>" if row.times > 1 else ""
        code = f"<code>{breaking(row.name)}</code>{times}"
        code = f"<strong>{code}</strong>" if row.heading else code
        name = f"<span class=name data-level={min(row.level, _LEVELS)}>{code}</span>"
        share = f"<span class=share>{_share(row)}</span>" if counted else ""
        title = f"{share}{name} <span class=what>{_what(row)}</span>"
        place = show(row.place, short=True) if row.place is not None else ""
        # A place that needs two lines: it is beside its row, so the row does not grow with it by itself.
        item = "<li class=two>" if len(Markup(place).striptags()) > _ONE_LINE else "<li>"
        place = f"<div class=at>{place}</div>" if place else ""
        # The place is beside the part that opens and closes, because a click there must do one thing only.
        if level > row.level and len(opened) < _NESTED:
            out.append(f"{item}{place}<details open><summary>{title}</summary><ul>\n")
            opened.append(row.level)
        else:
            out.append(f"{item}{place}<div class=leaf>{title}</div></li>\n")
        while opened and level <= opened[-1]:
            out.append("</ul></details></li>\n")
            opened.pop()
    out.append("</ul></div>\n")
    if any(row.own is not None for row in shown.table):
        key = "".join(
            f'<svg width="12" height="8" aria-hidden="true"><rect class="{kind}" width="12" height="8"/></svg> {means} '
            for kind, means in (("of", "what the function does itself"), ("in", "what it calls"))
        )
        out.append(f'<p class="facts cost-key">instructions, as a part of all stepped instructions: {key}</p>')
    return Markup("".join(out))


def _what(row: ScreenRow) -> str:
    """Returns the details of a row. A row that was not seen to run has its status too, explained on hover."""
    return f"{escaped(row.what)}{'' if row.status == 'observed' or row.known is not None else _status(row.status)}"


def _status(status: Status) -> str:
    return f' <span class="w {status}" title="{escaped(STATUS_MEANS[status])}">{status}</span>'


def _table(shown: TraceView, show: Shown) -> Markup:
    """Returns rows with columns. Columns without a cell are left out."""
    rows = shown.table
    has_shares = any(row.share is not None for row in rows)
    cells_of = [(*row.cells, *[""] * len(shown.columns)) for row in rows]
    used = [number for number in range(len(shown.columns)) if any(cells[number] for cells in cells_of)]
    numbers = [shown.columns[number] for number in used]
    has_what = any(map(_what, rows))
    out = [
        "<div class=wide tabindex=0><table class='steps compiled lines program'><thead><tr>",
        "<th scope=col>share</th>" if has_shares else "",
        f"<th scope=col>{escaped(shown.name)}</th>",
        *(f"<th scope=col class=number>{escaped(heading)}</th>" for heading in numbers),
        f"<th scope=col>{escaped(shown.told)}</th>" if has_what else "",
        "<th scope=col>where</th></tr></thead><tbody>\n",
    ]
    for row, known in zip(rows, cells_of, strict=True):
        times = f" <span class=times>×{row.times}</span>" if row.times > 1 else ""
        name = f"{'&nbsp;' * (2 * row.level)}<code>{escaped(row.name)}</code>{times}"
        cells = [f"<td>{_share(row)}</td>"] if has_shares else []
        cells.append(f"<th scope=row>{f'<strong>{name}</strong>' if row.heading else name}</th>")
        for number, heading in zip(used, numbers, strict=True):
            label = f' data-column="{escaped(heading)}"' if known[number] else ""
            cells.append(f"<td class=number{label}>{escaped(known[number])}</td>")
        cells += [f"<td>{_what(row)}</td>"] if has_what else []
        cells.append(f"<td class=at>{show(row.place, short=True) if row.place is not None else ''}</td>")
        out.append(f"<tr>{''.join(cells)}</tr>\n")
    out.append("</tbody></table></div>")
    return Markup("".join(out))


def _share(row: ScreenRow) -> str:
    if row.share is None:
        return ""
    itself = f", {percent(row.own)} itself" if row.own is not None else ""
    title = f"{percent(row.share)} with all that it calls{itself}"
    return f'<span class=cost title="{title}">{bar(row.share, row.own)}<span>{percent(row.share)}</span></span>'


def _ending(lines: Sequence[Line], show: Shown) -> Markup:
    """Returns how the code ended: a headline, then lines with their labels beside them."""
    out = []
    for line in lines:
        if line.style == "warning":
            out.append(line_of(line, show))
            continue
        label, unlabelled = labelled(line)
        kind = "said" if label or line.ref is not None else "said drawing"
        out.append(f'<div class="{kind}"><span class=l>{escaped(label)}</span>{line_of(unlabelled, show)}</div>')
    return Markup("".join(out))


def _rows(
    out: list[str], rows: Sequence[TraceRow], parts: RowParts, further: _Further, depth: int, is_open: int
) -> Unrolling[None]:
    out.append("<ul class=trace>\n" if not depth else "<ul>\n")
    for row in rows:
        out.append(f'<li data-hop={row.hop} data-kind="{escaped(row.kind)}" data-status={row.status}>')
        title, lines = heading_of(row, parts.whole), lines_of(row, parts)
        if row.children and depth < _NESTED:
            out.append(f"<details{' open' if depth < is_open else ''}><summary>{title}</summary>{lines}\n")
            yield _rows(out, row.children, parts, further, depth + 1, is_open)
            out.append("</details>")
        else:
            inside = sum(row.times for row in walk(row.children))
            out.append(f"<div class=leaf>{title}</div>{lines}{further(row, inside)}")
        out.append("</li>\n")
    out.append("</ul>\n")


@dataclass(frozen=True, slots=True)
class LiveTrace:
    """A trace on the home page: its title, facts and rows, its own page, and the number of other traces."""

    title: str
    facts: Sequence[str]
    rows: Markup
    url: str
    others: int


@dataclass
class Traces:
    """The writer of the traces of one site. Each comes with the name of its page."""

    site: Site
    out: Output
    given: Sequence[tuple[str, Trace, Session | None]]
    titles: Mapping[str, str]  # "tour#stop" -> title

    def observed(self) -> dict[str, list[tuple[str, str, int]]]:
        """Returns the traces that ran each operator: expression, page, number of calls."""
        traces: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for name, trace, _session in self.given:
            hops = (hop for hop in walk(trace.hops) if hop.kind == "op" and hop.status == "observed")
            for op, times in sorted(Counter(hop.op for hop in hops if hop.op).items()):
                traces[op].append((title_of(trace), self.url(name), times))
        return traces

    @staticmethod
    def url(name: str) -> str:
        return f"traces/{name}.html"

    def _places(self, trace: Trace, url: str) -> Shown:
        return places(self.site, url, {info.name: info for info in trace.trees})

    def live(self) -> LiveTrace | None:
        """Returns what the home page shows of the first trace; None if there is none, or if its view is a tree."""
        if not self.given:
            return None
        name, trace, session = self.given[0]
        shown = view(trace, Options(), session)
        rows = first_rows(self.site, trace, shown, "index.html")
        return LiveTrace(title_of(trace), shown.facts, rows, self.url(name), len(self.given) - 1) if rows else None

    def _distinct_titles(self) -> list[str]:
        """Returns the titles of the traces in a list: two traces of one program also have the names of their pages."""
        titles = [title_of(trace) for _name, trace, _session in self.given]
        times = Counter(titles)
        return [
            f"{title} ({name})" if times[title] > 1 else title
            for title, (name, _trace, _session) in zip(titles, self.given, strict=True)
        ]

    def write(self, others: Listed = NONE) -> None:
        """Write the page of each trace, and the list of all. `others` are other recordings in the list, by heading."""
        for name, recorded, session in self.given:
            trace = on_page(recorded)
            shown, url = view(trace, Options(view="tree"), session), self.url(name)
            first = view(trace, Options(), session)
            lines = view(trace, Options(view="lines"), session) if "lines" in available(trace) else None
            steps = write_steps(self.site, self.out, name, trace, session, url)
            stops = [stop for stop in stops_to_read(trace) if stop in self.site.stops]
            page = render(
                self.site, "trace.html", url, kind="trace", id=name, title=title_of(trace), view=shown,
                first=first, rows=first_rows(self.site, trace, first, url),
                tree=tree(self.site, trace, session, shown, url, steps), steps=steps,
                lines=lines, columns_mean=meanings_on_page(whole_legend(lines)) if lines is not None else (),
                ending=_ending(shown.ending, self._places(trace, url)),
                left=shown.left_out, meanings=meanings_on_page(whole_legend(first)),
                notes=[(stop, self.titles.get(stop, stop), self.site.stops[stop]) for stop in stops],
            )  # fmt: skip
            self.out.write(url, page)
        if not self.given and not any(others.values()):
            return
        rows = [
            (title, self.url(name), trace.torch.version)
            for title, (name, trace, _session) in zip(self._distinct_titles(), self.given, strict=True)
        ]
        url = "traces/index.html"
        page = render(self.site, "traces.html", url, kind="traces", id="", title="Traces", traces=rows, others=others)
        self.out.write(url, page)
