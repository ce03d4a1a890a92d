"""What runs for a reader: labs and traces, one at a time, in the background; the tree of what ran last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

from ptexplore.errors import PtexploreError
from ptexplore.tui import messages
from ptexplore.tui.jobs import Running
from ptexplore.view.plain import clean

if TYPE_CHECKING:
    from ptexplore.annotations.records import Lab
    from ptexplore.model import Trail
    from ptexplore.tui.library import Library
    from ptexplore.tui.reader import Reader
    from ptexplore.tui.touring import Walk
    from ptexplore.view.labs import LabResult

TRAIL = "trail"


class Working(App[None]):
    """The part of the app that runs labs and traces, and shows how they are getting on."""

    library: Library
    reader: Reader
    walk: Walk | None = None
    job: Running | None = None

    def show_reader(self) -> Reader:
        """The reading screen, whatever lay over it."""
        raise NotImplementedError

    def action_lab(self) -> None:
        """Run the lab of the stop; where it has several, the reader says which."""
        labs = self.walk.labs if self.walk is not None else ()
        if len(labs) == 1:
            self._lab(labs[0])
        elif labs:
            from ptexplore.tui.choice import Choice

            rows = [(one.id, one.run.strip().partition("\n")[0]) for one in labs]
            self.push_screen(Choice("which lab?", rows), lambda at: self._lab(labs[at]) if at is not None else None)

    def _lab(self, lab: Lab) -> None:
        walk, library = self.walk, self.library
        if walk is None or not self._begin_job(f"lab {lab.id}"):
            return
        job, stop = self.job, walk.tour.stops[walk.at - 1]
        assert job is not None
        self.reader.notes.lab_said(lab, "running …  (Esc stops it)")

        def work() -> None:
            try:
                result, trail = library.runs.lab(walk.tour, stop, lab, job)
            except PtexploreError as error:
                said = "stopped" if job.stopped else f"{error.message}: {error.why}"
                self.call_from_thread(self._lab_failed, job, lab, said)
            else:
                self.call_from_thread(self._lab_done, job, walk, lab, result, trail)

        self.run_worker(work, thread=True, group="job", exit_on_error=False)

    def _lab_failed(self, job: Running, lab: Lab, said: str) -> None:
        self._end_job(job, f"{job.title}: {said}")
        self.reader.notes.lab_said(lab, said)

    def _lab_done(self, job: Running, walk: Walk, lab: Lab, result: LabResult, trail: Trail | None) -> None:
        also = "; T walks what ran" if trail is not None else ""
        self._end_job(job, f"{job.title}: {result.outcome}{also}")
        self.reader.notes.lab_said(lab, result)
        if result.outcome == "passed":
            walk.passed(lab)
        if trail is not None:
            self._keep_trail(trail)

    def action_trace(self) -> None:
        """Type an expression; see what runs."""
        from ptexplore.tui.asking import Ask

        self.push_screen(Ask("trace an expression, as torch.add(a, b)"), self._trace)

    def _trace(self, expression: str | None) -> None:
        if not expression or not expression.strip() or not self._begin_job(f"trace {expression.strip()}"):
            return
        job, library = self.job, self.library
        assert job is not None
        if self.screen is not self.reader:
            self.notify("Esc on the reading screen stops it", title=clean(job.title))

        def work() -> None:
            try:
                trail = library.runs.trace(expression.strip(), job)
            except PtexploreError as error:
                said = "stopped" if job.stopped else f"{error.message}: {error.why}"
                self.call_from_thread(self._end_job, job, f"{job.title}: {said}")
            else:
                self.call_from_thread(self._traced, job, trail)

        self.run_worker(work, thread=True, group="job", exit_on_error=False)

    def _traced(self, job: Running, trail: Trail) -> None:
        self._end_job(job, "")
        self.post_message(messages.OpenTrail(trail))

    def _begin_job(self, title: str) -> bool:
        """Make room for a job and say that it runs; False where another one still does."""
        if self.job is not None:
            self.reader.tell(f"{self.job.title} still runs: Esc stops it")
            return False
        self.job = Running(title, lambda name, _done: self.call_later(self._step, name))
        self.reader.tell(f"{title} runs: Esc stops it")
        return True

    def _step(self, name: str) -> None:
        if self.job is not None:
            self.reader.tell(f"{self.job.title}: {name} (Esc stops it)")

    def _end_job(self, job: Running, said: str) -> None:
        if self.job is job:
            self.job = None
        if said and self.screen is self.reader and len(said) < self.size.width - 24:  # beside it stands the position
            self.reader.tell(said)
        elif said:
            self.reader.tell("")
            self.notify(clean(said), markup=False, timeout=12)

    def stop_job(self) -> bool:
        """End what runs for the reader; False where nothing does."""
        job = self.job
        if job is None or job.stopped:
            return False
        self.reader.tell(f"stopping {job.title} …")
        self.run_worker(job.stop, thread=True, group="stopping", exit_on_error=False)
        return True

    # --- trails ---

    def on_open_trail(self, event: messages.OpenTrail) -> None:
        """What ran, as a tree."""
        self._keep_trail(event.trail)
        self.action_trail()

    def _keep_trail(self, trail: Trail) -> None:
        from ptexplore.tui.trail_screen import TrailScreen

        if self.is_screen_installed(TRAIL):
            if self.screen is self.get_screen(TRAIL):
                self.pop_screen()
            self.uninstall_screen(TRAIL)
        self.install_screen(TrailScreen(self.library, trail), TRAIL)
        self.refresh_bindings()

    def action_trail(self) -> None:
        """Back to the tree of what ran, where it was left."""
        if self.is_screen_installed(TRAIL) and self.screen is not self.get_screen(TRAIL):
            self.show_reader()
            self.push_screen(TRAIL)
