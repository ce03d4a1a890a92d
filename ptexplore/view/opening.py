"""Whether a place can be opened here: its text is at hand, and it is the text that the place is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptexplore.source.permalink import public_commit

if TYPE_CHECKING:
    from ptexplore.model.places import SourceRef
    from ptexplore.model.trace import Trail
    from ptexplore.view.trees import IndexedTree


def why_not(ref: SourceRef, trees: Sequence[IndexedTree]) -> str | None:
    """Why a place that was found in these trees cannot be opened; None if it can."""
    if ref.path is None or ref.line is None:
        candidates = ", ".join(f"{one.path}:{one.line}" for one in ref.candidates)
        return candidates or ref.reason or f"its place is {ref.precision}"
    if ref.layer == "atlas" or _tree(trees, ref.tree) is None:
        return f"{ref.path}:{ref.line}: its text is not here: ptexplore fetch, ptexplore index"
    return None


def why_not_of_trail(ref: SourceRef, trail: Trail, trees: Sequence[IndexedTree]) -> str | None:
    """Why a place of a trail cannot be opened; None if it can: only in the very tree that the trail speaks of."""
    if ref.path is None or (ref.line is None and ref.precision in ("unknown", "ambiguous")):
        return ref.reason or f"its place is {ref.precision}"
    known = next((one for one in trail.trees if one.name == ref.tree), None)
    if ref.layer == "atlas" or (known is not None and known.layers == ("atlas",)):
        return f"{ref.path}:{ref.line} is known by name and line alone: ptexplore fetch brings its text"
    indexed = _tree(trees, ref.tree)
    if indexed is None:
        return f"{ref.path}:{ref.line} is in {ref.tree}, which is not at hand"
    info, checkout = indexed.tree.info, indexed.checkout
    commit = (public_commit(checkout) if checkout is not None else None) or info.commit  # as a Trail has it
    if known is None or (known.version, known.commit) != (info.version, commit):
        was, now = (known.version if known is not None else "another version"), info.version
        if known is not None and was == now:
            was, now = (f"{now} ({(one or 'no known commit')[:15]})" for one in (known.commit, commit))
        return f"the trace is of {ref.tree} {was}, and {now} is at hand: line {ref.line} is another one there"
    return None


def first_to_open(
    places: Sequence[SourceRef], trail: Trail, trees: Sequence[IndexedTree]
) -> tuple[SourceRef | None, str]:
    """The first of a row's places that can be opened, else None and why the first cannot."""
    troubles = []
    for ref in places:
        why = why_not_of_trail(ref, trail, trees)
        if why is None and ref.path is not None:
            return ref, ""
        troubles.append(why or "")
    return None, troubles[0] if troubles else "nothing says where this is"


def in_words(ref: SourceRef) -> str:
    """A place with all that is known of it."""
    where = f"{ref.path}:{ref.line}" if ref.path and ref.line else ref.path or "no place"
    reason = f" ({ref.reason})" if ref.reason else ""
    return f"{where}  {ref.tree} {ref.precision}{reason}"


def _tree(trees: Sequence[IndexedTree], name: str) -> IndexedTree | None:
    return next((one for one in trees if one.tree.info.name == name), None)
