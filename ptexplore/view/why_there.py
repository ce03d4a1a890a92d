"""The reason why a place is not better known, in words. The words are imported only if there is a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptexplore.model.remarks import AnswerRemark
from ptexplore.view.words.remarks import remark_in_words

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason


def why_there(reason: Reason | AnswerRemark | None) -> str:
    """Returns why a place is not better known; "" if there is nothing to say."""
    if reason is None:
        return ""
    if isinstance(reason, AnswerRemark):
        return remark_in_words(reason)
    from ptexplore.view.words.places import place_sentence

    return place_sentence(reason)
