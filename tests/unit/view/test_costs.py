"""An expression of which only calls were stepped: shares are of time, and inside a call of the call's instructions."""

from __future__ import annotations

from dataclasses import replace

from ptexplore.model.observed import Observation, SteppedCalls
from ptexplore.model.options import TraceOptions
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import NoBudget
from ptexplore.model.trace import Captured, Hop, NativeCall, ResultInfo, Session, TorchInfo, Trace
from ptexplore.view.trace.page import IN_CALL, Options
from ptexplore.view.trace.path import path_view

TORCH = TorchInfo("2.99.0")
HERE = SourceRef("aten/src/ATen/native/Work.cpp", 1, "checkout", "located")


def a_call(number: int, name: str, time: int, *inside: Hop, instructions: int | None = None) -> Hop:
    return Hop(
        number, "op", name, "observed", HERE, op=name, time=time, instructions=instructions, children=inside,
        evidence=(number,),
    )  # fmt: skip


def a_frame(number: int, instructions: int) -> Hop:
    called = NativeCall("at::native::work()", "", "libtorch_cpu.so", instructions)
    return Hop(number, "native", "at::native::work", "observed", HERE, native=called, instructions=instructions)


def stepped(number: int, instructions: int, *, cut: bool = False) -> Observation:
    calls = SteppedCalls(
        observation=number, part="operator", instructions=instructions, functions=(), function=(), depth=(), begin=(),
        end=(), tail=(), registers={}, closed={}, op="mm", number=1, of=1, cut=NoBudget() if cut else None,
    )  # fmt: skip
    return Observation("native", "calls", calls)


def shown(*hops: Hop, calls: tuple[Observation, ...]) -> dict[str, tuple[float | None, tuple[str, ...]]]:
    captured = Captured(native=True)
    trace = Trace("f(a)", (), TORCH, (), captured, ResultInfo(), (), hops)
    session = Session("f(a)", TORCH, (), TraceOptions(), captured, ResultInfo(), observations=calls)
    page = path_view(trace, Options(view="path"), session)
    assert page.columns in ((), (IN_CALL,))
    return {row.name: (row.share, row.cells) for row in page.table}


def test_a_row_has_its_share_of_time_and_inside_a_stepped_call_its_part_of_the_call() -> None:
    mm = replace(a_call(1, "aten::mm", 600, a_frame(2, 250), instructions=1_000), evidence=(1, 9))
    rows = shown(mm, a_call(3, "aten::mul.Tensor", 400), calls=(stepped(9, 1_000),))
    assert rows["Python"] == (1.0, ())
    assert rows["aten::mm"] == (0.6, ())
    assert rows["aten::mul.Tensor"] == (0.4, ())
    assert rows["at::native::work"] == (None, ("25%",))


def test_what_a_cut_call_did_not_reach_has_its_own_time() -> None:
    """The frames of the call itself have no figure: how much of it they are is not known."""
    inner = a_call(3, "aten::add.Tensor", 300)
    mm = replace(a_call(1, "aten::mm", 600, a_frame(2, 250), inner, instructions=1_000), evidence=(1, 9))
    rows = shown(mm, a_call(4, "aten::mul.Tensor", 400), calls=(stepped(9, 1_000, cut=True),))
    assert rows["aten::mm"] == (0.6, ())
    assert rows["aten::add.Tensor"] == (0.3, ())
    assert all(not cells for _, cells in rows.values())


def test_a_cut_call_that_was_cut_in_its_own_function_has_parts() -> None:
    """The calls inside were reached and cost little, so the function that was running at the cut has the rest."""
    inner = a_call(3, "aten::expand", 30, instructions=20)
    mm = replace(a_call(1, "aten::mm", 600, inner, a_frame(2, 950), instructions=1_000), evidence=(1, 9))
    rows = shown(mm, a_call(4, "aten::mul.Tensor", 400), calls=(stepped(9, 1_000, cut=True),))
    assert rows["aten::mm"] == (0.6, ())
    assert rows["at::native::work"] == (None, ("95%",))
