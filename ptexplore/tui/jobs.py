"""Runs work beside the screen: one job at a time in a thread, with its progress, its end and a way to stop it."""

from __future__ import annotations

import os
import select
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.messages import Tell

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

HUNG_UP = 128 + 1  # the exit code that a shell gives for SIGHUP
_ALL: weakref.WeakSet[Job] = weakref.WeakSet()
Result = TypeVar("Result")


class Job:
    """Work that runs in a thread. `tell` is called with each step, in the thread that does the work.

    `stopped` says that the reader no longer wants the result.
    """

    def __init__(self, title: str, tell: Callable[[str], object]) -> None:
        self.title = title
        self.stopped = False
        self._tell = tell
        self._watching: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        _ALL.add(self)

    def step(self, name: str) -> None:
        """Report the current step."""
        if not self.stopped:
            self._tell(name)

    def watch(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the reader stops the job; at once if the job is stopped already."""
        with self._lock:
            if not self.stopped:
                self._watching.append(stop)
                return
        stop()

    def stop(self) -> None:
        """Stop the job. You can call this from any thread, and several times."""
        with self._lock:
            self.stopped = True
            watching, self._watching = self._watching, []
        for stop in watching:
            stop()


def hand_over(
    app: App[None],
    work: Callable[[], Result],
    done: Callable[[Result], object],
    failed: Callable[[PtexploreError], object],
) -> None:
    """Do `work` in this thread, then call `done` with its result, or `failed` with its PtexploreError.

    Both are called in the thread of the screens.
    """
    try:
        result = work()
    except PtexploreError as error:
        app.call_later(failed, error)
    else:
        app.call_later(done, result)


class JobRunner:
    """The runner of labs and traces. `running` is the current job; `reader` shows its progress."""

    def __init__(self, app: App[None], reader: Screen[None]) -> None:
        self._app = app
        self._reader = reader
        self.running: Job | None = None

    def run(
        self,
        title: str,
        work: Callable[[Job], Result],
        done: Callable[[Result], str],
        failed: Callable[[str], object] = lambda _why: None,
    ) -> bool:
        """Start `work` in a thread. Returns False, and shows a message, if another job still runs.

        `done` gets the result and returns a text for the reader. `failed` gets the text of a PtexploreError, or
        "stopped". Both are called in the thread of the screen.
        """
        if self.running is not None:
            self._tell(f"{self.running.title} is still running: Esc stops it")
            return False
        job = self.running = Job(title, lambda name: self._app.call_later(self._step, name))
        self._tell(f"{title} is running: Esc stops it")

        def end_well(result: Result) -> None:
            message = done(result)
            self._end(f"{title}: {message}" if message else "")

        def end_badly(error: PtexploreError) -> None:
            why = "stopped" if job.stopped else error.one_line
            failed(why)
            self._end(f"{title}: {why}")

        in_thread = partial(hand_over, self._app, partial(work, job), end_well, end_badly)
        self._app.run_worker(in_thread, thread=True, group="job", exit_on_error=False)
        return True

    def _step(self, name: str) -> None:
        if self.running is not None:
            self._tell(f"{self.running.title}: {name} (Esc stops it)")

    def _end(self, message: str) -> None:
        self.running = None
        room = self._app.size.width - 24  # the position is beside the text
        fits = self._app.screen is self._reader and len(message) < room
        self._tell(message if fits else "")
        if message and not fits:
            self._app.notify(clean(message), markup=False, timeout=12)

    def _tell(self, text: str) -> None:
        self._reader.post_message(Tell(text))

    def stop(self) -> bool:
        """Stop the running job. Returns False if there is none, or if it is already being stopped."""
        job = self.running
        if job is None or job.stopped:
            return False
        self._tell(f"stopping {job.title} …")
        self._app.run_worker(job.stop, thread=True, group="stopping", exit_on_error=False)
        return True

    def close(self) -> None:
        """Stop the job at once: the app ends."""
        if self.running is not None:
            self.running.stop()


def end_with_terminal() -> None:
    """End this process and every job once the terminal is gone, even without a SIGHUP.

    It runs in its own thread: on a dead terminal, which is always ready to read and has no data, the event loop may
    spin. Then there is nothing to restore.
    """
    stream = sys.__stdin__
    if stream is None or not stream.isatty():
        return
    poll = select.poll()
    poll.register(stream.fileno(), 0)  # errors and hang-ups are always reported

    def wait() -> None:
        poll.poll()
        for job in list(_ALL):
            job.stop()
        os._exit(HUNG_UP)

    threading.Thread(target=wait, name="hangup", daemon=True).start()
