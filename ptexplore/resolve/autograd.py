"""Connects forward and backward: the node that a forward call recorded, and each node that ran, with its formula.

The connection is at::sequence_number (aten/src/ATen/SequenceNumber.h): the profiler's forward event and the node that
the call made have the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ptexplore.catalogue.declarations import FORMULA_SCOPE
from ptexplore.model.observed import Event, GraphNode, KeptForBackward, RaisedError, records
from ptexplore.model.operators import Derivative
from ptexplore.model.reasons import (
    AccumulatesGradient,
    EngineAtNode,
    EntriesMakeNode,
    EventsEnd,
    FormulaCalls,
    HeldByGraph,
    MadeByCall,
    Reason,
)
from ptexplore.model.recorders import FRAMES, OPS
from ptexplore.model.trace import DerivativeRef, Hop, NodeRef
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.derivatives import entry_of, handwritten_apply, inputs_of_edges
from ptexplore.resolve.places.precision import in_runtime

ACCUMULATE = "torch::autograd::AccumulateGrad"
# The placeholders for formulas that are not implemented. They raise, so everything else in their node ran before.
RAISES = ("not_implemented", "not_implemented_list")
THREADS_APART = 1 << 40  # distance between the sequence numbers of two threads (probe/events.py)
EVALUATE = "torch::autograd::Engine::evaluate_function"


def link(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add recorded nodes under the autograd kernels of calls; give nodes that ran source, formula and forward call."""
    forward = _recording_calls(claims)
    # The graph does not name a thread. If two threads used the same number, the number identifies no call.
    unclear = {number % THREADS_APART for number in forward if number >= THREADS_APART}
    kept_records = records(context.session.observations, "kept", KeptForBackward)
    kept = {k.sequence: k.bytes for k in kept_records if k.sequence not in unclear}
    # A call that records nothing does not use up its number. So of several calls with one number, the last recorded.
    saved = {calls[-1].identity: kept[number] for number, calls in forward.items() if number in kept}
    nodes = records(context.session.observations, "graph", GraphNode)
    graph = {node.sequence: node for node in nodes if node.sequence not in unclear}
    recorded, engines_left = _recorded(context, forward, graph), _engines_left(context)

    def change(claim: Claim) -> Claim:
        if claim.hop.kind == "kernel" and (claim.hop.key or "").startswith("Autograd"):
            return _forward_kernel(context, claim, recorded)
        if claim.hop.kind == "node" and claim.event.type == "node":
            return _backward_node(context, claim, forward, graph)
        if claim.event.type == "engine":
            return _reached(context, claim, failed=claim.event.event in engines_left)
        if claim.identity in saved:
            return claim.but(replace(claim.hop, weights={**(claim.hop.weights or {}), "saved": saved[claim.identity]}))
        return claim

    return rewrite(claims, change)


OperatorCallKey = tuple[str | None, tuple[int, ...]]  # a call's operator and evidence


def _recording_calls(claims: tuple[Claim, ...]) -> dict[int, list[Claim]]:
    """Returns operator calls by sequence number. Calls have one if gradients are recorded.

    The outer calls of a composite have the same number as the inner call that recorded. A torch.autograd.Function is a
    range, with the number of its node (THPFunction_apply of torch/csrc/autograd/python_function.cpp).
    """
    calls: dict[int, list[Claim]] = {}
    for top in claims:
        for claim in top.walk():
            number = claim.event.sequence
            if (claim.hop.kind == "op" or claim.event.type == "op") and number is not None and number >= 0:
                calls.setdefault(number, []).append(claim)
    return calls


def _recorded(
    context: Context, forward: Mapping[int, list[Claim]], graph: Mapping[int | None, GraphNode]
) -> dict[OperatorCallKey, tuple[GraphNode, Derivative]]:
    """For each operator call: the graph's node and its derivative, if the operator makes this kind of node."""
    recorded: dict[OperatorCallKey, tuple[GraphNode, Derivative]] = {}
    for number, node in graph.items():
        made = _maker(context, forward, number if number is not None else -1, node.name)
        if made is not None:
            recorded[made[0].hop.op, made[0].hop.evidence] = (node, made[1])
    return recorded


def _maker(
    context: Context, forward: Mapping[int, list[Claim]], number: int, node: str
) -> tuple[Claim, Derivative] | None:
    """Returns the forward call that made a node, and its derivative. Call and node have the same number.

    A call that records nothing does not use up its number, nor does a call inside a composite. So several calls may
    have the number, and the node belongs to the last one that makes this kind of node.
    """
    for call in reversed(forward.get(number, [])):
        derivative = context.store.derivative(call.hop.op) if call.hop.op else None
        if derivative is not None and derivative.node == node:
            return call, derivative
    return None


def _forward_kernel(
    context: Context, claim: Claim, recorded: Mapping[OperatorCallKey, tuple[GraphNode, Derivative]]
) -> Claim:
    if (claim.hop.op, claim.hop.evidence) not in recorded:
        return claim
    node, derivative = recorded[claim.hop.op, claim.hop.evidence]
    entry = _of_node(context, derivative, node)
    hop = Hop(
        id=0,
        kind="node",
        name=node.name,
        status="observed",
        source=entry.source,
        phase=claim.hop.phase,
        op=claim.hop.op,
        derivative=entry,
        evidence=(node.observation,),
        why=(HeldByGraph(),),
        node=NodeRef(recorded=True),
    )
    return replace(claim, children=(Claim(hop=hop), *claim.children))


def _backward_node(
    context: Context, claim: Claim, forward: Mapping[int, list[Claim]], graph: Mapping[int | None, GraphNode]
) -> Claim:
    name = claim.hop.name
    if name == ACCUMULATE:
        declared = context.lookup.declaration(f"{ACCUMULATE}::apply")
        source = context.lookup.definition(f"{ACCUMULATE}::apply")
        return claim.but(replace(claim.hop, source=source, declaration=declared), AccumulatesGradient())
    derivatives, why = _derivatives(context, claim, forward)
    apply = context.store.node(name)
    source = in_runtime(context.tree, *apply) if apply else handwritten_apply(context.lookup, name)
    scope = "torch::autograd::generated::" if apply else ""
    hop = replace(claim.hop, name=f"{scope}{name}::apply", source=source)
    if len({(d.path, d.line) for d in derivatives}) == 1:
        held = graph.get(claim.event.sequence)
        same = held is not None and held.name == name
        entry = (
            _of_node(context, derivatives[0], held)
            if held and same
            else entry_of(context.store, context.tree, derivatives[0])
        )
        hop = replace(hop, derivative=entry, op=derivatives[0].op)
        named = _formulas(context, claim, derivatives[0], entry)
        raises = [inner for inner in named if inner.hop.name.rpartition("::")[2] in RAISES]
        first = [inner for inner in named if inner not in raises]
        return replace(claim, children=(*first, *claim.children, *raises)).but(hop, *why)
    entries = tuple(in_runtime(context.tree, d.path, d.line, d.end_line) for d in derivatives)
    return claim.but(replace(hop, node=NodeRef(derivatives=entries)) if entries else hop, *why)


def _reached(context: Context, claim: Claim, *, failed: bool) -> Claim:
    """Returns the claim for a node whose apply the engine did not call; `failed`: an exception left the engine there.

    The engine reaches such a node only to pass on the node's incoming gradient (Engine::evaluate_function of
    torch/csrc/autograd/engine.cpp; the profiler's range begins before the engine checks whether the node is needed).
    """
    node = claim.hop.name
    cut = any(seen.kind == "cut" and seen.recorder in (OPS, FRAMES) for seen in context.session.observations)
    if cut and claim.event.observation == context.base[-1].observation:
        return claim.but(claim.hop, EventsEnd(node))
    source = context.lookup.definition(EVALUATE)
    hop = replace(claim.hop, name=EVALUATE, source=source, node=NodeRef(reached=node, failed=failed))
    return claim.but(hop, EngineAtNode(node))


def _engines_left(context: Context) -> frozenset[int]:
    """Returns the numbers of the engine events that an exception left: the last one in each builtin that raised.

    Only known inside a builtin that Python called. If the error is about a tensor outside of the graph, no engine event
    was left: the engine had ended before this check (THPEngine_run_backward of torch/csrc/autograd/python_engine.cpp).
    """
    if any(raised.unused for raised in records(context.session.observations, "raised", RaisedError)):
        return frozenset()
    callers: dict[int, Event | None] = {}  # by event: the innermost builtin around it
    last: dict[int, int] = {}
    for event in context.base:
        around = callers.get(event.parent) if event.parent is not None else None
        callers[event.event] = event if event.type == "builtin" else around
        if event.type == "engine" and around is not None and around.raised:
            last[around.event] = event.event
    return frozenset(last.values())


def _derivatives(
    context: Context, claim: Claim, forward: Mapping[int, list[Claim]]
) -> tuple[list[Derivative], tuple[Reason, ...]]:
    """Returns the derivatives.yaml entry of the forward call that made this node.

    If this call is not known, returns all entries that make this kind of node.
    """
    made = _maker(context, forward, -1 if claim.event.sequence is None else claim.event.sequence, claim.hop.name)
    if made is not None:
        return [made[1]], (MadeByCall(made[0].hop.op or ""),)
    derivatives = context.store.derivative_of_node(claim.hop.name)
    return derivatives, (EntriesMakeNode(len(derivatives)),) if derivatives else ()


def _of_node(context: Context, derivative: Derivative, node: GraphNode) -> DerivativeRef:
    """Returns the derivative of a graph node. Each formula says whether its input needs a gradient."""
    entry = entry_of(context.store, context.tree, derivative)
    needed = _needed(context, derivative, entry, node)
    if needed is None:
        return entry
    formulas = (
        replace(f, needed=bool(needed & {name.strip() for name in f.inputs.split(",")})) if f.mode == "backward" else f
        for f in entry.formulas
    )
    return replace(entry, formulas=tuple(formulas))


def _needed(context: Context, derivative: Derivative, entry: DerivativeRef, node: GraphNode) -> frozenset[str] | None:
    """Returns the inputs that a node passes a gradient to; None if its edges cannot be matched to inputs.

    A tensor that needs no gradient has an empty edge, and its formula is skipped (task_should_compute_output of
    torch/csrc/autograd/function.h).
    """
    inputs = inputs_of_edges(context.store, derivative, entry, len(node.needed))
    if inputs is None:
        return None
    return frozenset(name for name, needed in zip(inputs, node.needed, strict=True) if needed)


def _formulas(context: Context, node: Claim, derivative: Derivative, entry: DerivativeRef) -> tuple[Claim, ...]:
    """Returns the hand-written backward functions in the formulas, in the order in which the generated code calls them.

    Each function runs only if its input needs a gradient. The generated code sorts the formulas by the names of the
    inputs, as the entry writes them (create_differentiability_info of tools/autograd/load_derivatives.py).
    """
    claims = []
    run = [f for f in entry.formulas if f.mode == "backward" and f.needed is not False]
    run.sort(key=lambda f: f.inputs)
    for name in dict.fromkeys(call for f in run for call in f.calls):
        lines = ", ".join(str(f.line) for f in run if name in f.calls)
        symbol = f"{FORMULA_SCOPE}::{name}"
        declared = context.lookup.declaration(symbol)
        if declared is None:
            continue  # a method or an operator: the profiler's events show these
        hop = Hop(
            id=0,
            kind="impl",
            name=symbol,
            status="predicted",
            source=context.lookup.definition(symbol),
            phase="backward",
            op=derivative.op,
            declaration=declared,
            evidence=node.hop.evidence,
            why=(FormulaCalls(f"{derivative.path}:{lines}"),),
        )
        claims.append(Claim(hop=hop))
    return tuple(claims)
