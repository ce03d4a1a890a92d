"""The concept list: a systems developer's path in four stages, read from each layer's concepts.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ptexplore.annotations import blocks
from ptexplore.annotations.files import read_bytes
from ptexplore.annotations.format import LARGEST, decode, without_controls
from ptexplore.annotations.layers import Layer
from ptexplore.annotations.load import NoteLibrary
from ptexplore.annotations.markdown import HeadedSection, line_of, sections, tokens, troubles
from ptexplore.annotations.names import ID, STOP
from ptexplore.annotations.records import Problem, See, Unreadable, Where, unread

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

    `stops` are "tour#stop"; `lab` is "tour#stop/lab" or "". `stage` is a key of STAGES. `answer` is a model answer.
    `proof` are the places whose lines prove it: stops, or "src:path::symbol". By default these are the stops.
    """

    where: Where
    id: str
    title: str
    stage: str
    question: str = ""
    stops: tuple[str, ...] = ()
    lab: str = ""
    answer: str = ""
    proof: tuple[See, ...] = ()


@dataclass
class LearningPath:
    """Every concept by id, in order, and the problems of the list."""

    concepts: dict[str, Concept] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def of(self, stage: str) -> list[Concept]:
        """Returns the concepts of one stage."""
        return [concept for concept in self.concepts.values() if concept.stage == stage]


def load_path(library: NoteLibrary) -> LearningPath:
    """Returns the concepts of every layer, and problems.

    A later layer's concept replaces an earlier one with its id.
    """
    path = LearningPath()
    for layer in library.layers:
        concepts, problems = _read(layer)
        path.problems += problems
        path.concepts |= {concept.id: concept for concept in concepts}
    path.problems += _dangling(library, path)
    return path


def _read(layer: Layer) -> tuple[list[Concept], list[Problem]]:
    shown = f"{layer.shown}/{FILE}"
    try:
        text, _controls = without_controls(decode(read_bytes(layer.root / FILE, LARGEST)))
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [unread(shown, error)]
    except Unreadable as error:
        return [], [Problem(Where(shown, error.line), str(error))]
    if layer.quiet and "```concept" not in text:
        return [], []  # a file of that name that belongs to something else
    return parse(text, shown)


@blocks.bounded()
def parse(text: str, shown: str) -> tuple[list[Concept], list[Problem]]:
    """Parses a file: a stage is a ## heading with its id, a concept is a ### heading with a `concept` block.

    The prose of a concept is its question.
    """
    try:
        document = tokens(text)
    except (RecursionError, ValueError):
        return [], [Problem(Where(shown, 1), "the Markdown cannot be read")]
    problems = [Problem(Where(shown, line), trouble) for line, trouble in troubles(document)]
    concepts: dict[str, Concept] = {}
    stage = ""
    for section in sections(document, ("h2", "h3"), text.count("\n") + 1):
        try:
            if section.level == "h2":
                stage = section.id
                if stage not in STAGES:
                    known = ", ".join(STAGES)
                    raise Unreadable(
                        section.first, f"{stage!r} is not a stage; the stages are {known}: ## Basic use {{#basic-use}}"
                    )
            elif stage in STAGES:
                concept = _concept(Concept(Where(shown, section.first), section.id, section.title, stage), section)
                if concept.id in concepts:
                    line = concepts[concept.id].where.line
                    raise Unreadable(section.first, f"the concept in line {line} already has the id {concept.id!r}")
                concepts[concept.id] = concept
        except Unreadable as error:
            problems.append(Problem(Where(shown, error.line), str(error)))
    return list(concepts.values()), problems


def _concept(concept: Concept, section: HeadedSection) -> Concept:
    """Completes the concept with the content of its section. Raises Unreadable."""
    if not ID.fullmatch(concept.id):
        raise Unreadable(section.first, "a concept's heading ends in an id: ### Dispatch keys {#dispatch-key}")
    question = []
    for token in section.tokens:
        if token.type == "inline":
            question.append(" ".join(token.content.split()))
        elif token.type == "fence" and token.info.strip() == "concept":
            concept = _filled(concept, token.content, line_of(token) + 1)
    if not concept.stops or not question:
        missing = "question" if concept.stops else "`concept` block with its stops"
        raise Unreadable(section.first, f"the concept {concept.id!r} has no {missing}")
    return replace(concept, question=" ".join(question))


def _filled(concept: Concept, source: str, first: int) -> Concept:
    fields = blocks.read_fields(source, first, ("stops", "lab", "answer", "proof"), ("stops",))
    stops = fields["stops"].texts()
    for stop in stops:
        if not STOP.fullmatch(stop):
            raise Unreadable(fields["stops"].line, f"{stop!r} is not a stop: write tour#stop")
    lab = fields["lab"].text() if "lab" in fields else ""
    stop, _, name = lab.partition("/")
    if lab and not (STOP.fullmatch(stop) and ID.fullmatch(name)):
        raise Unreadable(fields["lab"].line, f"{lab!r} is not a lab: write tour#stop/lab")
    answer = " ".join(fields["answer"].code().split()) if "answer" in fields else ""
    proof = blocks.see(fields["proof"], concept.where.file) if "proof" in fields else ()
    return replace(concept, stops=stops, lab=lab, answer=answer, proof=proof)


def _dangling(library: NoteLibrary, path: LearningPath) -> Iterator[Problem]:
    """Yields problems: concepts name stops and labs that do not exist, or tours name concepts that the list lacks."""
    for concept in path.concepts.values():
        for name in concept.stops:
            if library.stop(name) is None:
                yield Problem(concept.where, f"the stop {name!r}, which should teach {concept.id!r}, does not exist")
        for see in concept.proof:
            if see.kind == "stop" and library.stop(see.text) is None:
                yield Problem(see.where, f"the stop {see.text!r} under `proof` does not exist")
        stop, _, lab = concept.lab.partition("/")
        shown = library.stop(stop)
        if lab and (shown is None or lab not in {other.id for other in shown[1].labs}):
            yield Problem(concept.where, f"the lab {concept.lab!r}, which should show {concept.id!r}, does not exist")
    for tour in library.tours.values():
        for name in tour.concepts:
            if name not in path.concepts:
                yield Problem(tour.where, f"no {FILE} has the concept {name!r}")
