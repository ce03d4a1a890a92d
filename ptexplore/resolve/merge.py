"""Merge the recorders' event trees into one tree of claims: Python frames, builtins, operators, autograd nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ptexplore.model import Hop, HopKind, Observation
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.precision import unknown

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

    Where both passes ran the same operators, each carries both observations as evidence; where not (capture/compare.py
    says so, and it becomes a finding), the frames pass speaks for itself.
    """
    frames = context.observations("frames", "event")
    ops = context.observations("ops", "event")
    base = frames or ops
    agreed = dict[int, int]()
    if frames and ops:
        mine, theirs = _operators(frames), _operators(ops)
        if [o.data["name"] for o in mine] == [o.data["name"] for o in theirs]:
            agreed = {a.id: b.id for a, b in zip(mine, theirs, strict=True)}
    return _tree(base, agreed)


def _operators(events: Iterable[Observation]) -> list[Observation]:
    return [o for o in events if o.data["type"] in ("op", "node")]


def _tree(events: list[Observation], agreed: Mapping[int, int]) -> tuple[Claim, ...]:
    children: dict[int | None, list[Observation]] = {}
    known = {o.data["event"] for o in events}
    for observation in events:
        parent = observation.data.get("parent")
        children.setdefault(parent if parent in known else None, []).append(observation)

    def below(parent: int | None) -> tuple[Claim, ...]:
        out: list[Claim] = []
        for observation in children.get(parent, []):
            kids = below(observation.data["event"])
            if _is_wrapper(observation.data, kids):
                out += kids
            elif observation.data["type"] in KINDS:
                out.append(_claim(observation, kids, agreed))
            else:
                out += kids
        return tuple(out)

    return below(None)


def _is_wrapper(data: Mapping[str, Any], kids: tuple[Claim, ...]) -> bool:
    """The engine's event around one node says nothing that the node's own event does not."""
    if data["type"] != "engine":
        return False
    return any(k.hop.kind == "node" and data["name"].endswith(k.hop.name) for k in kids)


def _claim(observation: Observation, kids: tuple[Claim, ...], agreed: Mapping[int, int]) -> Claim:
    data = observation.data
    kind = KINDS[data["type"]]
    name = str(data.get("name") or data.get("function") or data.get("qualname") or "?")
    if data["type"] == "op" and "::" not in name:
        kind = "native"  # a RECORD_FUNCTION inside a hand-written kernel, not a dispatcher call
    evidence = (observation.id, agreed[observation.id]) if observation.id in agreed else (observation.id,)
    hop = Hop(
        id=0,
        kind=kind,
        name=name.removeprefix(ENGINE_PREFIX),
        status="observed",
        source=unknown(NO_SOURCE.get(data["type"], "not looked up")),
        phase=data.get("phase", "forward"),
        thread=data.get("thread", 0),
        evidence=evidence,
    )
    return Claim(hop=hop, event=data, children=kids)
