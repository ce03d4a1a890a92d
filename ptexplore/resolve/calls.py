"""Give the top of the tree the user's own calls: which callable, with which arguments' key sets.

The dispatch pass evaluates the instrumented expression and wraps each call in a marker, so its events
say which operators ran inside which call. Those operators are matched by their position in the sequence
to the base tree, where the claim that holds them gets the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ptexplore.model import Hop
from ptexplore.resolve.claims import NOT_YET, Claim, Context
from ptexplore.resolve.precision import unknown

TENSOR_SYNTAX = ("slot", "method", "attribute")


def attach(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Annotate the top-level claims with the user's calls, and wrap operators that operator syntax led to."""
    calls = context.observations("dispatch", "call")
    if not calls:
        return claims
    inside = _operators_inside(context)
    if inside is None:
        return claims
    pending = [(o.id, o.data, inside.get(o.data["call"], frozenset())) for o in calls]
    spans = _spans(claims)
    out: list[Claim] = []
    position = 0
    while position < len(claims):
        claim, span = claims[position], spans[position]
        while pending and _skipped(pending[0], claim):
            out += _alone(*pending.pop(0)[:2])
        if not pending or not _belongs(pending[0], claim, span):
            out.append(claim)
            position += 1
            continue
        identity, call, numbers = pending.pop(0)
        group = [claim]
        position += 1
        while position < len(claims) and spans[position] and spans[position] <= numbers:
            group.append(claims[position])
            position += 1
        out += _join(identity, call, group)
    for identity, call, _ in pending:
        out += _alone(identity, call)
    return tuple(out)


def _operators_inside(context: Context) -> dict[int, frozenset[int]] | None:
    """Per call the positions of the operators it ran; None when that pass ran other operators than the base."""
    events = context.observations("dispatch", "event")
    base = context.observations("frames", "event") or context.observations("ops", "event")
    sequence = [o.data["name"] for o in events if o.data["type"] in ("op", "node")]
    if sequence != [o.data["name"] for o in base if o.data["type"] in ("op", "node")]:
        return None
    parents = {o.data["event"]: o.data for o in events}
    inside: dict[int, set[int]] = {}
    position = 0
    for observation in events:
        if observation.data["type"] not in ("op", "node"):
            continue
        data: Mapping[str, Any] | None = observation.data
        while data is not None and data["type"] != "call":
            data = parents.get(data.get("parent"))
        if data is not None:
            inside.setdefault(data["call"], set()).add(position)
        position += 1
    return {k: frozenset(v) for k, v in inside.items()}


def _spans(claims: tuple[Claim, ...]) -> list[frozenset[int]]:
    """Per top-level claim the positions, in the whole sequence, of the operators it holds."""
    spans = []
    start = 0
    for claim in claims:
        held = sum(1 for c in claim.walk() if c.event.get("type") in ("op", "node"))
        spans.append(frozenset(range(start, start + held)))
        start += held
    return spans


Pending = tuple[int, Mapping[str, Any], frozenset[int]]


def _belongs(pending: Pending, claim: Claim, span: frozenset[int]) -> bool:
    _, call, numbers = pending
    if numbers or span:
        return bool(span) and span <= numbers
    return _same(call["callable"], claim)


def _skipped(pending: Pending, claim: Claim) -> bool:
    """A call that ran no operator and left no event of its own (an attribute, a Python helper)."""
    _, call, numbers = pending
    return not numbers and not _same(call["callable"], claim)


def _same(target: Mapping[str, Any], claim: Claim) -> bool:
    if claim.hop.kind == "binding":
        return claim.event.get("method") == target.get("method")
    if claim.hop.kind == "python":
        return claim.event.get("file") == target.get("file") and claim.event.get("line") == target.get("line")
    return False


def _join(identity: int, call: Mapping[str, Any], group: list[Claim]) -> list[Claim]:
    first = group[0]
    if first.hop.kind in ("binding", "python"):
        return [
            replace(first.but(evidence=(*first.hop.evidence, identity)), call={**call, "observation": identity}),
            *group[1:],
        ]
    if call["callable"].get("kind") in ("other", "class", "python"):
        return [_foreign(identity, call, tuple(group))]
    return [_binding(identity, call, tuple(group))]


def _foreign(identity: int, call: Mapping[str, Any], children: tuple[Claim, ...]) -> Claim:
    """A call of something that is not torch's and called operators in turn: Python's own sum, a user's class."""
    hop = Hop(
        id=0,
        kind="python",
        name=str(call["callable"].get("qualname") or call["source"]),
        status="observed",
        source=unknown("not torch's own: the operators below ran inside this call"),
        evidence=(identity,),
    )
    return Claim(hop=hop, call={**call, "observation": identity}, children=children)


def _alone(identity: int, call: Mapping[str, Any]) -> list[Claim]:
    """A call into torch that ran no operator is still worth a line; a call elsewhere is not."""
    target = call["callable"]
    return [_binding(identity, call, ())] if target.get("kind") in TENSOR_SYNTAX and target.get("table") else []


def _binding(identity: int, call: Mapping[str, Any], children: tuple[Claim, ...]) -> Claim:
    """The binding that operator syntax leads to: Python calls a type's slot without any event of its own."""
    target = call["callable"]
    how = f"Python looks {target.get('method')} up on the operand's type"
    why = f"`{call['source']}` is {call['syntax']} syntax: {how}"
    hop = Hop(
        id=0,
        kind="binding",
        name=str(target.get("qualname") or target.get("method") or call["source"]),
        status="derived",
        source=NOT_YET,
        evidence=(identity,),
        why=(why,),
    )
    return Claim(hop=hop, event=target, call={**call, "observation": identity}, children=children)
