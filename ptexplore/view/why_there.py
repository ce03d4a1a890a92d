"""Why a place is no better known, in words: they are loaded where there is something to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason


def why_there(reason: Reason | None) -> str:
    """Why a place is no better known; "" where nothing is to be said."""
    if reason is None:
        return ""
    from ptexplore.view.words.places import place_sentence

    return place_sentence(reason)
