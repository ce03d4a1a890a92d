"""Merges the event trees of the recorders into one tree of claims, with your calls at its top.

The dispatch pass knows your calls: it evaluates an instrumented expression and puts a marker around each call. Its
events show which operators ran inside which call. The same operators are found in the base tree by their position in
the sequence. The claim in the base tree that contains them gets the call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from msgspec import structs

from ptexplore.model.hop_kinds import HopKind
from ptexplore.model.nesting import Unrolling, unrolled
from ptexplore.model.observed import (
    UNSEEN,
    CallTarget,
    Event,
    Observation,
    OperatorTimes,
    Part,
    RaisedError,
    UserCall,
    operators,
    records,
)
from ptexplore.model.place_reasons import (
    BodyNotEntered,
    FunctionUnseen,
    InInterpreter,
    NodeOnlyReached,
    NotCallable,
    NotLookedUp,
    RangeBegun,
    RangeMarked,
)
from ptexplore.model.places import EXPRESSION
from ptexplore.model.reasons import MarksRange, OperatorSyntax, Reason, SlotByName, ThroughPython, WhichCall
from ptexplore.model.recorders import DISPATCH, FRAMES, OPS
from ptexplore.model.trace import Hop, LaunchRef, ModuleRef, PythonCall
from ptexplore.resolve.claims import NOT_YET, Claim, Context
from ptexplore.resolve.places.precision import unknown

ENGINE_PREFIX = "autograd::engine::evaluate_function: "

KINDS: Mapping[str, HopKind] = {
    "op": "op",
    "node": "node",
    "engine": "native",  # those that are not only wrappers: see _is_wrapper
    "frame": "python",
    "builtin": "binding",
    "user": "python",
    "script": "native",
    "launch": "launch",
}

NO_SOURCE: Mapping[str, Reason] = {
    "op": RangeMarked(),
    "user": RangeBegun(),
    "script": InInterpreter(),
    "engine": NodeOnlyReached(),
}

TENSOR_SYNTAX = ("slot", "method", "attribute")


def build(context: Context, _: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Returns the tree of the frames pass if there is one (operators nest in frames there), else of the ops pass.

    If both passes ran the same operators, each hop has both observations as evidence. If they differ, hops have only
    the evidence of the frames pass; capture/trace.py reports the difference, which becomes a finding.
    """
    mine, theirs = operators(context.events(FRAMES)), operators(context.events(OPS))
    agreed: dict[int, int] = {}
    if [event.name for event in mine] == [event.name for event in theirs]:
        agreed = {a.observation: b.observation for a, b in zip(mine, theirs, strict=True)}
    return _tree(context.base, _Known(agreed, _times(context, mine)))


@dataclass(frozen=True, slots=True)
class _Known:
    """What other runs know about an operator of the base tree, by observation: the same call there, and its time."""

    agreed: Mapping[int, int]
    times: Mapping[int, int]


def _times(context: Context, base: Sequence[Event]) -> dict[int, int]:
    """Returns the nanoseconds of each operator and node that a timed run called too.

    The timed run has one thread, so it may call fewer operators than the base. What both runs called first and last, in
    the same order, has times.
    """
    names = [event.name for event in base]
    for timed in records(context.session.observations, "times", OperatorTimes):
        least = min(len(names), len(timed.names))
        head = next((n for n in range(least) if names[n] != timed.names[n]), least)
        tail = next((n for n in range(least - head) if names[-1 - n] != timed.names[-1 - n]), least - head)
        known = dict(zip((event.observation for event in base[:head]), timed.times, strict=False))
        last = base[len(base) - tail :]
        return known | {
            event.observation: time for event, time in zip(last, timed.times[len(timed.times) - tail :], strict=True)
        }
    return {}


def _tree(events: Sequence[Event], known: _Known) -> tuple[Claim, ...]:
    inside: dict[int | None, list[Event]] = {}
    in_tree = {event.event for event in events}
    for event in events:
        inside.setdefault(event.parent if event.parent in in_tree else None, []).append(event)

    def claims_in(
        parent: int | None, sets: Event | None, by_python: bool = True, guards: bool = False
    ) -> Unrolling[tuple[tuple[Claim, ...], Event | None]]:
        """Returns the claims inside an event, and the last thread-local sets read there. `sets`: those before it."""
        claims: list[Claim] = []
        for event in inside.get(parent, []):
            if event.type == "sets":
                children, last = yield claims_in(event.event, event, guards=guards or event.guards)
                claims += children
                # The sets stay in a frame. If C++ called Python, C++ may set others after Python has ended.
                sets = sets if event.by_c else last if by_python else None
                continue
            if event.type == "callback":  # the sets go on as if it were not there
                children, sets = yield claims_in(event.event, sets, by_python)
                claims += (replace(child, by_callback=True) for child in children)
                continue
            goes_on = event.type == "frame" or (event.type == "user" and by_python)  # a range may come from C++
            # The engine runs its nodes with the sets at the call of backward (GraphTask::thread_locals_).
            kept = sets if goes_on or event.type == "engine" else None
            children, last = yield claims_in(event.event, kept, goes_on, event.guards)
            if event.type in KINDS and not _is_wrapper(event, children):
                claims.append(_claim(_reading(event, sets, guards=guards), children, known))
            else:
                claims += children
            if goes_on and by_python and not event.by_c:
                sets = last or sets
        return tuple(claims), sets

    return unrolled(claims_in(None, None))[0]


def _reading(event: Event, sets: Event | None, *, guards: bool) -> Event:
    """Returns the event with the last thread-local sets before it, if Python called it.

    `guards`: the function that called it names a guard, whose effect no reading shows.
    """
    if sets is None or event.tls_include is not None or sets.thread != event.thread:
        return event
    return structs.replace(
        event,
        tls_include=sets.tls_include,
        tls_exclude=sets.tls_exclude,
        transforms=sets.transforms,
        guards=event.guards or guards,
    )


def _is_wrapper(event: Event, children: tuple[Claim, ...]) -> bool:
    """Whether an engine event only wraps one node: the node's event has the same information."""
    name = event.name or ""
    return event.type == "engine" and any(c.hop.kind == "node" and name.endswith(c.hop.name) for c in children)


def _claim(event: Event, children: tuple[Claim, ...], known: _Known) -> Claim:
    kind = KINDS[event.type]
    name = event.name or event.function or event.qualname or "?"
    if event.type == "op" and "::" not in name:
        kind = "native"  # a RECORD_FUNCTION inside a hand-written kernel, not a call of the dispatcher
    seen = event.observation
    evidence = (seen, known.agreed[seen]) if seen in known.agreed else (seen,)
    module = event.module
    hop = Hop(
        id=0,
        kind=kind,
        name=name.removeprefix(ENGINE_PREFIX),
        status="observed",
        source=unknown(NO_SOURCE.get(event.type, NotLookedUp())),
        why=(MarksRange(),) if event.type == "user" or (event.type == "op" and kind == "native") else (),
        phase=event.phase,
        thread=event.thread,
        evidence=evidence,
        time=known.times.get(seen),
        sequence=event.sequence if event.sequence is not None and event.sequence >= 0 else None,
        module=ModuleRef(module.type, module.name, module.root, module.bound) if module is not None else None,
        launch=LaunchRef(event.through, event.took) if kind == "launch" else None,
        weights={**(event.weights or {}), "device": event.took} if event.took else event.weights,
    )
    return Claim(hop=hop, event=event, children=children)


# --- your own calls ---


@dataclass(frozen=True, slots=True)
class _Ran:
    """A top-level claim, the positions of its operators, and the part of your call that led to it, if known."""

    claim: Claim
    span: frozenset[int]
    part: Part | None


def attach(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add your calls to the top-level claims, and wrap the operators that operator syntax led to."""
    if not context.calls or context.dispatched is None:
        return claims
    inside, begins = _operators_inside(context, context.dispatched), _begins(context)
    pending = deque((call, frozenset(inside.get(call.call, ()))) for call in context.calls)
    parts = frozenset(call.at for call in context.calls if call.at is not None)
    left = deque(
        _Ran(claim, span, next((part for part in claim.event.at if part in parts), None))
        for claim, span in zip(claims, _spans(claims), strict=True)
    )
    attached: list[Claim] = []
    raised = next(iter(records(context.session.observations, "raised", RaisedError)), None)
    earlier: Part | None = None  # the part of the last call
    while left:
        ran = left.popleft()
        before = min(ran.span, default=len(context.dispatched))  # the number of operators before this claim
        while pending and _is_skipped(*pending[0], ran) and begins.get(pending[0][0].call, 0) <= before:
            attached += _alone(pending.popleft()[0], raised)
        if not pending or not _belongs(*pending[0], ran):
            attached.append(ran.claim)
            continue
        call, numbers = pending.popleft()
        is_doubted = earlier == call.at and _is_led_to(call, ran)
        group, to_come = [ran.claim], numbers - ran.span
        repeats = bool(pending) and pending[0][0].at == call.at
        while left and _goes_on(call, to_come, left[0], repeats=repeats):
            ran = left.popleft()
            group.append(ran.claim)
            to_come -= ran.span
        attached += _join(call, _doubted(group) if is_doubted else group)
        earlier = call.at
    for call, _ in pending:
        attached += _alone(call, raised)
    return tuple(attached)


def _operators_inside(context: Context, dispatched: Sequence[Event]) -> dict[int, set[int]]:
    """Returns for each call the positions of the operators that it ran."""
    by_number = {event.event: event for event in context.events(DISPATCH)}
    inside: dict[int, set[int]] = {}
    for position, operator in enumerate(dispatched):
        around: Event | None = operator
        while around is not None and around.type != "call":
            around = by_number.get(around.parent) if around.parent is not None else None
        if around is not None and around.call is not None:
            inside.setdefault(around.call, set()).add(position)
    return inside


def _begins(context: Context) -> dict[int, int]:
    """Returns how many operators were called before each call began.

    `or`, `if` and `not` may ask a tensor between two calls; these operators are in no call.
    """
    begins: dict[int, int] = {}
    seen = 0
    for event in context.events(DISPATCH):
        if event.type == "call" and event.call is not None:
            begins.setdefault(event.call, seen)
        seen += event.is_operator
    return begins


def _spans(claims: tuple[Claim, ...]) -> Iterator[frozenset[int]]:
    """Yields for each top-level claim the positions of its operators in the whole sequence."""
    start = 0
    for claim in claims:
        held = sum(c.event.is_operator for c in claim.walk())
        yield frozenset(range(start, start + held))
        start += held


def _belongs(call: UserCall, numbers: frozenset[int], ran: _Ran) -> bool:
    """Whether a claim ran inside a call; `numbers` are the positions of the operators that the call ran."""
    if ran.span:
        return ran.span <= numbers
    return _is_led_to(call, ran) or (not numbers and _is_of(call.callable, ran.claim))


def _goes_on(call: UserCall, to_come: frozenset[int], ran: _Ran, *, repeats: bool) -> bool:
    """Whether a claim ran inside a call whose operators `to_come` have not appeared yet.

    The calls of the expression follow each other, so everything before an operator of the current call is inside it.
    With `repeats`, the same part of the expression is called next, and nothing else shows where this call ends.
    """
    if ran.span:
        return ran.span <= to_come
    return ran.claim.event.resumed or bool(to_come) or (not repeats and _is_led_to(call, ran))


def _doubted(group: Sequence[Claim]) -> list[Claim]:
    """Returns the claims of a call, where the claims before its first operator may belong to the previous call.

    The previous call is of the same part of the expression.
    """
    before = list(takewhile(lambda claim: not any(inner.event.is_operator for inner in claim.walk()), group))
    return [*(claim.but(claim.hop, WhichCall()) for claim in before), *group[len(before) :]]


def _is_skipped(call: UserCall, numbers: frozenset[int], ran: _Ran) -> bool:
    """Whether a call ran no operator and has no event of its own (an attribute, a Python helper).

    The call of a generator function has no event either: a later call runs the function, and then its operators.
    """
    return not numbers and not _belongs(call, numbers, ran)


def _is_led_to(call: UserCall, ran: _Ran) -> bool:
    """Whether a call of a C function, for which Python calls no profile function, led to a Python function.

    Not known for an attribute: the function behind it has no name by which a stepped run could recognise it.
    """
    by_c = call.callable.file is None and call.callable.kind not in ("builtin", "attribute")
    return by_c and call.at is not None and call.at == ran.part


def _is_of(target: CallTarget, claim: Claim) -> bool:
    if claim.hop.kind == "binding":
        return claim.event.method == target.method
    return claim.hop.kind == "python" and (claim.event.file, claim.event.line) == (target.file, target.line)


def _join(call: UserCall, group: list[Claim]) -> list[Claim]:
    first = group[0]
    by_type = call.syntax != "call" and call.callable.kind in ("slot", "method") and call.callable.table is not None
    # Operator syntax leads to C++, for which Python calls no profile function, and which may call Python. The function
    # behind an attribute has no name by which a stepped run could recognise it.
    by_c = call.callable.kind in ("other", "class") and call.callable.file is None  # it may call Python
    if first.hop.kind == "binding" or (first.hop.kind == "python" and not by_type and not by_c):
        called = first.but(replace(first.hop, evidence=(*first.hop.evidence, call.observation)))
        return [replace(called, call=call), *group[1:]]
    foreign = call.callable.kind in ("other", "class", "python", "uncallable")
    return [(_foreign if foreign else _binding)(call, tuple(group))]


def _foreign(call: UserCall, children: tuple[Claim, ...], *, is_entered: bool = True) -> Claim:
    """Returns the claim for a call of something outside of torch that called torch: Python's sum, a class of yours."""
    is_called = call.callable.kind != "uncallable"
    why: Reason = FunctionUnseen(bool(children)) if is_entered else BodyNotEntered()
    hop = Hop(
        id=0,
        kind="python",
        name=call.callable.qualname or call.source if is_called else call.source,
        status="observed",
        source=unknown(why if is_called else NotCallable(str(call.callable.qualname))),
        evidence=(call.observation,),
        python=None if is_called and is_entered else PythonCall(None, called=is_called, entered=is_entered),
    )
    return Claim(hop=hop, call=call, children=children)


def _alone(call: UserCall, raised: RaisedError | None) -> list[Claim]:
    """Returns the claim for a call without operators: always for a call into torch, else only if the call `raised`."""
    if call.callable.kind in TENSOR_SYNTAX and call.callable.table:
        return [_binding(call, ())]
    if raised is None or raised.calls[-1:] != (call.call,) or call.syntax != "call":
        return []
    return [_foreign(call, (), is_entered=not _is_not_entered(call, raised))]


def _is_not_entered(call: UserCall, raised: RaisedError) -> bool:
    """Whether the call of a Python function failed before its body began, for example for a missing argument.

    Then Python has made no frame for it: the innermost function that the error left is the caller.
    """
    caller = raised.frames[-1] if raised.frames else None
    is_caller = caller is not None and caller.file == EXPRESSION and caller.function != call.callable.qualname
    return call.callable.kind == "python" and raised.by == "error" and is_caller


def innermost_left(observations: Iterable[Observation]) -> int | None:
    """Returns the number of the expression's innermost call that the error left.

    Returns None if nothing was raised, or if the error left no call.
    """
    left = next((error.calls for error in records(observations, "raised", RaisedError) if error.calls), ())
    return left[-1] if left else None


def _binding(call: UserCall, children: tuple[Claim, ...]) -> Claim:
    """Returns the binding behind operator syntax: Python calls a type's slot without an event."""
    target = call.callable
    name = (target.qualname or target.method or "").rpartition(".")[2]
    why: Reason = OperatorSyntax(call.source, call.syntax, name)
    if target.through is not None:
        why = ThroughPython(call.source, target.through, name)
    elif call.syntax == "call":
        why = SlotByName(call.source, name)
    hop = Hop(
        id=0,
        kind="binding",
        name=target.qualname or target.method or call.source,
        status="derived",
        source=NOT_YET,
        evidence=(call.observation,),
        why=(why,),
    )
    event = structs.replace(UNSEEN, observation=call.observation, table=target.table, method=target.method)
    return Claim(hop=hop, event=event, call=call, children=tuple(map(_called_by_c, children)))


def _called_by_c(claim: Claim) -> Claim:
    """Returns the claim without the last thread-local sets.

    They are the sets at the binding; the operators inside it may run with others.
    """
    if claim.hop.kind != "op" or claim.event.tls_include is None:
        return claim
    return replace(claim, event=structs.replace(claim.event, tls_include=None, tls_exclude=None, transforms=()))
