"""A recorded program as parts: modules, your functions, backward, the optimizer, data loading and imports.

torch's own functions are folded into the part that called them. Costs are nanoseconds from entry to exit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ptexplore.facts.timed_functions import timed
from ptexplore.model import trace_remarks as beside
from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.program import HOLE, CallPath, OperatorCalls, OperatorKind, Program
from ptexplore.model.program_order import began
from ptexplore.model.run import OwnOperators, PartKind, Run, Unweighed, known_weights
from ptexplore.model.trace import Session, Trace
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace.alike import Shapes
from ptexplore.view.trace.around import title_of
from ptexplore.view.trace.gathering import Finished, PartInMaking, finished
from ptexplore.view.trace.native import COMPILING
from ptexplore.view.trace.native_names import kernel_name

LAUNCH = "launch"  # the type of kernels and copies on a device
NAMELESS = "?"  # the name of a module that its outermost module does not have, for example one made in a forward
ENGINE = "autograd::engine::evaluate_function: "


# The largest part of the time of a compilation that is not its own: Python 3.11 runs slower while it calls a profile
# function. In four programs it was a twentieth to three fifths.
SLOWER = 0.6
NOTABLE = 1.1  # a part that is so much longer with the bounds inside it is a bound itself.


class TimeOfRecording(NamedTuple):
    """The nanoseconds that recording took in a part: as known, and the sure part of that."""

    known: int
    sure: int
    is_unsure: bool  # whether the error is larger than the time that is left


def time_of_recording(time: int, recording: int, error: int) -> TimeOfRecording:
    """Returns how much of a time recording took. An estimate that is longer than the time is the whole time."""
    known = min(recording, time)
    error = error * known // max(recording, 1)
    return TimeOfRecording(known, known - error, error > time - known)


@dataclass(eq=False)
class _PathsPart(PartInMaking):
    """A part while it is gathered, with the first path that ends at it."""

    path: CallPath = field(kw_only=True)
    recording: int = 0  # what was subtracted from its cost
    compiling: int = 0  # the cost of the compilations in it


def program_run(trace: Trace, _session: Session | None) -> Run:
    """Returns the parts of a recorded program."""
    return run_of(trace.recorded, title_of(trace))


def run_of(program: Program, script: str) -> Run:
    """Returns what a program ran; the outermost part is the program itself. `script` is its name.

    All imports are one part; their time is subtracted from all other parts. Folding of recorded calls took place while
    no part ran.
    """
    root = _PathsPart("program", script, path=program.paths[0], calls=1, cost=program.wall - program.folding)
    owners = [root]
    wrappers = _wrappers(program.paths)
    for number, path in enumerate(program.paths[1:], 1):
        outer = owners[path.parent or 0]
        if number in wrappers:
            owners.append(outer)
            continue
        if path.kind == "imports" and outer.kind != "imports":
            for part in outer.outwards():
                part.cost -= path.time
            outer = root
        owners.append(_owner(path, outer))
    backward = Counter[int]()  # by number of calls: the time of the nodes that these calls recorded
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
    """Subtracts from each part's time what recording took in it and inside it; never more than the part's time.

    If the time of recording is not known well enough, only its sure part is subtracted: the rest is a bound.
    """
    recording, errors = Counter[int](), Counter[int]()  # by the id of the part
    for path, owner in zip(program.paths, owners, strict=True):
        recording[id(owner)] += path.recording
        errors[id(owner)] += path.error
    # A part comes after the part around it: in reverse order, everything inside a part is known first.
    for part in reversed(list({id(owner): owner for owner in owners}.values())):
        if recording[id(part)]:
            taken = time_of_recording(part.cost, recording[id(part)], errors[id(part)])
            if part.outer is not None and taken.is_unsure:
                part.at_most, taken = True, taken._replace(known=taken.sure)
            part.cost, part.recording = part.cost - taken.known, part.recording + taken.known
            if part.outer is not None and part.kind not in ("imports", "thread"):  # no other part has their time
                recording[id(part.outer)] += recording[id(part)]
                errors[id(part.outer)] += errors[id(part)]


def _count(program: Program, owner: _PathsPart, first: int, calls: OperatorCalls, backward: int) -> None:
    """Counts calls for the part that made them. `first`: their place in the order of all calls; it ascends."""
    for kind, own in own_operators(program, calls, first=first, backward=backward):
        if has_row(program, program.kinds[kind]):
            owner.own.setdefault(own.name, []).append(own)
        owner.add(own)
    owner.ran.append((calls.route, calls.shape, calls.calls))
    for part in owner.outwards():
        if part.first is not None:  # then all parts around it have one too
            break
        part.first = first


def own_operators(
    program: Program, calls: OperatorCalls, *, first: int = 0, backward: int = 0
) -> Iterator[tuple[int, OwnOperators]]:
    """Yields the calls of a route, and the operators called beside them; each with the number of its kind.

    Operators beside a route (called by an engine step or by TorchScript) have rows of their own; their time is in the
    route's time.
    """
    number = program.routes[calls.route].kind
    by_it, beside = unrolled(_called(program, program.kinds[number]))
    own = OwnOperators(
        name=operator_name(program.kinds[number]),
        calls=calls.calls,
        cost=time_without_python(calls),
        routes=(calls.route,),
        operators=calls.calls * by_it,
        backward=backward,
        first=first,
        **known_weights({**(calls.weights or {}), "device": sum(calls.device)} if calls.device else calls.weights),
    )
    yield number, own
    for inner, count in beside.items():
        name, total = operator_name(program.kinds[inner]), calls.calls * count
        yield inner, OwnOperators(name=name, calls=total, routes=(calls.route,), operators=total, first=first)


def time_without_python(calls: OperatorCalls) -> int:
    """Returns the nanoseconds of calls and what they called, without Python, which has parts of its own."""
    return max(calls.time - calls.python, 0)


def calls_python(program: Program) -> bool:
    """Whether an operator or a node called Python."""
    return any(calls.python for calls in program.calls)


def times_elsewhere(program: Program) -> Iterator[TraceRemark]:
    """Says whose times a program has, if they are from another run."""
    elsewhere = program.elsewhere
    if elsewhere is None:
        return
    yield beside.TimesElsewhereBeside(
        file=elsewhere.file, matched=elsewhere.matched, calls=elsewhere.matched + elsewhere.unmatched
    )
    if elsewhere.unmatched:
        yield beside.NotMatched(names=tuple(beside.CallsOf(name=name, count=count) for name, count in elsewhere.names))
    if elsewhere.unlike:
        yield beside.NodesUnlike(count=elsewhere.unlike)
    if elsewhere.device_events:
        yield beside.DeviceEventsLeft(count=elsewhere.device_events)


def operator_name(kind: OperatorKind) -> str:
    """Returns a short name: an operator without `aten::`, a node without the engine's prefix, a kernel shortened."""
    if kind.type == LAUNCH:
        return kernel_name(kind.name)
    return kind.name.removeprefix(ENGINE).removeprefix("aten::").rpartition("::")[2]


def is_operator(kind: OperatorKind) -> bool:
    """Whether a kind is an operator.

    The profiler also records other things as operators, whose names have no namespace.
    """
    return kind.type == "op" and "::" in kind.name


def is_function(kind: OperatorKind) -> bool:
    """Whether a kind is a torch.autograd.Function: the profiler records it by its class name, with a sequence number.

    A profiler range in torch's own Python (torch._dynamo has some) has no sequence number.
    """
    return kind.type == "op" and "::" not in kind.name and kind.counted


def has_row(program: Program, kind: OperatorKind) -> bool:
    """Whether a kind is an operator, a torch.autograd.Function, a node that ran, or a launch outside all of these.

    Ranges and TorchScript calls have no row: they only contain operators. A node that the engine reached only for its
    gradient did not run.
    """
    if kind.type == "engine":
        return any(program.kinds[number].type == "node" for number, _ in kind.inside if number >= 0)
    return kind.type in ("node", LAUNCH) or is_operator(kind) or is_function(kind)


def operator_kinds(program: Program) -> frozenset[int]:
    """Returns the kinds of all operators that Python, nodes, the engine or TorchScript called."""
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
    """Returns how many operator calls a row counts itself, and the calls beside it, by kind.

    Calls that operators make do not count. A node's calls count for the node. The engine's calls around a node, which
    add gradients (Engine::evaluate_function of torch/csrc/autograd/engine.cpp), and TorchScript's calls have rows of
    their own.
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
    """Returns the part that a path ends at or belongs to; makes the part at the first path."""
    kind = _kind(path)
    if kind is None or (path.kind == "user" and _is_forward(path, outer)):
        return outer
    if kind == outer.kind and kind != "module" and (outer.name, outer.path.file) == (_name(path), path.file):
        outer.calls += path.calls  # recursion: the outer call's time includes it
        outer.at_least |= path.at_least
        return outer
    around = _in_turn(path, outer) if kind == "user" else None
    if around is not None:
        return around
    if kind == outer.kind == "backward":
        return outer
    if kind == outer.kind == "optimizer" and outer.name.endswith(".__init__"):
        return outer  # the constructors of its base classes
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
    part.at_most |= kind == "compiling"  # Python is slower while it calls a profile function, by an unknown part
    return part


def _wrappers(paths: Sequence[CallPath]) -> frozenset[int]:
    """Returns the numbers of the decorators' functions between a module and its forward: the module's part has them."""
    wrappers: set[int] = set()
    for path in paths:
        if path.kind != "user":
            continue
        between: list[int] = []
        at = path.parent
        while at is not None and paths[at].kind in ("user", "torch") and _site(paths[at]) != _site(path):
            between.append(at)
            at = paths[at].parent
        if at is not None and paths[at].kind == "module" and _site(paths[at]) == _site(path):
            wrappers.update(number for number in between if paths[number].kind == "user")
    return frozenset(wrappers)


def _site(path: CallPath) -> tuple[str | None, int | None]:
    return path.file, path.first


def _in_turn(path: CallPath, outer: _PathsPart) -> _PathsPart | None:
    """Returns the part of the same function around a path, if functions of yours in between led back to it; else None.

    What the path did counts only for that part, so its time is subtracted from the parts in between. The rows then
    still add up.
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
    """Returns the kind of part that a path ends at, or None if the path is folded into the part that called it."""
    if path.kind in ("thread", "imports", "user", "library", "module"):
        return path.kind
    if path.kind != "torch":
        return None
    row = timed(path.file or "", path.name)
    return row.part if row is not None else None


def is_compilation(path: CallPath) -> bool:
    """Whether a path ends at a function of torch.compile that compiles something."""
    return _kind(path) == "compiling"


def _name(path: CallPath) -> str:
    if is_compilation(path):
        return COMPILING
    if path.kind == "torch" and (path.file or "").endswith("autograd/__init__.py"):
        return f"torch.autograd.{path.name}"
    if _kind(path) == "optimizer" and path.type is not None:  # the class may have the method from a base class
        return f"{path.type}.{path.name.rpartition('.')[2]}"
    return "" if path.kind == "module" and path.name == NAMELESS else path.name


def _is_forward(path: CallPath, outer: _PathsPart) -> bool:
    """Whether a function of yours is the forward of the module around it. It then belongs to the module's part."""
    return outer.kind == "module" and _site(path) == _site(outer.path)


def _finished(part: _PathsPart, signatures: Shapes) -> Unrolling[Finished]:
    """Returns a part with the parts inside it, alike ones joined, and its signature."""
    inside = list((yield each(_finished(inner, signatures) for inner in part.inside.values())))
    own_cost = sum(own.cost for operators in part.own.values() for own in operators)
    if part.kind == "thread":  # its start time is not known
        part.calls, part.cost = 1, own_cost + sum(inner.cost for inner, _ in inside)
    first = -1
    for number, (inner, signature) in enumerate(inside):  # without operators, its place is after the part before it
        first = inner.first if inner.operators else first
        inside[number] = replace(inner, first=first), signature
    beside = ("imports", "thread")  # their time is in no other part's time
    if part.kind not in beside:  # recording time is estimated from samples, and can exceed a short part
        timed = [inner for inner, _ in inside if inner.kind not in beside]
        least, most = (
            min(own_cost + sum(inner.cost for inner in inner_parts), part.cost + part.recording)
            for inner_parts in ([inner for inner in timed if not inner.at_most], timed)
        )
        part.cost = max(part.cost, least)
        if most > NOTABLE * part.cost:  # then the shares of all that is inside are not known, but for their bounds
            part.cost, part.at_most = most, True
        within = sum(inner.compiling for inner in part.inside.values() if inner.kind not in beside)
        part.compiling = part.cost if part.kind == "compiling" else within
        part.at_most |= SLOWER * part.compiling > (NOTABLE - 1) * part.cost
    return finished(part, inside, (frozenset(Counter(part.ran).items()),), signatures)


def kernels(program: Program) -> list[tuple[str, int, int]]:
    """Returns the kernels and copies of devices, each once: name, count, nanoseconds. The longest comes first."""
    counts, times = Counter[str](), Counter[str]()
    for calls in program.calls:
        for name, time in zip(launches(program, program.routes[calls.route].kind), calls.device, strict=False):
            counts[name] += calls.calls
            times[name] += time
    return [(name, counts[name], time) for name, time in times.most_common()]


def launches(program: Program, kind: int) -> Iterator[str]:
    """Yields the names of what one call of a kind launched, in order, except what Python launched inside it."""
    pending = [kind]
    while pending:
        known = program.kinds[pending.pop()]
        if known.type == LAUNCH:
            yield known.name
        pending += [inner for inner, _ in reversed(known.inside) if inner != HOLE]


def users_place(program: Program, calls: OperatorCalls) -> str | None:
    """Returns the innermost place in the user's code that led to a call."""
    made = calls if calls.recorded is None else program.calls[calls.recorded]
    return place_on_path(program, made.path, made.line)


def place_on_path(program: Program, path: int, line: int | None = None) -> str | None:
    """Returns the innermost place in the user's code on a path: a line, or the function if no line is known.

    `line`: the line of an operator by syntax in the function at the end of the path.

    For operator syntax (`a + b`), Python reports only the function, and the line is not always certain. A line inside a
    package is skipped: the line in the user's code that called the package counts.
    """
    at: int | None = path
    while at is not None:
        known = program.paths[at]
        if known.kind == "user" and known.file is not None:
            file = known.file.rpartition("/")[2]
            return f"{file}:{line}" if line is not None else f"in {known.name} {file}:{known.first or 1}"
        at, line = known.parent, known.line
    return None
