"""Begin a note: find the one thing that it is about, and write its anchor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.view.notes.new_note import anchor_at, anchor_of, anchor_of_row, note_text
from ptexplore.view.search.show import candidates

if TYPE_CHECKING:
    from ptexplore.annotations.records import Anchor
    from ptexplore.view.search.show import Candidate
    from ptexplore.view.trees import IndexedTree


@dataclass(frozen=True, slots=True)
class NewNote:
    """The text of a note that is begun, and its id."""

    id: str
    text: str


def new_note(indexed: IndexedTree, target: str, note_id: str | None = None) -> NewNote:
    """Begin a note on the one thing that the target names; its id is made of the symbol's name if None is given.

    Raises PtexploreError (USAGE) if the target names nothing, several things, or what has no place in this tree.
    """
    anchor, title = _anchor_of_target(indexed, target)
    name = note_id or _id(anchor.symbol)
    return NewNote(name, note_text(anchor, name, title, indexed.tree.info.version))


def _id(symbol: str) -> str:
    """The symbol's own words, as an id: `Engine::evaluate_function` is engine-evaluate-function."""
    words = re.findall(r"[A-Za-z0-9]+", "-".join(re.split(r"::|\.", symbol)[-2:]))
    return "-".join(words).lower()[:64].strip("-") or "note"


def _anchor_of_target(indexed: IndexedTree, target: str) -> tuple[Anchor, str]:
    tree, store = indexed.tree, indexed.store
    named = candidates([indexed], None, target)
    if not named:
        operator = target if "::" in target else f"aten::{target}"
        rows = [row for row in store.dialect(operator, ("yaml-function",)) if row.path.endswith(".yaml")]
        if len(rows) == 1:
            return anchor_of_row(rows[0]), rows[0].name
        why = f"searched: {tree.info.label}"
        raise PtexploreError(f"there is nothing named {target}", why, "ptexplore find NAME", USAGE)
    if len(named) > 1:
        raise _several(target, named)
    (candidate,) = named
    name = candidate.name
    if candidate.kind == "file":
        if candidate.first is None:
            raise PtexploreError(f"{name} is a whole file", "a note is about a place", f"{name}:LINE", USAGE)
        return anchor_at(tree, store, name, candidate.first)
    if candidate.symbol is None:
        rows = store.dialect(name, ("yaml-function",))
        if len(rows) == 1:
            return anchor_of_row(rows[0]), rows[0].name
        why = f"{len(rows)} entries of that name are in its YAML"
        raise PtexploreError(f"{name} has no one place in this source", why, "ptexplore show NAME", USAGE)
    return anchor_of(tree, store, candidate.symbol), candidate.symbol.qualified


def _several(target: str, named: Sequence[Candidate]) -> PtexploreError:
    some = "; ".join(f"{one.name} at {one.spot.ref.path}:{one.spot.ref.line}" for one in named[:5])
    first = named[0].spot.ref
    hint = f"ptexplore notes new {first.path}:{first.line}"
    return PtexploreError(f"{target} names {len(named)} things", some, hint, USAGE)
