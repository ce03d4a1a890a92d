"""A claim: a hop being concluded, with the event it comes from; passes turn claims into better claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ptexplore.model import Finding, Hop, Observation, Session, SourceRef, TableEntry
from ptexplore.resolve.keyset import KeySets
from ptexplore.source.tree import SourceTree
from ptexplore.store.store import Store

NOT_YET = SourceRef(path=None, line=None, layer=None, precision="unknown", reason="not looked up")


@dataclass(frozen=True)
class Claim:
    """`hop` without its children; `event` is the observed event's data, `call` the user's own call that led here."""

    hop: Hop
    event: Mapping[str, Any] = field(default_factory=dict)
    call: Mapping[str, Any] | None = None
    children: tuple[Claim, ...] = ()

    def but(self, *, why: tuple[str, ...] = (), **changes: Any) -> Claim:
        """The same claim with fields of its hop changed and reasons added."""
        return replace(self, hop=replace(self.hop, **changes, why=self.hop.why + why))

    def walk(self) -> Iterator[Claim]:
        """Yield the claim and all below it, parent first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Context:
    """What every pass may look at. `findings` is where a pass says what a reader must know beside the hops."""

    session: Session
    store: Store
    tree: SourceTree
    keys: KeySets
    findings: list[Finding] = field(default_factory=list)
    changed: Mapping[str, list[TableEntry]] = field(default_factory=dict)  # tables the traced code changed

    def observations(self, recorder: str, kind: str) -> list[Observation]:
        """The observations of one recorder and kind, in the order they were made."""
        return [o for o in self.session.observations if o.recorder == recorder and o.kind == kind]

    def effective(self, op: str, key: str) -> TableEntry | None:
        """The table's entry for a key: the traced process's own where that differs from the catalogue's."""
        if op in self.changed:
            return next((e for e in self.changed[op] if key in e.keys), None)
        return self.store.effective(op, key)

    def devices(self) -> set[str]:
        """The device types of all recorded tensors."""
        found = set()
        for observation in self.observations("ops", "event") + self.observations("frames", "event"):
            for value in observation.data.get("inputs") or []:
                for meta in value if isinstance(value, list) else [value]:
                    if isinstance(meta, dict):
                        found.add(str(meta.get("device", "cpu")).split(":")[0])
        return found


Pass = Callable[[Context, tuple[Claim, ...]], tuple[Claim, ...]]


def rewrite(claims: tuple[Claim, ...], change: Callable[[Claim], Claim]) -> tuple[Claim, ...]:
    """Apply `change` to every claim, children first."""
    return tuple(change(replace(c, children=rewrite(c.children, change))) for c in claims)


def number(claims: tuple[Claim, ...]) -> tuple[Hop, ...]:
    """The finished hops, with ids in reading order from 1."""
    counter = iter(range(1, 1 << 62))

    def finish(claim: Claim) -> Hop:
        identity = next(counter)
        return replace(claim.hop, id=identity, children=tuple(finish(c) for c in claim.children))

    return tuple(finish(c) for c in claims)
