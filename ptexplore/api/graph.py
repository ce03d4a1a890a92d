"""The graph of the API: an autograd graph as records, text and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ptexplore.view.graph.page import GraphOptions, check_names, graph_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from ptexplore.api.displayed import Bundle
    from ptexplore.model.autograd_graph import AutogradNode, GraphRun, LocatedGraph
    from ptexplore.view.documents.graph import GradientEntry


class PublicGraph:  # `ptexplore.Graph`
    """An autograd graph: `ptexplore.graph` returns one.

    >>> import ptexplore
    >>> graph = ptexplore.graph("torch.mm(a, b).exp()")
    >>> [node.name for node in graph.nodes][:2]
    ['ExpBackward0', 'MmBackward0']
    """

    def __init__(self, record: LocatedGraph) -> None:
        self.record = record

    def __repr__(self) -> str:
        return f"<Graph of {self.record.session.expression!r}: {len(self.nodes)} nodes>"

    def __str__(self) -> str:
        """Returns the text that `ptexplore graph` prints into a pipe."""
        return self.text()

    def _repr_mimebundle_(self, **_asked: object) -> Bundle:
        """Returns text and HTML, which notebooks show."""
        from ptexplore.api.displayed import WIDTH, bundle, drawn
        from ptexplore.render.terminal.console import plain_text

        rows = ("nodes", self._draw(GraphOptions(None, None, False)))
        every = ("every node", self._draw(GraphOptions(None, None, True)))
        return bundle(plain_text(rows[1], WIDTH), drawn(self.record.session.expression, [rows, every]))

    @property
    def nodes(self) -> tuple[AutogradNode, ...]:
        """The nodes, each before the nodes that it leads to. An edge has the number of its node in this tuple.

        >>> import ptexplore
        >>> sorted(edge.node for edge in ptexplore.graph("a * b").nodes[0].edges)
        [1, 2]
        """
        return self.record.session.graph.nodes

    @property
    def kept(self) -> int | None:
        """The bytes that only the graph holds, until backward. None if this torch cannot say.

        >>> import ptexplore
        >>> ptexplore.graph("a.exp().sum()").kept
        36
        """
        graph = self.record.session.graph
        own = sum(storage.bytes for storage in graph.storages if not storage.holders)
        return own if graph.reads_saved else None

    @property
    def run(self) -> GraphRun | None:
        """What backward did, for a graph that was asked for with `run=True`: its nodes in order, with gradients.

        >>> import ptexplore
        >>> [node.node for node in ptexplore.graph("a.exp()", run=True).run.ran]
        [0, 1]
        """
        return self.record.session.ran

    def why(self, name: str) -> GradientEntry:
        """Returns why backward gives a tensor a gradient, or why it does not.

        `name` is a name of the expression, or a parameter: `m.0.weight`. Raises PtexploreError if no tensor has
        this name.

        >>> import ptexplore
        >>> ptexplore.graph("a.exp()").why("a").reason
        'reached'
        """
        check_names(self.record, (name,))
        from ptexplore.view.documents.graph import gradient_entry

        return gradient_entry(self.record.session.graph, name)

    def text(self, *, full: bool = False, depth: int | None = None, only: str | None = None) -> str:
        """Returns the text of `ptexplore graph`, with the same options.

        >>> import ptexplore
        >>> graph = ptexplore.graph("a.exp().sum()")
        >>> "ExpBackward0" in graph.text(only="exp")
        True
        """
        from ptexplore.render.terminal.console import plain_text

        return plain_text(self._draw(GraphOptions(depth, only, full)), 160)

    def _draw(self, options: GraphOptions) -> Callable[[Console], None]:
        from ptexplore.render.terminal.graph import print_graph

        view = graph_view(self.record, options)
        return lambda console: print_graph(console, view, lambda _: None)

    def to_json(self) -> str:
        """Returns the document of `ptexplore graph --json`.

        >>> import json, ptexplore
        >>> json.loads(ptexplore.graph("a.exp()").to_json())["nodes"][0]["name"]
        'ExpBackward0'
        """
        from msgspec import to_builtins

        from ptexplore.view.documents.graph import graph_document

        document: Any = to_builtins(graph_document(self.record))
        return json.dumps(document)
