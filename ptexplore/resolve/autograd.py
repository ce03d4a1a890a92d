"""Join forward and backward: the node a forward call recorded, and each node run with its formula and line.

Source of the link: at::sequence_number (aten/src/ATen/SequenceNumber.h): the profiler's forward event and the
node that the call made carry the same number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from ptexplore.catalogue.declarations import FORMULA_SCOPE
from ptexplore.model.observed import Event, GraphNode, KeptForBackward, RaisedError, records
from ptexplore.model.operators import Derivative, Formula
from ptexplore.model.place_reasons import NoGeneratedApply
from ptexplore.model.places import SourceRef
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
from ptexplore.model.trace import DerivativeRef, FormulaRef, Hop, NodeRef
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.dispatch.schema import arguments
from ptexplore.resolve.places.precision import in_runtime, unknown

ACCUMULATE = "torch::autograd::AccumulateGrad"
# What stands in the place of a formula that nobody wrote: it raises, so whatever else ran in its node ran before it.
RAISES = ("not_implemented", "not_implemented_list")
THREADS_APART = 1 << 40  # between the sequence numbers of two threads (probe/events.py)
EVALUATE = "torch::autograd::Engine::evaluate_function"
NO_EDGE = ("non_differentiable",)  # in place of a formula: the input has no edge


def link(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add recorded nodes under the autograd kernels of calls; give nodes that ran source, formula and forward call."""
    forward = _recording_calls(claims)
    # What is asked of the graph tells no thread: a number that another thread counted too is nobody's then.
    unclear = {number % THREADS_APART for number in forward if number >= THREADS_APART}
    told = records(context.session.observations, "kept", KeptForBackward)
    kept = {k.sequence: k.bytes for k in told if k.sequence not in unclear}
    # A call that records nothing leaves the number to the next one: the last that has it is the one that recorded.
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
            return claim.but(replace(claim.hop, saved=saved[claim.identity]))
        return claim

    return rewrite(claims, change)


OperatorCallKey = tuple[str | None, tuple[int, ...]]  # of a call the operator and the evidence


def _recording_calls(claims: tuple[Claim, ...]) -> dict[int, list[Claim]]:
    """Operator calls by sequence number, which they have where gradients are recorded.

    The outer calls of a composite share the number of the call that recorded. A torch.autograd.Function is a range,
    with the number of its node (THPFunction_apply of torch/csrc/autograd/python_function.cpp).
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
    """For each operator call the graph's node and its derivative, if the operator makes such a node."""
    recorded: dict[OperatorCallKey, tuple[GraphNode, Derivative]] = {}
    for number, node in graph.items():
        made = _maker(context, forward, number if number is not None else -1, node.name)
        if made is not None:
            recorded[made[0].hop.op, made[0].hop.evidence] = (node, made[1])
    return recorded


def _maker(
    context: Context, forward: Mapping[int, list[Claim]], number: int, node: str
) -> tuple[Claim, Derivative] | None:
    """The forward call that made a node, by the number of both, and its derivative.

    A call that records nothing leaves the number to the next one, and so does what a composite calls before: the node
    is of the last that makes such nodes.
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
    source = in_runtime(context.tree, *apply) if apply else _other_node(context, name)
    scope = "torch::autograd::generated::" if apply else ""
    hop = replace(claim.hop, name=f"{scope}{name}::apply", source=source)
    if len({(d.path, d.line) for d in derivatives}) == 1:
        held = graph.get(claim.event.sequence)
        same = held is not None and held.name == name
        entry = _of_node(context, derivatives[0], held) if held and same else _entry(context, derivatives[0])
        hop = replace(hop, derivative=entry, op=derivatives[0].op)
        named = _formulas(context, claim, derivatives[0], entry)
        raises = [inner for inner in named if inner.hop.name.rpartition("::")[2] in RAISES]
        first = [inner for inner in named if inner not in raises]
        return replace(claim, children=(*first, *claim.children, *raises)).but(hop, *why)
    entries = tuple(in_runtime(context.tree, d.path, d.line, d.end_line) for d in derivatives)
    return claim.but(replace(hop, node=NodeRef(derivatives=entries)) if entries else hop, *why)


def _reached(context: Context, claim: Claim, *, failed: bool) -> Claim:
    """What the engine did with a node of which it called no apply; `failed`: an exception left it there.

    It hands on the gradient that the node would be given: for that alone a node is reached that is not needed
    (Engine::evaluate_function of torch/csrc/autograd/engine.cpp; the profiler's range is opened before it asks).
    """
    node = claim.hop.name
    cut = any(seen.kind == "cut" and seen.recorder in (OPS, FRAMES) for seen in context.session.observations)
    if cut and claim.event.observation == context.base[-1].observation:
        return claim.but(claim.hop, EventsEnd(node))
    source = context.lookup.definition(EVALUATE)
    hop = replace(claim.hop, name=EVALUATE, source=source, node=NodeRef(reached=node, failed=failed))
    return claim.but(hop, EngineAtNode(node))


def _engines_left(context: Context) -> frozenset[int]:
    """The numbers of the events of the engine at which an exception left it: the last of its builtin's.

    Known of a builtin that Python called, and where none is around not at all. None was left there if a tensor was not
    in the graph: the engine had ended when that was found (THPEngine_run_backward of
    torch/csrc/autograd/python_engine.cpp).
    """
    if any(raised.unused for raised in records(context.session.observations, "raised", RaisedError)):
        return frozenset()
    callers: dict[int, Event | None] = {}  # by event, the innermost builtin around it
    last: dict[int, int] = {}
    for event in context.base:
        around = callers.get(event.parent) if event.parent is not None else None
        callers[event.event] = event if event.type == "builtin" else around
        if event.type == "engine" and around is not None and around.raised:
            last[around.event] = event.event
    return frozenset(last.values())


def _other_node(context: Context, name: str) -> SourceRef:
    """The `apply` of a node in hand-written C++, if a source has it."""
    apply = context.lookup.function(f"{name if '::' in name else f'torch::autograd::{name}'}::apply")
    return apply if apply.precision != "unknown" else unknown(NoGeneratedApply(name))


def _derivatives(
    context: Context, claim: Claim, forward: Mapping[int, list[Claim]]
) -> tuple[list[Derivative], tuple[Reason, ...]]:
    """The derivatives.yaml entry of the forward call that made this node; else every entry that makes such a node."""
    made = _maker(context, forward, -1 if claim.event.sequence is None else claim.event.sequence, claim.hop.name)
    if made is not None:
        return [made[1]], (MadeByCall(made[0].hop.op or ""),)
    derivatives = context.store.derivative_of_node(claim.hop.name)
    return derivatives, (EntriesMakeNode(len(derivatives)),) if derivatives else ()


def _entry(context: Context, derivative: Derivative) -> DerivativeRef:
    """A derivative as a hop refers to it: the entry, each formula with its own line, what it calls."""
    operator = context.store.operator(derivative.source_op)
    schema = operator.schema if operator else ""
    return DerivativeRef(
        source=in_runtime(context.tree, derivative.path, derivative.line, derivative.end_line),
        op=derivative.source_op,
        node=derivative.node,
        matched=derivative.matched,
        formulas=tuple(
            FormulaRef(f.inputs, f.line, mode(schema, f), tuple(f.calls), f.text) for f in derivative.formulas
        ),
    )


def _of_node(context: Context, derivative: Derivative, node: GraphNode) -> DerivativeRef:
    """The derivative of a node of the graph: of each formula is told whether its input needs a gradient."""
    entry = _entry(context, derivative)
    needed = _needed(context, derivative, entry, node)
    if needed is None:
        return entry
    formulas = (
        replace(f, needed=bool(needed & {name.strip() for name in f.inputs.split(",")})) if f.mode == "backward" else f
        for f in entry.formulas
    )
    return replace(entry, formulas=tuple(formulas))


def mode(schema: str, formula: Formula) -> Literal["backward", "forward"]:
    """Which way a formula differentiates: "backward" for inputs; "forward" where it is named after an output.

    `schema` is that of the entry's own operator. Source: the head comment of tools/autograd/derivatives.yaml.
    """
    names = {a.name for a in arguments(schema)}
    return "backward" if {n.strip() for n in formula.inputs.split(",")} <= names else "forward"


def _needed(context: Context, derivative: Derivative, entry: DerivativeRef, node: GraphNode) -> frozenset[str] | None:
    """The inputs over whose edges a node hands a gradient on; None where the edges cannot be told apart.

    A node has an edge for each tensor that has a formula, in the schema's order. A tensor that needs no gradient has
    an empty one, and its formula is passed over (set_next_edges of tools/autograd/gen_variable_type.py,
    task_should_compute_output of torch/csrc/autograd/function.h). A list has as many edges as it has tensors.
    """
    operator = context.store.operator(derivative.source_op)
    if operator is None:
        return None
    formulas = [f for f in entry.formulas if f.mode == "backward" and f.text.strip() not in NO_EDGE]
    named = {name.strip() for f in formulas for name in f.inputs.split(",")}
    inputs = [argument for argument in arguments(operator.schema) if argument.name in named]
    if len(inputs) != len(node.needed) or len(inputs) != len(named) or any("[]" in a.type for a in inputs):
        return None
    return frozenset(argument.name for argument, needed in zip(inputs, node.needed, strict=True) if needed)


def _formulas(context: Context, node: Claim, derivative: Derivative, entry: DerivativeRef) -> tuple[Claim, ...]:
    """The hand-written backward functions that the formulas name, in the order in which the generated code calls them.

    Each runs only if its input needs a gradient. The code goes by the names of the inputs, as the entry writes them
    (create_differentiability_info of tools/autograd/load_derivatives.py).
    """
    claims = []
    run = [f for f in entry.formulas if f.mode == "backward" and f.needed is not False]
    run.sort(key=lambda f: f.inputs)
    for name in dict.fromkeys(call for f in run for call in f.calls):
        lines = ", ".join(str(f.line) for f in run if name in f.calls)
        symbol = f"{FORMULA_SCOPE}::{name}"
        declared = context.lookup.declaration(symbol)
        if declared is None:
            continue  # a method or an operator, which the profiler's own events show
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
