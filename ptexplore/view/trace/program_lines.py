"""The view `lines`: your source, with the cost of each line beside it. Lines that cost little are folded.

Lines of installed packages are shown only if `only` asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import details as says
from ptexplore.model import trace_remarks as beside
from ptexplore.model.details import Detail
from ptexplore.model.program import Program
from ptexplore.model.run import CARRIED, Weighed
from ptexplore.model.trace import Session, Trace
from ptexplore.resolve.places.precision import of_yours
from ptexplore.view.trace.amounts import seconds, size
from ptexplore.view.trace.around import about_this, explained, legend, title_of, to_legend
from ptexplore.view.trace.columns import AT_MOST, Column, cells, columns_of, time_of
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.line_figures import (
    NOTHING,
    LineFigures,
    LinePlace,
    LinesOfProgram,
    Measured,
    figures_of,
    in_order,
    names,
    shown_files,
    shown_functions,
    sum_of,
)
from ptexplore.view.trace.modules import uncounted
from ptexplore.view.trace.page import Options, ScreenRow, TraceView, in_words
from ptexplore.view.trace.part_rows import AT_LEAST
from ptexplore.view.trace.program_modules import on_device
from ptexplore.view.trace.program_parts import program_run, times_elsewhere
from ptexplore.view.words.trace_remarks import worded

FEW = 40  # up to so many lines, each has a row.
MOST = 60  # of more lines, at most so many have rows: the costliest.
MOST_ASKED_FOR = 300  # the same with `only`.
HOT = 0.01  # then a line with a row has at least this part of the run.
INDENT = " " * 7  # of a line's text, after its number
OWN = "self"  # the heading of the time outside of your other lines
_Given = tuple[LinePlace, LineFigures]


def program_lines(trace: Trace, options: Options, session: Session | None) -> TraceView:
    """Lays out the lines of a program, file by file, the costliest file first.

    Raises PtexploreError (usage) if no file and no function of the program has `options.only` in its name.
    """
    program = trace.recorded
    run = program_run(trace, session)
    lines = figures_of(program, shown_functions(program, options.only))
    wanted = [given for given in lines.figures.items() if _is_wanted(*given, options.only)]
    if options.only is not None and not wanted:
        raise _nothing_named(program, options.only)
    whole = replace(run.whole, cost=max(run.whole.cost, 1))
    shown = _costliest(wanted, whole, MOST if options.only is None else MOST_ASKED_FOR)
    columns = columns_of(run)
    text = {(source.file, line): words for source in program.sources for line, words in source.lines}
    table = _Table(columns, text, shown, shown_files(place.file for place, _ in wanted))
    rows = [row for _, given in _by_file(wanted) for row in table.file(given)]
    left = [] if options.only is not None else _rest(lines, run.whole.cost, table)
    facts = (
        beside.TorchRan(version=trace.torch.version, remarks=(beside.RunWithoutImports(time=time_of(run.whole)),)),
        *times_elsewhere(program),
    )
    shown_rows, headings = _used((*rows, *left), table.headings)
    remarks = (
        beside.LinesMean(),
        *([beside.TimesUnsure()] if any(cell.startswith(AT_MOST) for row in rows for cell in row.cells) else []),
        *(_without_text(wanted, text)),
        *(uncounted(run) if any(figures.whole.saved for _, figures in wanted) else ()),
        *on_device(program),
    )
    return TraceView(
        title=title_of(trace),
        traced=trace.traced.name,
        facts=about_this(facts),
        left_out=about_this(remarks),
        explained=explained(remarks),
        next_steps=to_legend(options),
        ending=ending_lines(trace, None),
        view="lines",
        table=in_words(shown_rows),
        columns=headings,
        name="line",
        told="",
        places_in_names=True,
        legend=legend(trace, ()),
    )


def _is_wanted(place: LinePlace, figures: LineFigures, only: str | None) -> bool:
    """Whether a line is one of those that were asked for. A function without work of its own has no row."""
    if place.function and figures.own == NOTHING:
        return False
    return only is None or names(place.file, figures.function, only)


def _nothing_named(program: Program, only: str) -> PtexploreError:
    files = dict.fromkeys(path.file.rpartition("/")[2] for path in program.paths if path.kind == "user" and path.file)
    why = f"the program ran functions of {', '.join(list(files)[:5]) or 'no file'}"
    return PtexploreError(
        f"no file and no function has {only} in its name", why, "--view lines shows all lines of yours", USAGE
    )


def _costliest(wanted: Sequence[_Given], whole: Weighed, most: int) -> frozenset[LinePlace]:
    """Returns the lines that have rows: all if they are few, else the costliest by any measure."""
    if len(wanted) <= FEW:
        return frozenset(place for place, _ in wanted)

    def part(given: _Given) -> float:
        figures = given[1]
        carried = ((getattr(figures.whole, weight), getattr(whole, weight)) for weight in CARRIED)
        measured = ((figures.whole.cost, whole.cost), (figures.whole.backward, whole.cost), *carried)
        return max(value / of if of else 0.0 for value, of in measured)

    hot = sorted(((part(given), given[0]) for given in wanted), key=lambda held: -held[0])
    return frozenset(place for share, place in hot[:most] if share >= HOT)


def _by_file(wanted: Sequence[_Given]) -> list[tuple[str, list[_Given]]]:
    """Returns the lines of each file in order, the costliest file first."""
    files: dict[str, list[_Given]] = {}
    for place, figures in wanted:
        files.setdefault(place.file, []).append((place, figures))
    costs = {file: sum(figures.own.cost for _, figures in given) for file, given in files.items()}
    ordered = sorted(files.items(), key=lambda held: -costs[held[0]])
    by_place = {file: dict(given) for file, given in ordered}
    return [(file, [(place, known[place]) for place in in_order(known)]) for file, known in by_place.items()]


@dataclass(frozen=True, slots=True)
class _Table:
    """Makes the rows: with these columns, the text of lines by file and number, the lines with rows, names of files."""

    columns: tuple[Column, ...]
    text: dict[tuple[str, int], str]
    shown: frozenset[LinePlace]
    names: dict[str, str]

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the cells. The time outside of your other lines is beside the time."""
        first, *others = (column.heading for column in self.columns)
        return (first, OWN, *others)

    def file(self, given: Sequence[_Given]) -> Iterator[ScreenRow]:
        """Yields the rows of a file: its sums, its lines, and a row for each group of lines without rows."""
        file = given[0][0].file
        yield ScreenRow(
            self.names[file],
            cells=self.sums_of(given),
            heading=True,
            place=of_yours(file, 1),
        )
        for has_row, group in groupby(given, key=lambda held: held[0] in self.shown):
            held = list(group)
            if has_row:
                yield from (self.line(place, figures) for place, figures in held)
            else:
                yield ScreenRow(f"{INDENT}{worded(beside.MoreLines(few=len(held)))}", cells=self.sums_of(held))

    def sums_of(self, given: Sequence[_Given]) -> tuple[str, ...]:
        """Formats the sums over several lines."""
        own = sum_of(figures.of_own for _, figures in given)
        time, cost, *others = self.sums(own.known)
        return (time, _signed(cost, own), *others)

    def sums(self, own: Weighed) -> tuple[str, ...]:
        """Formats a sum over several lines. It has no time: the time of one line can contain the time of another."""
        return ("", *("" if cell == "0" else cell for cell in cells(self.columns, own)))

    def line(self, place: LinePlace, figures: LineFigures) -> ScreenRow:
        """Returns the row of a line, or of a function."""
        words = self.text.get((place.file, place.line), "")
        is_module = figures.function == "<module>" and place.function != ""
        in_function = figures.function if is_module else f"in {figures.function}"
        details: tuple[Detail, ...] = (says.OnNoLine(syntax=figures.by_syntax),) if place.function else ()
        details = (*details, *_what_else(figures))
        without = ("backward",) if figures.runs_nodes else ()
        time, *others = cells(self.columns, figures.whole if not place.function else figures.own, *without)
        own, *_ = cells(self.columns, figures.own)
        time, own = _signed(time, figures.of_whole), _signed(own, figures.of_own)
        sign = AT_LEAST if figures.at_least else ""
        shown = ("" if place.function else time, own, *others)
        if place.function:
            shown = tuple("" if cell == "0" else cell for cell in shown)
        return ScreenRow(
            f"{'' if is_module else place.line:>5}  {words if words and not is_module else in_function}".rstrip(),
            cells=tuple(f"{sign}{cell}" if cell else "" for cell in shown),
            details=details,
            place=of_yours(place.file, place.line),
        )


def _what_else(figures: LineFigures) -> Iterator[Detail]:
    """Yields what a line did that costs more than it shows: compiling, reads of values, copies."""
    if figures.compiled:
        yield says.CompiledTimes(sum(figures.compiled.values()))
    if figures.of_own.compiling:
        yield says.Compiling(seconds(figures.of_own.compiling))
    if figures.reads:
        yield says.ReadsValues(calls=tuple(says.CalledTimes(*each) for each in figures.reads.most_common()))
    if figures.copies:
        copies = figures.copies.most_common()
        yield says.CopiesData(
            calls=tuple(says.CalledTimes(name, count, size(figures.copied[name])) for name, count in copies)
        )


def _signed(cell: str, measured: Measured) -> str:
    """Returns the cell of a cost, with a sign if the cost is a bound."""
    return f"{AT_MOST}{cell}" if cell and measured.is_bound else cell


def _rest(lines: LinesOfProgram, whole: int, table: _Table) -> list[ScreenRow]:
    """Returns the rows for everything that ran on no line of yours: in the main thread, and in others."""
    main = lines.of_rest.known
    main = replace(main, cost=main.cost + max(whole - lines.main, 0))
    rests = ((main, beside.OnNoLineOfYours()), (lines.of_threads.known, beside.InThreadsOnNoLine()))
    return [
        ScreenRow(f"{INDENT}{worded(what)}", cells=table.sums(rest), is_rest=True)
        for rest, what in rests
        if rest != NOTHING
    ]


def _used(rows: Sequence[ScreenRow], headings: tuple[str, ...]) -> tuple[tuple[ScreenRow, ...], tuple[str, ...]]:
    """Returns the rows and the headings without the columns in which no row has anything."""
    used = [number for number in range(len(headings)) if any(row.cells[number] not in ("", "0") for row in rows)]
    cut = tuple(replace(row, cells=tuple(row.cells[number] for number in used)) for row in rows)
    return cut, tuple(headings[number] for number in used)


def _without_text(wanted: Sequence[_Given], text: dict[tuple[str, int], str]) -> Iterator[beside.TextNotKept]:
    """Names the files whose text is not in the trace."""
    with_text = {file for file, _ in text}
    files = dict.fromkeys(place.file.rpartition("/")[2] for place, _ in wanted if place.file not in with_text)
    if files:
        yield beside.TextNotKept(files=tuple(files))
