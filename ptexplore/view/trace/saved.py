"""Read a saved trace back: data that nobody vouches for, so every value is checked and nothing in it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from dataclasses import is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any, get_args, get_type_hints

from ptexplore.capture.session import MAX_DEPTH, checked, format_of, from_document, from_json, refused, unpacked
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Hop, HopRow, SavedTrail, Session, Trail
from ptexplore.view.trace.document import HOP_FACTS, TRAIL_FACTS
from ptexplore.view.trace.format_1 import upgraded

MAX_HOPS = 2_000_000
DEEPEST = 400  # hops within one another
_OUTSIDE = re.compile(r"[/~]|(?:.*/)?\.\.(?:/|$)|.*\0", re.DOTALL)
_facts = attrgetter(*HOP_FACTS)


def trail_from_json(data: bytes, name: str) -> tuple[Trail, Session | None]:
    """The Trail that a file holds, packed or not, and its session, if it has one; `name` is the file's, for messages.

    Raises PtexploreError: exit code USAGE for anything truncated or hostile, MISSING where a newer ptexplore wrote it.
    """
    text = unpacked(data, name)
    saved = from_json(text, SavedTrail, name) if format_of(text, name) > 1 else _format_1(text, name)
    if len(saved.hops) > MAX_HOPS:
        raise refused(name, "it is longer than any real trace")
    trail = Trail(**{fact: getattr(saved, fact) for fact in TRAIL_FACTS}, hops=_tree(saved.hops, name))
    return trail, checked(saved.session, name) if saved.session is not None else None


def _format_1(text: bytes, name: str) -> SavedTrail:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(name, f"not whole JSON: {str(error)[:100]}") from error
    return from_document(upgraded(document, name), SavedTrail, name)


def _tree(rows: tuple[HopRow, ...], name: str) -> tuple[Hop, ...]:
    """The hops of a flat table, nested. Raises PtexploreError for a row that is not behind the one it is inside of."""
    depths: dict[int | None, int] = {None: 0}
    for row in rows:
        if row.id in depths or row.parent not in depths:
            raise refused(name, f"hop {str(row.id)[:20]} is there twice, or comes before the hop it is inside of")
        depths[row.id] = depths[row.parent] + 1
        if depths[row.id] > DEEPEST:
            raise refused(name, "it nests deeper than any real trace")
    inside: dict[int | None, list[Hop]] = {}
    for row in reversed(rows):
        hop = _checked(row, name)
        inside.setdefault(row.parent, []).append(Hop(*(*_facts(hop), tuple(inside.pop(row.id, ())[::-1]))))
    return tuple(inside.get(None, ())[::-1])


def _checked(row: HopRow, name: str) -> HopRow:
    """The row without links that are not `https`. Raises PtexploreError for a path that leads out of a tree."""
    spoilt = False
    for ref, depth in _references(row, 0):
        if depth > MAX_DEPTH:
            raise refused(name, "its references nest deeper than any real trace")
        if ref.path is not None and _OUTSIDE.match(ref.path):
            raise refused(name, f"the path {ref.path[:60]!r} leads out of a tree")
        spoilt = spoilt or not _is_web(ref.url)
    return _without_links(row) if spoilt else row


def _is_web(url: str | None) -> bool:
    return url is None or url.startswith("https://")


def _references(record: Any, depth: int) -> Iterator[tuple[SourceRef, int]]:
    """Every reference in a record, and how deep it is inside; no further than the limit."""
    if isinstance(record, SourceRef):
        yield record, depth
    for part in _parts(record.__class__) if depth <= MAX_DEPTH else ():
        held = getattr(record, part)
        if held is not None:
            for inner in held if isinstance(held, tuple) else (held,):
                yield from _references(inner, depth + 1)


def _without_links(record: Any) -> Any:
    changes: dict[str, Any] = {"url": None} if isinstance(record, SourceRef) and not _is_web(record.url) else {}
    for part in _parts(record.__class__):
        held = getattr(record, part)
        if held is not None:
            changes[part] = tuple(map(_without_links, held)) if isinstance(held, tuple) else _without_links(held)
    return replace(record, **changes)


@cache
def _parts(kind: Hashable) -> tuple[str, ...]:
    """The fields of a record that hold records, so that a reference in a new field is checked too."""
    return tuple(name for name, hint in get_type_hints(kind).items() if _holds_record(hint))


def _holds_record(hint: Any) -> bool:
    return is_dataclass(hint) or any(map(_holds_record, get_args(hint)))
