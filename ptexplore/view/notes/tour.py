"""Tours: the list, the learning path of concepts, one stop as a page, and a walk from stop to stop."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Literal

from ptexplore.annotations.anchors import ResolvedAnchor, Resolver, is_baseline
from ptexplore.annotations.concepts import STAGES, Concept, LearningPath, load_path
from ptexplore.annotations.load import NoteLibrary
from ptexplore.annotations.lock import LockEntry
from ptexplore.annotations.progress import GradedAnswer, ReadingProgress, ReadingStep, ReadState, graded
from ptexplore.annotations.records import Anchor, Lab, See, Stop, Tour
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.lookup.trees import IndexedTree, Spot, changed, spot
from ptexplore.source.canonical import language_of
from ptexplore.source.permalink import permalink
from ptexplore.view.notes.check import MEANING, WORDS
from ptexplore.view.notes.labs import LabResult
from ptexplore.view.notes.predictions import verdict
from ptexplore.view.tokens import Stretch, surroundings

NOT_INDEXED = "not indexed yet"  # the place of a stop before there is any index
_ENOUGH = 20  # lines: a shorter excerpt gets more lines around it
_COMMENTS = ("//", "/*", "* ", "*/")


@dataclass(frozen=True, slots=True)
class Excerpt(Stretch):
    """The lines that a stop is about. `marked`: the first and last line meant. `token`: the word to mark in the first.

    `cut` says which lines are left out.
    """

    marked: tuple[int, int]
    token: str | None = None
    cut: str = ""


@dataclass(frozen=True, slots=True)
class StopView:
    """A stop to show: `number` of `total`. `spot` is None if its anchor has no place.

    `outcome` is one word. `facts` are remarks about the place. `url` leads to the baseline's text. `see` are further
    places. `concepts` are the concepts that it teaches, each with a question for the reader.
    """

    tour: Tour
    stop: Stop
    number: int
    total: int
    resolved: ResolvedAnchor
    outcome: str
    spot: Spot | None
    facts: tuple[str, ...]
    url: str | None = None
    file: str | None = None
    file_line: int | None = None
    see: tuple[See, ...] = ()
    concepts: tuple[Concept, ...] = ()

    @property
    def name(self) -> str:
        return self.tour.name_of(self.stop)


@dataclass(frozen=True, slots=True)
class Proof:
    """Lines that prove a model answer: their place ("path:line", or the path alone), their tree, and the lines."""

    place: str
    tree: str = ""
    lines: Stretch | None = None


_PROVING = 12  # lines of one proof


@dataclass
class Guide:
    """Shows the stops of a library on the trees at hand. Each stop uses the first tree that can hold its file.

    Without a tree, each stop has its text and no place.
    """

    library: NoteLibrary
    trees: Sequence[IndexedTree]
    torch: str | None = None  # the version of the installed torch
    _resolvers: dict[int, Resolver] = field(default_factory=dict)

    def stop(self, tour: Tour, number: int) -> StopView:
        """Returns stop `number` (1-based) of a tour."""
        stop = tour.stops[number - 1]
        if not self.trees:
            return self._without_place(tour, number)
        indexed, resolved = self._resolve(tour, stop)
        place = spot(indexed, resolved.path, resolved.line, resolved.end_line) if resolved.placed else None
        on_disk = indexed.tree.place_of(resolved.path, resolved.line) if resolved.placed else None
        file, file_line = on_disk or (None, None)
        return StopView(
            tour, stop, number, len(tour.stops), resolved, WORDS.get(resolved.outcome, resolved.outcome), place,
            tuple(self._facts(tour, resolved, indexed)), _url(tour, resolved),
            file, file_line, stop.anchor.see, self._concepts.get(tour.name_of(stop), ()),
        )  # fmt: skip

    def _without_place(self, tour: Tour, number: int) -> StopView:
        """Returns a stop before any source is indexed."""
        stop = tour.stops[number - 1]
        name = tour.name_of(stop)
        resolved = ResolvedAnchor(name, stop.anchor, "absent", was=self.library.entries.get(name))
        return StopView(
            tour, stop, number, len(tour.stops), resolved, NOT_INDEXED, None, (), _url(tour, resolved),
            see=stop.anchor.see, concepts=self._concepts.get(name, ()),
        )  # fmt: skip

    @cached_property
    def _concepts(self) -> Mapping[str, tuple[Concept, ...]]:
        """The concepts of the learning path, by each stop that teaches them."""
        by_stop: dict[str, tuple[Concept, ...]] = {}
        for concept in load_path(self.library).concepts.values():
            for name in concept.stops:
                by_stop[name] = (*by_stop.get(name, ()), concept)
        return by_stop

    def proofs(self, concept: Concept) -> tuple[Proof, ...]:
        """Returns the lines that prove a concept's model answer; by default these are the lines of its stops."""
        if not self.trees:
            return ()
        named = concept.proof or tuple(See(concept.where, "stop", name) for name in concept.stops)
        return tuple(proof for see in named if (proof := self._proof(see)) is not None)

    def _proof(self, see: See) -> Proof | None:
        """Returns the lines of a stop, or of a symbol of the source. None if that names no lines."""
        entry = self.library.stop(see.text) if see.kind == "stop" else None
        if entry is not None:
            indexed, resolved = self._resolve(*entry)
        elif see.kind == "src":
            indexed, resolved = self._first(see.text, Anchor(see.where, see.path, see.symbol), None)
        else:
            return None
        if not resolved.placed:
            return Proof(resolved.anchor.path)
        lines = indexed.tree.lines(resolved.path)
        last = min(max(resolved.end_line, resolved.line), resolved.line + _PROVING - 1, len(lines))
        before, after = surroundings(lines, resolved.line, last, language_of(resolved.path))
        shown = Stretch(
            first=resolved.line, lines=tuple(lines[resolved.line - 1 : last]), language=language_of(resolved.path),
            before=before, after=after,
        )  # fmt: skip
        return Proof(f"{resolved.path}:{resolved.line}", indexed.tree.info.label, shown)

    def without_source(self, tour: Tour) -> int:
        """Returns how many stops have no source because there is no PyTorch checkout; 0 if there is one."""
        if not self.trees or any(indexed.checkout is not None for indexed in self.trees):
            return 0
        return sum(self._resolve(tour, stop)[1].outcome == "absent" for stop in tour.stops)

    def _resolve(self, tour: Tour, stop: Stop) -> tuple[IndexedTree, ResolvedAnchor]:
        """Returns the anchor resolved on the first tree that can hold its file; else on the first tree."""
        name = tour.name_of(stop)
        return self._first(name, stop.anchor, self.library.entries.get(name))

    def _first(self, name: str, anchor: Anchor, entry: LockEntry | None) -> tuple[IndexedTree, ResolvedAnchor]:
        tried = []
        for number, indexed in enumerate(self.trees):
            resolver = self._resolvers.setdefault(number, Resolver(indexed.tree, indexed.store))
            resolved = resolver.resolve(name, anchor, entry)
            if resolved.outcome != "absent":
                return indexed, resolved
            tried.append((indexed, resolved))
        return tried[0]  # there is always a tree

    def _facts(self, tour: Tour, resolved: ResolvedAnchor, indexed: IndexedTree) -> list[str]:
        """Returns remarks about a place. The release on which the stop was written is named once."""
        facts = []
        info = indexed.tree.info
        was = resolved.was
        before = _place_before(resolved)
        compared = resolved.outcome in ("moved", "changed") and was is not None
        if resolved.outcome == "changed" and was is not None:
            at = f" ({before} there)" if before else ""
            facts.append(f"the text differs from {was.baseline}{at}, on which this stop was written")
        elif resolved.outcome == "moved" and was is not None and before:
            facts.append(f"{MEANING[resolved.outcome]}: {before} in {was.baseline}")
        else:
            if resolved.outcome != "exact" and (resolved.placed or not resolved.why):
                facts.append(MEANING[resolved.outcome])
            if was is not None and before:
                facts.append(f"was {before} in {was.baseline}")
        if resolved.why:
            facts.append(resolved.why)
        if resolved.outcome == "absent":
            facts.append("ptexplore fetch downloads the hand-written C++")
        if info.relation == "version-skew" and self.torch is not None:
            facts.append(f"the installed torch is {self.torch}, and its text may differ")
        elif not is_baseline(info, tour.baseline) and resolved.placed and not compared:
            facts.append(f"written on {tour.baseline}; this is {info.label}")
        if resolved.placed and changed(indexed, resolved.path):
            facts.append("this file changed after it was indexed, so lines may be wrong: ptexplore index")
        return facts

    def excerpt(self, view: StopView, room: int) -> Excerpt | None:
        """Returns at most `room` lines that a stop is about; None if it has no place or no text."""
        resolved = view.resolved
        if not resolved.placed:
            return None
        indexed = next(i for i in self.trees if view.spot is not None and i.tree.info is view.spot.tree)
        lines = indexed.tree.lines(resolved.path)
        if len(lines) < resolved.line:
            return None
        first, last = _window(lines, resolved, max(room, 3))
        begin, end = min(resolved.begin, resolved.symbol) or resolved.line, resolved.symbol_end or resolved.end_line
        end = min(end, len(lines))
        language = language_of(resolved.path)
        inner = (resolved.line, resolved.end_line) != (resolved.symbol, resolved.symbol_end)
        marked = (resolved.line, resolved.end_line if inner else resolved.line)
        cut = f"lines {first}-{last} of {begin}-{end}" if first > begin or last < end else ""
        before, after = surroundings(lines, first, last, language)
        return Excerpt(
            marked,
            _token(view, lines[resolved.line - 1]),
            cut,
            first=first,
            lines=tuple(lines[first - 1 : last]),
            language=language,
            before=before,
            after=after,
        )


def _place_before(resolved: ResolvedAnchor) -> str:
    """Returns the place of an anchor in the release it was written on, or "" if it is the same, or not known."""
    was = resolved.was
    if was is None or not resolved.placed:
        return ""
    line = was.at or was.line
    if was.path != resolved.path:
        return f"{was.path}:{line}"
    return f"line {line}" if line != resolved.line else ""


def _window(lines: Sequence[str], resolved: ResolvedAnchor, room: int) -> tuple[int, int]:
    """Returns the first and last line to show.

    This is the symbol with the comment above it. If the symbol is too long, it is the lines around the line meant that
    fit.
    """
    total = len(lines)
    begin, end = resolved.begin or resolved.line, min(resolved.symbol_end or resolved.end_line, total)
    if end - begin < room:
        spare = room - (end - begin + 1)
        top = begin
        signs = ("#",) if resolved.path.endswith((".py", ".yaml", ".yml")) else _COMMENTS
        while top > 1 and begin - top < min(spare, room // 2) and f"{lines[top - 2].strip()} ".startswith(signs):
            top -= 1
        spare -= begin - top
        more = min(spare, max(0, _ENOUGH - (end - top + 1)))  # a macro of one line needs the lines around it
        return max(1, top - more // 3), min(total, end + more - more // 3)
    first = max(begin, resolved.line - room // 3) if resolved.line - begin >= room - 3 else begin
    return first, min(first + room - 1, end)


def _token(view: StopView, line: str) -> str | None:
    """Returns the word to mark on the line meant: the anchor's token or the symbol's name.

    Returns None unless the word is exactly once on the line.
    """
    name = view.stop.anchor.token or re.split(r"::|\.", view.resolved.name)[-1]
    if not re.fullmatch(r"\w+", name) or (
        view.stop.anchor.lines is not None and view.resolved.line != view.resolved.symbol
    ):
        return None
    return name if len(re.findall(rf"\b{name}\b", line)) == 1 else None


def _url(tour: Tour, resolved: ResolvedAnchor) -> str | None:
    """Returns the URL of the baseline's text, if the place is not at hand here."""
    if resolved.placed:
        return None
    was = resolved.was
    if was is None:
        return permalink(tour.baseline, resolved.anchor.path)
    return permalink(was.baseline, was.path, was.at or was.line)


# --- finding a tour or a stop ---


def find_tour(library: NoteLibrary, asked: str) -> Tour:
    """Returns the tour or note with that id. Raises PtexploreError (USAGE) with the closest ids."""
    tour = library.tours.get(asked)
    if tour is not None:
        if tour.stops:
            return tour
        why = f"{tour.where.file} has no stop that can be read; ptexplore notes check says why"
        raise PtexploreError(f"the tour {asked} is empty", why, "ptexplore notes check", USAGE)
    names = [each.id for each in in_order(library)]
    if not names:
        raise no_tours(library)
    close = difflib.get_close_matches(asked, names, 3, 0.5)
    why = f"the closest name is {close[0]}" if close else f"the tours are {', '.join(names[:12])}"
    raise PtexploreError(f"no tour is called {asked}", why, f"ptexplore tour {close[0] if close else names[0]}", USAGE)


def no_tours(library: NoteLibrary) -> PtexploreError:
    """Returns the error for the case that no tour was found."""
    where = ", ".join(layer.shown for layer in library.layers) or "nowhere"
    return PtexploreError("there are no tours", f"ptexplore searched: {where}", "ptexplore tour --notes DIR", USAGE)


def find_stop(tour: Tour, asked: str) -> int:
    """Returns the number of the stop with that id or number. Raises PtexploreError (USAGE) with the closest ids."""
    names = [stop.id for stop in tour.stops]
    if asked in names:
        return names.index(asked) + 1
    if asked.isdecimal() and len(asked) < 6 and 1 <= int(asked) <= len(names):
        return int(asked)
    by_start = [name for name in names if name.startswith(asked)]
    close = by_start[:3] or difflib.get_close_matches(asked, names, 3, 0.5)
    why = f"the closest names are {', '.join(close)}" if close else f"it has {len(names)} stops: {', '.join(names)}"
    hint = f"ptexplore tour {tour.id} {close[0] if close else names[0]}"
    raise PtexploreError(f"{tour.id} has no stop {asked}", why, hint, USAGE)


def in_order(library: NoteLibrary) -> list[Tour]:
    """Sorts tours before notes, a tour after its prerequisites, then by level and id."""
    levels = {"basic": 0, "core": 1, "advanced": 2}
    left = sorted(library.tours.values(), key=lambda t: (t.kind == "note", levels.get(t.level or "", 3), t.id))
    ordered: dict[str, Tour] = {}
    while left:
        ready = (t for t in left if all(p in ordered or p not in library.tours for p in t.prerequisites))
        chosen = next(ready, left[0])  # a circle of prerequisites has no right order
        left.remove(chosen)
        ordered[chosen.id] = chosen
    return list(ordered.values())


State = Literal["done", "begun", "open"]


@dataclass(frozen=True, slots=True)
class TourRow:
    """One tour: how many stops were read, how many were visited, and the stop where the reader left.

    `predicted` of its labs were predicted right, `answered` of its questions were answered right.
    """

    tour: Tour
    done: int
    visited: int
    last: str | None = None
    predicted: int = 0
    answered: int = 0

    @property
    def total(self) -> int:
        return len(self.tour.stops)

    @property
    def in_words(self) -> str:
        """The reader's progress: "7/20 seen, 3 predicted right, 1 answered"."""
        predicted = f", {self.predicted} predicted right" if self.predicted else ""
        answered = f", {self.answered} answered" if self.answered else ""
        return f"{self.visited}/{self.total} seen{predicted}{answered}"


@dataclass(frozen=True, slots=True)
class ConceptRow:
    """One concept with the reading state of each stop. `ran`: its lab has passed here."""

    concept: Concept
    stops: tuple[tuple[str, ReadState], ...]
    ran: bool

    @property
    def state(self) -> State:
        states = {state for _name, state in self.stops}
        return "done" if states == {"read"} else "open" if states <= {"new"} and not self.ran else "begun"


@dataclass(frozen=True, slots=True)
class PathView:
    """The stages in order, with their concepts, and the first stop that was not read."""

    stages: tuple[tuple[str, tuple[ConceptRow, ...]], ...]
    following: str | None

    @property
    def done(self) -> int:
        return sum(row.state == "done" for _title, rows in self.stages for row in rows)

    @property
    def total(self) -> int:
        return sum(len(rows) for _title, rows in self.stages)


def listing(library: NoteLibrary, progress: ReadingProgress) -> tuple[TourRow, ...]:
    """Returns every tour and note that has stops, in reading order."""
    right = {name for name, grade in progress.answers.items() if grade.right}
    concepts = [concept for concept in load_path(library).concepts.values() if concept.id in right]
    return tuple(
        TourRow(
            tour,
            progress.of(tour),
            progress.visited_of(tour),
            progress.last.get(tour.id),
            progress.predicted_of(tour),
            sum(any(name.partition("#")[0] == tour.id for name in concept.stops) for concept in concepts),
        )
        for tour in in_order(library)
        if tour.stops
    )


def path_view(library: NoteLibrary, path: LearningPath, progress: ReadingProgress) -> PathView:
    """Returns the concepts by stage. Stops that do not exist are left out."""
    stages = []
    following = None
    for stage, title in STAGES.items():
        rows = []
        for concept in path.of(stage):
            stops = tuple((name, progress.state(name)) for name in concept.stops if library.stop(name) is not None)
            rows.append(ConceptRow(concept, stops, concept.lab in progress.labs))
            following = following or next((name for name, state in stops if state != "read"), None)
        stages.append((title, tuple(rows)))
    return PathView(tuple(stages), following)


KeepProgress = Callable[[ReadingStep], object]  # like `annotations.progress.remember`; raises OSError


def stop_left_at(tour: Tour, progress: ReadingProgress) -> int:
    """Returns the number of the stop to continue with: where the reader left, else the first unread one.

    Returns 1 if all stops are read.
    """
    names = [stop.id for stop in tour.stops]
    unread = [number for number, stop in enumerate(tour.stops, 1) if tour.name_of(stop) not in progress.done]
    if not unread:
        return 1
    last = progress.last.get(tour.id)
    return names.index(last) + 1 if last in names else unread[0]


class TourWalk:
    """One reader's walk through one tour. `number` is the reader's stop (1-based).

    Going to the next stop does not make a stop read. It is read when the reader predicts one of its labs right, or
    answers one of its questions right. `keep` saves progress. If saving fails, `not_kept` is called once with the
    reason, and the walk continues without saving.
    """

    def __init__(self, tour: Tour, number: int, keep: KeepProgress, not_kept: Callable[[str], object]) -> None:
        self.tour = tour
        self.number = number
        self._keep = keep
        self._not_kept = not_kept
        self._keeps = True

    @property
    def stop(self) -> Stop:
        """The reader's stop."""
        return self.tour.stops[self.number - 1]

    @property
    def is_last(self) -> bool:
        """Whether this is the last stop."""
        return self.number == len(self.tour.stops)

    def forward(self) -> bool:
        """Goes to the next stop. Returns False at the last stop, where the tour is over."""
        if self.is_last:
            self._remember(ReadingStep(ended=self.tour.id))
            return False
        self.number += 1
        return True

    def back(self) -> bool:
        """Goes to the stop before. Returns False at the first stop."""
        if self.number == 1:
            return False
        self.number -= 1
        return True

    def shown(self) -> None:
        """Notes that the stop was shown: it is visited, and the tour continues here next time."""
        self._remember(ReadingStep(visited=self.tour.name_of(self.stop), last=(self.tour.id, self.stop.id)))

    def ran(self, stop: Stop, lab: Lab, result: LabResult, prediction: str) -> bool:
        """Notes that a lab of a stop ended. Returns whether the stop is now read, which needs a right prediction."""
        if result.outcome != "passed":
            return False
        name = self.tour.name_of(stop)
        right = verdict(lab, prediction, result).right is True
        done = f"{name}/{lab.id}"
        self._remember(ReadingStep(read=name if right else "", lab=done, predicted=done if right else ""))
        return right

    def graded(self, stop: Stop, concept: Concept, before: GradedAnswer | None, *, right: bool) -> GradedAnswer:
        """Notes the reader's own grade for an answer to a stop's question. Returns it, with the day to ask again.

        A right answer makes the stop read.
        """
        grade = graded(before, date.today(), right=right)
        self._remember(ReadingStep(read=self.tour.name_of(stop) if right else "", answer=(concept.id, grade)))
        return grade

    def _remember(self, step: ReadingStep) -> None:
        if not self._keeps:
            return
        try:
            self._keep(step)
        except OSError as error:
            self._keeps = False
            self._not_kept(f"{error.filename}: {error.strerror or error}")
