"""Give the top of the tree the user's own calls: which callable, with which arguments' key sets.

The dispatch pass evaluates the instrumented expression and wraps each call in a marker, so its events
say which operators ran inside which call. Those operators are matched by their position in the sequence
to the base tree, where the claim that holds them gets the call.
"""

from __future__ import annotations

from dataclasses import replace

from ptexplore.model.trace import Hop
from ptexplore.resolve.claims import NOT_YET, Claim, Context
from ptexplore.resolve.observed import CallTarget, Event, UserCall
from ptexplore.resolve.places.precision import unknown

TENSOR_SYNTAX = ("slot", "method", "attribute")


def attach(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Annotate the top-level claims with the user's calls, and wrap operators that operator syntax led to."""
    if not context.calls:
        return claims
    inside = _operators_inside(context)
    if inside is None:
        return claims
    pending = [(call, inside.get(call.call, frozenset())) for call in context.calls]
    spans = _spans(claims)
    out: list[Claim] = []
    position = 0
    while position < len(claims):
        claim, span = claims[position], spans[position]
        while pending and _skipped(pending[0], claim):
            out += _alone(pending.pop(0)[0])
        if not pending or not _belongs(pending[0], claim, span):
            out.append(claim)
            position += 1
            continue
        call, numbers = pending.pop(0)
        group = [claim]
        position += 1
        while position < len(claims) and spans[position] and spans[position] <= numbers:
            group.append(claims[position])
            position += 1
        out += _join(call, group)
    for call, _ in pending:
        out += _alone(call)
    return tuple(out)


def _operators_inside(context: Context) -> dict[int, frozenset[int]] | None:
    """Per call the positions of the operators it ran; None when that pass ran other operators than the base."""
    events = context.events("dispatch")
    operators = [event for event in events if event.is_operator]
    if [event.name for event in operators] != [event.name for event in context.base if event.is_operator]:
        return None
    by_number = {event.event: event for event in events}
    inside: dict[int, set[int]] = {}
    for position, operator in enumerate(operators):
        around: Event | None = operator
        while around is not None and around.type != "call":
            around = by_number.get(around.parent) if around.parent is not None else None
        if around is not None and around.call is not None:
            inside.setdefault(around.call, set()).add(position)
    return {k: frozenset(v) for k, v in inside.items()}


def _spans(claims: tuple[Claim, ...]) -> list[frozenset[int]]:
    """Per top-level claim the positions, in the whole sequence, of the operators it holds."""
    spans = []
    start = 0
    for claim in claims:
        held = sum(1 for c in claim.walk() if c.event is not None and c.event.is_operator)
        spans.append(frozenset(range(start, start + held)))
        start += held
    return spans


Pending = tuple[UserCall, frozenset[int]]


def _belongs(pending: Pending, claim: Claim, span: frozenset[int]) -> bool:
    call, numbers = pending
    if numbers or span:
        return bool(span) and span <= numbers
    return _same(call.target, claim)


def _skipped(pending: Pending, claim: Claim) -> bool:
    """A call that ran no operator and left no event of its own (an attribute, a Python helper)."""
    call, numbers = pending
    return not numbers and not _same(call.target, claim)


def _same(target: CallTarget, claim: Claim) -> bool:
    event = claim.event or Event()
    if claim.hop.kind == "binding":
        return event.method == target.method
    return claim.hop.kind == "python" and (event.file, event.line) == (target.file, target.line)


def _join(call: UserCall, group: list[Claim]) -> list[Claim]:
    first = group[0]
    if first.hop.kind in ("binding", "python"):
        called = first.but(evidence=(*first.hop.evidence, call.observation))
        return [replace(called, call=call), *group[1:]]
    if call.target.kind in ("other", "class", "python"):
        return [_foreign(call, tuple(group))]
    return [_binding(call, tuple(group))]


def _foreign(call: UserCall, children: tuple[Claim, ...]) -> Claim:
    """A call of something that is not torch's and called operators in turn: Python's own sum, a user's class."""
    hop = Hop(
        id=0,
        kind="python",
        name=call.target.qualname or call.source,
        status="observed",
        source=unknown("not torch's own: the operators below ran inside this call"),
        evidence=(call.observation,),
    )
    return Claim(hop=hop, call=call, children=children)


def _alone(call: UserCall) -> list[Claim]:
    """A call into torch that ran no operator is still worth a line; a call elsewhere is not."""
    return [_binding(call, ())] if call.target.kind in TENSOR_SYNTAX and call.target.table else []


def _binding(call: UserCall, children: tuple[Claim, ...]) -> Claim:
    """The binding that operator syntax leads to: Python calls a type's slot without any event of its own."""
    target = call.target
    why = f"`{call.source}` is {call.syntax} syntax: Python looks {target.method} up on the operand's type"
    hop = Hop(
        id=0,
        kind="binding",
        name=target.qualname or target.method or call.source,
        status="derived",
        source=NOT_YET,
        evidence=(call.observation,),
        why=(why,),
    )
    event = Event(call.observation, type="callable", table=target.table, method=target.method)
    return Claim(hop=hop, event=event, call=call, children=children)
