"""What ran as a tree of frames with weights, for the viewers of other profilers.

For a recorded program the weights are nanoseconds, summed by path, since no timeline is kept. For a stepped trace they
are instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model.nesting import Unrolling, folded, unrolled
from ptexplore.model.program import NODES, CallPath, OperatorCalls, Program
from ptexplore.model.run import Carried, added
from ptexplore.model.trace import Hop, Session, Trace, walk
from ptexplore.model.traced import TracedName
from ptexplore.view.trace.line_figures import shown_functions
from ptexplore.view.trace.program_parts import (
    operator_name,
    time_without_python,
    times_elsewhere,
)
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


RECORDING = StackFrame("ptexplore records", "ptexplore")  # its time is in no other frame


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
        why = "the trace has neither the times of a program nor the instructions of a stepped run"
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
    texts = {(source.file, line): text for source in program.sources for line, text in source.lines}
    is_yours = shown_functions(program)
    # A path comes after its parent path. In reverse order, children are made before their parent.
    made: dict[int, StackNode] = {}
    spans: dict[int, int] = {}
    recording = Counter[int]()  # the time of recording in a path and in all paths inside it
    for number in range(len(program.paths) - 1, -1, -1):
        path, given = program.paths[number], rows.get(number, ())
        children = [child for child in inside.get(number, ()) if program.paths[child].kind != "thread"]
        within = sum(spans[child] - program.paths[child].inside for child in children)
        within += sum(calls.time for calls in given)
        own = max(path.time - within, 0)
        spans[number] = own + within
        folding = min(program.folding, own) if not number else 0  # calls are folded in the program's own time
        cost = max(own - folding - path.recording, 0)
        recording[number] = own - cost + sum(recording[child] for child in children)
        nodes = [(program.paths[child].line, made[child]) for child in children]
        nodes += [(calls.line, node) for calls, node in _operators(program, given)]
        if is_yours(path):
            nodes = _by_line(path, nodes, texts)
        frame = StackFrame(name, "program") if not number else _frame(path)
        made[number] = StackNode(frame, cost, path.calls, tuple(node for _, node in nodes))
    tops = (0, *(child for child in inside.get(0, ()) if program.paths[child].kind == "thread"))
    for number in tops:
        node = made[number]
        beside = (StackNode(RECORDING, recording[number], 1),) if recording[number] else ()
        yield replace(node, children=(*node.children, *beside))


_OnLine = tuple[int | None, StackNode]  # what a function called, with the line of the call if it is known


def _by_line(path: CallPath, nodes: Iterable[_OnLine], texts: Mapping[tuple[str, int], str]) -> list[_OnLine]:
    """Puts everything that a function called into frames for its lines, in the order of the lines."""
    by_line: dict[int, list[StackNode]] = {}
    others: list[_OnLine] = []
    for line, node in nodes:
        if line is None:
            others.append((line, node))
        else:
            by_line.setdefault(line, []).append(node)
    file = _frame(path).file
    lines: list[_OnLine] = []
    for line, inside in sorted(by_line.items()):
        text = texts.get((path.file or "", line), "").strip()
        frame = StackFrame(text or f"line {line}", "line", file, line)
        lines.append((line, StackNode(frame, 0, sum(node.calls for node in inside), tuple(inside))))
    return [*lines, *others]


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


def _operators(program: Program, rows: Sequence[OperatorCalls]) -> Iterator[tuple[OperatorCalls, StackNode]]:
    """Yields a path's own operators and the nodes of backward that ran in it: one frame for each name and line."""
    by_name: dict[tuple[str, str, int | None], list[OperatorCalls]] = {}
    for calls in rows:
        kind = program.kinds[program.routes[calls.route].kind]
        named = ("node" if kind.type in NODES else "op", operator_name(kind), calls.line)
        by_name.setdefault(named, []).append(calls)
    for (kind_of_frame, name, _), held in by_name.items():
        own = sum(time_without_python(calls) for calls in held)
        weights = added(calls.weights for calls in held)
        node = StackNode(StackFrame(name, kind_of_frame), own, sum(calls.calls for calls in held), (), weights)
        yield held[0], node


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
