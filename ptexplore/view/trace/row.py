"""Rows of a trace, and what is done with rows whatever they show: join repeats, cut at a depth, search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ptexplore.model.places import SourceRef
from ptexplore.view.line import Line, Span


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One shown hop: title, what it is, how it is known, its lines; `times` equal rows are shown as one.

    `instructions` are those from entry to exit, of all the joined rows; `inside` counts the frames below a row without
    children that are not shown, `frames` those that the row itself stands for.
    """

    hop: int
    title: str
    kind: str
    status: str
    lines: tuple[Line, ...] = ()
    children: tuple[TraceRow, ...] = ()
    times: int = 1
    hidden: int = 0
    instructions: int | None = None
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
        """The row without reasons that nobody needs beside so many others: those that --explain gives for one frame.

        With `skew` also without that for a place in a tree of another version, which is the same in all.
        """
        dropped = ("ambiguous", "unknown", *(("version-skew",) if skew else ()))
        lines = tuple(self._without_reason(line, dropped) for line in self.lines)
        return replace(self, lines=lines, children=tuple(child.brief(skew=skew) for child in self.children))

    def _without_reason(self, line: Line, dropped: tuple[str, ...]) -> Line:
        ref = line.ref
        if ref is None or ref.reason is None or ref.precision not in dropped:
            return line
        said = ref.precision == "version-skew" or (self.kind == "native" and "::" in ref.reason)  # its own name again
        return replace(line, ref=replace(ref, reason=None)) if said else line


def joined(rows: Iterable[TraceRow], *, full: bool) -> tuple[TraceRow, ...]:
    """Runs of equal rows become one row with a count and the sum of their instructions.

    With `full`, rows that have others below them are equal only where every count is.
    """
    out: list[TraceRow] = []
    for row in rows:
        if out and _shape(out[-1], exact=full) == _shape(row, exact=full):
            out[-1] = replace(_sum(out[-1], row), times=out[-1].times + row.times)
        else:
            out.append(row)
    return tuple(out)


def _shape(row: TraceRow, *, exact: bool) -> TraceRow:
    """A row without what may differ between equal rows."""
    children = tuple(replace(_shape(child, exact=exact), times=child.times) for child in row.children)
    counts = (row.instructions, row.inside) if exact and row.children else (None, 0)
    return replace(row, hop=0, times=1, children=children, instructions=counts[0], inside=counts[1])


def _sum(one: TraceRow, other: TraceRow) -> TraceRow:
    """Two equal rows as one; the first one's number stands for both."""
    children = tuple(_sum(*pair) for pair in zip(one.children, other.children, strict=True))
    total = None if one.instructions is None else one.instructions + (other.instructions or 0)
    return replace(one, instructions=total, inside=one.inside + other.inside, children=children)


def shown_frames(rows: Iterable[TraceRow]) -> int:
    """How many frames these rows stand for, with those below them."""
    counted = 0
    for row in rows:
        own = row.frames if row.instructions is not None else 0
        counted += row.times * (own + shown_frames(row.children))
    return counted


def only(rows: Iterable[TraceRow], wanted: str) -> tuple[TraceRow, ...]:
    """Rows whose title or place holds the text, with the rows that lead to them."""
    out = []
    for row in rows:
        children = only(row.children, wanted)
        places = " ".join(line.ref.path or "" for line in row.lines if line.ref)
        if wanted in row.title.lower() or wanted in places.lower():
            out.append(row)
        elif children:
            out.append(replace(row, children=children, lines=()))
    return tuple(out)


def cut(row: TraceRow, depth: int) -> TraceRow:
    """A row with at most so many levels."""
    if depth <= 1:
        return replace(row, children=(), hidden=row.hidden + _rows(row.children))
    return replace(row, children=tuple(cut(c, depth - 1) for c in row.children))


def _rows(rows: Iterable[TraceRow]) -> int:
    return sum(1 + _rows(r.children) for r in rows)
