"""A recorded program as parts to read: its modules, your functions, backward, the optimizer, what loads data, imports.

Torch's own functions are folded into the part that called them. Costs are nanoseconds, from entry to exit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ptexplore.model import trace_remarks as beside
from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.program import HOLE, CallPath, OperatorCalls, OperatorKind, Program
from ptexplore.model.program_order import began
from ptexplore.model.run import OwnOperators, PartKind, Run, Unweighed
from ptexplore.model.trace import Session, Trail
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.alike import Shapes
from ptexplore.view.trace.around import title_of
from ptexplore.view.trace.gathering import Finished, PartInMaking, finished
from ptexplore.view.trace.native_names import kernel_name

LAUNCH = "launch"  # the type of what a device was given to do
TORCH = "/torch/"
ENGINE = "autograd::engine::evaluate_function: "


@dataclass(eq=False)
class _PathsPart(PartInMaking):
    """A part while it is gathered, with the first path that it is the end of."""

    path: CallPath = field(kw_only=True)
    recording: int = 0  # what was taken off its cost


def program_run(trail: Trail, _session: Session | None) -> Run:
    """What a recorded program ran."""
    return run_of(trail.recorded, title_of(trail))


def run_of(program: Program, script: str) -> Run:
    """What a program ran, the program itself as its outermost part; `script` is its name.

    What was imported is one part, and its time is taken out of all others'. What was seen was folded while no part ran.
    """
    root = _PathsPart("program", script, path=program.paths[0], calls=1, cost=program.wall - program.folding)
    owners = [root]
    for path in program.paths[1:]:
        outer = owners[path.parent or 0]
        if path.kind == "imports" and outer.kind != "imports":
            for part in outer.outwards():
                part.cost -= path.time
            outer = root
        owners.append(_owner(path, outer))
    backward = Counter[int]()  # by number of calls: what the nodes that they recorded took
    for calls in program.calls:
        if calls.recorded is not None and calls.recorded < len(program.calls):
            backward[calls.recorded] += calls.time
    places = began(program)
    for number, calls in sorted(enumerate(program.calls), key=lambda numbered: places[numbered[0]]):
        _count(program, owners[calls.path], places[number], calls, backward[number])
    _take_recording(program, owners)
    return Run(unrolled(_finished(root, Shapes()))[0], "nanoseconds", _unweighed(program))


def _unweighed(program: Program) -> Unweighed:
    is_cut = 0 < program.saved_backwards < program.backwards
    return Unweighed(
        elsewhere=program.saved_elsewhere,
        packed=program.saved_packed,
        unread=program.saved_unread,
        silent=program.saved_silent,
        in_slices=program.saved_slices > 0,
        backwards=(program.saved_backwards, program.backwards) if is_cut else None,
    )


def _take_recording(program: Program, owners: Sequence[_PathsPart]) -> None:
    """Take out of each part's time what recording took in it, and in what is inside of it; never more than it has."""
    recording = Counter[int]()  # by the id of the part
    for path, owner in zip(program.paths, owners, strict=True):
        recording[id(owner)] += path.recording
    # A part comes after the one around it, so that going back each knows all that is inside of it.
    for part in reversed(list({id(owner): owner for owner in owners}.values())):
        if recording[id(part)]:
            taken = min(recording[id(part)], part.cost)
            part.cost, part.recording = part.cost - taken, part.recording + taken
            if part.outer is not None and part.kind not in ("imports", "thread"):  # their time is in no other's
                recording[id(part.outer)] += recording[id(part)]


def _count(program: Program, owner: _PathsPart, first: int, calls: OperatorCalls, backward: int) -> None:
    """Count some calls for the part that made them. `first`: their place among all, which ascends."""
    for kind, told in own_operators(program, calls, first=first, backward=backward):
        if has_row(program, program.kinds[kind]):
            owner.own.setdefault(told.name, []).append(told)
        owner.add(told)
    owner.ran.append((calls.route, calls.shape, calls.calls))
    for part in owner.outwards():
        if part.first is not None:  # so have all around it
            break
        part.first = first


def own_operators(
    program: Program, calls: OperatorCalls, *, first: int = 0, backward: int = 0
) -> Iterator[tuple[int, OwnOperators]]:
    """What some calls of a route are, and the operators beside it that they called: each with the number of its kind.

    What is beside it has rows of its own; its time is in that of what is around it.
    """
    number = program.routes[calls.route].kind
    by_it, beside = unrolled(_called(program, program.kinds[number]))
    told = OwnOperators(
        name=operator_name(program.kinds[number]),
        calls=calls.calls,
        cost=time_without_python(calls),
        routes=(calls.route,),
        operators=calls.calls * by_it,
        saved=calls.saved,
        backward=backward,
        first=first,
        device=sum(calls.device),
    )
    yield number, told
    for inner, count in beside.items():
        name, total = operator_name(program.kinds[inner]), calls.calls * count
        yield inner, OwnOperators(name=name, calls=total, routes=(calls.route,), operators=total, first=first)


def time_without_python(calls: OperatorCalls) -> int:
    """How long calls took, with what they called, but without Python: what that called is told for itself."""
    return max(calls.time - calls.python, 0)


def calls_python(program: Program) -> bool:
    """Whether an operator, or a node, called Python."""
    return any(calls.python for calls in program.calls)


def times_elsewhere(program: Program) -> Iterator[TraceRemark]:
    """Whose times a program has, where they are not its own, in lines."""
    told = program.elsewhere
    if told is None:
        return
    yield beside.TimesElsewhereBeside(file=told.file, matched=told.matched, calls=told.matched + told.unmatched)
    if told.unmatched:
        yield beside.NotMatched(names=tuple(beside.CallsOf(name=name, count=count) for name, count in told.names))
    if told.unlike:
        yield beside.NodesUnlike(count=told.unlike)
    if told.device_events:
        yield beside.DeviceEventsLeft(count=told.device_events)


def operator_name(kind: OperatorKind) -> str:
    """The name of an operator without `aten::`, of a node without what stands around it, of a kernel in short."""
    if kind.type == LAUNCH:
        return kernel_name(kind.name)
    return kind.name.removeprefix(ENGINE).removeprefix("aten::").rpartition("::")[2]


def is_operator(kind: OperatorKind) -> bool:
    """Whether it is an operator: of what else the profiler records so, no name has a namespace."""
    return kind.type == "op" and "::" in kind.name


def is_function(kind: OperatorKind) -> bool:
    """Whether it is a torch.autograd.Function, which the profiler records by its class's name, with a number.

    A range that torch's own Python marks for the profiler (torch._dynamo does) has no sequence number.
    """
    return kind.type == "op" and "::" not in kind.name and kind.counted


def has_row(program: Program, kind: OperatorKind) -> bool:
    """Whether it is an operator, a torch.autograd.Function, a node that ran, or what was launched by none of these.

    Ranges and calls of TorchScript are around operators. A node that the engine reached for its gradient alone did not
    run.
    """
    if kind.type == "engine":
        return any(program.kinds[number].type == "node" for number, _ in kind.inside if number >= 0)
    return kind.type in ("node", LAUNCH) or is_operator(kind) or is_function(kind)


def operator_kinds(program: Program) -> frozenset[int]:
    """The kinds of the operators that Python called, and of those that nodes, the engine and TorchScript called."""
    kinds: set[int] = set()
    pending = [route.kind for route in program.routes]
    while pending:
        number = pending.pop()
        if is_operator(program.kinds[number]):
            kinds.add(number)
        else:
            pending += [inner for inner, _ in program.kinds[number].inside if inner >= 0]
    return frozenset(kinds)


def _called(program: Program, kind: OperatorKind) -> Unrolling[tuple[int, Counter[int]]]:
    """How many operator calls a row counts for itself, and of what is beside it, by kind. Not what operators call.

    What a node calls is counted for the node. What the engine calls around a node, to add gradients up
    (Engine::evaluate_function of torch/csrc/autograd/engine.cpp), and what TorchScript calls, have rows of their own.
    """
    if is_operator(kind):
        return 1, Counter()
    by_it, beside = 0, Counter[int]()
    is_around = not (kind.type == "node" or is_function(kind))
    for number, _ in kind.inside:
        inner = program.kinds[number] if number >= 0 else None
        if inner is None:
            continue
        if is_around and is_operator(inner):
            beside[number] += 1
            continue
        within, further = yield _called(program, inner)
        by_it += within if is_around else within + sum(further.values())
        beside.update(further if is_around else {})
    return by_it, beside


def _owner(path: CallPath, outer: _PathsPart) -> _PathsPart:
    """The part that a path's end is, or belongs to; made on first sight."""
    kind = _kind(path)
    if kind is None or (path.kind == "user" and _is_forward(path, outer)):
        return outer
    if kind == outer.kind and kind != "module" and (outer.name, outer.path.file) == (_name(path), path.file):
        outer.calls += path.calls  # it called itself: its time is in that of the outer call
        outer.at_least |= path.at_least
        return outer
    around = _in_turn(path, outer) if kind == "user" else None
    if around is not None:
        return around
    if kind == outer.kind == "backward":
        return outer
    if kind == outer.kind == "optimizer" and outer.name.endswith(".__init__"):
        return outer  # its classes' own, one in the other
    if outer.kind == "program" and path.name == "<module>":
        outer.source = path.source
        return outer
    key = (kind, path.name, path.type, path.file, path.first)
    part = outer.inside.get(key)
    if part is None:
        part = outer.inside[key] = _PathsPart(kind, _name(path), path.type, path.source, outer, path=path)
    part.calls += path.calls
    part.cost += path.time
    part.at_least |= path.at_least
    return part


def _in_turn(path: CallPath, outer: _PathsPart) -> _PathsPart | None:
    """The part of the same function, if functions of the user's between it and the path led back to it; else None.

    What the path did counts for that part alone, so that rows still add up: it is taken off the parts between.
    """
    between: list[_PathsPart] = []
    part: _PathsPart | None = outer
    while part is not None and part.kind == "user":
        if (part.path.name, part.path.file, part.path.first) == (path.name, path.file, path.first):
            for inner in between:
                inner.cost -= path.time
            part.calls += path.calls
            part.at_least |= path.at_least
            return part
        between.append(part)
        part = part.outer
    return None


def _kind(path: CallPath) -> PartKind | None:
    """What part a path's end is; None for what is folded into the part that called it."""
    if path.kind in ("thread", "imports", "user", "module"):
        return path.kind
    if path.kind != "torch":
        return None
    file, name = path.file or "", path.name.rpartition(".")[2]
    if f"{TORCH}optim/" in f"/{file}":
        return "optimizer" if name in ("step", "zero_grad", "__init__") else None
    if f"{TORCH}utils/data/" in f"/{file}":
        return "data" if name == "__next__" else None
    return (
        "backward" if name in ("backward", "grad") and file.endswith(("_tensor.py", "autograd/__init__.py")) else None
    )


def _name(path: CallPath) -> str:
    if path.kind == "torch" and (path.file or "").endswith("autograd/__init__.py"):
        return f"torch.autograd.{path.name}"
    if _kind(path) == "optimizer" and path.type is not None:  # its class may have the method from another one
        return f"{path.type}.{path.name.rpartition('.')[2]}"
    return path.name


def _is_forward(path: CallPath, outer: _PathsPart) -> bool:
    """Whether a function of the user's is the forward of the module around it: it is the module's part."""
    return outer.kind == "module" and (path.file, path.first) == (outer.path.file, outer.path.first)


def _finished(part: _PathsPart, signatures: Shapes) -> Unrolling[Finished]:
    """A part with its parts, alike ones joined; and its signature."""
    inside = list((yield each(_finished(inner, signatures) for inner in part.inside.values())))
    own_cost = sum(own.cost for operators in part.own.values() for own in operators)
    if part.kind == "thread":  # nothing tells when it began
        part.calls, part.cost = 1, own_cost + sum(inner.cost for inner, _ in inside)
    first = -1
    for number, (inner, signature) in enumerate(inside):  # what called no operator stands behind what came before it
        first = inner.first if inner.operators else first
        inside[number] = replace(inner, first=first), signature
    beside = ("imports", "thread")  # their time is in no other's
    least = own_cost + sum(inner.cost for inner, _ in inside if inner.kind not in beside)
    if part.kind not in beside:  # what recording took is sampled, and can be too much for a part that took little
        part.cost = max(part.cost, min(least, part.cost + part.recording))
    return finished(part, inside, (frozenset(Counter(part.ran).items()),), signatures)


def kernels(program: Program) -> list[tuple[str, int, int]]:
    """What devices were given to do, each kernel or copy once: its name, how often, nanoseconds; the longest first."""
    counts, times = Counter[str](), Counter[str]()
    for calls in program.calls:
        for name, time in zip(launches(program, program.routes[calls.route].kind), calls.device, strict=False):
            counts[name] += calls.calls
            times[name] += time
    return [(name, counts[name], time) for name, time in times.most_common()]


def launches(program: Program, kind: int) -> Iterator[str]:
    """The names of what one call of a kind launched, in order, without what Python launched in it."""
    pending = [kind]
    while pending:
        known = program.kinds[pending.pop()]
        if known.type == LAUNCH:
            yield known.name
        pending += [inner for inner, _ in reversed(known.inside) if inner != HOLE]
