"""Flowcharts in a terminal."""

from __future__ import annotations

import pytest

from ptexplore.view.notes.prose import arrows, plain_text


def test_arrows_say_what_the_boxes_say() -> None:
    picture = 'flowchart TD\n    a["one, two"] --> b["three"]\n    b -- "again" --> a\n    b --> bare\n'
    assert arrows(picture) == ["one, two", "  --> three", "three", "  -- again --> one, two", "  --> bare"]


@pytest.mark.parametrize(
    "other",
    ["", "graph LR", "sequenceDiagram\n    a->>b: x", "graph LR\n    a --> b --> c", "flowchart TD\n    a{x} --> b"],
)
def test_any_other_picture_is_left_as_it_is(other: str) -> None:
    assert arrows(other) is None


def test_the_words_of_a_text_keep_the_underscores_of_names() -> None:
    text = "The *generated* `at::_ops::add_Tensor::call`, and\n**`__torch_dispatch__`**: see [`_make_grads`](#x), a_b."
    assert plain_text(text) == "The generated at::_ops::add_Tensor::call, and __torch_dispatch__: see _make_grads, a_b."
