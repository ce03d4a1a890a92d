"""Something that runs for the reader in a thread: how far it is, how to end it; nothing here blocks the screen."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

_ALL: weakref.WeakSet[Running] = weakref.WeakSet()


def stop_all() -> None:
    """End every job that there is."""
    for one in list(_ALL):
        one.stop()


class Running:
    """A job as `library.Job` has it. `tell` hears each step, in the thread of whoever does the work."""

    def __init__(self, title: str, tell: Callable[[str, float | None], object]) -> None:
        self.title = title
        self._tell = tell
        self._stopped = threading.Event()
        self._watching: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        _ALL.add(self)

    def step(self, name: str, done: float | None = None) -> None:
        """What runs now, and which share of it is done."""
        if not self.stopped:
            self._tell(name, done)

    @property
    def stopped(self) -> bool:
        """Whether the reader wants it no more."""
        return self._stopped.is_set()

    def watch(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the reader wants it no more; at once where that is so already."""
        with self._lock:
            if not self.stopped:
                self._watching.append(stop)
                return
        stop()

    def stop(self) -> None:
        """The reader wants it no more. From any thread, and more than once."""
        with self._lock:
            self._stopped.set()
            watching, self._watching = self._watching, []
        for one in watching:
            one()
