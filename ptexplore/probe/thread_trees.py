"""Which of a profile's trees are of which thread of Python's, and in which order threads are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import torch_api as api
from .paths import Path

THREAD = "t"  # markers are named "ptexplore:t<number>" in each thread of Python's that is not the main one
MARKED = api.MARK


class ThreadTrees:
    """Parts what threads ran by where they were. `at` is told of each thread, by number, when a profile begins."""

    def __init__(self) -> None:
        # Of each thread of Python's but the main one where it was when the profile began, path and number of the sets,
        # and its own path.
        self.at: dict[int, tuple[Path, int, Path]] = {}
        self._numbers: dict[int, int] = {}  # which of them it is, by the profiler's number of a thread

    def parted(
        self, roots: list[Any], thread: int, main: int | None, root: Path, workers: Callable[[], Path]
    ) -> Iterator[tuple[list[Any], Path, int]]:
        """A thread's trees, each with the path that they lie in and the number of the thread-local sets.

        A thread of Python's opens its markers again at its next call: until then it is where it was.
        """
        numbers = (event.name.removeprefix(MARKED + THREAD) for event in roots if event.name.startswith(MARKED))
        known = next((int(number) for number in numbers if number.isdecimal()), self._numbers.get(thread))
        if thread == main:
            self._numbers[thread] = 0
        if thread == main or (main is None and known is None):  # it is None where another thread began the profile
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
    """The threads, the main one first; but before one that ran nodes those whose calls recorded them.

    `threads` has the main one first; `elsewhere` tells which thread ran nodes of which other one.
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
