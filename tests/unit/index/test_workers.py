"""How files are given out to workers: all of them once, big ones first, and little at the end."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from ptexplore.index import workers
from ptexplore.index.workers import Task, Wave, batches, in_turn

FILES = [Task(0, f"c10/{n}.h", "", "checkout", 900 * (n % 97) ** 2, None) for n in range(400)]
FILES += [Task(0, f"torch/{n}.py", "", "checkout", 90_000 + n, None) for n in range(200)]


def test_every_file_is_in_one_heap_and_the_last_heaps_are_small() -> None:
    heaps = batches(FILES)
    assert sorted(task for heap in heaps for task in heap) == sorted(FILES)
    sizes = [sum(task.size for task in heap) for heap in heaps]
    assert heaps[0][0].size == max(task.size for task in FILES)
    assert sizes[-1] < 100_000 < 400_000 <= sizes[0]


def test_ids_follow_the_order_of_reading() -> None:
    early, later = in_turn(FILES, 7, jobs=2)
    assert early
    assert later
    assert all(task.path.endswith(".py") for task in early)
    read = [task.file for part in (early, later) for heap in batches(part) for task in heap]
    assert read == list(range(7, 607))


def test_the_folder_that_has_no_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies where temporary files do: the index's own folder, which may have room, is not what is full."""

    def refuse(*_given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    macros: Any = object()
    with monkeypatch.context() as full:
        full.setattr(workers.pickle, "dump", refuse)  # type: ignore[attr-defined]
        with pytest.raises(OSError, match="No space") as parent:
            list(workers._begun(tmp_path, [Wave([], macros)], 1))
    with monkeypatch.context() as full:
        full.setattr(workers, "_at", 3)
        full.setattr(workers, "_tables", tmp_path, raising=False)
        full.setattr(os, "pwrite", refuse)
        with pytest.raises(OSError, match="No space") as worker:
            workers._say_at("x.h")
    assert parent.value.filename == worker.value.filename == str(tmp_path)
