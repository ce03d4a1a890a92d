"""Finds the source of a graph's nodes: the generated or hand-written `apply`, the formula, the names of the inputs."""

from __future__ import annotations

from ptexplore.lazy import remembered
from ptexplore.model.autograd_graph import AutogradNode, GraphSession, LocatedGraph, NodeSource
from ptexplore.model.places import SourceRef
from ptexplore.resolve.derivatives import entry_of, handwritten_apply, inputs_of_edges
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.precision import in_runtime, of_yours, outside
from ptexplore.source.canonical import InstalledFolders, installed_path

ACCUMULATE = "torch::autograd::AccumulateGrad"


def located(session: GraphSession, lookup: Lookup) -> LocatedGraph:
    """Returns the graph with the source of each node."""
    finder = _Finder(session.torch.torch_dir, lookup)
    return LocatedGraph(session, tuple(map(finder.source_of, session.graph.nodes)), lookup.infos)


class _Finder:
    """Finds the source of nodes. Nodes of the same class are looked up once."""

    def __init__(self, torch_dir: str, lookup: Lookup) -> None:
        self._folders = InstalledFolders(torch_dir)
        self._lookup = lookup

    def source_of(self, node: AutogradNode) -> NodeSource:
        """Returns the source of one node."""
        source = self._of_class(node.name, len(node.edges))
        if node.python is not None:
            source = NodeSource(self._python(*node.python))
        if node.made is None or node.made.file.startswith("<"):
            return source
        return NodeSource(source.apply, source.derivative, source.inputs, self._python(node.made.file, node.made.line))

    @remembered
    def _of_class(self, name: str, edges: int) -> NodeSource:
        store, tree = self._lookup.store, self._lookup.tree
        apply = store.node(name)
        place = in_runtime(tree, *apply) if apply else self._handwritten(name)
        derivatives = store.derivative_of_node(name)
        if len({(d.path, d.line) for d in derivatives}) != 1:
            return NodeSource(place)
        entry = entry_of(store, tree, derivatives[0])
        return NodeSource(place, entry, inputs_of_edges(store, derivatives[0], entry, edges) or ())

    def _handwritten(self, name: str) -> SourceRef:
        if name == ACCUMULATE:
            return self._lookup.definition(f"{ACCUMULATE}::apply")
        return handwritten_apply(self._lookup, name)

    def _python(self, file: str, line: int) -> SourceRef:
        path = installed_path(file, self._folders)
        if path is not None:
            return in_runtime(self._lookup.tree, path, line)
        return outside(file, line) if file.startswith("<") else of_yours(file, line)
