"""Merge the recorders' event trees into one tree of claims: Python frames, builtins, operators, autograd nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ptexplore.model.trace import Hop, HopKind
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.observed import Event
from ptexplore.resolve.places.precision import unknown

ENGINE_PREFIX = "autograd::engine::evaluate_function: "

KINDS: Mapping[str, HopKind] = {
    "op": "op",
    "node": "node",
    "engine": "node",
    "frame": "python",
    "builtin": "binding",
    "user": "python",
}

NO_SOURCE = {
    "op": "a range that a hand-written kernel marks for the profiler (RECORD_FUNCTION)",
    "user": "a range that Python code marks for the profiler (record_function)",
    "engine": "a node of no known name",
}


def build(context: Context, _: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The frames pass's tree where there is one (operators nest in frames there), else the ops pass's.

    Where both passes ran the same operators, each carries both observations as evidence; where not (capture/trace.py
    says so, and it becomes a finding), the frames pass speaks for itself.
    """
    frames, ops = context.events("frames"), context.events("ops")
    agreed = dict[int, int]()
    if frames and ops:
        mine, theirs = _operators(frames), _operators(ops)
        if [event.name for event in mine] == [event.name for event in theirs]:
            agreed = {a.observation: b.observation for a, b in zip(mine, theirs, strict=True)}
    return _tree(context.base, agreed)


def _operators(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if event.is_operator]


def _tree(events: Sequence[Event], agreed: Mapping[int, int]) -> tuple[Claim, ...]:
    children: dict[int | None, list[Event]] = {}
    known = {event.event for event in events}
    for event in events:
        children.setdefault(event.parent if event.parent in known else None, []).append(event)

    def below(parent: int | None) -> tuple[Claim, ...]:
        out: list[Claim] = []
        for event in children.get(parent, []):
            kids = below(event.event)
            if event.type in KINDS and not _is_wrapper(event, kids):
                out.append(_claim(event, kids, agreed))
            else:
                out += kids
        return tuple(out)

    return below(None)


def _is_wrapper(event: Event, kids: tuple[Claim, ...]) -> bool:
    """The engine's event around one node says nothing that the node's own event does not."""
    name = event.name or ""
    return event.type == "engine" and any(k.hop.kind == "node" and name.endswith(k.hop.name) for k in kids)


def _claim(event: Event, kids: tuple[Claim, ...], agreed: Mapping[int, int]) -> Claim:
    kind = KINDS[event.type]
    name = event.name or event.function or event.qualname or "?"
    if event.type == "op" and "::" not in name:
        kind = "native"  # a RECORD_FUNCTION inside a hand-written kernel, not a dispatcher call
    seen = event.observation
    evidence = (seen, agreed[seen]) if seen in agreed else (seen,)
    hop = Hop(
        id=0,
        kind=kind,
        name=name.removeprefix(ENGINE_PREFIX),
        status="observed",
        source=unknown(NO_SOURCE.get(event.type, "not looked up")),
        phase=event.phase,
        thread=event.thread,
        evidence=evidence,
    )
    return Claim(hop=hop, event=event, children=kids)
