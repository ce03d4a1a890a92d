"""Everything that a renderer draws of one trace: the chosen view with its rows, and the text above and below them.

Rows have two forms: a tree of `TraceRow`s (the view `tree`), and a table of `ScreenRow`s in the views that fit a screen
(`path`, `modules`, `operators`, `copies`, `lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, get_args

from typing_extensions import Self

from ptexplore.model.codes import Reason, Said, within
from ptexplore.model.details import AnyDetail, CalledOperator, KnownAs
from ptexplore.model.nesting import with_levels
from ptexplore.model.place_reasons import OfNamed
from ptexplore.model.places import SourceRef
from ptexplore.model.run import Carried
from ptexplore.model.trace import Status
from ptexplore.model.traced import TracedName
from ptexplore.view.line import Line, Span
from ptexplore.view.place_marks import Mark, mark_of
from ptexplore.view.trace.hop_weights import figures
from ptexplore.view.words.details import described

ViewName = Literal["path", "modules", "operators", "copies", "lines", "tree"]
VIEW_NAMES: tuple[ViewName, ...] = get_args(ViewName)
WHAT_IT_IS = "what it is, or why"
IN_CALL = "in call"  # the heading of a row's part of the stepped call around it; shares are then of time


@dataclass(frozen=True, slots=True)
class Options:
    """What the reader asked for: `full` (every hop), `depth` (levels), `only` (hops whose name or path has this text).

    `opened`: opens the hops whose name contains this text. They appear with all rows below them, and with the rows that
    lead to them. `view`: None if the reader did not choose a view. `verbose`: also key sets, tables of arguments, hop
    numbers, and words for the precision.
    """

    full: bool = False
    depth: int | None = None
    only: str | None = None
    opened: str | None = None
    view: ViewName | None = None
    verbose: bool = False
    command: tuple[str, ...] = ("ptexplore", "trace")  # shows this trace, for next commands; () in Python
    runs: tuple[str, ...] = ()  # runs it again; () for a saved trace and in Python

    @property
    def of_the_tree(self) -> bool:
        """Whether an option was given that only the view `tree` can follow."""
        return self.full or self.depth is not None or self.only is not None or self.opened is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRow:
    """The fields of a row in any view. Rows that are alike are shown as one row, with their sums."""

    APART: ClassVar[frozenset[str]]  # fields in which alike rows may differ
    SUMS: ClassVar[tuple[str, ...]]  # fields that are added when alike rows become one

    times: int = 1  # the number of alike rows that this row stands for
    instructions: int | None = None  # from entry to exit, for all of these rows
    lines: tuple[Line, ...] = ()  # the lines below the first line

    def alike(self) -> tuple[object, ...]:
        """Returns everything that the row has in common with alike rows."""
        return _common_of(type(self))(self)  # type: ignore[arg-type]  # a class can be hashed: mypy asks its objects

    def plus(self, other: Self) -> Self:
        """Returns this row with the sums of both rows. All other fields are this row's."""
        both = {name: (getattr(self, name), getattr(other, name)) for name in self.SUMS}
        sums: dict[str, Any] = {name: a if a is None else a + (b or 0) for name, (a, b) in both.items()}
        return replace(self, **sums)


@cache
def _common_of(kind: type[ViewRow]) -> Callable[[ViewRow], tuple[object, ...]]:
    return attrgetter(*(known.name for known in fields(kind) if known.name not in kind.APART))


@dataclass(frozen=True, slots=True)
class TraceRowFacts(ViewRow):
    """One shown hop: its title, kind and status.

    `inside` counts the hidden frames below a row without children. `frames` counts the frames that the row stands for.
    """

    hop: int
    title: str
    kind: str
    status: str
    hidden: int = 0
    inside: int = 0
    frames: int = 1
    weights: Carried = field(default_factory=dict)  # with everything inside

    def heading(self, *, counted: bool) -> tuple[Span, ...]:
        """Returns the first line: title, kind, status, hop number, instructions, and counts of hidden frames and rows.

        If `counted`, there are many frames: native ones show no kind, and no observed row shows its status.
        """
        frame = counted and self.kind == "native"
        spans = [Span(self.title, "" if frame else "title")]
        if self.times > 1:
            spans.append(Span(f" ×{self.times}", "times"))
        if not frame:
            spans.append(Span(f"  {self.kind}", "kind"))
        if not counted or self.status != "observed":
            spans.append(Span(f" {self.status}", self.status))
        spans.append(Span(f"  [{self.hop}]", "hop"))
        if self.instructions is not None:
            spans.append(Span(f"  {self.instructions:,} instr", "count"))
        for name, figure in figures(self.weights).items() if self.weights else ():
            spans.append(Span(f"  {figure} {name}", "times"))
        if self.inside:
            spans.append(Span(f"  +{self.inside}", "inside"))
        if self.hidden:
            spans.append(Span(f"  +{self.hidden} below", "below"))
        return tuple(spans)


@dataclass(frozen=True, slots=True)
class TraceRow(TraceRowFacts):
    """One shown hop, with the rows inside it."""

    APART: ClassVar = frozenset(("hop", "times", "instructions", "inside", "weights", "children", "shape"))
    SUMS: ClassVar = ("instructions", "inside")  # the sum of a row already includes the rows inside

    children: tuple[TraceRow, ...] = ()
    shape: int = -1  # alike rows have the same number

    @property
    def beside(self) -> Line | None:
        """The place to put beside the first line, if there is room."""
        return self.lines[0] if self.lines and self.lines[0].ref is not None else None

    @property
    def further(self) -> tuple[Line, ...]:
        """The lines that are never put beside the first line."""
        return self.lines[1:] if self.beside is not None else self.lines

    @property
    def candidates(self) -> tuple[SourceRef, ...]:
        """The candidates for the place beside the first line, if there are several."""
        return self.beside.ref.candidates if self.beside is not None and self.beside.ref is not None else ()

    def brief(self, *, skew: bool) -> TraceRow:
        """Returns the row with fewer reasons; `--explain` shows all reasons of a hop. Rows below it do not change.

        A native frame loses a reason that names a function, if its place is ambiguous or unknown: a tree has many such
        frames. With `skew`, a row also loses the reason for a place in a tree of another version, which is the same in
        all rows.
        """
        dropped = ("ambiguous", "unknown", *(("version-skew",) if skew else ()))
        lines = tuple(self._without_reason(line, dropped) for line in self.lines)
        return replace(self, lines=lines)

    def _without_reason(self, line: Line, dropped: tuple[str, ...]) -> Line:
        ref = line.ref
        if ref is None or not isinstance(ref.reason, Reason) or ref.precision not in dropped:
            return line
        is_dropped = ref.precision == "version-skew" or (self.kind == "native" and _names_function(ref.reason))
        return replace(line, ref=replace(ref, reason=None)) if is_dropped else line


def _names_function(reason: Reason) -> bool:
    """Whether a reason contains the name of a function. In an older trace, the sentence is searched for one."""
    held = tuple(within(reason))
    names = [each.name for each in held if isinstance(each, OfNamed)]
    return any("::" in text for text in (*names, *(each.sentence for each in held if isinstance(each, Said))))


@dataclass(frozen=True, slots=True)
class ScreenRow(ViewRow):
    """One row of a view that fits a screen: a row of the path, an operator, a module, or the heading of a section.

    `level` is the depth of the row. `share` is a fraction of the whole, 0 to 1; None if nothing was counted. `cells`
    are in the columns of `TraceView.columns`. `opens` is the argument of `--open`.
    """

    APART: ClassVar = frozenset(("hop", "opens", "lines", "times", "share", "instructions"))
    SUMS: ClassVar = ("share", "instructions", "times")

    name: str
    level: int = 0
    share: float | None = None
    own: float | None = None  # the part of its share that no row inside has; None if the rows do not say
    cells: tuple[str, ...] = ()
    details: tuple[AnyDetail, ...] = ()  # the kind of row, or why it was chosen
    what: str = ""  # `details` in words; set when the row becomes part of a view
    place: SourceRef | None = None
    status: Status = "observed"
    hop: int | None = None
    opens: str = ""
    heading: bool = False
    is_rest: bool = False  # the work of the row around it that no other row inside has
    is_closed: bool = False  # rows inside are not shown; a place that does not fit is dropped

    @property
    def mark(self) -> Mark:
        """A sign for the certainty of its place; empty for a certain place."""
        return mark_of(self.place)

    @property
    def is_operator(self) -> bool:
        """Whether it is the row of an operator call."""
        return isinstance(next(iter(self.details), None), CalledOperator)

    @property
    def known(self) -> Status | None:
        """The status of its hop, if the details begin with it."""
        first = next(iter(self.details), None)
        return first.status if isinstance(first, KnownAs) and not first.of_key else None


def in_words(rows: Iterable[ScreenRow]) -> tuple[ScreenRow, ...]:
    """Returns the rows with their details in words."""
    return tuple(replace(row, what=described(row.details)) for row in rows)


def percent(share: float | None) -> str:
    """Returns a share in words: "43%". It is never 0% for something, and never 100% for less than all."""
    if share is None:
        return ""
    whole = round(share * 100)
    if share > 0 and whole == 0:
        return "<1%"
    return f"{99 if whole == 100 and share < 1 else whole}%"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command worth typing, and what it shows. For a trace in Python, a call worth making."""

    command: str
    shows: str = ""
    in_python: bool = False


@dataclass(frozen=True, slots=True)
class TraceViewFacts:
    """Everything that a renderer needs of one view of a trace, except the rows of a tree.

    `counted`: rows have instructions. `places_in_names`: the names of rows say their places. The view `tree` has
    `rows`; every other view has `table`.
    """

    title: str
    facts: tuple[str, ...]
    findings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    counted: bool = False
    next_steps: tuple[NextStep, ...] = field(default=())
    read: tuple[str, ...] = field(default=())  # commands that show the stops about these hops
    ending: tuple[Line, ...] = field(default=())  # the lines about the error, if there was one
    view: ViewName = "tree"
    traced: TracedName = "expression"
    table: tuple[ScreenRow, ...] = ()
    columns: tuple[str, ...] = ()  # headings of the rows' cells
    name: str = "what ran"  # the heading of the column of names
    told: str = WHAT_IT_IS  # the heading of the column of details
    places_in_names: bool = False
    legend: tuple[tuple[str, str], ...] = ()  # signs that this view uses, each with its meaning
    explained: tuple[tuple[tuple[str, ...], str], ...] = ()  # further words and their meaning, for `--explain legend`


@dataclass(frozen=True, slots=True)
class TraceView(TraceViewFacts):
    """One view of a trace, with nested rows for a tree."""

    rows: tuple[TraceRow, ...] = ()


@dataclass(frozen=True, slots=True)
class LeveledRow(TraceRowFacts):
    """One shown hop. `level` is its depth."""

    level: int = 0


@dataclass(frozen=True, slots=True)
class LeveledView(TraceViewFacts):
    """One view of a trace without nesting: readers of JSON have a limit of depth, and recursive code does not."""

    rows: tuple[LeveledRow, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedView:
    """A view as `--view NAME --json` prints it."""

    format: int = field(default=2, kw_only=True)  # in format 1 the rows of a tree were nested
    view: LeveledView


def leveled(view: TraceView) -> LeveledView:
    """Returns the view with the rows of its tree in reading order, each with its level."""
    rows = (
        LeveledRow(**{fact: getattr(row, fact) for fact in _ROW_FACTS}, level=level)
        for row, level in with_levels(view.rows)
    )
    return LeveledView(*(*_view_facts(view), tuple(rows)))


_ROW_FACTS = tuple(known.name for known in fields(TraceRowFacts))
_view_facts = attrgetter(*(known.name for known in fields(TraceViewFacts)))
