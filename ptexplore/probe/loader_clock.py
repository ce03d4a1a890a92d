"""A real DataLoader whose workers are not processes: a clock without time says when each batch is ready.

The code of the main process is PyTorch's own: which worker gets which batch, when, and which batch is handed out. Only
the queues and processes are replaced, through `multiprocessing_context`.
"""

from __future__ import annotations

import queue
import warnings
from multiprocessing.context import BaseContext
from typing import Any

from torch.utils.data import DataLoader

# No process has these numbers: Linux gives none above 4,194,304. The loader asks after its workers by number.
_FIRST_PID = 1 << 30


class WorkerClock:
    """The time, and the moment at which each batch is ready. `times` has the duration of each batch."""

    def __init__(self, times: list[int]) -> None:
        self.now = 0
        self._times = times
        self._free: list[int] = []  # of each worker, from which time on
        self._ready: list[tuple[int, int, int]] = []  # time, worker, batch

    def add_worker(self) -> int:
        """Returns the number of a new worker."""
        self._free.append(0)
        return len(self._free) - 1

    def send(self, worker: int, batch: int) -> None:
        """A worker begins with a batch, now or after its other batches."""
        self._free[worker] = max(self.now, self._free[worker]) + self._times[batch]
        self._ready.append((self._free[worker], worker, batch))

    def receive(self) -> tuple[int, int]:
        """Returns the batch that is ready first, with its worker, and waits for it."""
        if not self._ready:
            raise queue.Empty
        first = min(self._ready)
        self._ready.remove(first)
        self.now = max(self.now, first[0])
        return first[2], first[1]


class _Queue:
    """A queue of the loader: the first one has the results, the others have the batches of one worker each."""

    def __init__(self, clock: WorkerClock, worker: int | None) -> None:
        self._clock, self._worker = clock, worker

    def put(self, item: Any) -> None:
        if item is not None and self._worker is not None:
            self._clock.send(self._worker, item[0])

    def get(self, timeout: float | None = None) -> tuple[int, int]:
        del timeout  # nothing is ever waited for
        return self._clock.receive()

    def cancel_join_thread(self) -> None:
        """Nothing to join."""

    def close(self) -> None:
        """Nothing to close."""


class _Event:
    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set


class _Process:
    daemon = False

    def __init__(self, number: int) -> None:
        self.pid = _FIRST_PID + number

    def start(self) -> None:
        """The clock works instead."""

    def join(self, timeout: float | None = None) -> None:
        """It never ran."""

    def is_alive(self) -> bool:
        return False

    def terminate(self) -> None:
        """It never ran."""


class _Context(BaseContext):
    """What the loader takes for the module `multiprocessing`."""

    def __init__(self, clock: WorkerClock) -> None:
        self._clock = clock
        self._processes = 0
        self._has_results = False

    def Queue(self) -> Any:  # type: ignore[override]  # noqa: N802  (the name that multiprocessing has)
        if not self._has_results:
            self._has_results = True
            return _Queue(self._clock, None)
        return _Queue(self._clock, self._clock.add_worker())

    def Event(self) -> Any:  # noqa: N802
        return _Event()

    def Process(self, **_what: Any) -> Any:  # noqa: N802
        self._processes += 1
        return _Process(self._processes)


def loaded(workers: int, prefetch: int, times: list[int], step: int) -> list[list[int]]:
    """Returns each batch in the order of the loader, with its worker and the time at which it was handed out.

    A step of the training loop takes `step` after each batch.
    """
    clock = WorkerClock(times)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the machine may have fewer cores than the case has workers
        loader: DataLoader[int] = DataLoader(
            range(len(times)),
            batch_size=None, num_workers=workers, prefetch_factor=prefetch, multiprocessing_context=_Context(clock),
        )  # fmt: skip
        handed = []
        iterator = iter(loader)
        for number, worker in enumerate(iterator):
            handed.append([number, int(worker), clock.now])
            clock.now += step
    return handed
