"""A Trail, or one step of it, as JSON text: with a sentence beside each code."""

from __future__ import annotations

from ptexplore.model.trace import Ending, Hop, HopRow, Session, Trail
from ptexplore.saved import trail as codec
from ptexplore.saved.changed import with_places
from ptexplore.saved.trail import Wording
from ptexplore.view.words.places import worded_place
from ptexplore.view.words.reasons import worded, worded_ending

_WORDING = Wording(worded, worded_place, worded_ending)


def trail_to_json(trail: Trail, session: Session | None = None) -> str:
    """The Trail as JSON text, in ASCII; with a session it can be explained and resolved again."""
    return codec.trail_to_json(trail, _WORDING, session)


def row_of(hop: Hop, parent: int | None, key: str) -> HopRow:
    """One hop as it is in a saved Trail; `parent` is the hop it is inside of, `key` its stable key."""
    return codec.row_of(hop, parent, key, _WORDING)


def ending_of(ending: Ending) -> Ending:
    """What the expression raised, as it is in a saved Trail."""
    return with_places(worded_ending(ending), worded_place)
