"""The files to read, one task each: in what order, and in what heaps for workers that are to end together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ptexplore.model.symbols import Language
from ptexplore.source.listing import PYTHON, YAML

_BATCH = 400_000  # bytes that a worker is given at a time
_LAST = 40_000  # and at the end, when another may have nothing left to do
_EACH = 500  # bytes whose reading takes as long as what there is to do for every file
_MEANWHILE = 4_000_000  # bytes of each worker's share that need no macros, read while these are collected


class Task(NamedTuple):
    """One file to read: the id for its rows, and the hash that the index has of it, None to read it whatever it is."""

    file: int
    path: str
    where: str
    layer: str
    size: int
    known: str | None


def in_turn(tasks: Sequence[Task], first: int, jobs: int) -> list[Task]:
    """The tasks with ids from `first` on as they come to be read, so that most rows are added behind all others."""
    early, later = parted(tasks, jobs)
    return [task._replace(file=number) for number, task in enumerate((*early, *later), first)]


def parted(tasks: Sequence[Task], jobs: int) -> tuple[list[Task], list[Task]]:
    """The biggest tasks that need no macros, as many as `jobs` workers read while these are collected; the others."""
    most = jobs * _MEANWHILE
    early: list[Task] = []
    later: list[Task] = []
    for task in sorted(tasks, key=lambda task: (-task.size, task.path)):
        if most > 0 and language_of(task.path) != "cpp":
            early.append(task)
            most -= task.size
        else:
            later.append(task)
    return early, later


def batches(tasks: Sequence[Task]) -> list[list[Task]]:
    """Tasks in heaps, big files first and the last heaps small, so that no worker ends long after the others."""
    heaps: list[list[Task]] = []
    left = sum(task.size + _EACH for task in tasks)
    room = 0
    for task in sorted(tasks, key=lambda task: (-task.size, task.path)):
        if room <= 0:
            heaps.append([])
            room = min(_BATCH, max(_LAST, left // 16))
        heaps[-1].append(task)
        room -= task.size + _EACH
        left -= task.size + _EACH
    return heaps


def language_of(path: str) -> Language:
    """The language of a file, by its name."""
    suffix = os.path.splitext(path)[1]
    return "python" if suffix in PYTHON else "yaml" if suffix in YAML else "cpp"
