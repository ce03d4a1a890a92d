"""A tour on the reading screen: the stop in the notes pane, its source beside it, its labs in the background."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.library import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

    from ptexplore.annotations.records import Lab, Stop
    from ptexplore.model.trace import Trail
    from ptexplore.tui.background import JobRunner
    from ptexplore.tui.library import Library
    from ptexplore.tui.screens.reader import ReadingScreen
    from ptexplore.view.notes.labs import LabResult
    from ptexplore.view.notes.tour import Guide, StopView, TourWalk


class Touring:
    """Shows the tour that is walked. `walk` is None while there is none; `keep_trail` takes what a lab ran."""

    def __init__(
        self,
        app: App[None],
        library: Library,
        reader: ReadingScreen,
        jobs: JobRunner,
        keep_trail: Callable[[Trail], object],
    ) -> None:
        self._app = app
        self._library = library
        self._reader = reader
        self._jobs = jobs
        self._keep_trail = keep_trail
        self._guide: Guide | None = None
        self.walk: TourWalk | None = None

    @property
    def labs(self) -> tuple[Lab, ...]:
        """The labs of the stop; none where no tour is walked."""
        return self.walk.stop.labs if self.walk is not None else ()

    # --- from stop to stop ---

    def open(self, name: str, stop: str | None) -> None:
        """Walk the tour of that id: from a stop's id on, else from where it was left."""
        from ptexplore.annotations.progress import load_progress, remember
        from ptexplore.view.notes.tour import TourWalk, find_tour, stop_left_at

        try:
            tour = find_tour(self._library.notes, name)
        except PtexploreError as error:
            self._reader.tell(f"{error.message}: {error.why}")
            return
        names = [one.id for one in tour.stops]
        number = names.index(stop) + 1 if stop in names else stop_left_at(tour, load_progress())
        self.walk = TourWalk(tour, number, remember, self._not_kept)
        self._guide = None
        self._show()

    def _not_kept(self, why: str) -> None:
        self._app.notify(clean(why), title="progress is not kept")

    def forward(self) -> None:
        """Go to the next stop; after the last one the tour ends."""
        if self.walk is None:
            return
        if self.walk.forward():
            self._show()
        else:
            self.end()
            self._reader.tell("that was the last stop: H shows what to read next")

    def back(self) -> None:
        """Go to the stop before."""
        if self.walk is None:
            return
        if self.walk.back():
            self._show()
        else:
            self._reader.tell("this is the first stop")

    def contents(self) -> None:
        """List the stops to choose from."""
        from ptexplore.tui.screens.contents import TourContents

        if self.walk is not None:
            self._app.push_screen(TourContents(self.walk.tour, self.walk.number), self._to_stop)

    def _to_stop(self, number: int | None) -> None:
        if number == 0:
            self.end()
        elif self.walk is not None and number is not None:
            self.walk.number = number
            self._show()

    def end(self) -> None:
        """Leave the tour: the notes follow the cursor again."""
        self.walk = None
        self._reader.notes.leave()
        self._reader.source.light(None)
        if self._reader.place is not None:
            self._reader.notes.follow(self._reader.place)
        self._app.refresh_bindings()

    # --- the stop ---

    def _show(self) -> None:
        """The stop in the notes pane, and its source where its anchor is placed: nowhere else.

        To place an anchor reads files, so it is done in a thread; of several steps in a row the last one counts.
        """
        assert self.walk is not None
        place = partial(self._place, self.walk, self.walk.number)
        self._reader.run_worker(place, thread=True, group="stop", exclusive=True)
        self._app.refresh_bindings()

    def _place(self, walk: TourWalk, number: int) -> None:
        try:
            if self._guide is None:
                self._guide = self._library.apart_guide()
            view = self._guide.stop(walk.tour, number)
        except PtexploreError as error:
            told = f"{error.message}: {error.why}" if error.why else error.message
            self._app.call_later(self._reader.tell, told)
        else:
            self._app.call_later(self._placed, walk, view)

    def _placed(self, walk: TourWalk, view: StopView) -> None:
        if walk is not self.walk or view.number != walk.number:
            return  # the reader went on meanwhile
        self._reader.show_notes()
        self._reader.notes.show_stop(view)
        walk.shown()
        self._reader.call_after_refresh(self.here)  # the panes have their sizes then

    def here(self) -> None:
        """Go to the source of the stop that is shown, from wherever the reader read on."""
        view = self._reader.notes.stop
        if self.walk is None or view is None:
            return
        anchor = view.resolved
        if view.spot is not None:
            lit = (anchor.line, max(anchor.end_line, anchor.line))
            tree = view.spot.tree.name
            self._reader.go(Place(tree, anchor.path, anchor.line, self._column(view, tree)), lit=lit)
        else:
            self._reader.source.light(None)
            self._reader.warn(f"stop {view.number} is {view.outcome}: what is open below is not its source")

    def _column(self, view: StopView, tree: str) -> int:
        """Where what the stop means is on its line: the anchor's token, else the symbol's name, if it is there once."""
        anchor, indexed = view.resolved, self._library.tree(tree)
        name = view.stop.anchor.token or re.split(r"::|\.", anchor.name)[-1]
        line = (indexed.tree.line(anchor.path, anchor.line) or "") if indexed is not None else ""
        columns = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", line)] if name else []
        return columns[0] if len(columns) == 1 else 0

    # --- labs ---

    def choose_lab(self) -> None:
        """Run the lab of the stop; if it has several, the reader says which."""
        labs = self.labs
        if len(labs) == 1:
            self._run(labs[0])
        elif labs:
            from ptexplore.tui.screens.choice import ChoiceScreen

            rows = [(lab.id, lab.run.strip().partition("\n")[0]) for lab in labs]
            chosen = ChoiceScreen("which lab?", rows)
            self._app.push_screen(chosen, lambda at: self._run(labs[at]) if at is not None else None)

    def _run(self, lab: Lab) -> None:
        if self.walk is None:
            return
        walk, stop, notes = self.walk, self.walk.stop, self._reader.notes
        started = self._jobs.run(
            f"lab {lab.id}",
            lambda job: self._library.run_lab(walk.tour, stop, lab, job),
            partial(self._ran, walk, stop, lab),
            partial(notes.lab_said, lab),
        )
        if started:
            notes.lab_said(lab, "running …  (Esc stops it)")

    def _ran(self, walk: TourWalk, stop: Stop, lab: Lab, ended: tuple[LabResult, Trail | None]) -> str:
        result, trail = ended
        self._reader.notes.lab_said(lab, result)
        if result.outcome == "passed":
            walk.passed(stop, lab)
        if trail is None:
            return result.outcome
        self._keep_trail(trail)
        return f"{result.outcome}; T walks what ran"
