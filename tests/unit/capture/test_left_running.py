"""How a trace words what its code left running."""

from __future__ import annotations

import pytest

from ptexplore.capture.left_running import left_running, remarks_about
from ptexplore.model.observed import LeftProcess
from ptexplore.model.reasons import ForkOfRun, GivenExpression, ProcessesOf, RunsSeveralTimes, SeveralLeftAlone
from ptexplore.processes import Descendant
from ptexplore.view.words.reasons import sentence


class Started:
    """A child that is asked again and again: each time the next answer, the last one for ever."""

    def __init__(self, *answers: list[Descendant]) -> None:
        self.answers = list(answers)

    def descendants(self) -> list[Descendant]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.mark.words
def test_many_processes_are_counted_and_some_are_numbered() -> None:
    alive = [LeftProcess(number, "sleep 9", ended=False) for number in range(1, 6)]
    alive += [LeftProcess(number, f"{'x' * 70} {number}", ended=False) for number in range(11, 16)]
    (remark,) = remarks_about([*alive, LeftProcess(99, "", ended=False)], is_script=True)
    long = "x" * 59 + "…"
    listed = ", ".join(f"{long} (process {number})" for number in range(11, 14))
    assert sentence(remark) == (
        "the script started 11 processes that still run: "
        f"sleep 9 (processes 1, 2, 3, …), {listed} and 3 others; ptexplore does not end them"
    )


def test_a_fork_is_named_and_the_runs_of_an_expression_explained() -> None:
    forks = [LeftProcess(number, "", ended=False) for number in (4, 5)]
    (remark,) = remarks_about(forks, is_script=False)
    forked = ProcessesOf(ForkOfRun(), ("4", "5"))
    assert remark == SeveralLeftAlone(2, GivenExpression(), (forked,), often=RunsSeveralTimes())


def test_a_process_is_given_a_moment_to_end() -> None:
    late = Descendant(7, "sleep 0.1", in_group=False)
    assert left_running(Started([late], [late], []), ended=True) == []


def test_helpers_of_libraries_and_what_is_being_ended_are_not_reported() -> None:
    tracker = Descendant(7, "python -c 'from multiprocessing.resource_tracker import main;main(6)'", in_group=True)
    assert left_running(Started([tracker]), ended=True) == []
    run = Descendant(8, "", in_group=True)
    daemon = Descendant(9, "sleep 9", in_group=False)
    assert left_running(Started([run, daemon]), ended=False) == [LeftProcess(9, "sleep 9", ended=False)]
