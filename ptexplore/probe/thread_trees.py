"""Which trees of a profile belong to which Python thread, and in which order threads are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import torch_api as api
from .paths import Path

THREAD = "t"  # in each Python thread except the main one, markers are named "ptexplore:t<number>"
MARKED = api.MARK


class ThreadTrees:
    """Splits the events of threads by where the threads were. `at` is set when a profile begins, by thread number."""

    def __init__(self) -> None:
        # For each Python thread except the main one: where it was when the profile began, as path and number of the
        # sets, and its own path.
        self.at: dict[int, tuple[Path, int, Path]] = {}
        self._numbers: dict[int, int] = {}  # by the profiler's number of a thread: the number of the Python thread

    def parted(
        self, roots: list[Any], thread: int, main: int | None, root: Path, workers: Callable[[], Path]
    ) -> Iterator[tuple[list[Any], Path, int]]:
        """Yield the trees of a thread, each part with its path and the number of the thread-local sets.

        A Python thread opens its markers again at its next call. Until then its events belong to the path where it was.
        """
        numbers = (event.name.removeprefix(MARKED + THREAD) for event in roots if event.name.startswith(MARKED))
        known = next((int(number) for number in numbers if number.isdecimal()), self._numbers.get(thread))
        if thread == main:
            self._numbers[thread] = 0
        if thread == main or (main is None and known is None):  # main is None if another thread began the profile
            yield roots, root, 0
            return
        if known is not None:
            self._numbers[thread] = known
            path, sets, own = self.at[known]
            first = next((n for n, event in enumerate(roots) if event.name.startswith(MARKED)), len(roots))
            yield roots[:first], path, sets
            yield roots[first:], own, 0
            return
        yield [event for event in roots if event.name.startswith(MARKED)], root, 0
        if beside := [event for event in roots if not event.name.startswith(MARKED)]:
            yield beside, workers(), 0


def in_order(threads: Mapping[int, Any], elsewhere: Callable[[], Sequence[tuple[int, int]]]) -> list[int]:
    """Return the threads in the order of folding: the main one first.

    If a thread ran nodes that other threads recorded, the recording threads come before it. `threads` has the main one
    first. `elsewhere` returns pairs: a thread that ran nodes, and the thread that recorded them.
    """
    if len(threads) == 1:
        return list(threads)
    needed = elsewhere()
    ordered: dict[int, None] = {}
    pending = [(thread, False) for thread in reversed(list(threads))]
    entered: set[int] = set()
    while pending:
        thread, is_ready = pending.pop()
        if is_ready:
            ordered.setdefault(thread)
        elif thread not in entered:
            entered.add(thread)
            pending.append((thread, True))
            pending += [(maker, False) for ran, maker in needed if ran == thread and maker in threads]
    return list(ordered)
