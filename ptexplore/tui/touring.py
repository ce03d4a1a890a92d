"""A tour on the reading screen: the stop in the notes pane, its source beside it, its labs in the background."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from ptexplore.annotations.progress import load_progress, remember
from ptexplore.errors import PtexploreError
from ptexplore.safe_text import clean
from ptexplore.tui.asking import Ask, ChoiceScreen, two_lines
from ptexplore.tui.jobs import hand_over
from ptexplore.tui.places import Place
from ptexplore.tui.widgets.notes_pane import READ_SIGNS
from ptexplore.view.notes.predictions import choice_lines, lab_question
from ptexplore.view.notes.tour import Guide, StopView, TourWalk, find_tour, stop_left_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import App

    from ptexplore.annotations.concepts import Concept
    from ptexplore.annotations.records import Lab, Stop, Tour
    from ptexplore.model.trace import Trace
    from ptexplore.tui.jobs import JobRunner
    from ptexplore.tui.library import Library
    from ptexplore.tui.screens.reader import ReadingScreen
    from ptexplore.view.notes.labs import LabResult
    from ptexplore.view.notes.tour import Proof


class Touring:
    """The current tour on the screen. `walk` is None if there is none. `keep_trace` gets the traces of labs."""

    def __init__(
        self,
        app: App[None],
        library: Library,
        reader: ReadingScreen,
        jobs: JobRunner,
        keep_trace: Callable[[Trace], object],
    ) -> None:
        self._app = app
        self._library = library
        self._reader = reader
        self._jobs = jobs
        self._keep_trace = keep_trace
        self._guide: Guide | None = None
        self.walk: TourWalk | None = None
        self._left: tuple[Place | None, bool | None] = (None, None)  # where it was opened, `wants_notes` there
        self._depth = -1  # the length of the history when the tour was opened; -1 if no place was open
        reader.leave_tour = self.leave_where_opened

    @property
    def labs(self) -> tuple[Lab, ...]:
        """The labs of the stop; none without a tour."""
        return self.walk.stop.labs if self.walk is not None else ()

    # --- from stop to stop ---

    def open(self, name: str, stop: str | None, origin: Place | None = None) -> None:
        """Walk the tour with that id: from a stop's id on, else from the last stop.

        Leaving it leads back to `origin`, else to the place that is open.
        """
        try:
            tour = find_tour(self._library.notes, name)
        except PtexploreError as error:
            self._failed(error)
            return
        if self.walk is None:
            left = origin or self._reader.place
            self._depth = self._reader.history.depth if left is not None else -1
            self._left = (left, self._reader.wants_notes)
        stops = [stop.id for stop in tour.stops]
        number = stops.index(stop) + 1 if stop in stops else stop_left_at(tour, load_progress())
        self.walk = TourWalk(
            tour, number, remember, lambda why: self._app.notify(clean(why), title="your progress cannot be saved")
        )
        self._guide = None
        self._show()

    def forward(self) -> None:
        """Go to the next stop. After the last one the tour ends."""
        if self.walk is None:
            return
        if self.walk.forward():
            self._show()
        else:
            self._end()
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
        """Show the stops to choose from: on the left if they are there, else as a list over the screen."""
        if self.walk is None:
            return
        if self._reader.stops.display:
            self._reader.stops.focus()
        else:
            screen = TourContents(self.walk.tour, self.walk.number)
            self._app.push_screen(screen, lambda at: self.go_to(at + 1) if at is not None else None)

    def go_to(self, number: int) -> None:
        """Show a stop by its number. A number after the last one leaves the tour."""
        if self.walk is None:
            return
        if number > len(self.walk.tour.stops):
            self._end()
        else:
            self.walk.number = number
            self._show()

    def leave(self) -> None:
        """Leave the tour, if there is one, and say how to come back to it."""
        if self.walk is not None:
            self._end()
            self._reader.tell("you left the tour: S on a line with a dot, or H, goes on")

    def leave_where_opened(self) -> bool:
        """Leave the tour if the reader is back at the place where it was opened, or has never left that place."""
        if self.walk is None or self._reader.history.depth > self._depth:
            return False
        self._end()
        place = self._left[0]
        if place is not None:
            self._reader.go(place, remember=False)
        return True

    def _end(self) -> None:
        """End the tour: the notes follow the cursor again."""
        self.walk = None
        self._reader.wants_notes = self._left[1]
        stop = self._reader.notes.stop
        if stop is not None and stop.spot is None:
            self._reader.warn("")  # about the missing source of this stop
        self._reader.notes.leave()
        self._reader.show_stops(None)
        self._reader.source.unlight()
        self._reader.follow_cursor()
        self._app.refresh_bindings()

    # --- the stop ---

    def _show(self) -> None:
        """Show the stop in the notes pane, and its source if its anchor is placed.

        Placing an anchor reads files, so it is done in a thread. Of several steps in a row only the last one counts.
        """
        assert self.walk is not None
        place = partial(self._place, self.walk.tour, self.walk.number)
        work = partial(hand_over, self._app, place, partial(self._placed, self.walk), self._failed)
        self._reader.run_worker(work, thread=True, group="stop", exclusive=True)
        self._app.refresh_bindings()

    def _place(self, tour: Tour, number: int) -> StopView:
        if self._guide is None:
            self._guide = self._library.guide()
        return self._guide.stop(tour, number)

    def _failed(self, error: PtexploreError) -> None:
        self._reader.tell(error.one_line)

    def _placed(self, walk: TourWalk, view: StopView) -> None:
        if walk is not self.walk or view.number != walk.number:
            return  # the reader went on meanwhile
        walk.shown()
        progress = load_progress()
        self._reader.show_notes()
        self._reader.notes.show_stop(view, progress.state(view.name))
        self._reader.show_stops(walk.tour, walk.number, progress)
        self._reader.call_after_refresh(self.show_source)  # the panes have their sizes then

    def show_source(self) -> None:
        """Go to the source of the current stop, from any place."""
        view = self._reader.notes.stop
        if self.walk is None or view is None:
            return
        anchor = view.resolved
        if view.spot is not None:
            lit = (anchor.line, max(anchor.end_line, anchor.line))
            place = Place(view.spot.tree.name, anchor.path, anchor.line)
            name = view.stop.anchor.token or re.split(r"::|\.", anchor.name)[-1]
            self._reader.go(self._library.at_name(place, name, once=True), lit=lit)
        else:
            self._reader.source.unlight()
            more = ": the file below is not its source" if self._reader.place is not None else ""
            self._reader.warn(f"stop {view.number} is {view.outcome}{more}")

    # --- labs ---

    def choose_lab(self) -> None:
        """Run the lab of the stop. If there are several, the reader chooses."""
        labs = self.labs
        if len(labs) == 1:
            self._ask(labs[0])
        elif labs:
            choice = ChoiceScreen("which lab?", [two_lines(lab.id, lab.run.strip().partition("\n")[0]) for lab in labs])
            self._app.push_screen(choice, lambda at: self._ask(labs[at]) if at is not None else None)

    def _ask(self, lab: Lab) -> None:
        """Ask for the reader's prediction before the lab runs. An empty line is no prediction."""
        self._reader.show_notes()
        self._reader.notes.show_lab(lab)
        letters = ", ".join(letter for letter, _choice in choice_lines(lab))
        ask = Ask(f"{lab.id}: {lab_question(lab)} {f'({letters}) ' if letters else ''}Enter runs it")
        self._app.push_screen(ask, lambda typed: self._run(lab, typed) if typed is not None else None)

    def _run(self, lab: Lab, prediction: str) -> None:
        if self.walk is None:
            return
        walk, stop, notes = self.walk, self.walk.stop, self._reader.notes
        started = self._jobs.run(
            f"lab {lab.id}",
            lambda job: self._library.run_lab(walk.tour, stop, lab, job),
            partial(self._ran, walk, stop, lab, prediction),
            partial(notes.show_result, lab),
        )
        if started:
            notes.show_result(lab, "running …  (Esc stops it)")

    def _ran(self, walk: TourWalk, stop: Stop, lab: Lab, prediction: str, ended: tuple[LabResult, Trace | None]) -> str:
        result, trace = ended
        self._reader.notes.show_result(lab, result, prediction)
        if walk.ran(stop, lab, result, prediction):
            self._marked()
        if trace is None:
            return result.outcome
        self._keep_trace(trace)
        return f"{result.outcome}; T shows the trace"

    # --- questions ---

    def answer(self) -> None:
        """Answer the question of the stop. If there are several, the reader chooses."""
        view = self._reader.notes.stop
        concepts = view.concepts if view is not None else ()
        if self.walk is None or not concepts:
            self._reader.tell("this stop has no question")
        elif len(concepts) == 1:
            self._ask_question(concepts[0])
        else:
            choice = ChoiceScreen(
                "which question?", [two_lines(concept.title, concept.question) for concept in concepts]
            )
            self._app.push_screen(choice, lambda at: self._ask_question(concepts[at]) if at is not None else None)

    def _ask_question(self, concept: Concept) -> None:
        self._reader.show_notes()
        self._reader.notes.show_question(concept)
        self._app.push_screen(Ask(f"your answer: {concept.title}"), partial(self._answered, concept))

    def _answered(self, concept: Concept, answer: str | None) -> None:
        """Show the model answer beside the reader's, and ask for the reader's grade."""
        if self.walk is None or not (answer or "").strip():
            return
        proofs = self._guide.proofs(concept) if self._guide is not None and concept.answer else ()
        self._reader.notes.show_question(concept, answer or "", proofs)
        ask = ChoiceScreen("was your answer right?", [Content("yes"), Content("no")])
        self._app.push_screen(ask, partial(self._graded, concept, answer or "", proofs))

    def _graded(self, concept: Concept, answer: str, proofs: Sequence[Proof], at: int | None) -> None:
        if self.walk is None or at is None:
            return
        before = load_progress().answers.get(concept.id)
        grade = self.walk.graded(self.walk.stop, concept, before, right=at == 0)
        again = f"; it is asked again from {grade.due} on" if grade.due else ""
        self._reader.notes.show_question(concept, answer, proofs, f"{'right' if grade.right else 'missed'}{again}")
        self._marked()

    def _marked(self) -> None:
        """Show the new state of the stop, and of all stops."""
        if self.walk is not None:
            progress = load_progress()
            self._reader.notes.show_state(progress.state(self.walk.tour.name_of(self.walk.stop)))
            self._reader.show_stops(self.walk.tour, self.walk.number, progress)


class TourContents(ChoiceScreen):
    """The stops of a tour, with marks for read and visited, and a last line that leaves the tour."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "dismiss(None)", "Close")]

    def __init__(self, tour: Tour, at: int) -> None:
        progress = load_progress()
        options = []
        for number, stop in enumerate(tour.stops, 1):
            mark = READ_SIGNS[progress.state(tour.name_of(stop))]
            labs = f"  {len(stop.labs)} lab{'s' if len(stop.labs) > 1 else ''}" if stop.labs else ""
            title = (clean(stop.title), "bold" if number == at else "")
            options.append(Content.assemble(f"{mark} {number:>2}  ", title, (labs, "dim")))
        heading = f"{tour.title}  (✓ done, · seen)"
        super().__init__(heading, [*options, Content.styled("leave the tour", "dim")], at - 1)
