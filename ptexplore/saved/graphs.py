"""A run of `ptexplore graph` as JSON: written, and read back as untrusted data. Nothing in it is executed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from msgspec import structs

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.autograd_graph import GRAPH_FORMAT, AutogradGraph, GraphSession, LocatedGraph, SavedGraph
from ptexplore.saved.compiled import run_from_json, without_folder
from ptexplore.saved.document import to_json

WRITE_ONE = 'ptexplore graph "a.exp().sum()" --save FILE writes one'


def graph_to_json(located: LocatedGraph) -> str:
    """Returns the graph as JSON text in ASCII, without the folder of torch."""
    session = located.session
    bare = structs.replace(session, torch=replace(session.torch, torch_dir=""))
    return without_folder(to_json(SavedGraph(structs.replace(located, session=bare))), session.torch.torch_dir)


def graph_from_json(data: bytes, name: str) -> LocatedGraph:
    """Returns the graph in a file, packed or not. `name` is the file's, for messages.

    Raises PtexploreError: exit code USAGE for anything truncated or hostile, MISSING if a newer ptexplore wrote it.
    """
    located = run_from_json(data, name, "graph", GRAPH_FORMAT, SavedGraph, WRITE_ONE).graph
    if not _fits(located):
        why = "its nodes, edges and storages do not fit together"
        raise PtexploreError(f"{name} is not a saved run of ptexplore graph", why, WRITE_ONE, USAGE)
    return located


def _fits(located: LocatedGraph) -> bool:
    """Whether all numbers of nodes and storages exist, and each node comes before the nodes that it leads to.

    Each edge of a node has a name, or none has.
    """
    session, graph = located.session, located.session.graph
    is_ordered = all(
        edge.node is None or number < edge.node for number, node in enumerate(graph.nodes) for edge in node.edges
    )
    storages = [number for node in graph.nodes for value in node.saved for number in value.storages]
    return (
        is_ordered
        and len(located.sources) == len(graph.nodes)
        and all(
            len(source.inputs) in (0, len(node.edges))
            for source, node in zip(located.sources, graph.nodes, strict=True)
        )
        and _all_less(_numbers(session, graph), len(graph.nodes))
        and _all_less(storages, len(graph.storages))
    )


def _numbers(session: GraphSession, graph: AutogradGraph) -> Iterator[int | None]:
    yield from (edge.node for node in graph.nodes for edge in node.edges)
    yield from (result.node for result in graph.results)
    yield from (tensor.node for tensor in graph.tensors)
    yield from (owner.node for owner in session.owners or ())
    if session.ran is not None:
        yield from (node.node for node in session.ran.ran)
        yield from session.ran.had_grad
        yield from session.ran.unfinished


def _all_less(numbers: Iterable[int | None], most: int) -> bool:
    return all(number is None or 0 <= number < most for number in numbers)
