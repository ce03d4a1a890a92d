"""The documents of `exercise --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ptexplore.annotations.exercises import Exercise
from ptexplore.annotations.progress import ReadingProgress
from ptexplore.model.judged import JudgedSolution


class ExerciseEntry(Struct, frozen=True):
    """One exercise."""

    id: str  # its name
    title: str  # its title
    summary: str  # one sentence
    tour: str  # the stop before it
    built: bool  # whether a solution of yours passed


class ExerciseListDocument(Struct, frozen=True):
    """`exercise --json`."""

    format: int  # 1
    exercises: tuple[ExerciseEntry, ...]  # all of them


class ExerciseDocument(Struct, frozen=True):
    """`exercise NAME --json`."""

    format: int  # 1
    exercise: ExerciseEntry  # its head
    text: str  # Markdown
    function: str  # the function to write
    start: str  # the file with the hole
    file: str  # the name of the file
    hints: int  # how many there are


class DifferingCase(Struct, frozen=True):
    """A case that a solution got wrong."""

    number: int  # from 0
    case: Mapping[str, Any]  # the arguments by name
    wanted: Any  # what PyTorch gave
    result: Any  # the result of the solution; null if there is none


class JudgedDocument(Struct, frozen=True):
    """`exercise NAME FILE --json`."""

    format: int  # 1
    exercise: str  # its name
    torch: str  # the version that was asked
    cases: int  # number of drawn cases
    right: int  # number of right answers
    passed: bool  # whether all answers are right
    first: DifferingCase | None  # the first case that differs
    raised: str  # the error that ended the solution, or ""
    died: str  # "late", "silent" or a signal, if its process ended early; else ""
    printed: str  # what the solution printed
    rules_of: str  # the release whose rules gave the answers; "" if torch itself did.


def exercise_list_document(known: Mapping[str, Exercise], progress: ReadingProgress) -> ExerciseListDocument:
    """Returns the document of the list."""
    return ExerciseListDocument(1, tuple(_entry(exercise, progress) for exercise in known.values()))


def exercise_document(exercise: Exercise, progress: ReadingProgress, file: str) -> ExerciseDocument:
    """Returns the document of one exercise."""
    entry = _entry(exercise, progress)
    hints = len(exercise.hints)
    return ExerciseDocument(1, entry, exercise.text, exercise.function, exercise.start, file, hints)


def judged_document(exercise: Exercise, judged: JudgedSolution) -> JudgedDocument:
    """Returns the document of a judged solution."""
    wrong = judged.first
    first = None
    if wrong is not None:
        first = DifferingCase(wrong.number, wrong.case, wrong.wanted, wrong.result)
    return JudgedDocument(
        1, exercise.id, judged.torch, judged.cases, judged.right, judged.passed, first, judged.raised, judged.died,
        judged.printed, judged.rules_of,
    )  # fmt: skip


def _entry(exercise: Exercise, progress: ReadingProgress) -> ExerciseEntry:
    built = exercise.id in progress.built
    return ExerciseEntry(exercise.id, exercise.title, exercise.summary, exercise.tour, built)
