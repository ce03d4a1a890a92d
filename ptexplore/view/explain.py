"""One hop explained: what it claims, what that is concluded from, and the observations behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import Hop, Observation, Session, SourceRef, Trail
from ptexplore.view import native
from ptexplore.view.document import hop_to_json
from ptexplore.view.native_rules import ACTIONS

MOST = 20  # entries of an observation's table that are shown
STATUS_MEANS = {
    "observed": "this ran: an address, an event or a Python frame was seen",
    "derived": "follows from key sets that were read and the dispatcher's own table",
    "predicted": "the table or a kernel's text says so; nothing saw it",
    "inlined": "compiled into its caller: it leaves no frame of its own",
    "cut": "the recorder's cap was reached here",
}
PRECISION_MEANS = {
    "registered": "the binary's own record names this line, and the tree's text confirms it",
    "located": "the one definition of this symbol in a tree of the running version",
    "consistent": "the one definition in a tree that agrees with the wheel wherever both have the file",
    "version-skew": "found by name in a tree of another version",
    "ambiguous": "several candidates",
    "unknown": "not known",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hop's claim in words. `places` pairs a label with a reference; `observations` are shown as recorded."""

    title: str
    facts: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, SourceRef], ...]
    why: tuple[str, ...]
    observations: tuple[Observation, ...]
    document: dict[str, Any]


def explain(trail: Trail, session: Session | None, number: int) -> Explanation:
    """Explain hop `number`. Raises PtexploreError (usage) where the trail has no such hop."""
    hop = _find(trail.hops, number)
    if hop is None:
        last = _last(trail.hops)
        raise PtexploreError(f"there is no hop {number}", f"hops are numbered 1 to {last}", "--full shows all", USAGE)
    evidence = tuple(o for o in session.observations if o.id in hop.evidence) if session else ()
    facts = [
        ("kind", hop.kind),
        ("status", f"{hop.status}: {STATUS_MEANS[hop.status]}"),
        ("precision", f"{hop.source.precision}: {PRECISION_MEANS[hop.source.precision]}"),
    ]
    if hop.op:
        facts.append(("operator", hop.op))
    facts += _frame(hop)
    facts += [(name.replace("_", " "), _words(value)) for name, value in (hop.dispatch or {}).items()]
    facts += [(name.replace("_", " "), _words(value)) for name, value in hop.detail.items()]
    places = [("source", hop.source)]
    places += [("registered at", hop.registration)] if hop.registration else []
    places += [("declared at", hop.declaration)] if hop.declaration else []
    places += [("candidate", c) for c in hop.source.candidates]
    document = {
        "format": trail.format,
        "hop": {**hop_to_json(hop), "children": [c.id for c in hop.children]},
        "observations": [{"id": o.id, "recorder": o.recorder, "kind": o.kind, "data": o.data} for o in evidence],
    }
    return Explanation(
        f"[{hop.id}] {hop.name}", tuple(facts), tuple(places), hop.why, tuple(map(_told, evidence)), document
    )


def _told(observation: Observation) -> Observation:
    """An observation for people to read: of long tables, as the native pass has, only how long they are."""
    data = {
        name: f"{len(value):,} entries" if isinstance(value, (list, dict)) and len(value) > MOST else value
        for name, value in observation.data.items()
    }
    return replace(observation, data=data) if observation.recorder == "native" else observation


def _frame(hop: Hop) -> list[tuple[str, str]]:
    """A native frame's instructions, and what the readable tree does with it and why."""
    if hop.instructions is None:
        return []
    own = hop.detail.get("self")
    of_own = f", {own:,} of its own" if isinstance(own, int) else ""
    facts = [("instructions", f"{hop.instructions:,} from entry to exit{of_own}")]
    rule = native.rule_of(hop)
    return [*facts, ("in the tree", f"{ACTIONS[rule.action]} ({rule.why})")] if rule is not None else facts


def _find(hops: Iterable[Hop], number: int) -> Hop | None:
    for hop in hops:
        if hop.id == number:
            return hop
        found = _find(hop.children, number)
        if found is not None:
            return found
    return None


def _last(hops: Iterable[Hop]) -> int:
    return max((max(h.id, _last(h.children)) for h in hops), default=0)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k}: {_words(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(_words(v) for v in value) or "none"
    return str(value)
