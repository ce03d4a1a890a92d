"""What ran as a tree of frames with weights, for the viewers of other profilers.

For a recorded program the weights are nanoseconds, summed by path, since no timeline is kept. For a stepped trace they
are instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.nesting import Unrolling, folded, unrolled
from ptexplore.model.program import NODES, CallPath, OperatorCalls, Program
from ptexplore.model.run import Carried, added
from ptexplore.model.trace import Hop, Session, Trace, walk
from ptexplore.model.traced import TracedName
from ptexplore.view.trace.program_parts import operator_name, time_without_python, times_elsewhere
from ptexplore.view.trace.screen import stepped
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.trace_remarks import all_in_words

SUMS = "times are sums over all calls of one path, placed one after another: this is not a timeline"
STEPS = "a unit is one instruction of the stepped run, not a time"


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A frame's name and its place in the source. `kind` is the kind of the path or hop; calls have "op" or "node"."""

    name: str
    kind: str
    file: str | None = None
    line: int | None = None


FOLDING = StackFrame("ptexplore records", "ptexplore")  # it folds recorded calls while no other frame is open


@dataclass(frozen=True, slots=True)
class StackNode:
    """A frame in the tree: the number of calls, its own cost and its further weights without the frames inside it."""

    frame: StackFrame
    own: int
    calls: int
    children: tuple[StackNode, ...] = ()
    weights: Carried = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Returns the weight with all frames inside it."""
        return sum(node.own for node in self.walk())

    def walk(self) -> Iterator[StackNode]:
        """Yields the node and all nodes inside it, outermost first."""
        return walk([self])


@dataclass(frozen=True, slots=True)
class Stacks:
    """All weights of a trace. `threads` has one tree for each thread, the main thread first."""

    name: str
    unit: str  # "nanoseconds" or "instructions"
    threads: tuple[StackNode, ...]
    notes: tuple[str, ...]


def stacks_of(trace: Trace, session: Session | None) -> Stacks:
    """Returns the frames of a trace with weights.

    The weights add up to all stepped instructions, or to a thread's time. Raises PtexploreError (usage) if nothing has
    a weight: the trace of an expression that was not stepped.
    """
    return STACKS[trace.traced.name](trace, session)


def _of_program(trace: Trace, _session: Session | None) -> Stacks:
    program = trace.recorded
    recording = f"recording took about {program.overhead} ns of {program.wall}"
    notes = (SUMS, *(all_in_words(times_elsewhere(program)) or (recording,)), *map(sentence, program.cuts))
    return Stacks(trace.expression, "nanoseconds", tuple(_threads(program, trace.expression)), notes)


def _of_expression(trace: Trace, session: Session | None) -> Stacks:
    nodes = tuple(node for held in folded(trace.hops, _stepped) for node, _ in held)
    if not nodes:
        why = "the trace has neither the times of a program nor the instructions of a native pass"
        hint = "ptexplore trace --script FILE records times; a trace without --no-native records instructions"
        raise PtexploreError("this trace has no times and no instructions", why, hint, USAGE)
    own = max(stepped(trace, session) - sum(node.total for node in nodes), 0)  # the interpreter's loop
    root = StackNode(StackFrame(trace.expression, "expression"), own, 1, nodes)
    return Stacks(trace.expression, "instructions", (root,), (STEPS,))


STACKS: Mapping[TracedName, Callable[[Trace, Session | None], Stacks]] = {
    "expression": _of_expression,
    "script": _of_program,
    "block": _of_program,
}


# --- a program ---


def _threads(program: Program, name: str) -> Iterator[StackNode]:
    """Yields the tree of the main thread, then the tree of each other thread.

    Threads run side by side, so none is inside another.
    """
    inside: dict[int, list[int]] = {}
    for number, path in enumerate(program.paths):
        if path.parent is not None:
            inside.setdefault(path.parent, []).append(number)
    rows: dict[int, list[OperatorCalls]] = {}
    for calls in program.calls:
        rows.setdefault(calls.path, []).append(calls)
    # A path comes after its parent path. In reverse order, children are made before their parent.
    made: dict[int, StackNode] = {}
    spans: dict[int, int] = {}
    for number in range(len(program.paths) - 1, -1, -1):
        path = program.paths[number]
        children = [child for child in inside.get(number, ()) if program.paths[child].kind != "thread"]
        within = sum(spans[child] - program.paths[child].inside for child in children)
        within += sum(calls.time for calls in rows.get(number, ()))
        own = max(path.time - within, 0)
        spans[number] = own + within
        nodes = (*(made[child] for child in children), *_operators(program, rows.get(number, ())))
        if not number and program.folding:
            folding = min(program.folding, own)
            own -= folding
            nodes = (*nodes, StackNode(FOLDING, folding, 1))
        frame = StackFrame(name, "program") if not number else _frame(path)
        made[number] = StackNode(frame, own, path.calls, nodes)
    yield made[0]
    yield from (made[child] for child in inside.get(0, ()) if program.paths[child].kind == "thread")


def _frame(path: CallPath) -> StackFrame:
    file, line = path.file, path.first
    if path.source is not None and path.source.path is not None:
        file, line = path.source.path, path.source.line
    return StackFrame(_name(path), path.kind, file, line)


def _name(path: CallPath) -> str:
    if path.kind == "module":
        return f"{path.name} ({path.type})" if path.name else path.type or "module"
    if path.kind == "builtin":
        return path.name or f"{path.table}.{path.method}"
    if path.kind == "thread":
        return f"thread {path.name}"
    return f"{path.type}.{path.name.rpartition('.')[2]}" if path.type else path.name


def _operators(program: Program, rows: Sequence[OperatorCalls]) -> Iterator[StackNode]:
    """Yields one frame for each name among a path's own operators and the backward nodes that ran in it."""
    by_name: dict[tuple[str, str], list[OperatorCalls]] = {}
    for calls in rows:
        kind = program.kinds[program.routes[calls.route].kind]
        by_name.setdefault(("node" if kind.type in NODES else "op", operator_name(kind)), []).append(calls)
    for (kind_of_frame, name), held in by_name.items():
        own = sum(time_without_python(calls) for calls in held)
        weights = added(calls.weights for calls in held)
        yield StackNode(StackFrame(name, kind_of_frame), own, sum(calls.calls for calls in held), (), weights)


# --- a trace that was stepped ---


_Weighed = tuple[tuple[StackNode, int], ...]  # nodes, each with its total weight


def _stepped(hop: Hop, inside: tuple[_Weighed, ...]) -> _Weighed:
    """Returns the node of a stepped hop. For a hop that was not stepped, returns the nodes inside it."""
    children = tuple(child for held in inside for child in held)
    if hop.instructions is None:
        return children
    within = sum(total for _, total in children)
    own = max(hop.instructions - within, 0)
    frame = StackFrame(hop.name, hop.kind, hop.source.path, hop.source.line)
    return ((StackNode(frame, own, hop.calls, tuple(child for child, _ in children), hop.weights or {}), own + within),)


def merged(nodes: Iterable[StackNode]) -> tuple[StackNode, ...]:
    """Merges neighbouring nodes of the same frame and adds up their weights."""
    return unrolled(_merged(nodes))


def _merged(nodes: Iterable[StackNode]) -> Unrolling[tuple[StackNode, ...]]:
    by_frame: dict[StackFrame, list[StackNode]] = {}
    for node in nodes:
        by_frame.setdefault(node.frame, []).append(node)
    made = []
    for held in by_frame.values():
        children = yield _merged(child for node in held for child in node.children)
        own, calls = sum(node.own for node in held), sum(node.calls for node in held)
        weights = added(node.weights for node in held)
        made.append(replace(held[0], own=own, calls=calls, children=children, weights=weights))
    return tuple(made)
