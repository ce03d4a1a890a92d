"""Notes and tours: the documents of `notes check` and `tour`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field, structs

from ptexplore.annotations.anchors import Outcome, ResolvedAnchor
from ptexplore.annotations.progress import ReadingProgress, ReadState
from ptexplore.annotations.records import Lab, Level, Problem, Tour
from ptexplore.view.documents.parts import FORMAT, FileLine, Reference, TreeEntry, reference_if, tree_entry
from ptexplore.view.notes.check import Checked, CheckView
from ptexplore.view.notes.labs import LabOutcome
from ptexplore.view.notes.predictions import given_steps, lab_question
from ptexplore.view.notes.tour import ConceptRow, Excerpt, Guide, PathView, State, StopView, TourRow


class AnchorSymbol(Struct, frozen=True):
    """The symbol that an anchor names, or the symbol around its line."""

    name: str  # the qualified name; empty outside of any symbol
    begin: int  # the first line
    line: int  # the line of its name
    end_line: int  # the last line


class AskedAnchor(Struct, frozen=True):
    """The file and the symbol that an anchor names."""

    path: str  # the file
    symbol: str  # the symbol in it


class BaselinePlace(Struct, frozen=True):
    """Where an anchor was pinned."""

    path: str  # the file
    line: int  # the first line
    end_line: int  # the last line
    baseline: str = field(name="in")  # the version that the note was written on


class AnchorCheck(Struct, frozen=True):
    """What happened to the anchor of one stop."""

    stop: str  # `dispatcher#redispatch`
    title: str  # its heading
    outcome: Outcome  # what happened to the anchor ([annotations.md](annotations.md))
    file: str  # the file of notes that has it
    file_line: int  # the line of the anchor in that file
    asked: AskedAnchor  # the path and symbol that the anchor names
    path: str | None  # the file that has the anchor now; null if the anchor has no place
    line: int | None  # the first line
    end_line: int | None  # the last line
    symbol: AnchorSymbol | None  # the symbol that it means or is inside of
    was: BaselinePlace | None  # the pinned place; null if nobody pinned the anchor
    why: str | None  # a remark about the outcome
    candidates: tuple[FileLine, ...]  # for `ambiguous`: the places that it may mean


class NoteProblem(Struct, frozen=True):
    """A problem in a file of notes."""

    file: str  # the file, as it is shown to you
    line: int  # the line in that file
    text: str  # the problem, in words


class CheckedTree(Struct, frozen=True):
    """The tree that anchors were placed on."""

    name: str  # `runtime`, or the checkout's name
    version: str  # of PyTorch, as the tree says
    commit: str | None  # the commit; null if unknown


class FolderPagesCheck(Struct, frozen=True):
    """Which names on folders' pages the tree has."""

    pages: int  # how many pages there are
    named: int  # how many paths and names they name
    present: int = field(name="there")  # how many of these the tree has
    judged: bool  # whether the pages were written on this very tree: then a missing name is a problem
    newer: int  # how many pages describe differences in this version
    differ: tuple[NoteProblem, ...]  # names that the files of the tree no longer have


class LabCheck(Struct, frozen=True):
    """How one lab ended."""

    lab: str  # `dispatcher#redispatch/same-operator`
    file: str  # the file of notes that has it
    line: int  # the line in that file
    outcome: LabOutcome  # how it ended
    why: str  # a remark about the outcome
    seconds: float  # how long it took


class NotesCheckDocument(Struct, frozen=True, omit_defaults=True):
    """`notes check --json`."""

    format: int  # 1
    summary: Mapping[str, int]  # how many anchors have each outcome
    anchors: tuple[AnchorCheck, ...]  # every anchor
    problems: tuple[NoteProblem, ...]  # problems in the files
    tree: CheckedTree  # the tree with the places of the anchors
    folders: tuple[str, ...]  # the folders of notes
    pages: FolderPagesCheck | None = None  # of folders; left out if single tours or stops were asked for
    labs: tuple[LabCheck, ...] | None = None  # with `--run`: how each lab ended; else left out


def notes_check_document(view: CheckView) -> NotesCheckDocument:
    """Returns what happened to every anchor, and the results of labs that ran."""
    pages, labs = view.pages, view.labs
    return NotesCheckDocument(
        format=FORMAT,
        summary=view.summary,
        anchors=tuple(map(_anchor_check, view.anchors)),
        problems=tuple(map(_note_problem, view.problems)),
        tree=CheckedTree(view.tree.name, view.tree.version, view.tree.commit),
        folders=view.folders,
        pages=FolderPagesCheck(
            pages=pages.pages,
            named=pages.named,
            present=pages.present,
            judged=pages.judged,
            newer=pages.newer,
            differ=tuple(map(_note_problem, pages.differ)),
        )
        if pages is not None
        else None,
        labs=tuple(
            LabCheck(lab.name, lab.where.file, lab.where.line, lab.outcome, lab.why, round(lab.seconds, 2))
            for lab in labs
        )
        if labs is not None
        else None,
    )


def _note_problem(problem: Problem) -> NoteProblem:
    return NoteProblem(problem.where.file, problem.where.line, problem.text)


def _anchor_symbol(resolved: ResolvedAnchor) -> AnchorSymbol | None:
    """Returns None if the anchor has no place."""
    if not resolved.placed:
        return None
    return AnchorSymbol(resolved.name, resolved.begin, resolved.symbol, resolved.symbol_end)


def _anchor_check(checked: Checked) -> AnchorCheck:
    resolved, where = checked.resolved, checked.stop.anchor.where
    was = resolved.was
    return AnchorCheck(
        stop=resolved.stop,
        title=checked.stop.title,
        outcome=resolved.outcome,
        file=where.file,
        file_line=where.line,
        asked=AskedAnchor(resolved.anchor.path, resolved.anchor.symbol),
        path=resolved.path or None,
        line=resolved.line or None,
        end_line=resolved.end_line or None,
        symbol=_anchor_symbol(resolved),
        was=BaselinePlace(was.path, was.at or was.line, was.at_end or was.end, was.baseline)
        if was is not None
        else None,
        why=resolved.why or None,
        candidates=_file_lines(resolved),
    )


def _file_lines(resolved: ResolvedAnchor) -> tuple[FileLine, ...]:
    return tuple(FileLine(path, line) for path, line in resolved.candidates)


class TourHead(Struct, frozen=True):
    """A tour or a note."""

    id: str  # its name
    kind: str  # `tour`; `note` if each stop can be read alone
    title: str  # its heading
    level: Level | None  # the level of its readers
    summary: str  # the subject of the tour
    baseline: str  # the version that it was written on
    prerequisites: tuple[str, ...]  # tours to read before it
    concepts: tuple[str, ...]  # the concepts that it teaches
    file: str  # the file, as it is shown to you
    shipped: bool  # whether it came with ptexplore


class TourEntry(TourHead, frozen=True):
    """A tour in the list, with your progress."""

    stops: int  # how many stops it has
    done: int  # how many you have read
    visited: int  # how many were shown at all
    last: str | None  # the stop where you left the tour


class TourListDocument(Struct, frozen=True):
    """`tour --json`."""

    format: int  # 1
    tours: tuple[TourEntry, ...]  # every tour and note that has stops, in reading order


class LabEntry(Struct, frozen=True):
    """An expression to run, and the expected result."""

    id: str  # its name within the stop
    run: str  # the expression
    grad: bool  # whether tensors require grad
    backward: bool  # whether backward runs
    variables: Mapping[str, str] = field(name="var")  # each name with the code of the value
    setup: tuple[str, ...]  # code that comes first
    contexts: tuple[str, ...] = field(name="with")  # context managers around it
    trace: tuple[str, ...]  # hops that must be in its trace, in order: a kind and a name
    value: str | None  # the expected value
    question: str  # what the reader predicts
    given: tuple[str, ...]  # the first hops of its trace, which the reader sees before choosing the next one
    choices: tuple[str, ...]  # answers to choose from; empty if the reader types one
    why: str  # one sentence that explains the result, or ""


class PartEntry(Struct, frozen=True, omit_defaults=True):
    """A part of a stop: either text or a lab."""

    text: str | None = None  # Markdown; left out if the part is a lab
    lab: LabEntry | None = None  # the lab; left out if the part is text


class StopLines(Struct, frozen=True):
    """The lines that a stop shows."""

    first: int  # the number of the first one
    text: tuple[str, ...]  # each line


class StopEntry(Struct, frozen=True):
    """A stop of a tour."""

    stop: str  # `dispatcher#redispatch`
    number: int  # from 1
    title: str  # its heading
    done: bool  # whether you have read it
    visited: bool  # whether it was shown at all
    outcome: Outcome  # what happened to the anchor
    facts: tuple[str, ...]  # remarks about the place
    source: Reference | None  # the place; null if its anchor has no place
    symbol: AnchorSymbol | None  # the symbol that the anchor means or is inside of
    token: str | None  # the marked word on the first line
    candidates: tuple[FileLine, ...]  # for `ambiguous`: the places that the anchor may mean
    url: str | None  # a permalink to the baseline's text
    file: str | None  # the file on this machine
    file_line: int | None  # the line in it
    see: tuple[str, ...]  # further places
    questions: tuple[str, ...]  # the questions of the concepts
    answers: tuple[str, ...]  # a model answer for each of these questions, or ""
    parts: tuple[PartEntry, ...]  # its text and labs
    lines: StopLines | None  # the text at its place


class TourDocument(TourHead, frozen=True):
    """`tour NAME --json`."""

    format: int  # 1
    intro: str  # the introduction, in Markdown
    trees: tuple[TreeEntry, ...]  # where the text of its places comes from
    torch: str | None  # the version of the installed torch
    stops: tuple[StopEntry, ...]  # the stops that were asked for


class ConceptStop(Struct, frozen=True):
    """A stop that teaches a concept."""

    stop: str  # `dispatcher#redispatch`
    done: bool  # whether you have read it
    visited: bool  # whether it was shown at all


class ConceptEntry(Struct, frozen=True):
    """A concept to understand."""

    id: str  # its name
    title: str  # its heading
    question: str  # a question to test yourself
    state: State  # your progress
    stops: tuple[ConceptStop, ...]  # the stops that teach it
    lab: str | None  # the lab that shows it
    lab_passed: bool  # whether the lab has passed here


class PathStage(Struct, frozen=True):
    """A stage of the path."""

    title: str  # its heading
    concepts: tuple[ConceptEntry, ...]  # in the order to learn them in


class PathDocument(Struct, frozen=True):
    """`tour --path --json`."""

    format: int  # 1
    done: int  # how many concepts you have done
    total: int  # how many concepts there are
    next: str | None  # the first stop that you have not read
    stages: tuple[PathStage, ...]  # from basic use to advanced


def tour_list_document(rows: Sequence[TourRow]) -> TourListDocument:
    """Returns every tour with the reader's progress."""
    return TourListDocument(FORMAT, tuple(map(_tour_entry, rows)))


def _tour_entry(row: TourRow) -> TourEntry:
    return TourEntry(
        **structs.asdict(_tour_head(row.tour)),
        stops=row.total,
        done=row.done,
        visited=row.visited,
        last=row.last,
    )


def _tour_head(tour: Tour) -> TourHead:
    return TourHead(
        id=tour.id,
        kind=tour.kind,
        title=tour.title,
        level=tour.level,
        summary=tour.summary,
        baseline=tour.baseline,
        prerequisites=tour.prerequisites,
        concepts=tour.concepts,
        file=tour.where.file,
        shipped=tour.shipped,
    )


def path_document(view: PathView) -> PathDocument:
    """Returns the concepts by stage, with the reader's progress."""
    return PathDocument(
        format=FORMAT,
        done=view.done,
        total=view.total,
        next=view.following,
        stages=tuple(PathStage(title, tuple(map(_concept_entry, rows))) for title, rows in view.stages),
    )


def _concept_entry(row: ConceptRow) -> ConceptEntry:
    return ConceptEntry(
        id=row.concept.id,
        title=row.concept.title,
        question=row.concept.question,
        state=row.state,
        stops=tuple(ConceptStop(name, state == "read", state != "new") for name, state in row.stops),
        lab=row.concept.lab or None,
        lab_passed=row.ran,
    )


def tour_document(
    guide: Guide, tour: Tour, numbers: Sequence[int], progress: ReadingProgress, room: int
) -> TourDocument:
    """Returns the chosen stops with Markdown, place, source and labs."""
    views = [guide.stop(tour, number) for number in numbers]
    return TourDocument(
        **structs.asdict(_tour_head(tour)),
        format=FORMAT,
        intro=tour.intro,
        trees=tuple(tree_entry(indexed.tree.info) for indexed in guide.trees),
        torch=guide.torch,
        stops=tuple(_stop_entry(view, guide.excerpt(view, room), progress.state(view.name)) for view in views),
    )


def _stop_entry(view: StopView, excerpt: Excerpt | None, state: ReadState) -> StopEntry:
    resolved = view.resolved
    return StopEntry(
        stop=view.name,
        number=view.number,
        title=view.stop.title,
        done=state == "read",
        visited=state != "new",
        outcome=resolved.outcome,
        facts=view.facts,
        source=reference_if(view.spot.ref if view.spot is not None else None),
        symbol=_anchor_symbol(resolved),
        token=view.stop.anchor.token,
        candidates=_file_lines(resolved),
        url=view.url,
        file=view.file,
        file_line=view.file_line,
        see=tuple(see.text for see in view.see),
        questions=tuple(concept.question for concept in view.concepts),
        answers=tuple(concept.answer for concept in view.concepts),
        parts=tuple(
            PartEntry(text=part.text) if part.lab is None else PartEntry(lab=_lab_entry(part.lab))
            for part in view.stop.parts
        ),
        lines=StopLines(excerpt.first, tuple(excerpt.lines)) if excerpt is not None else None,
    )


def _lab_entry(lab: Lab) -> LabEntry:
    return LabEntry(
        id=lab.id,
        run=lab.run,
        grad=lab.grad,
        backward=lab.backward,
        variables=dict(lab.variables),
        setup=lab.setup,
        contexts=lab.contexts,
        trace=tuple(f"{kind} {name}" for kind, name in lab.trace),
        value=lab.value,
        question=lab_question(lab),
        given=given_steps(lab),
        choices=lab.choices,
        why=lab.why,
    )
