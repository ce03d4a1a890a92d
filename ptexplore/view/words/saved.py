"""A trace, or one hop of it, as JSON text, with a sentence beside each code."""

from __future__ import annotations

from ptexplore.model.trace import Ending, Hop, HopRow, Session, Trace
from ptexplore.saved import trace as codec
from ptexplore.saved.changed import with_places
from ptexplore.saved.trace import Wording
from ptexplore.view.words.places import worded_place
from ptexplore.view.words.reasons import worded, worded_ending

_WORDING = Wording(worded, worded_place, worded_ending)


def trace_to_json(trace: Trace, session: Session | None = None) -> str:
    """Returns the trace as JSON text in ASCII. With the session, the text can be explained and resolved again."""
    return codec.trace_to_json(trace, _WORDING, session)


def row_of(hop: Hop, parent: int | None, key: str) -> HopRow:
    """Returns one hop in the form of a saved trace. `parent` is the id of the hop around it, `key` its stable key."""
    return codec.row_of(hop, parent, key, _WORDING)


def ending_of(ending: Ending) -> Ending:
    """Returns the ending in the form of a saved trace."""
    return with_places(worded_ending(ending), worded_place)
