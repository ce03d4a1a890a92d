"""Two runs of a script compared, where the operators cannot be."""

from __future__ import annotations

from ptexplore.capture.second_run import Run, compared
from ptexplore.model.program import CallPath, Program

LEFT = {"random": {"torch": "1"}, "raised": None}


def test_runs_whose_operators_cannot_be_compared_say_why() -> None:
    program = Program((CallPath("program", "x", 1, 1),), (), (), (), (), "", 0, 1, 0)
    for lefts in ((LEFT | {"uncompared": "of a clock"}, LEFT), (LEFT, LEFT | {"uncompared": "of a clock"})):
        recorded, second = (Run("", False, left) for left in lefts)
        told = compared(program, recorded, second)
        assert told["equal"]
        assert "operators not compared, since of a clock, the same output" in told["text"]
