"""The concept list: a systems developer's path in four stages, read from each layer's concepts.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ptexplore.annotations import blocks
from ptexplore.annotations.fields import Wrong, read, required
from ptexplore.annotations.format import Unreadable, decode, without_controls
from ptexplore.annotations.load import read_bytes
from ptexplore.annotations.markdown import tokens, troubles
from ptexplore.annotations.records import Problem, Where

if TYPE_CHECKING:
    from markdown_it.token import Token

    from ptexplore.annotations.load import Layer, NoteLibrary

FILE = "concepts.md"
STAGES = {
    "basic-use": "Basic use",
    "principles": "Principles",
    "systems-level": "Systems level",
    "advanced": "Advanced",
}


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing to understand: a question to check oneself with, the stops that teach it, the lab that shows it.

    `stops` are "tour#stop", `lab` is "tour#stop/lab" or "". `stage` is a key of STAGES.
    """

    where: Where
    id: str
    title: str
    stage: str
    question: str = ""
    stops: tuple[str, ...] = ()
    lab: str = ""


@dataclass
class LearningPath:
    """Every concept by id, in order, and what is wrong with the list."""

    concepts: dict[str, Concept] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def of(self, stage: str) -> list[Concept]:
        """The concepts of one stage."""
        return [one for one in self.concepts.values() if one.stage == stage]


def load_path(library: NoteLibrary) -> LearningPath:
    """The concepts of every layer: a later layer's replaces an earlier one's of its id. What is wrong is told."""
    path = LearningPath()
    for layer in library.layers:
        found, problems = _read(layer)
        path.problems += problems
        path.concepts |= {one.id: one for one in found}
    path.problems += _dangling(library, path)
    return path


def _read(layer: Layer) -> tuple[list[Concept], list[Problem]]:
    shown = f"{layer.shown}/{FILE}"
    try:
        text, _controls = without_controls(decode(read_bytes(layer.root / FILE)))
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [Problem(Where(shown, 1), f"it cannot be read: {error.strerror or error}")]
    except Unreadable as error:
        return [], [Problem(Where(shown, error.line), str(error))]
    if layer.quiet and "```concept" not in text:
        return [], []  # somebody else's file of that name
    return parse(text, shown)


def parse(text: str, shown: str) -> tuple[list[Concept], list[Problem]]:
    """The concepts of a file: a stage is a ## heading with its id, a concept a ### heading with a `concept` block.

    The prose of a concept is its question.
    """
    try:
        found = tokens(text)
    except (RecursionError, ValueError):
        return [], [Problem(Where(shown, 1), "this is no Markdown that can be read")]
    problems = [Problem(Where(shown, line + 1), what) for line, what in troubles(found)]
    concepts: dict[str, Concept] = {}
    for stage, body in _sections(found, shown, problems):
        concept = _concept(stage, body, shown, problems)
        if concept is not None and concept.id in concepts:
            where = concepts[concept.id].where
            problems.append(Problem(concept.where, f"the id {concept.id!r} is that of line {where.line} already"))
        elif concept is not None:
            concepts[concept.id] = concept
    return list(concepts.values()), problems


def _sections(found: list[Token], shown: str, problems: list[Problem]) -> Iterator[tuple[str, list[Token]]]:
    """Every ### heading with the tokens under it, and its stage."""
    stage = ""
    heads = [
        n for n, one in enumerate(found) if one.type == "heading_open" and one.tag in ("h2", "h3") and not one.level
    ]
    for number, at in enumerate(heads):
        until = heads[number + 1] if number + 1 < len(heads) else len(found)
        if found[at].tag == "h3":
            yield stage, found[at:until]
            continue
        stage = _titled(found[at + 1].content)[1]
        if stage not in STAGES:
            text = f"there is no stage {stage!r}; there are {', '.join(STAGES)}: ## Basic use {{#basic-use}}"
            problems.append(Problem(Where(shown, _line(found[at])), text))


def _concept(stage: str, body: list[Token], shown: str, problems: list[Problem]) -> Concept | None:
    where = Where(shown, _line(body[0]))
    title, name = _titled(body[1].content)
    if stage not in STAGES or not blocks.ID.fullmatch(name):
        if stage in STAGES:
            problems.append(Problem(where, "a concept's heading ends in an id: ### Dispatch keys {#dispatch-key}"))
        return None
    concept = Concept(where, name, title, stage)
    question = []
    for number, token in enumerate(body):
        if token.type == "inline" and number > 1:
            question.append(" ".join(token.content.split()))
        elif token.type == "fence" and token.info.strip() == "concept":
            try:
                concept = _filled(concept, token.content, _line(token) + 1)
            except Wrong as error:
                problems.append(Problem(Where(shown, error.line), str(error)))
                return None
    if not concept.stops or not question:
        what = "question to check oneself with" if concept.stops else "`concept` block with its stops"
        problems.append(Problem(where, f"the concept {name!r} has no {what}"))
        return None
    return replace(concept, question=" ".join(question))


def _filled(concept: Concept, source: str, first: int) -> Concept:
    fields = read(source, first).fields({"stops": None, "lab": None})
    required(fields, ("stops",), first)
    stops = fields["stops"].texts()
    for one in stops:
        if not blocks.STOP.fullmatch(one):
            raise Wrong(fields["stops"].line, f"{one!r} is no stop: tour#stop")
    lab = fields["lab"].text() if "lab" in fields else ""
    stop, _, name = lab.partition("/")
    if lab and not (blocks.STOP.fullmatch(stop) and blocks.ID.fullmatch(name)):
        raise Wrong(fields["lab"].line, f"{lab!r} is no lab: tour#stop/lab")
    return replace(concept, stops=stops, lab=lab)


def _titled(heading: str) -> tuple[str, str]:
    title, brace, rest = heading.rpartition("{#")
    return (title.strip(), rest.rstrip().removesuffix("}")) if brace else (heading.strip(), "")


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1


def _dangling(library: NoteLibrary, path: LearningPath) -> Iterator[Problem]:
    """Stops and labs that concepts name and nobody wrote; concepts that tours name and the list does not have."""
    for one in path.concepts.values():
        for name in one.stops:
            if library.stop(name) is None:
                yield Problem(one.where, f"there is no stop {name!r}, which should teach {one.id!r}")
        stop = library.stop(one.lab.partition("/")[0]) if one.lab else None
        if one.lab and (stop is None or one.lab.partition("/")[2] not in {lab.id for lab in stop[1].labs}):
            yield Problem(one.where, f"there is no lab {one.lab!r}, which should show {one.id!r}")
    for tour in library.tours.values():
        for name in tour.concepts:
            if name not in path.concepts:
                yield Problem(tour.where, f"there is no concept {name!r} in any {FILE}")
