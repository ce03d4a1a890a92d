"""What a row says about a copy: the memory formats of both sides."""

from __future__ import annotations

import pytest

from ptexplore.model.trace import CopyRef, TensorRef
from ptexplore.view.trace.memory_layouts import copied
from ptexplore.view.words.details import described

NHWC, NCHW, NEITHER = (60, 1, 15, 3), (60, 20, 5, 1), (3, 15, 60, 1)


def tensor(strides: tuple[int, ...]) -> TensorRef:
    return TensorRef("self", "float32", "cpu", (2, 3, 4, 5), strides)


@pytest.mark.words
def test_a_copy_says_which_format_is_lost_or_made() -> None:
    assert copied(CopyRef(tensor(NHWC), tensor(NCHW))).formats == ("channels_last", "contiguous")
    assert copied(CopyRef(tensor(NCHW), tensor(NHWC))).formats == ("contiguous", "channels_last")
    words = described((copied(CopyRef(tensor(NHWC), tensor(NCHW))),))
    assert "(60, 1, 15, 3) → (60, 20, 5, 1), channels_last → contiguous" in words


def test_no_format_is_named_if_a_side_has_none_or_both_the_same() -> None:
    assert copied(CopyRef(tensor(NEITHER), tensor(NCHW))).formats == ()
    assert copied(CopyRef(tensor(NHWC), tensor(NHWC))).formats == ()
