"""Runs solutions of exercises: yours, and the model solution that came with an exercise."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from ptexplore.annotations.exercises import Exercise
from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.judging import SEED, judge
from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import PtexploreError
from ptexplore.model.judged import JudgedSolution
from ptexplore.view.notes.labs import LabOutcome, LabResult
from ptexplore.view.words.errors import in_words
from ptexplore.workspace.consent import of_solution
from ptexplore.workspace.opening import InstalledTorch


def solution_request(exercise: Exercise, text: str, seed: int = SEED) -> TraceRequest:
    """Returns the request to judge a solution."""
    return TraceRequest(expression=text, judge=exercise.judge, function=exercise.function, seed=seed)


def judged(run: AllowedRun, torch: InstalledTorch) -> JudgedSolution:
    """Returns how an allowed solution does. Raises PtexploreError."""
    with in_words():
        return judge(run, torch.runtime)


def checked_models(exercises: Iterable[Exercise], torch: InstalledTorch) -> Iterator[LabResult]:
    """Yields whether the model solution of each exercise is right, as for a lab. An untrusted one does not run."""
    for exercise in exercises:
        solution = of_solution(exercise, solution_request(exercise, exercise.solution))
        name = f"exercise {exercise.id}"
        if not solution.is_allowed:
            yield LabResult(name, exercise.where, "untrusted", f"its file is not trusted: {solution.hint}")
            continue
        begun = time.monotonic()
        outcome: LabOutcome = "failed"
        try:
            result = judged(solution.allowed(), torch)
            outcome = "passed" if result.passed else "failed"
            why = (
                "" if result.passed else f"{result.right} of {result.cases} cases right {result.raised or result.died}"
            )
        except PtexploreError as error:
            why = error.one_line
        yield LabResult(name, exercise.where, outcome, why.strip(), time.monotonic() - begun)
