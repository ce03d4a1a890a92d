"""Two runs of a script compared, where the operators cannot be."""

from __future__ import annotations

from pathlib import Path

from ptexplore.capture.second_run import ComparedRun, compared
from ptexplore.model.program import CallPath, Program
from ptexplore.model.program_order import units_by_thread
from ptexplore.model.reasons import (
    BothToTheEnd,
    ClockSetMeanwhile,
    NotCompared,
    RanAlike,
    SameOutput,
    SameRandomStates,
)
from ptexplore.workspace.saved_traces import load_trace

DEVICE = Path(__file__).parents[2] / "data" / "device"
LEFT = {"random": {"torch": "1"}, "raised": None}


def test_runs_whose_operators_cannot_be_compared_say_why() -> None:
    program = Program((CallPath("program", "x", 1, 1),), (), (), (), (), "", 0, 1, 0)
    of_clock = {"uncompared": {"code": "clock-set-meanwhile"}}
    for lefts in ((LEFT | of_clock, LEFT), (LEFT, LEFT | of_clock)):
        recorded, second = (ComparedRun("", False, left) for left in lefts)
        comparison = compared(program, recorded, second)
        assert comparison.equal
        assert comparison.told == RanAlike(
            (NotCompared(ClockSetMeanwhile()), SameOutput(), SameRandomStates(), BothToTheEnd())
        )


def test_what_the_engine_ran_on_a_device_is_no_part_of_the_main_thread_s_order() -> None:
    """Of a program that was recorded on a GPU: there nodes run in a thread of the device's."""
    trace, _ = load_trace(str(DEVICE / "program.json.gz"))
    assert trace.program is not None
    (whole, none), (own, beside) = (units_by_thread(trace.program, nodes_beside=apart) for apart in (False, True))
    assert not none
    assert beside
    assert {unit[0].type for unit in beside} >= {"engine"}
    assert "engine" not in {unit[0].type for unit in own}
    assert len(own) + len(beside) == len(whole)
