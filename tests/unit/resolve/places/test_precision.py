"""How precise a reference is: the design's words, from the evidence alone, and never rounded up."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ptexplore.model.place_reasons import (
    MayMean,
    NoDefinition,
    NothingConfirms,
    NotInRuntime,
    RecordUnconfirmed,
    ThrowsNothing,
)
from ptexplore.model.places import SourceRef
from ptexplore.resolve.places.precision import decide, in_runtime, recorded, several, unknown
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Small, place

CPU = f"{ATEN}/RegisterCPU_0.cpp"


@pytest.mark.parametrize(
    "evidence, word",
    [
        # One definition found by its name: what the tree is worth.
        ({"relation": "runtime"}, "located"),
        ({"relation": "matches"}, "located"),
        ({"relation": "consistent"}, "consistent"),
        ({"relation": "version-skew"}, "version-skew"),
        # None or several.
        ({"definitions": 0}, "unknown"),
        ({"definitions": 2}, "ambiguous"),
        ({"definitions": 7, "relation": "version-skew"}, "ambiguous"),
        # The binary's own record: only a text that bears it out makes it "registered".
        ({"recorded": True, "confirmed": True}, "registered"),
        ({"recorded": True, "confirmed": False}, "unknown"),
        ({"recorded": True, "confirmed": True, "relation": "matches"}, "registered"),
        ({"recorded": True, "confirmed": True, "relation": "consistent"}, "registered"),
        # A line of another version's tree is never more than that, even where it happens to hold the macro.
        ({"recorded": True, "confirmed": True, "relation": "version-skew"}, "version-skew"),
    ],
)
def test_the_word(evidence: dict[str, Any], word: str) -> None:
    assert decide(**evidence) == word


def test_a_place_in_the_runtime_tree(small: Small) -> None:
    found = in_runtime(small.tree, CPU, 3, 9)
    assert (*place(found), found.layer, found.end_line, found.tree) == (CPU, 3, "located", "generated", 9, "runtime")
    assert in_runtime(small.tree, "torch/_refs.py", 1).layer == "wheel"


@pytest.mark.parametrize("path, line", [("aten/src/ATen/native/Blend.cpp", 3), (CPU, None)])
def test_what_no_layer_holds_is_unknown_and_says_so(small: Small, path: str, line: int | None) -> None:
    found = in_runtime(small.tree, path, line)
    assert place(found) == (path, line, "unknown")
    assert found.reason == NotInRuntime(path)


def test_a_recorded_line_is_confirmed_or_says_why_not(small: Small) -> None:
    confirmed = recorded(small.tree, CPU, 19, True, None)
    assert (*place(confirmed), confirmed.reason) == (CPU, 19, "registered", None)
    refused = recorded(small.tree, CPU, 19, False, ThrowsNothing())
    assert (*place(refused), refused.reason) == (
        CPU,
        19,
        "unknown",
        RecordUnconfirmed(ThrowsNothing()),
    )
    assert recorded(small.tree, CPU, 19, False, None).reason == RecordUnconfirmed(NothingConfirms())


def test_one_place_is_itself_and_several_are_candidates() -> None:
    one = SourceRef("a.cpp", 3, "checkout", "located", tree="tree")
    other = SourceRef("a.cpp", 9, "checkout", "located", tree="tree")
    elsewhere = SourceRef("b.cpp", 1, "checkout", "located", tree="tree")
    assert several([one], partial(MayMean, "f")) is one
    both = several([one, other], partial(MayMean, "f"))
    assert (*place(both), both.reason, both.tree) == ("a.cpp", None, "ambiguous", MayMean("f", 2), "tree")
    assert both.candidates == (one, other)
    assert place(several([one, elsewhere], partial(MayMean, "f"))) == (None, None, "ambiguous"), (
        "of two files neither is named"
    )


def test_unknown_has_a_reason_and_no_layer() -> None:
    why = NoDefinition("f", "tree")
    assert unknown(why) == SourceRef(None, None, None, "unknown", reason=why)
