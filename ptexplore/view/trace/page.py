"""What every renderer draws of one trace: the view that was asked for, its rows, what stands above and below them.

Two forms of rows: a tree of `TraceRow`s (the view `tree`), and the table of `ScreenRow`s of the views that fit a
screen (`path`, `modules`, `operators`).
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
from ptexplore.model.trace import Status
from ptexplore.model.traced import TracedName
from ptexplore.view.line import Line, Span
from ptexplore.view.words.details import described

ViewName = Literal["path", "modules", "operators", "tree"]
VIEW_NAMES: tuple[ViewName, ...] = get_args(ViewName)
Mark = Literal["", "~", "?"]  # of a place: certain; of another version's text; one of several, or not known
WHAT_IT_IS = "what it is, or why"


@dataclass(frozen=True, slots=True)
class Options:
    """What the reader asked for: every hop, at most so deep, only hops whose name or path holds a text.

    `opened` opens the hops whose name holds it: everything below them, and what leads to them. `view` is None where
    the reader left the choice to us. `verbose` adds key sets, tables of arguments, numbers of hops, words of precision.
    """

    full: bool = False
    depth: int | None = None
    only: str | None = None
    opened: str | None = None
    view: ViewName | None = None
    verbose: bool = False
    command: tuple[str, ...] = ("ptexplore", "trace")  # what was typed, for the next ones; () where Python asked

    @property
    def of_the_tree(self) -> bool:
        """Whether something was asked that only the tree can show."""
        return self.full or self.depth is not None or self.only is not None or self.opened is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRow:
    """What a row of any view has. Rows that are alike are shown as one, with their sums."""

    APART: ClassVar[frozenset[str]]  # in what rows that are alike may differ
    SUMS: ClassVar[tuple[str, ...]]  # what is added up of them

    times: int = 1  # so many rows that are alike are shown as this one
    instructions: int | None = None  # from entry to exit, of all of them
    lines: tuple[Line, ...] = ()  # what stands below its first line

    def alike(self) -> tuple[object, ...]:
        """What the row has in common with those that are alike."""
        return _common_of(type(self))(self)  # type: ignore[arg-type]  # a class can be hashed: mypy asks its objects

    def plus(self, other: Self) -> Self:
        """The row with the sums of both; all else is that of this one."""
        both = {name: (getattr(self, name), getattr(other, name)) for name in self.SUMS}
        sums: dict[str, Any] = {name: a if a is None else a + (b or 0) for name, (a, b) in both.items()}
        return replace(self, **sums)


@cache
def _common_of(kind: type[ViewRow]) -> Callable[[ViewRow], tuple[object, ...]]:
    return attrgetter(*(known.name for known in fields(kind) if known.name not in kind.APART))


@dataclass(frozen=True, slots=True)
class TraceRowFacts(ViewRow):
    """One shown hop: title, what it is, how it is known.

    `inside` counts the frames below a row without children that are not shown, `frames` those that the row itself
    stands for.
    """

    hop: int
    title: str
    kind: str
    status: str
    hidden: int = 0
    inside: int = 0
    frames: int = 1

    def heading(self, *, counted: bool) -> tuple[Span, ...]:
        """Its first line: name, what it is, how it is known, its number, its instructions, what is not shown of it.

        Among counted frames, which are many, nothing is said of a native frame that was seen but its name.
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
        if self.inside:
            spans.append(Span(f"  +{self.inside}", "inside"))
        if self.hidden:
            spans.append(Span(f"  +{self.hidden} below", "below"))
        return tuple(spans)


@dataclass(frozen=True, slots=True)
class TraceRow(TraceRowFacts):
    """One shown hop, with the rows inside it."""

    APART: ClassVar = frozenset(("hop", "times", "instructions", "inside", "children", "shape"))
    SUMS: ClassVar = ("instructions", "inside")  # what is inside of it is counted in each of them

    children: tuple[TraceRow, ...] = ()
    shape: int = -1  # the same number as that of rows which are alike

    @property
    def beside(self) -> Line | None:
        """The place that stands beside its first line, where there is room."""
        return self.lines[0] if self.lines and self.lines[0].ref is not None else None

    @property
    def further(self) -> tuple[Line, ...]:
        """The lines that never stand beside the first."""
        return self.lines[1:] if self.beside is not None else self.lines

    @property
    def candidates(self) -> tuple[SourceRef, ...]:
        """The places that the one beside its first line can be, where there are several."""
        return self.beside.ref.candidates if self.beside is not None and self.beside.ref is not None else ()

    def brief(self, *, skew: bool) -> TraceRow:
        """The row, not those below it, without reasons that nobody needs beside so many: --explain gives them for one.

        With `skew` also without that for a place in a tree of another version, which is the same in all.
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
    """Whether a reason has a function's name in it, or the sentence of an older trace has."""
    held = tuple(within(reason))
    names = [each.name for each in held if isinstance(each, OfNamed)]
    return any("::" in text for text in (*names, *(each.sentence for each in held if isinstance(each, Said))))


@dataclass(frozen=True, slots=True)
class ScreenRow(ViewRow):
    """One row of a view that fits a screen: a step of the path, an operator, a module; or the heading of a section.

    `level` says how far it is inside of what stands above it. `share` is a part of the whole, 0 to 1, None where
    nothing was counted. `cells` stand under the headings of `TrailView.columns`. `opens` is what `--open` takes.
    """

    APART: ClassVar = frozenset(("hop", "opens", "lines", "times", "share", "instructions"))
    SUMS: ClassVar = ("share", "instructions", "times")

    name: str
    level: int = 0
    share: float | None = None
    own: float | None = None  # the part of its share that no row inside of it has; None where rows do not tell it
    cells: tuple[str, ...] = ()
    details: tuple[AnyDetail, ...] = ()  # what it is, or why it was chosen
    what: str = ""  # the same in words, once the row is part of a view
    place: SourceRef | None = None
    status: Status = "observed"
    hop: int | None = None
    opens: str = ""
    heading: bool = False
    is_rest: bool = False  # what the row around it did, and no other row in that
    is_closed: bool = False  # what is inside it is not shown: its place gives way where there is no room for both

    @property
    def mark(self) -> Mark:
        """How certain its place is, as a sign; nothing for a place that is certain."""
        return mark_of(self.place)

    @property
    def is_operator(self) -> bool:
        """Whether it is the row of an operator call."""
        return isinstance(next(iter(self.details), None), CalledOperator)

    @property
    def known(self) -> Status | None:
        """How its step is known, where its words begin with that."""
        first = next(iter(self.details), None)
        return first.status if isinstance(first, KnownAs) and not first.of_key else None


def in_words(rows: Iterable[ScreenRow]) -> tuple[ScreenRow, ...]:
    """The rows with what they say in words."""
    return tuple(replace(row, what=described(row.details)) for row in rows)


def mark_of(ref: SourceRef | None) -> Mark:
    """How certain a place is, as a sign; nothing for a place that is certain, and where no place is named."""
    if ref is None or ref.precision in ("registered", "located", "consistent"):
        return ""
    return "~" if ref.precision == "version-skew" else "?"


def percent(share: float | None) -> str:
    """A share in words: "43%"; never 0% for something, never 100% for less than all."""
    if share is None:
        return ""
    whole = round(share * 100)
    if share > 0 and whole == 0:
        return "<1%"
    return f"{99 if whole == 100 and share < 1 else whole}%"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command worth typing, and what it shows; or, of a Trail in Python, what is worth calling."""

    command: str
    shows: str = ""
    in_python: bool = False


@dataclass(frozen=True, slots=True)
class TrailViewFacts:
    """Everything a renderer needs of one view of a trace, but for the rows of a tree.

    `counted` tells whether rows have instructions. The view `tree` has `rows`, each other one has `table`.
    """

    title: str
    facts: tuple[str, ...]
    findings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    counted: bool = False
    next_steps: tuple[NextStep, ...] = field(default=())
    read: tuple[str, ...] = field(default=())  # commands that show the stops about these hops
    ending: tuple[Line, ...] = field(default=())  # what the expression raised, where and why
    view: ViewName = "tree"
    traced: TracedName = "expression"
    table: tuple[ScreenRow, ...] = ()
    columns: tuple[str, ...] = ()  # headings of the rows' cells
    name: str = "what ran"  # the heading of the rows' names
    told: str = WHAT_IT_IS  # the heading of what rows say of themselves
    legend: tuple[tuple[str, str], ...] = ()  # signs that this view uses: each with what it says


@dataclass(frozen=True, slots=True)
class TrailView(TrailViewFacts):
    """One view of a trace; the rows of a tree are within one another."""

    rows: tuple[TraceRow, ...] = ()


@dataclass(frozen=True, slots=True)
class LeveledRow(TraceRowFacts):
    """One shown hop; `level` says how far it is inside of what stands above it."""

    level: int = 0


@dataclass(frozen=True, slots=True)
class LeveledView(TrailViewFacts):
    """One view of a trace without nesting, since no reader of JSON goes as deep as code may call itself."""

    rows: tuple[LeveledRow, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedView:
    """A view as `--view NAME --json` prints it."""

    format: int = field(default=2, kw_only=True)  # in 1 the rows of a tree were within one another
    view: LeveledView


def leveled(view: TrailView) -> LeveledView:
    """The view with its tree's rows in reading order, each with its level."""
    rows = (
        LeveledRow(**{fact: getattr(row, fact) for fact in _ROW_FACTS}, level=level)
        for row, level in with_levels(view.rows)
    )
    return LeveledView(*(*_view_facts(view), tuple(rows)))


_ROW_FACTS = tuple(known.name for known in fields(TraceRowFacts))
_view_facts = attrgetter(*(known.name for known in fields(TrailViewFacts)))
