"""The view `modules`: the parts of what ran, with their time, saved bytes and backward."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import trace_remarks as beside
from ptexplore.model.run import Part, Run
from ptexplore.model.trace import Trace, program_in, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.source.runtime.describe import release_of
from ptexplore.view.trace.amounts import size
from ptexplore.view.trace.around import about_this, explained, legend, to_legend, typed
from ptexplore.view.trace.columns import AT_MOST, OF_COST, columns_of
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.page import WHAT_IT_IS, NextStep, Options, ScreenRow, TraceView, in_words
from ptexplore.view.trace.part_rows import AT_LEAST, Shown, fitting, row_name
from ptexplore.view.words.trace_remarks import all_in_words, worded

FEW, LISTED = 8, 24  # rows: with at most FEW, operators get rows too if all fit into LISTED
LEAST_NAMED = 0.01  # least share of an operator in the line about the costliest.
COSTLIEST = 4  # at most so many operators are named in that line
OTHERS = 3  # other parts with the opened name that are named
TELLS_NO_SAVED = (2, 6)  # the newest release known not to say what a node saved without unpacking it


@dataclass(frozen=True, slots=True, kw_only=True)
class AroundParts:
    """The text around the rows for one kind of trace. `most`: so many rows fit a screen together with that text."""

    most: int
    facts: tuple[TraceRemark, ...]
    findings: tuple[TraceRemark, ...]
    measured: tuple[TraceRemark, ...]  # what the costs measure
    further: tuple[TraceRemark, ...] = ()
    further_rows: tuple[ScreenRow, ...] = ()  # rows below the parts, of another kind
    details_heading: str = WHAT_IT_IS


def modules_view(
    trace: Trace, options: Options, run: Run, around_of: Callable[[Part], AroundParts]
) -> TraceView | None:
    """Returns the parts of what ran, as many as fit. `around_of` returns the text around the rows of one part.

    `options.opened` may name an operator and no part. The result is then None. If this view was asked for by name,
    PtexploreError (usage) is raised instead.
    """
    matches = _matches(run.whole, options.opened) if options.opened is not None else [_Match(run.whole)]
    if not matches:
        if options.view is None:
            return None
        raise _no_part(run.whole, options.opened or "")
    root = matches[0].part
    around = around_of(root)
    each_call = trace.traced.each_call
    shown = Shown(run, columns_of(run), root, opened=options.opened is not None, each_call=each_call)
    rows, hidden = fitting(shown, around.most)
    if each_call and len(rows) <= FEW and not hidden:
        listed, _ = fitting(replace(shown, lists=True), around.most)
        rows = listed if len(listed) <= LISTED else rows
    columns = tuple(column.heading for column in shown.columns)
    columns, rows = _used(columns, rows) if each_call else (columns, rows)
    remarks = (
        *_hidden_parts(hidden, root),
        *around.measured,
        *_order(root, rows),
        *backward_and_saved(trace, root),
        *uncounted(run),
        *costliest(root, run, has_nodes=has_nodes(trace, root)),
        *around.further,
    )
    return TraceView(
        title=run.whole.name,
        traced=trace.traced.name,
        facts=all_in_words((*around.facts[:1], *_opened(matches, run, options, each_call), *around.facts[1:])),
        findings=all_in_words(around.findings),
        left_out=about_this(remarks),
        explained=explained(remarks),
        ending=ending_lines(trace, None),
        counted=each_call and run.whole.cost > 0,
        next_steps=(*_next_steps(trace, root, options, run, each_call=each_call), *to_legend(options)),
        view="modules",
        table=in_words((*rows, *around.further_rows)),
        columns=columns,
        told=around.details_heading,
        legend=legend(trace, rows),
    )


def _hidden_parts(hidden: int, root: Part) -> Iterator[TraceRemark]:
    if hidden:
        yield beside.PartsHidden(few=hidden, costs=root.cost > 0)


def _order(root: Part, rows: Sequence[ScreenRow]) -> Iterator[TraceRemark]:
    """Explains the order of the rows, the last row inside a row, and the sign beside figures."""
    if any(row.level for row in rows):
        has_threads = any(part.kind == "thread" for part in root.walk())
        yield beside.RowsOrdered(rest=any(row.is_rest for row in rows), threads=has_threads)
    if any(AT_LEAST in cell for row in rows for cell in row.cells):
        yield beside.FurtherCalls()
    if any(cell.startswith(AT_MOST) for row in rows for cell in row.cells):
        yield beside.TimesUnsure()


def _used(columns: tuple[str, ...], rows: tuple[ScreenRow, ...]) -> tuple[tuple[str, ...], tuple[ScreenRow, ...]]:
    """Returns the columns that say something in some row, and the rows with only these columns.

    The column of calls is left out if every row is called once.
    """
    nothing = {"calls": ("", "1")}
    used = [n for n, name in enumerate(columns)
            if any(row.cells[n] not in nothing.get(name, ("",)) for row in rows if n < len(row.cells))]  # fmt: skip
    cut = tuple(replace(row, cells=tuple(row.cells[n] for n in used if n < len(row.cells))) for row in rows)
    return tuple(columns[n] for n in used), cut


@dataclass(frozen=True, slots=True)
class _Match:
    """A part that a name means, and the function around it."""

    part: Part
    inside: str = ""

    @property
    def name(self) -> str:
        """The name of the part; for a module without one, its class."""
        return self.part.name or self.part.type or ""


def _matches(whole: Part, name: str) -> list[_Match]:
    """Returns the parts with that name, the costliest first; if there is none, those whose name ends with it."""
    parts = [(match, (match.part.name, *match.part.names, match.part.type, row)) for match, row in _named(whole)]
    exact = [match for match, names in parts if name in names]
    ends = (match for match, names in parts if any((known or "").endswith(f".{name}") for known in names))
    return sorted(exact or ends, key=lambda match: -match.part.cost)


def _named(whole: Part) -> Iterator[tuple[_Match, str]]:
    """Yields a part and all parts inside, each with the function around it and with the name in its row."""
    pending = [(whole, "", "")]
    while pending:
        part, module, function = pending.pop()
        yield _Match(part, function), row_name(part, module)
        is_module = part.kind == "module"
        around = (part.name if is_module else module, function if is_module else part.name)
        pending += [(inner, *around) for inner in reversed(part.parts)]


def _opened(matches: Sequence[_Match], run: Run, options: Options, each_call: bool) -> Iterator[TraceRemark]:
    """Yields the opened part with its time, which shares are fractions of, and the other parts with that name."""
    if options.opened is None:
        return
    opened, written = matches[0], OF_COST[run.unit][1]
    if not each_call and run.whole.cost:
        costs = (written(opened.part.cost), written(run.whole.cost))
        yield beside.OpenedPart(name=opened.name, inside=opened.inside, time=costs[0], of=costs[1])
    within = {id(part) for part in opened.part.walk()}
    others = [match for match in matches[1:] if id(match.part) not in within]
    if others:
        shown = tuple(
            beside.OtherMatch(name=other.name, inside=other.inside, cost=written(other.part.cost) if run.unit else "")
            for other in others[:OTHERS]
        )
        more = (beside.More(few=len(others) - OTHERS),) if len(others) > OTHERS else ()
        yield beside.OtherMatches(others=(*shown, *more))


def _no_part(whole: Part, name: str) -> PtexploreError:
    known = ", ".join(dict.fromkeys(part.name for part in list(whole.walk())[1:6]))
    return PtexploreError(
        f"nothing here has the name {name}", f"there is {known}, …", "--view modules shows them", USAGE
    )


def costliest(root: Part, run: Run, *, has_nodes: bool) -> Iterator[TraceRemark]:
    """Yields one line with the costliest operators and nodes of backward."""
    if root.at_most:
        return
    costs: dict[str, int] = {}
    for part in root.walk():
        for own in part.own:
            costs[own.name] = costs.get(own.name, 0) + own.cost
    within = [item for item in costs.items() if item[1] <= root.cost]  # a larger cost means that its runs were nested
    first = sorted(within, key=lambda item: -item[1])[:COSTLIEST]
    named = [(name, cost) for name, cost in first if cost >= LEAST_NAMED * max(root.cost, 1)]
    shares = tuple(beside.ShareOf(name=name, share=f"{cost / root.cost:.0%}") for name, cost in named)
    if shares:
        yield beside.Costliest(nodes=has_nodes, instructions=run.unit == "instructions", shares=shares)


def runs_nodes_itself(trace: Trace) -> bool:
    """Whether an expression ran nodes of backward itself, for example with torch.autograd.grad()."""
    nodes = (hop for hop in walk(trace.hops) if hop.kind == "node" and hop.phase == "forward")
    return trace.traced.each_call and any(hop.node is None or not hop.node.recorded for hop in nodes)


def has_nodes(trace: Trace, root: Part) -> bool:
    """Whether the rows include nodes of backward."""
    return runs_nodes_itself(trace) or any(part.kind == "backward" for part in root.walk())


def backward_and_saved(trace: Trace, root: Part) -> Iterator[TraceRemark]:
    """Explains the columns `backward` and `saved`, if they have figures."""
    backward = any(part.backward for part in root.walk())
    if backward:
        yield beside.BackwardMeans(own=runs_nodes_itself(trace))
    if any(part.saved for part in root.walk()):
        yield beside.SavedMeans()
    elif backward and release_of(trace.torch.version) <= TELLS_NO_SAVED:
        yield beside.SavedUnknown()


def uncounted(run: Run) -> Iterator[TraceRemark]:
    """Yields remarks on memory that was saved for backward and is in no row."""
    held = run.unweighed
    if held.backwards is not None:
        yield beside.SavedInFirst(backwards=_first_backwards(held.backwards))
    if held.elsewhere:
        yield beside.SavedElsewhere(size=size(held.elsewhere))
    if held.in_slices:
        yield beside.SavedInSlices()
    if held.packed:
        yield beside.SavedPacked(tensors=beside.SavedTensors(count=held.packed))
    if held.unread:
        yield beside.SavedUnread(tensors=beside.SavedTensors(count=held.unread))
    if held.silent:
        yield beside.SavedSilent(count=held.silent)


def _first_backwards(counts: tuple[int, int]) -> beside.FirstBackwards:
    return beside.FirstBackwards(seen=str(counts[0]), of=str(counts[1]))


def saved_for_backward(run: Run) -> beside.SavedForBackward | None:
    """Returns how much is kept for backward, for the facts above a table; None if nothing is kept."""
    saved, held = run.whole.saved + run.unweighed.elsewhere, run.unweighed
    partly = _first_backwards(held.backwards) if held.backwards else None
    kept = beside.SavedForBackward(size=size(saved), at_least=held.is_unknown, backwards=partly)
    return kept if saved else None


def _next_steps(trace: Trace, root: Part, options: Options, run: Run, *, each_call: bool) -> Iterator[NextStep]:
    """Yields two commands: open the part that did most itself (or explain the error), and the view of operators.

    In an expression, only modules open.
    """
    if trace.ending is not None:
        yield typed(options, beside.HowThatIsKnown(), "--explain", "error")
        yield typed(options, beside.OperatorsBy(cost=bool(run.unit)), "--view", "operators")
        return
    ran = program_in(trace.expression)
    if ran is not None and any(part.kind == "compiling" for part in root.walk()):
        program = ("-m", ran.module) if ran.module else ("--script", ran.script)
        arguments = ("--", *ran.arguments) if ran.arguments else ()
        yield NextStep(shlex.join(("ptexplore", "compile", *program, *arguments)), worded(beside.WhatWasCompiled()))
    may_open = ("module",) if each_call else ("user", "library", "module", "backward", "optimizer", "data", "thread")
    parts = [part for part in root.walk() if part.own and part.kind in may_open and part is not root and part.name]
    widest = max(parts, key=lambda part: part.own_cost, default=None)
    if widest is not None and _matches(run.whole, widest.name)[0].part is not widest:
        widest = None
    if widest is not None:
        to_step = each_call and run.unit != "instructions"  # `--open` then steps an operator of it
        yield typed(options, beside.InsideOf(name=widest.name), "--open", widest.name, runs=to_step)
    yield typed(options, beside.OperatorsBy(cost=bool(run.unit)), "--view", "operators")
