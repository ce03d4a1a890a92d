"""Make many pages in several processes: each is forked, so that what was read once is there for all."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ptexplore.errors import FAILED, PtexploreError

if TYPE_CHECKING:
    from ptexplore.render.html.output import Output, Row
    from ptexplore.source.progress import Progress

_Task = TypeVar("_Task")
_ALONE = 24  # tasks that are done sooner than a process starts

_make: Callable[[Sequence[Any]], list[Row]]


def write_pages(
    out: Output,
    tasks: Sequence[_Task],
    make: Callable[[Sequence[_Task]], list[Row]],
    named: str,
    progress: Progress,
    jobs: int,
    batch: int,
) -> None:
    """Have `make` write every batch of tasks, in no order; `named` is what progress calls them.

    Raises PtexploreError where a process died, and what `make` raises.
    """
    batches = [tasks[first : first + batch] for first in range(0, len(tasks), batch)]
    done = 0
    for count, rows in _made(batches, make, jobs if len(tasks) >= _ALONE else 1):
        done += count
        progress.step(f"writing {len(tasks):,} {named}", done / len(tasks))
        out.take(rows)


def _made(
    batches: Sequence[Sequence[_Task]], make: Callable[[Sequence[_Task]], list[Row]], jobs: int
) -> Iterator[tuple[int, list[Row]]]:
    if jobs < 2:
        yield from ((len(tasks), make(tasks)) for tasks in batches)
        return
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(jobs, context, partial(_begin, make)) as pool:
            waiting = {pool.submit(_call, tasks): len(tasks) for tasks in batches}
            try:
                for future in as_completed(waiting):
                    yield waiting[future], future.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool as error:
        why = "the system may have ended it for want of memory"
        raise PtexploreError("a process that wrote pages died", why, "--jobs 1", FAILED) from error


def _begin(make: Callable[[Sequence[Any]], list[Row]]) -> None:
    """Begin a process. If its parent were killed, it would wait for work for ever, and hold the site's folder."""
    global _make  # noqa: PLW0603  (`make` comes with the fork: it cannot be sent)
    _make = make
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _call(tasks: Sequence[Any]) -> list[Row]:
    return _make(tasks)


def usual_jobs() -> int:
    """How many processes there may be: the cores that are ours, eight at most."""
    return max(1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))
