"""Tours with how far one is, the path of concepts with what is done, and both with whole tours as JSON (format 1)."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ptexplore.annotations.concepts import STAGES
from ptexplore.view.documents import FORMAT, source_to_json, tree_to_json
from ptexplore.view.notes.tour import Guide, in_order

if TYPE_CHECKING:
    from ptexplore.annotations.concepts import Concept, LearningPath
    from ptexplore.annotations.load import NoteLibrary
    from ptexplore.annotations.progress import ReadingProgress
    from ptexplore.annotations.records import Lab, Tour
    from ptexplore.view.notes.tour import Excerpt, StopView

State = Literal["done", "begun", "open"]


@dataclass(frozen=True, slots=True)
class TourRow:
    """One tour with how many of its stops were read, and the stop at which it was left."""

    tour: Tour
    done: int
    last: str | None = None

    @property
    def total(self) -> int:
        return len(self.tour.stops)


@dataclass(frozen=True, slots=True)
class ConceptRow:
    """One concept with each of its stops and whether it was read; `ran` says whether its lab has passed here."""

    concept: Concept
    stops: tuple[tuple[str, bool], ...]
    ran: bool

    @property
    def state(self) -> State:
        read = [done for _name, done in self.stops]
        return "done" if read and all(read) else "begun" if any(read) or self.ran else "open"


@dataclass(frozen=True, slots=True)
class PathView:
    """The four stages in order, with their concepts, and the stop to read next."""

    stages: tuple[tuple[str, tuple[ConceptRow, ...]], ...]
    following: str | None

    @property
    def done(self) -> int:
        return sum(row.state == "done" for _title, rows in self.stages for row in rows)

    @property
    def total(self) -> int:
        return sum(len(rows) for _title, rows in self.stages)


def listing(library: NoteLibrary, progress: ReadingProgress) -> tuple[TourRow, ...]:
    """Every tour and note that has stops, in the order to read them in."""
    tours = [tour for tour in in_order(library) if tour.stops]
    return tuple(TourRow(tour, progress.of(tour), progress.last.get(tour.id)) for tour in tours)


def path_view(library: NoteLibrary, path: LearningPath, progress: ReadingProgress) -> PathView:
    """The concepts by stage; stops that nobody wrote are left out."""
    stages = []
    following = None
    for stage, title in STAGES.items():
        rows = []
        for concept in path.of(stage):
            stops = tuple((name, name in progress.done) for name in concept.stops if library.stop(name) is not None)
            rows.append(ConceptRow(concept, stops, concept.lab in progress.labs))
            following = following or next((name for name, done in stops if not done), None)
        stages.append((title, tuple(rows)))
    return PathView(tuple(stages), following)


def lab_code(lab: Lab) -> list[str]:
    """What a lab runs, as a reader types it: what comes first, then the expression."""
    lines = [line for code in lab.setup for line in code.split("\n")]
    lines += [f"{name} = {value}" for name, value in lab.variables]
    indent = ""
    for context in lab.contexts:
        lines.append(f"{indent}with {context}:")
        indent += "    "
    run = [f"{indent}{line}" for line in lab.run.strip().split("\n")]
    return [*lines, *run]


def lab_facts(lab: Lab) -> str:
    """How the lab is run beyond its code."""
    given = "bound tensors require grad" if lab.grad and not lab.backward else ""
    return "then backward, on tensors that require grad" if lab.backward else given


def trace_command(lab: Lab) -> str | None:
    """The command that shows the whole trace of a lab; None where it is too long to be typed."""
    command = ["ptexplore", "trace", lab.run.strip()]
    for flag, values in (
        ("--var", [f"{name}={value}" for name, value in lab.variables]),
        ("--setup", lab.setup),
        ("--with", lab.contexts),
    ):
        command += [part for value in values for part in (flag, value)]
    command += ["--backward"] if lab.backward else ["--grad"] if lab.grad else []
    shown = shlex.join(command)
    return shown if lab.trail and "\n" not in shown and len(shown) <= 200 else None


# --- JSON ---


def listing_document(rows: Sequence[TourRow]) -> dict[str, Any]:
    """`tour --json`."""
    return {
        "format": FORMAT,
        "tours": [_head(row.tour) | {"stops": row.total, "done": row.done, "last": row.last} for row in rows],
    }


def _head(tour: Tour) -> dict[str, Any]:
    return {
        "id": tour.id,
        "kind": tour.kind,
        "title": tour.title,
        "level": tour.level,
        "summary": tour.summary,
        "baseline": tour.baseline,
        "prerequisites": list(tour.prerequisites),
        "concepts": list(tour.concepts),
        "file": tour.where.file,
        "shipped": tour.shipped,
    }


def path_document(view: PathView) -> dict[str, Any]:
    """`tour --path --json`."""
    return {
        "format": FORMAT,
        "done": view.done,
        "total": view.total,
        "next": view.following,
        "stages": [{"title": title, "concepts": [_concept(row) for row in rows]} for title, rows in view.stages],
    }


def _concept(row: ConceptRow) -> dict[str, Any]:
    one = row.concept
    return {
        "id": one.id,
        "title": one.title,
        "question": one.question,
        "state": row.state,
        "stops": [{"stop": name, "done": done} for name, done in row.stops],
        "lab": one.lab or None,
        "lab_passed": row.ran,
    }


def tour_document(
    guide: Guide, tour: Tour, numbers: Sequence[int], progress: ReadingProgress, room: int
) -> dict[str, Any]:
    """`tour NAME --json`: the stops asked for, each with its Markdown, its place, its source, its labs."""
    views = [guide.stop(tour, number) for number in numbers]
    return _head(tour) | {
        "format": FORMAT,
        "intro": tour.intro,
        "trees": [tree_to_json(one.tree.info) for one in guide.trees],
        "torch": guide.torch,
        "stops": [_stop(view, guide.excerpt(view, room), view.name in progress.done) for view in views],
    }


def _stop(view: StopView, excerpt: Excerpt | None, done: bool) -> dict[str, Any]:
    one = view.resolved
    return {
        "stop": view.name,
        "number": view.number,
        "title": view.stop.title,
        "done": done,
        "outcome": one.outcome,
        "facts": list(view.facts),
        "source": source_to_json(view.spot.ref) if view.spot is not None else None,
        "symbol": {"name": one.name, "begin": one.begin, "line": one.symbol, "end_line": one.symbol_end}
        if one.placed
        else None,
        "token": view.stop.anchor.token,
        "candidates": [{"path": path, "line": line} for path, line in one.candidates],
        "url": view.url,
        "file": view.file,
        "file_line": view.file_line,
        "see": list(view.see),
        "parts": [
            {"text": part.text} if part.lab is None else {"lab": _lab(part.lab)} for part in view.stop.parts
        ],
        "lines": {"first": excerpt.first, "text": list(excerpt.lines)} if excerpt is not None else None,
    }  # fmt: skip


def _lab(lab: Lab) -> dict[str, Any]:
    return {
        "id": lab.id,
        "run": lab.run,
        "grad": lab.grad,
        "backward": lab.backward,
        "var": dict(lab.variables),
        "setup": list(lab.setup),
        "with": list(lab.contexts),
        "trail": [f"{kind} {name}" for kind, name in lab.trail],
        "value": lab.value,
    }
