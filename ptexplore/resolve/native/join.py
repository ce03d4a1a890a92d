"""Joins stepped frames with claims: one tree with the nesting of the machine, observed where there was a frame."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import zip_longest

from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.observed import Phase, SteppedCalls, records
from ptexplore.model.reasons import (
    CalledBefore,
    CalledOtherTimes,
    CallMore,
    CallsMore,
    CompilesScript,
    EnteredOtherTimes,
    FramesUnordered,
    InSeveralThreads,
    NameAlone,
    NodeBy,
    NoSuchCall,
    NotAmongShown,
    NotCalledAgain,
    NotPlaced,
    OnOneThread,
    OnThreads,
    RanBefore,
    Reason,
    RecordedBefore,
    TooDeep,
    TreeEnds,
)
from ptexplore.model.trace import walk
from ptexplore.resolve.autograd import EVALUATE
from ptexplore.resolve.claims import Claim, Context, replaced, rewrite
from ptexplore.resolve.native.call_tree import NativeFrame, SteppedPart, kernel_below, part
from ptexplore.resolve.native.conclude import DEEPEST, Conclusions, grow
from ptexplore.resolve.native.seen import UNNAMED, Seen, applied, class_of_node
from ptexplore.resolve.native.sites import Sites

# The operator for its C++ name ("add_Tensor" -> "aten::add.Tensor"), or for the full name of a kernel that only it has.
OpOf = Callable[[str], str | None]
MAKES_NODE = "at::sequence_number::get_and_increment"  # the constructor of a node calls it (autograd/function.h)
# Functions of TorchScript's executor that optimise a graph (torch/csrc/jit/runtime/profiling_graph_executor_impl.cpp).
COMPILES = ("torch::jit::ProfilingGraphExecutorImpl::run", "torch::jit::ProfilingRecord::instrumentGraph")
NAMED = 6  # limit on the names in a finding
COSTLY = 0.1  # of a part's instructions: such a call is recorded by the profiler, if it runs


def join(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Join the claims with the frames of every stepped part."""
    sites = Sites(context.lookup)
    stepped_calls = tuple(records(context.session.observations, "calls", SteppedCalls))
    for calls in stepped_calls:
        stepped = part(calls)
        if not stepped.frames:
            continue
        if stepped.calls.part == "operator":
            claims = _operator(context, sites, stepped, claims)
        else:
            claims = _phase(context, sites, stepped, stepped.calls.part, claims)
        if any(frame.function.name.plain.startswith(COMPILES) for frame in stepped.frames):
            context.tell("compiles", CompilesScript())
        if stepped.calls.cut:
            is_one_of_many = stepped.calls.part == "operator" and len(stepped_calls) > 1
            whose = stepped.calls.op or "" if is_one_of_many or context.session.program is not None else ""
            context.tell("cut", TreeEnds(stepped.calls.cut, whose))
    return claims


def _phase(
    context: Context,
    sites: Sites,
    stepped: SteppedPart,
    phase: Phase,
    claims: tuple[Claim, ...],
) -> tuple[Claim, ...]:
    """Returns the claims, where a part that ran a whole phase replaces the claims of this phase."""
    mine = tuple(claim for claim in claims if claim.hop.phase == phase)
    others = tuple(claim for claim in claims if claim.hop.phase != phase)
    joined = _joined(context, Seen(context, sites, stepped, phase), mine)
    return (*joined, *others) if phase == "forward" else (*others, *joined)


def _operator(context: Context, sites: Sites, stepped: SteppedPart, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Returns the claims, where a part that is one operator call replaces this call."""
    if context.session.program is not None:  # only one call of a kind is shown, so numbers do not help
        wanted = next((claim for claim in walk(claims) if claim.event.observation == stepped.calls.event), None)
    else:
        seen = Seen(context, sites, stepped, "forward")
        wanted = _wanted(stepped, claims) or _nesting_alike(seen, stepped, claims)
    if wanted is None:
        is_program = context.session.program is not None
        why = NotAmongShown() if is_program else _why_not_placed(stepped, claims)
        context.tell("cut", NotPlaced(str(stepped.calls.op), why))
        return claims
    joined = _joined(context, Seen(context, sites, stepped, wanted.hop.phase), (wanted,))
    return _replaced(claims, wanted, joined)


def _why_not_placed(stepped: SteppedPart, claims: tuple[Claim, ...]) -> Reason:
    """Returns why the stepped call cannot be identified here."""
    base = str(stepped.calls.op).partition(".")[0]
    called = [claim for claim in walk(claims) if claim.hop.kind == "op" and claim.event.name == f"aten::{base}"]
    if len({claim.event.thread for claim in called}) > 1:
        return InSeveralThreads()
    if stepped.calls.of is not None and len(called) != stepped.calls.of:
        return CalledOtherTimes(base, stepped.calls.of, len(called))
    return EnteredOtherTimes(base) if stepped.calls.number is None else NoSuchCall(len(called))


def _called(stepped: SteppedPart, claims: tuple[Claim, ...]) -> list[Claim]:
    """Returns the claims for calls of the stepped operator, in order.

    Empty if the stepped run called the operator more or fewer times, or if several threads call it: then the order is
    not known, and numbers mean nothing.
    """
    base, _, overload = str(stepped.calls.op).partition(".")
    called = [c for c in walk(claims) if c.hop.kind == "op" and c.event.name == f"aten::{base}"]
    is_other = stepped.calls.of is not None and len(called) != stepped.calls.of
    if is_other or len({claim.event.thread for claim in called}) > 1:
        return []
    return [c for c in called if not overload or c.hop.op in (None, f"aten::{base}.{overload}")]


def _wanted(stepped: SteppedPart, claims: tuple[Claim, ...]) -> Claim | None:
    """Returns the claim of the stepped call: the claim with the operator's name and the call's number."""
    called, number = _called(stepped, claims), stepped.calls.number
    if number is None:  # the probe did not know the number: only a single call is certain
        return called[0] if len(called) == 1 else None
    return called[number - 1] if len(called) >= number else None


def _nesting_alike(seen: Seen, stepped: SteppedPart, claims: tuple[Claim, ...]) -> Claim | None:
    """Returns the only claim with as many inner calls of the operator as the stepped call.

    A boxed call with an unknown operator may count as one. If several claims fit, the claim must also run Python
    exactly if the stepped call did.

    This is for boxed calls, which the probe cannot count, because it counts entry points. A call that was not stepped
    to its end may have more inner calls, so it is not matched.
    """
    if stepped.calls.number is not None or stepped.calls.cut:
        return None
    named = f"aten::{str(stepped.calls.op).partition('.')[0]}"
    known = handles(stepped.frames, seen.operator_named)
    marks = [frame_mark(frame, seen.operator_named, (), known) for frame in stepped.frames]
    ops = [mark for mark in marks if mark is not None and mark.kind == "op"]
    inside = sum(_base(mark.name) == named and not mark.optional for mark in ops)
    most = inside + sum(mark.optional and _base(mark.name) in (named, UNNAMED) for mark in ops)
    called = _called(stepped, claims)
    counted = ((claim, sum(other in called for other in claim.walk())) for claim in called)
    fitting = [claim for claim, count in counted if inside <= count <= most]
    if len(fitting) > 1 and stepped.calls.ordered:
        fitting = [claim for claim in fitting if bool(seen.python) == any(c.hop.kind == "python" for c in claim.walk())]
    return fitting[0] if len(fitting) == 1 else None


def _replaced(claims: tuple[Claim, ...], old: Claim, new: tuple[Claim, ...]) -> tuple[Claim, ...]:
    return replaced(claims, lambda claim: new if claim is old else None)


def _joined(context: Context, seen: Seen, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    aligned = align(claims, seen.part.frames, seen.operator_named)
    missed = _missed(seen, claims, aligned)
    ran = _operators_run(seen) if missed else Counter[str]()
    absent = _absent(seen, claims, missed, ran)
    elsewhere = _other_python(seen, claims, aligned)
    yours = [claim for claim in elsewhere if _is_yours(context, claim)]
    if absent or yours:
        context.tell("other-run", _ran_otherwise(seen, claims, absent or yours, ran))
    if absent or elsewhere:
        claims = _without_others(claims, {claim.identity for claim in absent}, {claim.identity for claim in elsewhere})
        aligned = align(claims, seen.part.frames, seen.operator_named)
        missed = _missed(seen, claims, aligned)
    unmade = _unmade(seen, claims, aligned)
    if unmade:
        context.tell("other-run", _made_otherwise(seen, unmade))
        claims = _without_nodes(claims, unmade)
        aligned = align(claims, seen.part.frames, seen.operator_named)
        missed = _missed(seen, claims, aligned)
    _tell_elsewhere(context, claims, missed, ran)
    growth = grow(seen.part, seen.python | set(aligned.values()))
    matched = {key: frame for key, frame in aligned.items() if frame in growth.of}
    work = Conclusions(context, seen, growth, matched, frozenset(_name(c) for c in walk(absent) if c.hop.kind == "op"))
    joined = work.join(claims)
    for kind, reason, branch in work.findings:
        context.tell(kind, reason, branch.done if branch is not None else None)
    if seen.part.calls.unordered:
        context.tell("cut", FramesUnordered(seen.part.calls.unordered))
    if growth.cut:
        context.tell("cut", TooDeep(DEEPEST))
    return joined


def _absent(seen: Seen, claims: tuple[Claim, ...], missed: Sequence[Claim], ran: Counter[str]) -> list[Claim]:
    """Returns the outermost operator calls and nodes of an earlier run that a completely stepped phase did not make.

    For an operator, neither its entry nor one of the kernels in its claim ran, or all its calls that ran are known to
    be other calls of the earlier run. For a node, no node with its name was applied. Examples: convolutions with
    filters of one element depend on the number of threads, which is one in the stepped run. TorchScript replaces
    several nodes, which its first call records, by one.
    """
    if not missed:
        return []
    named = (frame.function for frame in seen.part.frames)
    functions = {name for f in named for name in (f.name.plain, f.landmark.kernel.plain if f.landmark.kernel else "")}
    nodes = {applied(frame) for frame in seen.part.frames}
    called = Counter(map(_name, _operators_seen(claims)))
    left = Counter(_name(claim) for claim in missed if claim.hop.kind == "op")
    absent = []
    for claim in missed:
        if claim.hop.kind == "node":
            if nodes.isdisjoint((UNNAMED, class_of_node(claim))):
                absent.append(claim)
            continue
        kernels = {inner.hop.name for key in claim.children for inner in key.children if inner.hop.kind == "kernel"}
        name = _name(claim)
        is_other = not ran[name] and kernels and kernels.isdisjoint(functions)
        if not ran[UNNAMED] and (is_other or left[name] == called[name] - ran[name] < called[name]):
            absent.append(claim)
    inside = {inner.identity for claim in absent for inner in claim.walk() if inner is not claim}
    return [claim for claim in absent if claim.identity not in inside]


def _other_python(seen: Seen, claims: tuple[Claim, ...], aligned: Mapping[int, NativeFrame]) -> list[Claim]:
    """Returns calls of Python functions and builtins in an earlier run that a completely stepped phase did not make.

    A function that the stepped run called as often does not count, although the calls cannot be matched.
    """
    if seen.part.calls.cut or seen.part.calls.part == "operator" or not seen.part.calls.ordered:
        return []
    marked = [(claim, mark) for claim in walk(claims) if (mark := claim_mark(claim, ordered=True)) is not None]
    marked = [(c, mark) for c, mark in marked if mark.kind in ("python", "builtin") and c.event.thread == 0]
    bindings = {mark for _, mark in marked if mark.kind == "builtin"}
    called = Counter(mark for _, mark in marked)
    run = (frame_mark(frame, seen.operator_named, bindings, {}) for frame in seen.part.frames)
    ran = Counter(mark for mark in run if mark is not None and mark.kind in ("python", "builtin"))
    return [claim for claim, mark in marked if claim.identity not in aligned and ran[mark] < called[mark]]


def _without_others(claims: tuple[Claim, ...], absent: Container[int], elsewhere: Container[int]) -> tuple[Claim, ...]:
    """Returns the claims without the absent ones and everything in them, and without the functions in `elsewhere`.

    The content of functions in `elsewhere` takes their place. An operator call says which operators it called in the
    earlier run.
    """

    def kept(claim: Claim) -> Unrolling[tuple[Claim, ...]]:
        if claim.identity in absent:
            return ()
        before = tuple(dict.fromkeys(_called_before(claim, absent))) if claim.hop.kind == "op" else ()
        if before:
            claim = claim.but(claim.hop, CalledBefore(before))
        inner = [part for held in (yield each(map(kept, claim.children))) for part in held]
        if claim.identity in elsewhere:
            return tuple(inner)
        is_same = len(inner) == len(claim.children) and all(map(operator.is_, inner, claim.children))
        return (claim if is_same else replace(claim, children=tuple(inner)),)

    return tuple(claim for held in unrolled(each(map(kept, claims))) for claim in held)


def _is_yours(context: Context, claim: Claim) -> bool:
    """Whether a call is of your function. torch's own functions may be called by observers such as the profiler."""
    torchs = str(context.session.torch.torch_dir)
    return claim.event.type == "frame" and not str(claim.event.file).startswith(torchs)


def _called_before(operator: Claim, absent: Container[int]) -> Iterator[str]:
    """Yields the absent operator calls that an operator call made itself, by name."""
    pending = list(operator.children)
    while pending:
        claim = pending.pop(0)
        if claim.hop.kind != "op":
            pending[:0] = claim.children
        elif claim.identity in absent:
            yield _name(claim)


def _ran_otherwise(seen: Seen, claims: tuple[Claim, ...], other: Sequence[Claim], ran: Counter[str]) -> RanBefore:
    """Returns the difference between a stepped run and an earlier run: operators and nodes, or Python functions."""
    more = Counter(_name(claim) for claim in other if claim.hop.kind == "op")

    def named(claim: Claim) -> Reason:
        name = class_of_node(claim) if claim.hop.kind == "node" else claim.hop.name
        if claim.hop.kind == "op" and ran[_name(claim)]:  # other calls of the operator were stepped
            count = more[_name(claim)]
            return CallsMore(name, count) if count > 1 else CallMore(name)
        return NameAlone(f"{name}()" if claim.hop.kind == "python" else name)

    names = tuple(dict.fromkeys(map(named, other)))
    further = max(len(names) - NAMED, 0)
    return RanBefore(names[:NAMED], _not_stepped(seen), further, *_parting(seen, claims))


def _parting(seen: Seen, claims: tuple[Claim, ...]) -> tuple[int, str, str]:
    """Returns the position of the first different operator, its name in the earlier run and in the stepped run.

    The position is 0 if there is none, or if it is not known.
    """
    before = map(_name, _operators_seen(claims))
    known = handles(seen.part.frames, seen.operator_named)
    marks = (frame_mark(frame, seen.operator_named, (), known) for frame in seen.part.frames)
    stepped = [mark for mark in marks if mark is not None and mark.kind == "op"]
    if any(mark.optional or mark.name == UNNAMED for mark in stepped):
        return 0, "", ""  # perhaps the profiler did not record it
    pairs = zip_longest(before, (_base(mark.name) for mark in stepped), fillvalue="the end")
    first = next(((n, *pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1]), None)
    return first or (0, "", "")


def _not_stepped(seen: Seen) -> Reason:
    count = seen.part.calls.threads
    return OnThreads(count) if count != 1 else OnOneThread()


def _unmade(seen: Seen, claims: tuple[Claim, ...], aligned: Mapping[int, NativeFrame]) -> list[tuple[Claim, Claim]]:
    """Returns operator calls that recorded a node in an earlier run, but not when stepped, each with this node.

    A node gets its sequence number from a function that always has a frame.
    """
    if seen.part.calls.cut:
        return []
    made = []
    for claim in walk(claims):
        frame = aligned.get(claim.identity) if claim.hop.kind == "op" else None
        if frame is None or any(inner.function.name.plain == MAKES_NODE for inner in frame.descendants()):
            continue
        nodes = (c for key in claim.children for kernel in key.children for c in kernel.children)
        made += [(claim, node) for node in nodes if node.hop.node is not None and node.hop.node.recorded]
    return made


def _made_otherwise(seen: Seen, unmade: Sequence[tuple[Claim, Claim]]) -> RecordedBefore:
    recorded = dict.fromkeys(NodeBy(node.hop.name, call.hop.name) for call, node in unmade)
    return RecordedBefore(tuple(recorded), _not_stepped(seen))


def _without_nodes(claims: tuple[Claim, ...], unmade: Sequence[tuple[Claim, Claim]]) -> tuple[Claim, ...]:
    """Returns the claims without these nodes, and without the memory that they keep for backward."""
    calls = {call.identity for call, _ in unmade}

    def change(claim: Claim) -> Claim:
        weights = claim.hop.weights
        if weights is None or "saved" not in weights or claim.identity not in calls:
            return claim
        left = {name: value for name, value in weights.items() if name != "saved"}
        return replace(claim, hop=replace(claim.hop, weights=left or None))

    return rewrite(_without(claims, {node.identity for _, node in unmade}), change)


def _without(claims: tuple[Claim, ...], taken: Container[int]) -> tuple[Claim, ...]:
    """Returns the claims without some claims and everything in them."""
    return replaced(claims, lambda claim: () if claim.identity in taken else None)


def _operators_seen(claims: tuple[Claim, ...]) -> Iterator[Claim]:
    """Yields the operator calls that the profiler saw in the stepped thread."""
    calls = (claim for claim in walk(claims) if claim.event.type == claim.hop.kind == "op")
    return (claim for claim in calls if claim.event.thread == 0)


def _missed(seen: Seen, claims: tuple[Claim, ...], aligned: Mapping[int, NativeFrame]) -> list[Claim]:
    """Returns the operator calls and nodes that the profiler saw in this thread, without a frame in a whole phase.

    In a part that is no whole phase, these are operator calls in whose place the stepped run made another call.
    """
    if seen.part.calls.cut or seen.part.calls.part == "operator":
        return _with_another_call(seen, claims, aligned)
    calls = (claim for claim in walk(claims) if claim.event.type == claim.hop.kind and claim.hop.kind in ("op", "node"))
    return [claim for claim in calls if claim.event.thread == 0 and claim.identity not in aligned]


def _with_another_call(seen: Seen, claims: tuple[Claim, ...], aligned: Mapping[int, NativeFrame]) -> list[Claim]:
    """Returns operator calls without a frame, if the call around them made another costly call that no claim has.

    The profiler records no cheap calls (sizes, whether a tensor is complex), so only a costly one tells that the runs
    differ. Example: convolutions depend on the number of threads, which is one in the stepped run.
    """
    known = handles(seen.part.frames, seen.operator_named)
    marks = {frame.number: frame_mark(frame, seen.operator_named, (), known) for frame in seen.part.frames}
    calls = {number for number, mark in marks.items() if mark is not None and mark.kind == "op" and not mark.optional}
    matched = {frame.number for frame in aligned.values()}
    whole = max((frame.instructions for frame in seen.part.frames), default=0)
    around: set[int] = set()  # the calls that made a costly call of their own
    for frame in seen.part.frames:
        if frame.number in calls - matched and frame.instructions >= COSTLY * whole:
            outer = frame.parent
            while outer is not None and outer.number not in calls:
                outer = outer.parent
            if outer is not None:
                around.add(outer.number)

    missed: list[Claim] = []
    pending: list[tuple[Claim, int | None]] = [(claim, None) for claim in reversed(claims)] if around else []
    while pending:
        claim, within = pending.pop()
        if claim.event.type == claim.hop.kind == "op" and claim.event.thread == 0:
            matching = aligned.get(claim.identity)
            if matching is None and within in around:
                missed.append(claim)
            within = matching.number if matching is not None else None
        pending += [(inner, within) for inner in reversed(claim.children)]
    return missed


def _operators_run(seen: Seen) -> Counter[str]:
    """Returns how often the frames called each operator, by its name without an overload."""
    known = handles(seen.part.frames, seen.operator_named)
    marks = (frame_mark(frame, seen.operator_named, (), known) for frame in seen.part.frames)
    return Counter(_base(mark.name) for mark in marks if mark is not None and mark.kind == "op")


def _name(claim: Claim) -> str:
    return _base(claim.hop.op or claim.hop.name)


def _tell_elsewhere(context: Context, claims: tuple[Claim, ...], missed: Sequence[Claim], ran: Counter[str]) -> None:
    """Add a finding: operators that the profiler saw and that a completely stepped phase did not call.

    A function may change as it warms up. TorchScript's interpreter does: its first call records several nodes, later
    calls use one node for them.
    """
    if not missed:
        return
    called = Counter(_name(claim) for claim in walk(claims) if claim.event.type == "op" and claim.hop.kind == "op")
    # An operator that ran as often as it was called did run, although the calls cannot be matched.
    missed = [c for c in missed if c.hop.kind == "op" and ran[name := _name(c)] + ran[UNNAMED] < called[name]]
    if missed:
        names = tuple(dict.fromkeys(claim.hop.name for claim in missed))
        context.tell("nondeterministic", NotCalledAgain(names))


def _base(name: str) -> str:
    """Returns an operator's name without its overload, which some claims do not know."""
    return name.partition(".")[0]


# --- matching events to frames: both are preorders of one tree ---


@dataclass(frozen=True, slots=True)
class Matchable:
    """The mark of a claim or frame that can be matched: an operator call, a node's apply, a binding, a Python function.

    A binding is a "builtin" with the name that Python calls ("add"). If Python does not report the call, as for
    operator syntax, it is a "binding" with the name of its C function. `optional`: the profiler may not have recorded
    the call.
    """

    kind: str
    name: str
    optional: bool = field(default=False, compare=False)


def claim_mark(claim: Claim, *, ordered: bool = False) -> Matchable | None:
    """Returns the mark by which a claim is recognised among the frames; None if it has no frame of its own.

    `ordered`: the frames include Python functions, and the names by which Python called C functions.
    """
    event, hop = claim.event.type, claim.hop
    if ordered and event == "frame":
        return Matchable("python", python_mark(claim.event.file, claim.event.line, claim.event.function))
    if ordered and event == "builtin" and claim.event.method:
        return Matchable("builtin", claim.event.method)
    if hop.kind == "op" and event == "op":
        return Matchable("op", hop.op or hop.name)
    if event == "engine":
        return Matchable("engine", UNNAMED)
    if event == "launch" and claim.event.through is not None:
        return Matchable("launch", claim.event.through)
    if hop.kind == "node" and event == "node":
        return Matchable("node", class_of_node(claim))
    return Matchable("binding", _last(hop.name)) if hop.kind == "binding" else None


def python_mark(file: str | None, line: int | None, name: str | None) -> str:
    """Returns the mark of a Python function: `co_filename`, `co_firstlineno`, `co_name`."""
    return f"{file}:{line}:{name}"


def _last(name: str) -> str:
    return name.rsplit("::", 1)[-1]


def frame_mark(
    frame: NativeFrame, op_of: OpOf, bindings: Container[Matchable], handles: Mapping[int, str]
) -> Matchable | None:
    """Returns the mark by which a frame is recognised among the claims; None if it cannot be.

    `bindings` are the marks of bindings, builtins, launches and nodes among the claims. They are needed because a C++
    function may have the name of a builtin, and a device's runtime has functions that launch nothing. A node's function
    has the name of the class that defines it, which may be a base class (NotImplemented has that of Error).

    A boxed call is of the operator whose handle it was given, or of the operator with the kernel that ran.
    """
    seen, code = frame.function.landmark, frame.function.code
    if code is not None:
        return Matchable("python", python_mark(code.file, code.line, code.name))
    if seen.kind == "entry":
        return Matchable("op", op_of(seen.name) or seen.name)
    if seen.kind == "boxed-call":
        name, kernel = handles.get(handle_below(frame) or 0), kernel_below(frame)
        if name is None and kernel is not None:
            return Matchable("op", op_of(kernel) or UNNAMED, optional=True)
        return Matchable("op", name or UNNAMED, optional=name is None)
    if seen.kind == "node":
        name = applied(frame)
        is_ones = Matchable("node", seen.name) in bindings
        return Matchable("node", seen.name if is_ones else name) if name is not None else None
    if frame.function.name.plain == EVALUATE and not any(
        f.function.landmark.kind == "node" for f in frame.descendants()
    ):
        return Matchable("engine", UNNAMED)
    name = frame.builtin or _last(frame.function.name.qualified)
    mark = Matchable("builtin" if frame.builtin else "launch" if frame.function.closed else "binding", name)
    return mark if mark in bindings else None


def handle_below(frame: NativeFrame) -> int | None:
    """Returns the operator handle at the first boundary below a call."""
    for inner in frame.descendants():
        seen = inner.function.landmark
        if seen.kind in ("entry", "boxed-call"):
            return None
        if seen.kind == "boundary" and seen.operator is not None and inner.registers:
            return inner.registers[seen.operator]
    return None


def handles(frames: Iterable[NativeFrame], op_of: OpOf) -> dict[int, str]:
    """Returns the operators by handle, from calls by name that were given a handle."""
    operators: dict[int, str] = {}
    for frame in frames:
        seen = frame.function.landmark
        handle = handle_below(frame) if seen.kind == "entry" else None
        name = op_of(seen.name) if handle else None
        if handle and name:
            operators[handle] = name
    return operators


def align(claims: Sequence[Claim], frames: Sequence[NativeFrame], op_of: OpOf) -> dict[int, NativeFrame]:
    """Returns the frame of each claim that has one, by the claim's identity. `frames` are in order of entry.

    Names, order and nesting must be equal. If any claim does not know its overload, overloads are not compared.
    """
    ordered = any(frame.function.code is not None for frame in frames)
    marked = [(claim, mark) for claim in walk(claims) if (mark := claim_mark(claim, ordered=ordered)) is not None]
    bindings = {mark for _, mark in marked if mark.kind in ("builtin", "binding", "launch", "node")}
    known = handles(frames, op_of)
    run = [(frame, mark) for frame in frames if (mark := frame_mark(frame, op_of, bindings, known)) is not None]
    launched = [(claim, mark) for claim, mark in marked if mark.kind == "launch"]
    launching = [(frame, mark) for frame, mark in run if mark.kind == "launch"]
    marked = [(claim, mark) for claim, mark in marked if mark.kind != "launch"]
    run = [(frame, mark) for frame, mark in run if mark.kind != "launch"]
    vague = any(claim.hop.op is None for claim, mark in marked if mark.kind == "op")
    mine = [_loose(mark, vague) for _, mark in marked]
    theirs = [_loose(mark, vague) for _, mark in run]
    aligned = _nested(claims, [(marked[a][0], run[b][0]) for a, b in _pairs(mine, theirs)])
    calls = {frame.number for frame, mark in run if mark.kind in _LAUNCHERS}
    return aligned | _launches(claims, launched, launching, aligned, calls)


_LAUNCHERS = ("op", "node")


def _launches(
    claims: Sequence[Claim],
    launched: Iterable[tuple[Claim, Matchable]],
    launching: Iterable[tuple[NativeFrame, Matchable]],
    aligned: Mapping[int, NativeFrame],
    calls: Container[int],
) -> dict[int, NativeFrame]:
    """Returns the frames of launches by the launch's identity.

    Launches are matched in order, within each operator call or node that has a frame. This call must have used a
    function of the device's runtime as often as the profiler recorded launches by it: otherwise the launches cannot be
    matched. `calls` are the numbers of the frames of operators and nodes.
    """
    around = {child.identity: claim for claim in walk(claims) for child in claim.children}
    mine: dict[tuple[int | None, Matchable], list[Claim]] = {}
    for launch, mark in launched:
        outer = around.get(launch.identity)
        while outer is not None and outer.hop.kind not in _LAUNCHERS:
            outer = around.get(outer.identity)
        frame = aligned.get(outer.identity) if outer is not None else None
        if frame is not None or (outer is None and launch.event.thread == 0):
            mine.setdefault((frame.number if frame is not None else None, mark), []).append(launch)
    theirs: dict[tuple[int | None, Matchable], list[NativeFrame]] = {}
    for frame, mark in launching:
        holder = frame.parent
        while holder is not None and holder.number not in calls:
            holder = holder.parent
        theirs.setdefault((holder.number if holder is not None else None, mark), []).append(frame)
    both = ((mine[key], theirs[key]) for key in mine if len(mine[key]) == len(theirs.get(key, ())))
    return {launch.identity: frame for pair in both for launch, frame in zip(*pair, strict=True)}


def _loose(mark: Matchable, vague: bool) -> Matchable:
    """Returns the mark without its overload, if some claims have none."""
    return replace(mark, name=_base(mark.name)) if vague and mark.kind == "op" else mark


def _pairs(mine: list[Matchable], theirs: list[Matchable]) -> Iterator[tuple[int, int]]:
    """Yields matching positions: first operator calls that both sides have, then what fits between two of them.

    Python functions between operators differ from run to run (caches). Without this order, a longest equal run of them
    would extend into the next call.
    """
    mine_ops, their_ops = ([n for n, mark in enumerate(marks) if mark.kind == "op"] for marks in (mine, theirs))
    same = same_calls([mine[n] for n in mine_ops], [theirs[n] for n in their_ops])
    if same is None:
        yield from _equal_runs(mine, theirs)
        return
    a = b = 0
    for end_a, end_b in (*zip(mine_ops, (their_ops[n] for n in same), strict=True), (len(mine), len(theirs))):
        yield from ((a + first, b + second) for first, second in _equal_runs(mine[a:end_a], theirs[b:end_b]))
        if end_a < len(mine):
            yield end_a, end_b
        a, b = end_a + 1, end_b + 1


_MOST_TRIED = 4_000_000  # limit on pairs of a claim and a frame


def same_calls(mine: list[Matchable], theirs: list[Matchable]) -> list[int] | None:
    """Returns the positions of the claims' operator calls among the frames', in order; None unless they are certain.

    An unnamed call may be any call, or a call that the profiler does not record, such as a boxed call of an operator
    that is not observed (`profiler::_record_function_exit`, which ends a range of record_function).
    """
    extra = len(theirs) - len(mine)
    if extra < 0 or (extra + 1) * len(theirs) > _MOST_TRIED:
        return None
    unnamed = Matchable("op", UNNAMED)
    is_optional = [mark.optional or mark == unnamed for mark in theirs]
    # Computed from the end: in how many ways the rest fits after some frames were left out. Counts stop at two.
    ways = [[0] * (extra + 1) for _ in range(len(mine) + 1)]
    ways[-1][extra] = 1
    for left_out in range(extra - 1, -1, -1):
        ways[-1][left_out] = ways[-1][left_out + 1] if is_optional[len(mine) + left_out] else 0
    for n in range(len(mine) - 1, -1, -1):
        for left_out in range(extra, -1, -1):
            frame = theirs[n + left_out]
            fits = ways[n + 1][left_out] if frame in (mine[n], unnamed) else 0
            fits += ways[n][left_out + 1] if is_optional[n + left_out] and left_out < extra else 0
            ways[n][left_out] = min(fits, 2)
    if ways[0][0] != 1:
        return None
    same: list[int] = []
    left_out = 0
    for n, claim in enumerate(mine):
        while not (theirs[n + left_out] in (claim, unnamed) and ways[n + 1][left_out]):
            left_out += 1
        same.append(n + left_out)
    return same


def _equal_runs(mine: list[Matchable], theirs: list[Matchable]) -> Iterator[tuple[int, int]]:
    """Yields matching positions: the longest equal runs first, then unnamed frames between them.

    The common beginning and end are matched first. They are most of it, and the matching of the rest takes quadratic
    time.
    """
    least = min(len(mine), len(theirs))
    head = next((n for n in range(least) if mine[n] != theirs[n]), least)
    tail = next((n for n in range(least - head) if mine[-1 - n] != theirs[-1 - n]), least - head)
    yield from zip(range(head), range(head), strict=True)
    a = b = head
    matcher = SequenceMatcher(None, mine[head : len(mine) - tail], theirs[head : len(theirs) - tail], autojunk=False)
    for block in matcher.get_matching_blocks():
        first, second = block.a + head, block.b + head
        yield from _unnamed(mine, theirs, range(a, first), range(b, second))
        yield from zip(range(first, first + block.size), range(second, second + block.size), strict=True)
        a, b = first + block.size, second + block.size
    yield from zip(range(len(mine) - tail, len(mine)), range(len(theirs) - tail, len(theirs)), strict=True)


def _unnamed(mine: list[Matchable], theirs: list[Matchable], left: range, right: range) -> Iterator[tuple[int, int]]:
    """Yields pairs for a gap with as many unnamed calls as claims of a kind, by position."""
    for kind in ("op", "node"):
        claims = [a for a in left if mine[a].kind == kind]
        frames = [b for b in right if theirs[b] == Matchable(kind, UNNAMED)]
        if len(claims) == len(frames):
            yield from zip(claims, frames, strict=True)


def _nested(claims: Sequence[Claim], pairs: list[tuple[Claim, NativeFrame]]) -> dict[int, NativeFrame]:
    """Returns the pairs with the same nesting on both sides. A claim whose frame is elsewhere stays unmatched."""
    matched = {claim.identity: frame for claim, frame in pairs}
    pending: list[tuple[Claim, NativeFrame | None]] = [(claim, None) for claim in claims]
    while pending:
        claim, around = pending.pop()
        frame = matched.get(claim.identity)
        if frame is not None and around is not None and (frame is around or not around.holds(frame)):
            del matched[claim.identity]
            frame = None
        pending += [(child, frame or around) for child in claim.children]
    return _inside_alike(claims, [(claim, frame) for claim, frame in pairs if claim.identity in matched])


def _inside_alike(claims: Sequence[Claim], pairs: Sequence[tuple[Claim, NativeFrame]]) -> dict[int, NativeFrame]:
    """Returns the pairs whose frame is inside an operator call's frame exactly if the claim is inside the call.

    Two equal calls call equal functions. If the run was cut, the functions of the later call were not seen.
    """
    parents = {child.identity: claim for claim in walk(claims) for child in claim.children}
    matched: dict[int, NativeFrame] = {}
    around: list[tuple[Claim, NativeFrame]] = []  # the operator calls around the current frame
    for claim, frame in sorted(pairs, key=lambda pair: pair[1].number):
        while around and not around[-1][1].holds(frame):
            around.pop()
        above: Claim | None = claim
        while around and above is not None and above is not around[-1][0]:
            above = parents.get(above.identity)
        if above is None:
            continue
        matched[claim.identity] = frame
        if claim.hop.kind == "op":
            around.append((claim, frame))
    return matched
