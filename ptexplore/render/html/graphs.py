"""Writes the pages of autograd graphs: a drawing whose boxes lead to the rows, and the rows of `ptexplore graph`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ptexplore.model.autograd_graph import LocatedGraph
from ptexplore.render.html.flowchart import chart
from ptexplore.render.html.output import Output
from ptexplore.render.html.pages import render
from ptexplore.render.html.places import places
from ptexplore.view.graph.page import GraphOptions, GraphRow, flow_of, graph_view
from ptexplore.view.site.site import Site


@dataclass(frozen=True, slots=True)
class GraphPages:
    """The writer of the autograd graphs on one site. The page of each has a number as its name."""

    site: Site
    out: Output
    given: Sequence[LocatedGraph]

    def listed(self) -> list[tuple[str, str, str]]:
        """Returns the expression, the URL and the version of torch of each graph."""
        return [
            (graph.session.expression, self.url(number), graph.session.torch.version)
            for number, graph in enumerate(self.given, 1)
        ]

    @staticmethod
    def url(number: int) -> str:
        """Returns the URL of a graph's page."""
        return f"graphs/{number}.html"

    def write(self) -> None:
        """Write the page of each graph."""
        for number, graph in enumerate(self.given, 1):
            url, view = self.url(number), graph_view(graph, GraphOptions(full=True))
            rows = [(self._anchor(view.rows, at), row) for at, row in enumerate(view.rows)]
            anchors = {str(row.node): f"#{anchor}" for anchor, row in rows if anchor}
            page = render(
                self.site, "graph.html", url, kind="graph", id=str(number), title=view.title, view=view, rows=rows,
                drawing=Markup(chart(flow_of(graph), anchors)),
                place=places(self.site, url, {info.name: info for info in graph.trees}),
            )  # fmt: skip
            self.out.write(url, page)

    @staticmethod
    def _anchor(rows: Sequence[GraphRow], at: int) -> str:
        """Returns the fragment of a row: "n3" for the first row of node 3, else ""."""
        node = rows[at].node
        is_first = node is not None and all(row.node != node for row in rows[:at])
        return f"n{node}" if is_first else ""
