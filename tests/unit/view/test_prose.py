"""Flowcharts in a terminal."""

from __future__ import annotations

import pytest

from ptexplore.view.notes.prose import arrows, plain_text


def test_of_a_flowchart_each_box_is_said_once_and_its_arrows_say_where_they_lead() -> None:
    picture = 'flowchart TD\n    a["one, two"] --> b["three"]\n    b -- "again" --> a\n    b --> bare\n'
    assert arrows(picture) == ["1. one, two --> 2", "2. three --> 3", "   -- again --> 1", "3. bare"]
    fork = 'graph LR\n    a["one"] --> c\n    b["two"] --> c["three"]\n    b --> a\n'
    assert arrows(fork) == ["1. one --> 3", "2. two --> 3, 1", "3. three"]


@pytest.mark.parametrize(
    "other",
    ["", "graph LR", "sequenceDiagram\n    a->>b: x", "graph LR\n    a --> b --> c", "flowchart TD\n    a{x} --> b"],
)
def test_any_other_picture_is_left_as_it_is(other: str) -> None:
    assert arrows(other) is None


def test_the_words_of_a_text_keep_the_underscores_of_names() -> None:
    text = "The *generated* `at::_ops::add_Tensor::call`, and\n**`__torch_dispatch__`**: see [`_make_grads`](#x), a_b."
    assert plain_text(text) == "The generated at::_ops::add_Tensor::call, and __torch_dispatch__: see _make_grads, a_b."
