"""The parts of a traced expression with their costs: modules, the calls that it makes itself, and backward.

If the whole expression was stepped, the cost is in instructions. Otherwise it is in nanoseconds, measured only at
operator calls and nodes; without these measurements no cost is known. A function of yours has parts in the same way as
the expression, also if torch calls it back (a closure). Calls inside torch's own Python belong to the module or call
around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ptexplore.model import trace_remarks as beside
from ptexplore.model.nesting import Unrolling, each, folded, outermost, unrolled
from ptexplore.model.observed import (
    Event,
    GraphNode,
    KeptForBackward,
    OperatorTimes,
    UncountedSaved,
    records,
)
from ptexplore.model.places import SourceRef
from ptexplore.model.run import Carried, OwnOperators, PartKind, Run, Unit, Unweighed, added, known_weights
from ptexplore.model.tensors import RecordedTensor
from ptexplore.model.trace import Hop, Session, Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace import native
from ptexplore.view.trace.alike import Shapes
from ptexplore.view.trace.choices import of_module, of_optimizer
from ptexplore.view.trace.ending import COPY_SLICES
from ptexplore.view.trace.gathering import Finished, PartInMaking, finished
from ptexplore.view.trace.hop_weights import weights_with_inside
from ptexplore.view.trace.screen import (
    MADE_INSIDE,
    bare,
    counted_parts,
    is_timed,
    is_yours,
    outermost_timed,
    place_of,
)

CALLS_MODULES = "torch/nn/modules/module.py"  # its functions call a module's forward and its hooks
FORWARD = "forward"
PLUMBING = frozenset(("_wrapped_call_impl", "_call_impl"))  # nn.Module calls forward through these, for every module


def unit_of(trace: Trace, session: Session | None) -> Unit:
    """Returns the unit of the costs of a trace's parts."""
    if any(part != "operator" for part in counted_parts(session)):
        return "instructions"
    return "nanoseconds" if any(hop.time is not None for hop in walk(trace.hops)) else ""


def how_timed(trace: Trace, session: Session | None, *, with_nodes: bool) -> Iterator[TraceRemark]:
    """Says how operator calls were timed. `with_nodes`: nodes of backward were timed too."""
    for timed in records(session.observations if session is not None else (), "times", OperatorTimes):
        inside = (inner for hop in outermost_timed(trace.hops) for inner in walk(hop.children))
        called = any(hop.kind == "python" for hop in inside)
        runs = beside.FastestOf(few=timed.runs) if timed.runs > 1 else beside.OneRunAfterOthers()
        yield beside.HowTimed(nodes=with_nodes, python=called, runs=runs, threads=timed.threads)


# Where a node was recorded: the part, the operator's name, and the index of the call among the part's calls of that
# operator. For a torch.autograd.Function the name is None.
_Recorder = tuple[PartInMaking, str | None, int]


def expression_run(trace: Trace, session: Session | None) -> Run:
    """Returns what an expression ran as a tree of parts, in the order in which they were first called."""
    gathering = _Gathering(trace, session)
    whole = unrolled(gathering.finished(gathering.root))[0]
    return Run(whole, gathering.unit, _unweighed(session, whole.saved))


def _unweighed(session: Session | None, saved: int) -> Unweighed:
    """Returns the memory saved for backward that no part has in its bytes."""
    observations = session.observations if session is not None else ()
    kept = max(saved, sum(each.bytes for each in records(observations, "kept", KeptForBackward)))
    through_views = any(node.name.endswith(COPY_SLICES) for node in records(observations, "graph", GraphNode))
    unweighed = Unweighed(elsewhere=kept - saved, in_slices=kept > 0 and through_views)
    for seen in records(observations, "uncounted", UncountedSaved)[:1]:
        unweighed = replace(unweighed, packed=seen.packed, unread=seen.unread, silent=seen.silent)
    return unweighed


class _Gathering:
    def __init__(self, trace: Trace, session: Session | None) -> None:
        self.unit = unit_of(trace, session)
        self.counted = counted_parts(session)
        self.root = PartInMaking("program", trace.expression, calls=1, first=0)
        self.signatures = Shapes()
        self.met = 0  # counts parts and operator calls, to keep their order
        # By sequence number: the part whose call had this number last, and which of the part's calls it is.
        self.recorders: dict[int, _Recorder] = {}
        wanted = {number for hop in walk(trace.hops) if hop.kind == "op" for number in hop.evidence[:1]}
        seen = session.observations if session is not None else ()
        self.events = {e.observation: e for e in records((o for o in seen if o.id in wanted), "event", Event)}
        # Functions that ran an operator in at least one call. All calls of these functions count.
        self.running: set[tuple[str, SourceRef | None]] = set()
        folded(trace.hops, self.note_running)
        self.costs: dict[int, int] = {}  # by hop id
        folded(trace.hops, self.note_cost)
        self.called: dict[int, int] = {}  # by the hop id of a node: how many operators it called
        folded(trace.hops, self.note_called)
        self.weights: Mapping[int, Carried] = weights_with_inside(trace.hops)
        with_python = {0, *(event.thread for event in records(seen, "event", Event) if event.type in OF_PYTHON)}
        for hop in trace.hops:
            if hop.kind == "op" and hop.thread not in with_python:
                continue  # the kernel called it in a thread of its own: it counts for the operator around it
            unrolled(self.take(hop, self.root if hop.phase == "forward" else self.backward(), inside_of_torch=False))
        if self.unit == "instructions":
            stepped = sum(n for part, n in self.counted.items() if part != "operator")
            self.root.cost = max(stepped, self.root.cost)

    def backward(self) -> PartInMaking:
        """Returns the part for backward; makes it at the first call."""
        part = self.root.inside.get("backward")
        if part is None:
            part = self.root.inside["backward"] = PartInMaking(
                "backward", "backward", outer=self.root, calls=1, first=self.met
            )
            if self.unit == "instructions":
                part.cost = self.counted.get("backward", 0)
        return part

    def cost(self, hop: Hop) -> int:
        """Returns the cost of a hop with everything inside it."""
        return self.costs[hop.id]

    def note_cost(self, hop: Hop, inside: tuple[int, ...]) -> int:
        """Stores the cost of a hop: the measured cost if there is one, else the sum of the costs inside it."""
        measured = None
        if self.unit == "instructions":
            measured = hop.instructions
        elif self.unit and is_timed(hop):
            measured = hop.time
        self.costs[hop.id] = measured if measured is not None else sum(inside)
        return self.costs[hop.id]

    def note_called(self, hop: Hop, inside: tuple[int, ...]) -> int:
        """Stores how many operator calls are inside a hop, without operators inside these.

        Returns the count for the hop around it.
        """
        self.called[hop.id] = sum(inside)
        return hop.calls if hop.kind == "op" else sum(inside)

    def note_running(self, hop: Hop, inside: tuple[bool, ...]) -> bool:
        """Stores the identity of a function in which an operator or a node ran. Returns whether one ran."""
        if not (any(inside) or hop.kind in ("op", "node")):
            return False
        if hop.kind in CALLED:
            self.running.add(_identity(hop))
        return True

    def take(self, hop: Hop, owner: PartInMaking, *, inside_of_torch: bool, by_module: bool = False) -> Unrolling[None]:
        """Counts a hop and everything inside it: for `owner`, or for the part that the hop itself is.

        `by_module`: the code that calls a module's forward made this call too, so it is a hook.
        """
        if owner.kind == "backward":
            yield self.of_backward(hop, owner)
            return
        if native.is_compiling(hop):
            part = self.part(owner, "call", native.COMPILING, None, place_of(hop))
            yield self.body(hop, part, inside_of_torch=True)
            return
        is_mine = is_yours(hop) and (owner.kind in ("program", "call") or by_module)
        is_part = is_mine or (owner.kind in ("program", "call") and not inside_of_torch)
        if hop.module is not None:
            owner = self.module(hop, owner)
        elif hop.kind in CALLED and is_part and _identity(hop) in self.running:
            owner = self.call(hop, owner)
        if hop.kind == "op":
            self.operator(hop, owner)
            return
        if hop.kind == "node" and not (hop.node is not None and hop.node.recorded):
            yield self.of_backward(hop, owner)  # torch.autograd.grad, or backward(), in the expression itself
            return
        if hop.kind == "native" and hop.sequence is not None:  # the range of a torch.autograd.Function
            self.recorders[hop.sequence] = owner, None, 0
            owner.weigh(hop.weights)
        inside_of_torch = not is_mine and (inside_of_torch or hop.kind in ("python", "binding", "op"))
        yield self.body(hop, owner, inside_of_torch=inside_of_torch)

    def body(self, hop: Hop, owner: PartInMaking, *, inside_of_torch: bool) -> Unrolling[None]:
        """Counts for `owner` the hop's own instructions and everything inside the hop."""
        if owner.kind == "module":
            owner.choices.update(dict.fromkeys(of_module(hop)))
        if owner.kind == "call":
            owner.choices.update(dict.fromkeys(of_optimizer(hop)))
        if hop.instructions is not None and self.unit == "instructions":
            self.add(owner, hop.instructions - sum(self.cost(child) for child in hop.children))
        for child in hop.children:
            is_hook = owner.kind == "module" and hop.source.path == CALLS_MODULES and child.name != FORWARD
            yield self.take(child, owner, inside_of_torch=inside_of_torch, by_module=is_hook)

    def call(self, hop: Hop, outer: PartInMaking) -> PartInMaking:
        """Returns the part of a call. A recursive call belongs to the outermost part of the same function."""
        meant = self.decorated(hop)
        name, source = _identity(meant)
        same = next(
            (part for part in outer.outwards() if (part.kind, part.name, part.source) == ("call", name, source)), None
        )
        part = same or self.part(outer, "call", name, None, source)
        part.calls -= same is None and hop.python is not None and hop.python.resumed
        return part

    def decorated(self, hop: Hop) -> Hop:
        """Returns the function behind a decorator's wrapper: the only Python function inside it that ran an operator.

        Examples: torch wraps Optimizer.step in the wrapper of profile_hook_step; no_grad() wraps what it decorates.
        """
        while hop.kind == "python" and hop.python is not None and MADE_INSIDE in (hop.python.qualname or ""):
            nearest = outermost(hop.children, lambda inner: inner.kind in CALLED)
            inside = [inner for inner in nearest if inner.kind == "python" and _identity(inner) in self.running]
            if len(inside) != 1 or is_yours(hop):
                break
            hop = inside[0]
        return hop

    def part(
        self, outer: PartInMaking, kind: PartKind, name: str, type_: str | None, source: SourceRef | None, *more: object
    ) -> PartInMaking:
        """Returns the part of that name inside `outer`, and counts one more call of it."""
        key = (kind, name, type_, source, *more)
        part = outer.inside.get(key)
        if part is None:
            self.met += 1
            part = outer.inside[key] = PartInMaking(kind, name, type_, source, outer, first=self.met)
        part.calls += 1
        return part

    def module(self, hop: Hop, outer: PartInMaking) -> PartInMaking:
        """Returns the part of a module's call."""
        module = hop.module
        assert module is not None
        forward = next((h for h in walk(hop.children) if h.kind == "python" and h.name not in PLUMBING), None)
        source = place_of(forward) if forward is not None and forward.name == FORWARD else None
        name = module.name if module.name else module.bound or ""
        return self.part(outer, "module", name, module.type, source, module.root, module.name)

    def add(self, owner: PartInMaking, cost: int) -> None:
        """Adds a cost to a part and to all parts around it."""
        for part in owner.outwards():
            # `backward` already has the instructions of its whole phase.
            part.cost += 0 if part.kind == "backward" and self.unit == "instructions" else cost

    def operator(self, hop: Hop, owner: PartInMaking) -> None:
        """Counts an operator call with everything inside it.

        A module inside it (called by a subclass or a mode) has no row.
        """
        cost = self.cost(hop)
        self.met += 1
        weights = known_weights(self.weights[hop.id])
        name = native.operator_name(hop).partition(".")[0]
        calls = owner.own.setdefault(name, [])
        own = OwnOperators(name=name, calls=hop.calls, cost=cost, operators=hop.calls, first=self.met, **weights)
        calls.append(own)
        self.add(owner, cost)
        owner.add(own)
        self.records(hop, owner, name)
        owner.ran.append((hop.op or hop.name, hop.calls, self.sizes(hop)))

    def records(self, hop: Hop, owner: PartInMaking, name: str) -> None:
        """Remembers the sequence numbers of everything that a call ran.

        Nodes with these numbers belong to the last call of that name.
        """
        for inner in walk([hop]):
            if inner.kind in ("op", "native") and inner.sequence is not None:
                self.recorders[inner.sequence] = owner, name, len(owner.own[name]) - 1

    def sizes(self, hop: Hop) -> object:
        """Returns the dtypes and sizes of an operator's inputs.

        If they are not known, returns an object that equals no other.
        """
        event = self.events.get(next(iter(hop.evidence), 0))
        if event is None:
            return object()
        return tuple(_sizes(value) for value in event.inputs)

    def of_backward(self, hop: Hop, owner: PartInMaking) -> Unrolling[None]:
        """Counts what backward ran: nodes, operators and functions of yours.

        A node also counts for the part whose call recorded it.
        """
        for inner in outermost([hop], lambda inner: inner.kind in ("node", "op") or self.is_called_back(inner)):
            if inner.kind in ("node", "op"):
                yield self.one_of_backward(inner, owner)
            else:
                yield self.called_back(inner, owner)

    def is_called_back(self, hop: Hop) -> bool:
        """Whether a call in backward has a row: a call of a module, or of a function of yours that ran an operator.

        Examples: a hook, the backward of a torch.autograd.Function, code that a checkpoint runs again.
        """
        return hop.module is not None or (is_yours(hop) and _identity(hop) in self.running)

    def called_back(self, hop: Hop, owner: PartInMaking) -> Unrolling[None]:
        """Counts a Python call that backward made, with everything inside it."""
        is_module = hop.module is not None
        part = self.module(hop, owner) if is_module else self.call(hop, owner)
        yield self.body(hop, part, inside_of_torch=is_module)

    def one_of_backward(self, hop: Hop, owner: PartInMaking) -> Unrolling[None]:
        """Counts a node, or an operator that no node called.

        Functions that the node called back are counted as parts of their own.
        """
        # An operator's own figures include Python that it calls back (of a subclass or a mode).
        inside = outermost(
            hop.children if hop.kind == "node" else (), lambda h: h.kind == "op" or self.is_called_back(h)
        )
        called_back = [inner for inner in inside if inner.kind != "op"]
        cost = self.cost(hop)
        own_cost = cost - sum(self.cost(inner) for inner in called_back)
        name = _node(hop) if hop.kind == "node" else native.operator_name(hop)
        name = name.partition(".")[0]
        called = hop.calls if hop.kind == "op" else self.called[hop.id]
        called -= sum(self.called[inner.id] for inner in called_back)
        within = added(self.weights[inner.id] for inner in called_back)
        weights = {weight: value - within.get(weight, 0) for weight, value in self.weights[hop.id].items()}
        self.met += 1
        own = OwnOperators(
            name=name, calls=hop.calls, cost=own_cost, operators=called, first=self.met, **known_weights(weights)
        )
        owner.own.setdefault(name, []).append(own)
        if owner.kind != "backward":  # with create_graph, autograd also records the operators that nodes call
            self.records(hop, owner, name)
        self.add(owner, own_cost)
        owner.add(own)
        recorder = self.recorder(hop)
        if recorder is not None:
            recording, of, number = recorder
            if of is not None:
                calls = recording.own[of]
                calls[number] = replace(calls[number], backward=calls[number].backward + cost)
            recording.sums["backward"] += cost
        for inner in called_back:
            yield self.called_back(inner, owner)

    def recorder(self, hop: Hop) -> _Recorder | None:
        """Returns which call recorded a node, or None if no call has the node's sequence number.

        A write in place through a view puts a node CopySlices around the node of the call
        (torch/csrc/autograd/functions/tensor.cpp). CopySlices has a sequence number that no call has.
        """
        if hop.kind != "node":
            return None
        recorder = self.recorders.get(hop.sequence) if hop.sequence is not None else None
        if recorder is None and _node(hop) == COPY_SLICES:
            nodes = (inner for inner in walk(hop.children) if inner.kind == "node" and inner.sequence is not None)
            recorder = next((self.recorders[n.sequence] for n in nodes if n.sequence in self.recorders), None)
        return recorder

    def finished(self, part: PartInMaking) -> Unrolling[Finished]:
        """Returns a part with the parts inside it, alike ones joined, and its signature."""
        inside = yield each(self.finished(inner) for inner in part.inside.values())
        return finished(part, inside, tuple(part.ran), self.signatures)


def _sizes(value: object) -> object:
    if isinstance(value, RecordedTensor):
        return (value.dtype, tuple(value.sizes))
    return tuple(map(_sizes, value)) if isinstance(value, tuple) else None


def _node(hop: Hop) -> str:
    return bare(hop.name).removesuffix("::apply")


def _called(hop: Hop) -> str:
    """Returns the name of a call: the qualified name of a Python function, else the name that Python calls it by."""
    if hop.kind == "node":  # a node's `op` is the operator that recorded it
        return _node(hop)
    if hop.kind in ("python", "binding"):
        return native.called_in_python(hop) or bare(hop.name)
    return hop.op or hop.name


OF_PYTHON = ("frame", "builtin", "sets")  # the types of events that only Python makes
CALLED = ("python", "binding", "op", "node")  # the kinds of hops that can be parts


def _identity(hop: Hop) -> tuple[str, SourceRef | None]:
    """Returns the name and the place that identify a function, operator or node."""
    return _called(hop), place_of(hop)
