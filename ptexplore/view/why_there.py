"""The reason why a place is not better known, in words. The words are imported only if there is a reason."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ptexplore.model.codes import Reason
    from ptexplore.model.remarks import AnswerRemark


def why_there(reason: Reason | AnswerRemark | None, *, on_page: bool = False) -> str:
    """Returns why a place is not better known; "" if there is nothing to say. `on_page`: without commands to type."""
    if reason is None:
        return ""
    if is_dataclass(reason):  # a remark of a search; a reason is a Struct, and a search does not import those
        from ptexplore.view.words.remarks import remark_in_words

        return remark_in_words(cast("AnswerRemark", reason))
    from ptexplore.view.words.places import place_sentence, place_sentence_on_page

    return place_sentence_on_page(reason) if on_page else place_sentence(reason)
