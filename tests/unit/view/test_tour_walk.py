"""A walk through a tour: from stop to stop, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptexplore.annotations.load import layers, load
from ptexplore.annotations.progress import ReadingProgress
from ptexplore.annotations.records import Tour
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
        self.kept: list[dict[str, object]] = []
        self.told: list[str] = []
        self.broken = False

    def keep(self, **what: object) -> None:
        if self.broken:
            raise OSError(28, "No space left on device", "progress.json")
        self.kept.append({name: value for name, value in what.items() if value is not None})

    def walk(self, tour: Tour, number: int = 1) -> TourWalk:
        return TourWalk(tour, number, self.keep, self.told.append)


def test_a_stop_is_read_when_the_reader_goes_on(tour):
    kept = Kept()
    walk = kept.walk(tour)
    walk.shown()
    assert walk.forward()
    assert (walk.number, walk.stop.id) == (2, "second")
    assert kept.kept == [{"last": ("mixing", "first")}, {"done": "mixing#first"}]


def test_after_the_last_stop_comes_none_and_it_is_read(tour):
    kept = Kept()
    walk = kept.walk(tour, 3)
    assert walk.is_last
    assert not walk.forward()
    assert walk.number == 3
    assert kept.kept == [{"done": "mixing#third"}]


def test_back_ends_at_the_first_stop_and_keeps_nothing(tour):
    kept = Kept()
    walk = kept.walk(tour, 2)
    assert walk.back()
    assert walk.number == 1
    assert not walk.back()
    assert (walk.number, kept.kept) == (1, [])


def test_a_lab_that_passed_is_kept_under_the_stop_that_it_belongs_to(tour):
    kept = Kept()
    walk = kept.walk(tour)
    first = walk.stop
    walk.forward()  # while the lab runs
    walk.passed(first, first.labs[0])
    assert kept.kept[-1] == {"lab": "mixing#first/adds"}


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
        ("gone", ["first"], 1),  # the stop is not in the tour any more
        ("third", ["first", "second", "third"], 1),  # read to its end
        ("third", ["first", "second", "gone"], 3),  # what is not there any more does not count
    ],
)
def test_a_tour_goes_on_where_it_was_left(tour, last, done, number):
    progress = ReadingProgress(done={f"mixing#{name}" for name in done}, last={"mixing": last} if last else {})
    assert stop_left_at(tour, progress) == number
