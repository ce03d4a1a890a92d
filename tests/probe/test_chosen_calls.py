"""Which operator calls are stepped in an expression that is too long: one of each kind, if it is certain which."""

from __future__ import annotations

import importlib
from typing import Any

chosen_calls = importlib.import_module("ptexplore.probe.chosen_calls")
Call, Tree = chosen_calls.RecordedCall, chosen_calls.CallTree


def tree(*calls: tuple[str, int | None, int]) -> Any:
    """Calls of operators ("mul.Tensor"), or of nothing (""), with the number of the call around each and a time."""
    parts = ((name.partition(".")[0], name.partition(".")[2], parent, time) for name, parent, time in calls)
    return Tree([Call(f"aten::{op}" if op else "", overload, parent, time) for op, overload, parent, time in parts])


ALL = ("mul.Tensor", "sum", "sum.dim_IntList", "mm")


def test_a_call_is_known_by_its_place_among_all_that_came_through_an_entry_point() -> None:
    told = tree(
        ("mul.Tensor", None, 5), ("sum", None, 4), ("sum.dim_IntList", 1, 3), ("", None, 9), ("mul.Tensor", 3, 5)
    )
    assert told.matched(["mul.Tensor", "sum", "sum.dim_IntList", "mul.Tensor"], ALL) == {0: 1, 1: 2, 2: 3, 4: 4}


def test_what_python_calls_comes_through_its_entry_point_although_the_same_call_inside_is_boxed() -> None:
    """As under a function transform."""
    told = tree(("mul.Tensor", None, 5), ("mul.Tensor", 0, 4), ("mul.Tensor", None, 5), ("mul.Tensor", 2, 4))
    assert told.matched(["mul.Tensor", "mul.Tensor"], ALL) == {0: 1, 2: 2}
    assert told.matched(["mul.Tensor", "mul.Tensor", "mul.Tensor"], ALL) == {0: 1}, (
        "which of two came third, nobody knows"
    )


def test_a_call_that_came_through_none_is_not_matched() -> None:
    """As torch.ops.aten.mul in front of others."""
    told = tree(("mul.Tensor", None, 5), ("mm", None, 4), ("sum", None, 3))
    assert told.matched(["mm", "sum"], ALL) == {1: 1, 2: 2}
    assert told.matched(["mm", "sum"], ("mm", "sum")) == {1: 1, 2: 2}, "there is no breakpoint on mul"
    assert told.matched(["sum", "mm"], ALL) == {}, "another run"
    assert told.matched(["mm", "sum", "sum", "sum"], ALL) == {}


def test_the_largest_call_of_each_kind_is_chosen_the_costliest_kind_first() -> None:
    """The slower `mul` is not chosen: times differ from run to run."""
    told = tree(("mm", None, 5), ("mul.Tensor", None, 1), ("mm", None, 7), ("mul.Tensor", None, 4), ("sum", None, 3),
                ("mul.Tensor", 4, 2))  # fmt: skip
    told.calls[2] = told.calls[2]._replace(elements=9)
    matched = {number: number + 1 for number in range(6)}
    chosen = told.chosen(matched)
    assert [(one.call, one.reached, one.share) for one in chosen] == [(2, 3, 0.6), (1, 2, 0.25), (4, 5, 0.15)]
    del matched[4]
    assert [one.call for one in told.chosen(matched)] == [2, 1], "the call inside is of the kind of another one"


def test_what_a_cut_call_did_not_reach_is_stepped_by_itself() -> None:
    told = tree(("sum", None, 9), ("mm", 0, 4), ("mul.Tensor", 0, 3), ("mm", None, 1))
    matched = {number: number + 1 for number in range(4)}
    assert told.after(0, matched, 2) == [2], "the product had begun"
    assert told.after(0, matched, 3) == []


def test_a_call_is_numbered_as_the_trace_numbers_it() -> None:
    told = tree(("sum", None, 9), ("sum.dim_IntList", 0, 4), ("sum", None, 3))
    assert [told.numbered(number) for number in range(3)] == [(1, 3), (1, 3), (2, 3)]
