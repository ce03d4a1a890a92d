"""A reader's progress, in the data folder: stops seen, labs predicted right, questions answered, exercises built.

A damaged file is moved aside.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

from ptexplore.annotations.names import ID, STOP
from ptexplore.annotations.records import Tour
from ptexplore.locations import progress_file
from ptexplore.writing import changing, keep_whole, kept_bytes

FORMAT = 1
_LARGEST = 4 * 1024 * 1024  # bytes

ReadState = Literal["read", "visited", "new"]
# Days until a missed question is asked again; each right answer moves it one place on, after the last it is known.
INTERVALS = (2, 5, 12)


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """The reader's own grade for an answer. `due` is the day on which the question is asked again, "" for never.

    `step` is the number of right answers since the reader last missed the question.
    """

    right: bool
    step: int = 0
    due: str = ""

    def is_due(self, today: date) -> bool:
        """Whether the question is to be asked again on that day."""
        return bool(self.due) and self.due <= today.isoformat()


def graded(before: GradedAnswer | None, today: date, *, right: bool) -> GradedAnswer:
    """Returns the new grade of a question. A question that was never missed does not come back."""
    if not right:
        return GradedAnswer(right=False, due=(today + timedelta(INTERVALS[0])).isoformat())
    if before is None or not before.due:
        return GradedAnswer(right=True)
    step = before.step + 1
    again = (today + timedelta(INTERVALS[step])).isoformat() if step < len(INTERVALS) else ""
    return GradedAnswer(right=True, step=step, due=again)


@dataclass
class ReadingProgress:
    """Stops that were read or visited ("tour#stop"), labs that passed or were predicted right ("tour#stop/lab").

    A stop is visited when it has been shown. It is read when one of its labs was predicted right, or one of its
    questions was answered right. `answers` are the grades of questions, by the concept's id. `built` are the exercises
    that a solution passed. `last` is the present stop of each tour. `trouble` says why earlier progress is missing.
    """

    done: set[str] = field(default_factory=set)
    visited: set[str] = field(default_factory=set)
    labs: set[str] = field(default_factory=set)
    predicted: set[str] = field(default_factory=set)
    answers: dict[str, GradedAnswer] = field(default_factory=dict)
    built: set[str] = field(default_factory=set)
    last: dict[str, str] = field(default_factory=dict)
    trouble: str = ""

    def of(self, tour: Tour) -> int:
        """Returns how many of the tour's stops were read. Stops that no longer exist do not count."""
        return sum(tour.name_of(stop) in self.done for stop in tour.stops)

    def visited_of(self, tour: Tour) -> int:
        """Returns how many of the tour's stops were shown or read."""
        return sum(self.state(tour.name_of(stop)) != "new" for stop in tour.stops)

    def state(self, name: str) -> ReadState:
        """Returns the state of the stop of that name."""
        return "read" if name in self.done else "visited" if name in self.visited else "new"

    def predicted_of(self, tour: Tour) -> int:
        """Returns how many of the tour's labs were predicted right."""
        return sum(f"{tour.name_of(stop)}/{lab.id}" in self.predicted for stop in tour.stops for lab in stop.labs)

    def due(self, today: date) -> list[str]:
        """Returns the ids of concepts whose questions are to be asked again, the longest waiting first."""
        waiting = [(grade.due, name) for name, grade in self.answers.items() if grade.is_due(today)]
        return [name for _due, name in sorted(waiting)]


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """A step of a reader, as far as it is stored. "" means that this did not happen.

    `read` and `visited` are stops ("tour#stop"), `lab` is a lab that passed. `last` is a tour and its present
    stop. `ended` is a tour that was read to its end: it does not continue from there. `predicted` is a lab, `built` an
    exercise, `answer` a concept with the new grade of its question.
    """

    read: str = ""
    visited: str = ""
    lab: str = ""
    last: tuple[str, str] | None = None
    ended: str = ""
    predicted: str = ""
    answer: tuple[str, GradedAnswer] | None = None
    built: str = ""


def load_progress() -> ReadingProgress:
    """Returns the stored progress. If the file cannot be read or is damaged, it is empty and says why.

    A damaged file is moved aside before a new one is written.
    """
    file = progress_file()
    try:
        return _known_progress(file)
    except OSError as error:
        return ReadingProgress(trouble=f"{file} cannot be read: {error.strerror or error}")


def _known_progress(file: Path) -> ReadingProgress:
    """Returns the stored progress. Raises OSError if the file exists and cannot be read."""
    kept = kept_bytes(file, _LARGEST)
    if kept is None:
        return ReadingProgress()
    if len(kept) > _LARGEST:
        return ReadingProgress(trouble=f"{file} has more than {_LARGEST:,} bytes")
    try:
        data: Any = json.loads(kept)
    except (ValueError, RecursionError):
        return ReadingProgress(trouble=f"{file} is not complete JSON")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return ReadingProgress(trouble=f"{file} does not have format {FORMAT}")
    last = data.get("last")
    left_at = last.items() if isinstance(last, dict) else ()
    answers = data.get("answers")
    grades = ((name, _grade(value)) for name, value in answers.items()) if isinstance(answers, dict) else ()
    return ReadingProgress(
        _stops(data.get("done")),
        _stops(data.get("visited")),
        _labs(data.get("labs")),
        _labs(data.get("predicted")),
        {name: grade for name, grade in grades if ID.fullmatch(name) and grade is not None},
        {name for name in _texts(data.get("built")) if ID.fullmatch(name)},
        {tour: stop for tour, stop in left_at if ID.fullmatch(tour) and isinstance(stop, str) and ID.fullmatch(stop)},
    )


def _grade(value: Any) -> GradedAnswer | None:
    """Returns a stored grade, or None if it is damaged."""
    try:
        due = date.fromisoformat(value["due"]).isoformat() if value["due"] else ""
        return GradedAnswer(bool(value["right"]), min(max(int(value["step"]), 0), len(INTERVALS)), due)
    except (TypeError, KeyError, ValueError):
        return None


def _labs(value: Any) -> set[str]:
    return {lab for lab in _texts(value) if STOP.fullmatch(lab.partition("/")[0])}


def _stops(value: Any) -> set[str]:
    return {stop for stop in _texts(value) if STOP.fullmatch(stop)}


def _texts(value: Any) -> Iterable[str]:
    return (text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def remember(step: ReadingStep) -> None:
    """Adds a reader's step to the stored progress. Raises OSError.

    The file is read again first: another terminal may have written it.
    """
    with changing(progress_file()):
        _remember(progress_file(), step)


def _remember(file: Path, step: ReadingStep) -> None:
    known = _known_progress(file)
    if known.trouble:
        with contextlib.suppress(FileNotFoundError):
            os.replace(file, file.with_name(f"{file.name}.damaged"))
    known.done = (known.done | {step.read}) - {""}
    known.visited = (known.visited | {step.visited}) - {""}
    known.labs = (known.labs | {step.lab}) - {""}
    known.predicted = (known.predicted | {step.predicted}) - {""}
    known.built = (known.built | {step.built}) - {""}
    known.answers |= dict([step.answer]) if step.answer else {}
    known.last |= dict([step.last]) if step.last else {}
    known.last.pop(step.ended, None)
    answers = {name: asdict(grade) for name, grade in sorted(known.answers.items())}
    data = {"format": FORMAT, "done": sorted(known.done), "visited": sorted(known.visited),
            "labs": sorted(known.labs), "predicted": sorted(known.predicted), "answers": answers,
            "built": sorted(known.built), "last": known.last}  # fmt: skip
    keep_whole(file, json.dumps(data, indent=1))
