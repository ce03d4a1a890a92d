"""How files are given out to workers: all of them once, big ones first, and little at the end."""

from __future__ import annotations

from ptexplore.index.workers import Task, batches, in_turn

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
