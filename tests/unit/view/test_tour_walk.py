"""A walk through a tour: from stop to stop, and what is kept of it."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from ptexplore.annotations.concepts import Concept
from ptexplore.annotations.layers import layers
from ptexplore.annotations.load import load
from ptexplore.annotations.progress import (
    INTERVALS,
    GradedAnswer,
    ReadingProgress,
    ReadingStep,
    graded,
    load_progress,
    remember,
)
from ptexplore.annotations.records import Tour
from ptexplore.view.notes.labs import LabResult
from ptexplore.view.notes.tour import TourWalk, stop_left_at

TOUR = """---
id: mixing
title: Mixing
baseline: v2.99.0
---

## First {#first}

```anchor
path: a.cpp
symbol: mix
```

Prose.

```lab
id: adds
run: torch.add(a, b)
expect:
  value: '1'
```

## Second {#second}

```anchor
path: a.cpp
symbol: mix
```

Prose.

## Third {#third}

```anchor
path: a.cpp
symbol: mix
```

Prose.
"""


@pytest.fixture
def tour(tmp_path: Path) -> Tour:
    (tmp_path / "mixing.md").write_text(TOUR)
    return load(layers([str(tmp_path)], shipped=False)).tours["mixing"]


class Kept:
    """What a walk keeps and says; `broken` is a disk that is full."""

    def __init__(self) -> None:
        self.kept: list[ReadingStep] = []
        self.told: list[str] = []
        self.broken = False

    def keep(self, step: ReadingStep) -> None:
        if self.broken:
            raise OSError(28, "No space left on device", "progress.json")
        self.kept.append(step)

    def walk(self, tour: Tour, number: int = 1) -> TourWalk:
        return TourWalk(tour, number, self.keep, self.told.append)


def test_going_on_visits_a_stop_and_does_not_read_it(tour):
    kept = Kept()
    walk = kept.walk(tour)
    walk.shown()
    assert walk.forward()
    assert (walk.number, walk.stop.id) == (2, "second")
    assert kept.kept == [ReadingStep(visited="mixing#first", last=("mixing", "first"))]


def test_after_the_last_stop_the_tour_is_over_and_is_not_gone_on_with_there(tour):
    kept = Kept()
    walk = kept.walk(tour, 3)
    assert walk.is_last
    assert not walk.forward()
    assert walk.number == 3
    assert kept.kept == [ReadingStep(ended="mixing")]


def test_back_ends_at_the_first_stop_and_keeps_nothing(tour):
    kept = Kept()
    walk = kept.walk(tour, 2)
    assert walk.back()
    assert walk.number == 1
    assert not walk.back()
    assert (walk.number, kept.kept) == (1, [])


@pytest.mark.parametrize(
    ("prediction", "outcome", "right"),
    [
        ("1", "passed", True),
        ("7", "passed", False),
        ("  ", "passed", False),
        ("1", "failed", None),
        ("1", "untrusted", None),
    ],
)
def test_a_stop_is_read_when_its_lab_was_predicted_right(tour, prediction, outcome, right):
    kept = Kept()
    walk = kept.walk(tour)
    first = walk.stop
    walk.forward()  # while the lab runs
    result = LabResult("mixing#first/adds", first.where, outcome, value="1")
    assert walk.ran(first, first.labs[0], result, prediction) == bool(right)
    lab, name = "mixing#first/adds", "mixing#first" if right else ""
    told = [] if right is None else [ReadingStep(read=name, lab=lab, predicted=lab if right else "")]
    assert kept.kept == told


def test_an_answer_counts_as_the_reader_grades_it(tour):
    kept = Kept()
    walk = kept.walk(tour)
    concept = Concept(tour.where, "adding", "Adding", "principles", "Who adds?", ("mixing#first",))
    missed = walk.graded(walk.stop, concept, None, right=False)
    assert missed.due == (date.today() + timedelta(INTERVALS[0])).isoformat()
    right = walk.graded(walk.stop, concept, missed, right=True)
    assert kept.kept == [
        ReadingStep(answer=("adding", missed)), ReadingStep(read="mixing#first", answer=("adding", right)),
    ]  # fmt: skip


def test_a_missed_question_comes_back_after_more_and_more_days():
    day = date(2026, 3, 1)
    assert graded(None, day, right=True) == GradedAnswer(right=True)
    grade = graded(None, day, right=False)
    dues = [grade.due]
    while grade.due:
        day = date.fromisoformat(grade.due)
        assert grade.is_due(day)
        assert not grade.is_due(day - timedelta(1))
        grade = graded(grade, day, right=True)
        dues.append(grade.due)
    assert dues == ["2026-03-03", "2026-03-08", "2026-03-20", ""]
    again = graded(GradedAnswer(right=True, step=1, due="2026-03-08"), date(2026, 3, 9), right=False)
    assert again == GradedAnswer(right=False, due="2026-03-11")


def test_what_is_kept_is_what_was_done(tour, tmp_path, monkeypatch):
    monkeypatch.setenv("PTEXPLORE_DATA", str(tmp_path))
    walk = TourWalk(tour, 1, remember, pytest.fail)
    walk.shown()
    concept = Concept(tour.where, "adding", "Adding", "principles", "Who adds?", ("mixing#first",))
    grade = walk.graded(walk.stop, concept, None, right=True)
    walk.forward()
    walk.shown()
    remember(ReadingStep(built="strides"))
    progress = load_progress()
    assert (progress.answers, progress.built) == ({"adding": grade}, {"strides"})
    assert (progress.of(tour), progress.visited_of(tour), progress.last) == (1, 2, {"mixing": "second"})
    assert [progress.state(f"mixing#{name}") for name in ("first", "second", "third")] == ["read", "visited", "new"]
    walk.number = 3
    walk.forward()
    assert load_progress().last == {}


def test_progress_that_cannot_be_kept_is_said_once(tour):
    kept = Kept()
    kept.broken = True
    walk = kept.walk(tour)
    walk.shown()
    assert walk.forward()
    walk.shown()
    assert kept.told == ["progress.json: No space left on device"]
    kept.broken = False
    assert walk.forward()
    assert kept.kept == [], "what comes after a gap would be no whole"


@pytest.mark.parametrize(
    ("last", "done", "number"),
    [
        (None, [], 1),  # never opened
        ("second", ["first"], 2),
        ("first", [], 1),
        ("gone", ["first"], 2),  # the stop is not in the tour any more: the first that was not read
        (None, ["first", "third"], 2),  # walked to its end, and not all of it was read
        ("third", ["first", "second", "third"], 1),  # read to its end
        ("third", ["first", "second", "gone"], 3),  # what is not there any more does not count
    ],
)
def test_a_tour_goes_on_where_it_was_left(tour, last, done, number):
    progress = ReadingProgress(done={f"mixing#{name}" for name in done}, last={"mixing": last} if last else {})
    assert stop_left_at(tour, progress) == number
