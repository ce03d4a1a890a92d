"""A Trail as JSON: what `--json` prints and `--save` keeps. The schema is that of model/trace.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from operator import attrgetter

from ptexplore.capture.session import portable, to_json
from ptexplore.model.trace import Hop, HopFacts, HopRow, SavedTrail, Session, Trail, TrailFacts

HOP_FACTS = tuple(known.name for known in fields(HopFacts))
TRAIL_FACTS = tuple(known.name for known in fields(TrailFacts))
_values = attrgetter(*HOP_FACTS)


def trail_to_json(trail: Trail, session: Session | None = None) -> str:
    """The Trail as JSON text, in ASCII; with the session inside it, so that it can be explained and resolved again."""
    return to_json(saved(trail, session))


def saved(trail: Trail, session: Session | None = None) -> SavedTrail:
    """The Trail with its hops in a flat table, without the folders of the machine it was made on."""
    head = {name: getattr(trail, name) for name in TRAIL_FACTS} | {"torch": replace(trail.torch, torch_dir="")}
    return SavedTrail(**head, hops=tuple(rows(trail.hops)), session=portable(session) if session is not None else None)


def rows(hops: Iterable[Hop]) -> Iterator[HopRow]:
    """The rows of a tree of hops, callers first."""
    pending: list[tuple[Hop, int | None]] = [(hop, None) for hop in reversed(tuple(hops))]
    while pending:
        hop, parent = pending.pop()
        yield HopRow(*(*_values(hop), parent))
        pending += [(child, hop.id) for child in hop.children[::-1]]
