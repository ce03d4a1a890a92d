"""The pages of saved traces, and which operators each of them ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.model.trace import walk
from ptexplore.render.html.pages import render
from ptexplore.render.html.traces import tree
from ptexplore.view.site.site import between
from ptexplore.view.trace.rows import Options, stops_to_read, view

if TYPE_CHECKING:
    from ptexplore.model.trace import Session, Trail
    from ptexplore.render.html.output import Output
    from ptexplore.view.site.site import Site


@dataclass
class Traces:
    """Writes the traces of one site; each with the name of its page."""

    site: Site
    out: Output
    given: Sequence[tuple[str, Trail, Session | None]]
    titles: Mapping[str, str]  # "tour#stop" -> how it is called

    def observed(self) -> dict[str, list[tuple[str, str, int]]]:
        """The traces that ran each operator: expression, page, how many times."""
        found: dict[str, list[tuple[str, str, int]]] = {}
        for name, trail, _session in self.given:
            times = Counter(
                hop.op for hop in walk(trail.hops) if hop.kind == "op" and hop.op and hop.status == "observed"
            )
            for op, count in sorted(times.items()):
                found.setdefault(op or "", []).append((trail.expression, self.url(name), count))
        return found

    @staticmethod
    def url(name: str) -> str:
        return f"traces/{name}.html"

    def write(self) -> None:
        """The page of each, and the list."""
        for name, trail, session in self.given:
            shown = view(trail, Options(), session)
            url = self.url(name)
            notes = [one for one in stops_to_read(trail) if one in self.site.stops]
            page = render(
                self.site, "trace.html", url, kind="trace", id=name, title=trail.expression, view=shown,
                tree=tree(self.site, trail, shown.rows, url), left=[_left(one) for one in shown.left_out],
                notes=[(one, self.titles.get(one, one), between(url, self.site.stops[one])) for one in notes],
            )  # fmt: skip
            self.out.write(url, page)
        rows = [(trail.expression, self.url(name), _facts(trail)) for name, trail, _session in self.given]
        url = "traces/index.html"
        self.out.write(url, render(self.site, "traces.html", url, kind="traces", id="", title="Traces", traces=rows))


def _left(text: str) -> str:
    """What a page leaves out, without the terminal's options for it."""
    return text.partition(": --full")[0]


def _facts(trail: Trail) -> str:
    return f"torch {trail.torch.version}"
