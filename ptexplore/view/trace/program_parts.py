"""A recorded program as parts to read: its modules, your functions, backward, the optimizer, what loads data, imports.

Torch's own functions are folded into the part that called them. Parts that ran the same operators on the same sizes
side by side are one part with several names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ptexplore.capture.program import began
from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.places import SourceRef
from ptexplore.model.program import HOLE, CallPath, OperatorCalls, OperatorKind, Program
from ptexplore.view.trace.native_names import kernel_name

# What an expression calls itself, outside of modules, is a `call`.
PartKind = Literal["program", "thread", "imports", "user", "module", "call", "backward", "optimizer", "data"]
NODES = ("engine", "node")
LAUNCH = "launch"  # the type of what a device was given to do
_MEMBER = re.compile(r"((?:.*\.)?)\d+")  # the name of a member of a list of modules: `layers.0`
TORCH = "/torch/"
ENGINE = "autograd::engine::evaluate_function: "


@dataclass(frozen=True, slots=True)
class OwnOperators:
    """Calls of one operator, or runs of one node of backward, that a part made itself: `routes` are their numbers.

    `first` tells the order in which operators and parts were called first, among those of the same part.
    """

    name: str
    calls: int
    time: int  # nanoseconds
    routes: tuple[int, ...]
    operators: int = 0  # calls from Python, or by nodes
    saved: int = 0
    backward: int = 0
    first: int = 0
    device: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a program, of all its calls: times in nanoseconds, from entry to exit.

    Of an expression that was stepped whole, times are instructions.

    `backward` is the time of the nodes that its operators recorded, `operators` how many operators it called from
    Python, or nodes and the engine called, those of its parts included; `saved` the bytes that these keep for backward,
    `device` the time that a device took for what these launched.
    """

    kind: PartKind
    name: str  # of a module within the outermost one: `blocks.0.attn`
    type: str | None
    calls: int
    time: int
    backward: int
    operators: int
    saved: int
    source: SourceRef | None
    own: tuple[OwnOperators, ...] = ()
    parts: tuple[Part, ...] = ()
    names: tuple[str, ...] = ()  # of parts alike, which are shown as one: all their names
    first: int = 0  # as of operators
    device: int = 0
    at_least: bool = False  # further calls of it, with all that they did, are counted for what called it

    @property
    def own_time(self) -> int:
        """The time that its parts did not take."""
        return max(self.time - sum(part.time for part in self.parts), 0)

    def walk(self) -> Iterator[Part]:
        """The part and all inside of it, outermost first."""
        pending = [self]
        while pending:
            part = pending.pop()
            yield part
            pending += reversed(part.parts)


@dataclass(eq=False)
class _Gathered:
    """A part while it is gathered. `inside`: its parts by what tells them apart, in the order of their first calls."""

    kind: PartKind
    path: CallPath
    name: str
    outer: _Gathered | None = None
    calls: int = 0
    time: int = 0
    recording: int = 0  # what was taken off its time
    backward: int = 0
    saved: int = 0
    operators: int = 0
    device: int = 0
    source: SourceRef | None = None
    inside: dict[object, _Gathered] = field(default_factory=dict)
    own: dict[str, list[OwnOperators]] = field(default_factory=dict)
    first: int | None = None  # the place of the first of its calls; None where it made none
    sizes: list[tuple[int, int, int]] = field(default_factory=list)  # route, shape, calls
    at_least: bool = False


def parts_of(program: Program, script: str) -> Part:
    """The parts of a program, the program itself outermost; `script` is its name.

    What was imported is one part, and its time is taken out of all others'. What was seen was folded while no part ran.
    """
    root = _Gathered("program", program.paths[0], script)
    root.calls, root.time = 1, program.wall - program.folding
    owners = [root]
    for path in program.paths[1:]:
        outer = owners[path.parent or 0]
        if path.kind == "imports" and outer.kind != "imports":
            for part in _outwards(outer):
                part.time -= path.time
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
    return unrolled(_finished(root, {}))[0]


def _take_recording(program: Program, owners: Sequence[_Gathered]) -> None:
    """Take out of each part's time what recording took in it, and in what is inside of it; never more than it has."""
    recording = Counter[int]()  # by the id of the part
    for path, owner in zip(program.paths, owners, strict=True):
        recording[id(owner)] += path.recording
    # A part comes after the one around it, so that going back each knows all that is inside of it.
    for part in reversed(list({id(owner): owner for owner in owners}.values())):
        if recording[id(part)]:
            taken = min(recording[id(part)], part.time)
            part.time, part.recording = part.time - taken, part.recording + taken
            if part.outer is not None and part.kind not in ("imports", "thread"):  # their time is in no other's
                recording[id(part.outer)] += recording[id(part)]


def _outwards(part: _Gathered | None) -> Iterator[_Gathered]:
    while part is not None:
        yield part
        part = part.outer


def _count(program: Program, owner: _Gathered, first: int, calls: OperatorCalls, backward: int) -> None:
    """Count some calls for the part that made them, and those around it. `first`: their place among all."""
    kind = program.kinds[program.routes[calls.route].kind]
    by_it, beside = unrolled(_called(program, kind))
    called = calls.calls * (by_it + sum(beside.values()))
    device = sum(calls.device)
    if has_row(program, kind):
        told = OwnOperators(
            name=operator_name(kind),
            calls=calls.calls,
            time=time_without_python(calls),
            routes=(calls.route,),
            operators=calls.calls * by_it,
            saved=calls.saved,
            backward=backward,
            first=first,
            device=device,
        )
        owner.own.setdefault(told.name, []).append(told)
    for inner, count in beside.items():  # their time is in that of what is around them
        name, total = operator_name(program.kinds[inner]), calls.calls * count
        owner.own.setdefault(name, []).append(OwnOperators(name, total, 0, (calls.route,), total, first=first))
    owner.sizes.append((calls.route, calls.shape, calls.calls))
    for part in _outwards(owner):
        part.first = first if part.first is None else part.first
        part.operators += called
        part.saved += calls.saved
        part.backward += backward
        part.device += device


def time_without_python(calls: OperatorCalls) -> int:
    """How long calls took, with what they called, but without Python: what that called is told for itself."""
    return max(calls.time - calls.python, 0)


def calls_python(program: Program) -> bool:
    """Whether an operator, or a node, called Python."""
    return any(calls.python for calls in program.calls)


def times_elsewhere(program: Program) -> Iterator[str]:
    """Whose times a program has, where they are not its own, in lines."""
    told = program.elsewhere
    if told is None:
        return
    calls = (
        f"{told.matched:,} of its {told.matched + told.unmatched:,} outermost operator calls are calls of this program"
    )
    yield f"times are of another run, from {told.file}: those of operators alone; {calls}"
    if told.unmatched:
        yield f"not matched: {', '.join(f'{name} {count:,}' for name, count in told.names)}, …"
    if told.unlike:
        yield f"{told.unlike:,} nodes of backward have a sequence number of another call there than here"
    if told.device_events:
        yield f"{told.device_events:,} kernels and copies of devices in it are not counted"


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


def beside(program: Program, kind: OperatorKind) -> Counter[int]:
    """The operators that something calls which has no row of their calls: by kind, how many."""
    return unrolled(_called(program, kind))[1]


def _owner(path: CallPath, outer: _Gathered) -> _Gathered:
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
        part = outer.inside[key] = _Gathered(kind, path, _name(path), outer)
        part.source = path.source
    part.calls += path.calls
    part.time += path.time
    part.at_least |= path.at_least
    return part


def _in_turn(path: CallPath, outer: _Gathered) -> _Gathered | None:
    """The part of the same function, if functions of the user's between it and the path led back to it; else None.

    What the path did counts for that part alone, so that rows still add up: it is taken off the parts between.
    """
    between: list[_Gathered] = []
    part: _Gathered | None = outer
    while part is not None and part.kind == "user":
        if (part.path.name, part.path.file, part.path.first) == (path.name, path.file, path.first):
            for inner in between:
                inner.time -= path.time
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


def _is_forward(path: CallPath, outer: _Gathered) -> bool:
    """Whether a function of the user's is the forward of the module around it: it is the module's part."""
    return outer.kind == "module" and (path.file, path.first) == (outer.path.file, outer.path.first)


Signature = int  # of parts that ran the same operators on the same sizes
Signatures = dict[tuple[object, ...], Signature]  # by what such parts have in common


def _finished(part: _Gathered, signatures: Signatures) -> Unrolling[tuple[Part, Signature]]:
    """A part with its parts, alike ones joined; and its signature."""
    inside = list((yield each(_finished(inner, signatures) for inner in part.inside.values())))
    if part.kind == "thread":  # nothing tells when it began
        own_time = sum(own.time for operators in part.own.values() for own in operators)
        part.calls, part.time = 1, own_time + sum(inner.time for inner, _ in inside)
    first = -1
    for number, (inner, signature) in enumerate(inside):  # what called no operator stands behind what came before it
        first = inner.first if inner.operators else first
        inside[number] = replace(inner, first=first), signature
    own = list(sum_of_own(part.own.values()))
    beside = ("imports", "thread")  # their time is in no other's
    least = sum(o.time for o in own) + sum(inner.time for inner, _ in inside if inner.kind not in beside)
    if part.kind not in beside:  # what recording took is sampled, and can be too much for a part that took little
        part.time = max(part.time, min(least, part.time + part.recording))
    finished = Part(
        kind=part.kind,
        name=part.name,
        type=part.path.type,
        calls=part.calls,
        time=part.time,
        backward=part.backward,
        operators=part.operators,
        saved=part.saved,
        source=part.source,
        own=tuple(own),
        parts=(),
        first=part.first or 0,
        device=part.device,
        at_least=part.at_least,
    )
    return with_inside(finished, inside, tuple(sorted(part.sizes)), signatures)


def with_inside(
    part: Part, inside: Sequence[tuple[Part, Signature]], ran: tuple[object, ...], signatures: Signatures
) -> tuple[Part, Signature]:
    """A part with what is inside of it, alike ones joined, its costliest operators first; and its signature.

    `ran` says which operators it ran itself, and on what; `signatures` has those that were met.
    """
    own = sorted(part.own, key=lambda operators: -operators.time)
    same = (part.kind, part.type if part.kind == "module" else part.name, part.source)
    alike = (*same, part.calls, ran, tuple(signature for _, signature in inside))
    signature = signatures.setdefault(alike, len(signatures))
    return replace(part, own=tuple(own), parts=tuple(joined(inside))), signature


def joined(parts: Iterable[tuple[Part, Signature]]) -> Iterator[Part]:
    """The parts in the order of their first calls; those that are alike as one, where the first of them stands.

    Modules are joined if they stand side by side, or if they are members of one list: their names end with a number.
    """
    alike: list[tuple[Signature, list[Part]]] = []
    for part, signature in parts:
        same = next((held for other, held in alike if other == signature and _may_join(held, part, alike)), None)
        if same is not None:
            same.append(part)
        else:
            alike.append((signature, [part]))
    for _, held in alike:
        yield held[0] if len(held) == 1 else unrolled(_as_one(held))


def _may_join(held: Sequence[Part], part: Part, alike: Sequence[tuple[Signature, list[Part]]]) -> bool:
    if part.kind != "module":
        return False
    members = [_MEMBER.fullmatch(name) for name in (held[-1].name, part.name)]
    in_one_list = all(members) and len({member[1] for member in members if member is not None}) == 1
    return alike[-1][1] is held or in_one_list


def _as_one(parts: Sequence[Part], *, named: bool = True) -> Unrolling[Part]:
    """Parts of the same structure as one: sums, and the names of all, or those of the first."""
    first = parts[0]
    names = tuple(name for part in parts for name in part.names or (part.name,))
    within = yield each(_as_one(inner, named=False) for inner in zip(*(part.parts for part in parts), strict=False))
    return replace(
        first,
        names=names if named else first.names,
        calls=sum(part.calls for part in parts),
        time=sum(part.time for part in parts),
        backward=sum(part.backward for part in parts),
        operators=sum(part.operators for part in parts),
        saved=sum(part.saved for part in parts),
        device=sum(part.device for part in parts),
        at_least=any(part.at_least for part in parts),
        own=tuple(sum_of_own(part.own for part in parts)),
        parts=within,
    )


def sum_of_own(given: Iterable[Iterable[OwnOperators]]) -> Iterator[OwnOperators]:
    """The calls of each operator as one."""
    by_name: dict[str, list[OwnOperators]] = {}
    for operators in given:
        for own in operators:
            by_name.setdefault(own.name, []).append(own)
    for name, held in by_name.items():
        yield OwnOperators(
            name,
            sum(own.calls for own in held),
            sum(own.time for own in held),
            tuple(dict.fromkeys(route for own in held for route in own.routes)),
            sum(own.operators for own in held),
            sum(own.saved for own in held),
            sum(own.backward for own in held),
            min(own.first for own in held),
            sum(own.device for own in held),
        )


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
