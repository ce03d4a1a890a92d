"""Make many pages in several processes: each is forked, so that what was read once is there for all."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from ptexplore.errors import FAILED, PtexploreError

_Task = TypeVar("_Task")
_Made = TypeVar("_Made")
_ALONE = 24  # tasks that are done sooner than a process starts

_make: Callable[[Sequence[object]], list[object]] | None = None


def run(
    tasks: Sequence[_Task], make: Callable[[Sequence[_Task]], list[_Made]], jobs: int, batch: int
) -> Iterator[tuple[int, list[_Made]]]:
    """`make` of every batch of tasks, with how many tasks are done then; in no order.

    Raises PtexploreError where a process died, and what `make` raises.
    """
    global _make  # noqa: PLW0603  (what a forked process finds)
    done = 0
    if jobs < 2 or len(tasks) < _ALONE:
        for first in range(0, len(tasks), batch):
            part = tasks[first : first + batch]
            done += len(part)
            yield done, make(part)
        return
    _make = make  # type: ignore[assignment]
    context = multiprocessing.get_context("fork")
    parts = [tasks[first : first + batch] for first in range(0, len(tasks), batch)]
    try:
        with ProcessPoolExecutor(jobs, context, _end_with_parent) as pool:
            waiting = {pool.submit(_call, part): len(part) for part in parts}
            try:
                for future in as_completed(waiting):
                    done += waiting[future]
                    yield done, future.result()  # type: ignore[misc]
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool as error:
        why = "the system may have ended it for want of memory"
        raise PtexploreError("a process that wrote pages died", why, "--jobs 1", FAILED) from error
    finally:
        _make = None


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever, and hold the site's folder."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _call(part: Sequence[object]) -> list[object]:
    assert _make is not None
    return _make(part)


def usual_jobs() -> int:
    """How many processes there may be: the cores that are ours, eight at most."""
    return max(1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))
