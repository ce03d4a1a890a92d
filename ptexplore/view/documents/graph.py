"""An autograd graph."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ptexplore.model.autograd_graph import (
    AutogradGraph,
    AutogradNode,
    Count,
    GraphLeaf,
    GraphResult,
    GraphSession,
    KeptStorage,
    KeptValue,
    LocatedGraph,
    MemoryWatch,
    NamedTensor,
    NodeMadeAt,
    NodeRun,
    NodeSource,
    NoLines,
    OwnedMemory,
)
from ptexplore.model.gradient_reasons import GradientReason, why_gradient
from ptexplore.view.documents.parts import FORMAT, Reference, TreeEntry, reference, reference_if, tree_entry
from ptexplore.view.words.graph import why_text


class GraphEdgeEntry(Struct, frozen=True, omit_defaults=True):
    """An edge of a node."""

    node: Count | None  # the number of the next node; null: this input needs no gradient, or `unread`
    input: Count  # the input of the next node that gets the gradient

    name: str | None = None  # the input of the operator that the edge belongs to, if known

    unread: bool = False  # the next node is one of those that were not read


class GraphNodeEntry(Struct, frozen=True, omit_defaults=True):
    """A node of the graph. Its number is its place in the list."""

    name: str  # the name of its class
    edges: tuple[GraphEdgeEntry, ...]  # one for each differentiated input of the operator
    sequence: int | None = None  # the sequence number of the call that recorded it

    saved: tuple[KeptValue, ...] = ()  # what it keeps for backward
    silent: bool = False  # torch does not report what it saved
    leaf: GraphLeaf | None = None  # for AccumulateGrad: the tensor

    made: NodeMadeAt | None = None  # the code that made it
    made_at: Reference | None = None  # the place of that line, unless it is in the expression

    apply: Reference | None = None  # the function that backward calls
    formula: Reference | None = None  # the entry in derivatives.yaml, if exactly one makes nodes of this class


class GradientEntry(Struct, frozen=True):
    """Why a tensor of `--why` gets a gradient, or none."""

    name: str  # the name of the tensor
    reason: GradientReason  # the reason
    text: str  # the reason in words


class GraphRunEntry(Struct, frozen=True):
    """What backward did, from a gradient of ones."""

    ran: tuple[NodeRun, ...]  # in the order in which the nodes began
    had_grad: tuple[Count, ...]  # the nodes of leaves whose `.grad` was set before

    unfinished: tuple[Count, ...]  # nodes that began and did not end, since backward raised
    error: str  # the class of the error that ended backward; empty without one.
    message: str  # its message


class GraphDocument(Struct, frozen=True):
    """`graph EXPR --json`."""

    format: int  # 1
    expression: str  # as you typed it
    torch: str  # the version of torch
    trees: tuple[TreeEntry, ...]  # where text comes from
    result: str  # the value in words

    results: tuple[GraphResult, ...]  # the tensors of the value
    nodes: tuple[GraphNodeEntry, ...]  # in an order in which backward may run them

    storages: tuple[KeptStorage, ...]  # the memory of saved tensors
    kept: Count | None  # bytes of storages that no leaf, name or result holds; null if this torch cannot say

    tensors: tuple[NamedTensor, ...]  # tensors with names
    why: tuple[GradientEntry, ...]  # the answers to `--why`
    no_lines: NoLines | None  # why the code that made the nodes is not known; null if it is
    cut: bool  # whether there are more nodes than were read

    run: GraphRunEntry | None = None  # for `--run`: what backward did; null if unknown
    no_run: NoLines | None = None  # for `--run`: why it is unknown

    memory: tuple[OwnedMemory, ...] | None = None  # for `--memory`: the storages that are alive, with their owners
    watched: MemoryWatch | None = None  # for `--memory` and `--leak`: memory over time; null if unknown


def graph_document(located: LocatedGraph, why: Sequence[str] = ()) -> GraphDocument:
    """Returns a graph as a document."""
    session, graph = located.session, located.session.graph
    own = sum(storage.bytes for storage in graph.storages if not storage.holders)
    return GraphDocument(
        format=FORMAT,
        expression=session.expression,
        torch=session.torch.version,
        trees=tuple(map(tree_entry, located.trees)),
        result=session.result.description,
        results=graph.results,
        nodes=tuple(map(_node, graph.nodes, located.sources)),
        storages=graph.storages,
        kept=own if graph.reads_saved else None,
        tensors=graph.tensors,
        why=tuple(gradient_entry(graph, name) for name in why),
        no_lines=session.no_lines,
        cut=graph.cut,
        run=_run(session),
        no_run=session.no_run,
        memory=session.owners,
        watched=session.watched,
    )


def _run(session: GraphSession) -> GraphRunEntry | None:
    ran = session.ran
    if ran is None:
        return None
    return GraphRunEntry(ran.ran, ran.had_grad, ran.unfinished, ran.error, ran.message)


def gradient_entry(graph: AutogradGraph, name: str) -> GradientEntry:
    """Returns why backward gives a named tensor a gradient, or why it does not."""
    tensor = next(tensor for tensor in graph.tensors if tensor.name == name)
    reason = why_gradient(graph, tensor)
    return GradientEntry(name, reason, why_text(reason, tensor, graph.results))


def _node(node: AutogradNode, source: NodeSource) -> GraphNodeEntry:
    names = source.inputs or (None,) * len(node.edges)
    return GraphNodeEntry(
        name=node.name,
        edges=tuple(GraphEdgeEntry(e.node, e.input, name, e.unread) for e, name in zip(node.edges, names, strict=True)),
        sequence=node.sequence if node.sequence is not None and node.sequence >= 0 else None,
        saved=node.saved,
        silent=node.silent,
        leaf=node.leaf,
        made=node.made,
        made_at=reference_if(source.made),
        apply=reference(source.apply),
        formula=reference_if(source.derivative.source if source.derivative is not None else None),
    )
