"""One job at a time beside the screen: it runs in a thread, and the reading screen says how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.jobs import Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

    from ptexplore.tui.screens.reader import ReadingScreen

Result = TypeVar("Result")


class JobRunner:
    """Runs labs and traces for the reader. `running` is the job that runs now."""

    def __init__(self, app: App[None], reader: ReadingScreen) -> None:
        self._app = app
        self._reader = reader
        self.running: Running | None = None

    def run(
        self,
        title: str,
        work: Callable[[Running], Result],
        done: Callable[[Result], str],
        failed: Callable[[str], object] = lambda _why: None,
    ) -> bool:
        """Start `work` in a thread. Returns False, and says so, if another job still runs.

        `done` gets its result and returns how that is told; `failed` gets the reason of a PtexploreError, or "stopped".
        Both are called in the thread of the screen.
        """
        if self.running is not None:
            self._reader.tell(f"{self.running.title} still runs: Esc stops it")
            return False
        job = self.running = Running(title, lambda name, _share: self._app.call_later(self._step, name))
        self._reader.tell(f"{title} runs: Esc stops it")

        def end_well(result: Result) -> None:
            said = done(result)
            self._end(job, f"{title}: {said}" if said else "")

        def end_badly(why: str) -> None:
            failed(why)
            self._end(job, f"{title}: {why}")

        def in_thread() -> None:
            try:
                result = work(job)
            except PtexploreError as error:
                self._app.call_from_thread(end_badly, "stopped" if job.stopped else f"{error.message}: {error.why}")
            else:
                self._app.call_from_thread(end_well, result)

        self._app.run_worker(in_thread, thread=True, group="job", exit_on_error=False)
        return True

    def _step(self, name: str) -> None:
        if self.running is not None:
            self._reader.tell(f"{self.running.title}: {name} (Esc stops it)")

    def _end(self, job: Running, said: str) -> None:
        if self.running is job:
            self.running = None
        in_line = (
            self._app.screen is self._reader and len(said) < self._app.size.width - 24
        )  # the position stands there
        if said and in_line:
            self._reader.tell(said)
        elif said:
            self._reader.tell("")
            self._app.notify(clean(said), markup=False, timeout=12)

    def stop(self) -> bool:
        """Stop the job that runs. Returns False if there is none, or it is being stopped already."""
        job = self.running
        if job is None or job.stopped:
            return False
        self._reader.tell(f"stopping {job.title} …")
        self._app.run_worker(job.stop, thread=True, group="stopping", exit_on_error=False)
        return True

    def close(self) -> None:
        """Stop the job at once: the app ends."""
        if self.running is not None:
            self.running.stop()
