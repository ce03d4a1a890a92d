"""Why a place is no better known, in words: they are loaded where there is something to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.model.remarks import AnswerRemark
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason


def why_there(reason: Reason | AnswerRemark | None) -> str:
    """Why a place is no better known; "" where nothing is to be said."""
    if reason is None:
        return ""
    if isinstance(reason, AnswerRemark):
        return remark_in_words(reason)
    from ptexplore.view.words.places import place_sentence

    return place_sentence(reason)
