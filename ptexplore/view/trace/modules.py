"""The view `modules`: the parts of what ran, with their time, saved bytes and backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import details as says
from ptexplore.model import trace_remarks as beside
from ptexplore.model.nesting import Unrolling, each, unrolled, with_levels
from ptexplore.model.run import OwnOperators, Part, Run, Weighed, total
from ptexplore.model.trace import Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.source.runtime.describe import release_of
from ptexplore.view.trace.amounts import size
from ptexplore.view.trace.around import about_this, explained, legend, to_legend, typed
from ptexplore.view.trace.columns import Column, cells, columns_of, of_part
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.page import WHAT_IT_IS, NextStep, Options, ScreenRow, TraceView, in_words
from ptexplore.view.words.details import described
from ptexplore.view.words.trace_remarks import all_in_words, worded

NODES = 4  # nodes of backward that have rows: the costliest
FEW, LISTED = 8, 24  # rows: with at most FEW, operators get rows too if all fit into LISTED
NOTICED = 0.2  # of a part's own work: from this share on, Python is named beside the operators
NOTHING = 0.001  # from this share on, a part that called no operator is shown
LEAST_NAMED = 0.01  # from this share on, the line about the costliest operators names one
COSTLIEST = 4  # at most so many operators are named in that line
LEAST = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # the least share of a part with a row; tried in turn
OWN_ROW = 0.005  # from this share on, an operator that a program's part called itself has a row
AT_LEAST = "≥"
TELLS_NO_SAVED = (2, 6)  # the newest release known not to say what a node saved without unpacking it


@dataclass(frozen=True, slots=True, kw_only=True)
class AroundParts:
    """The text around the rows for one kind of trace. `most`: so many rows fit a screen together with that text."""

    most: int
    facts: tuple[TraceRemark, ...]
    findings: tuple[TraceRemark, ...]
    measured: tuple[TraceRemark, ...]  # what the costs measure
    further: tuple[TraceRemark, ...] = ()
    details_heading: str = WHAT_IT_IS


def modules_view(
    trace: Trace, options: Options, run: Run, around_of: Callable[[Part], AroundParts]
) -> TraceView | None:
    """Returns the parts of what ran, as many as fit. `around_of` returns the text around the rows of one part.

    `options.opened` may name an operator and no part. The result is then None. If this view was asked for by name,
    PtexploreError (usage) is raised instead.
    """
    root = run.whole if options.opened is None else _part(run.whole, options.opened)
    if root is None:
        if options.view is None:
            return None
        raise _no_part(run.whole, options.opened or "")
    around = around_of(root)
    each_call = trace.traced.each_call
    shown = Shown(run, columns_of(run), opened=options.opened is not None, each_call=each_call)
    rows, hidden = fitting(root, shown, around.most)
    if each_call and len(rows) <= FEW and not hidden:
        listed, _ = fitting(root, replace(shown, lists=True), around.most)
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
        facts=all_in_words(around.facts),
        findings=all_in_words(around.findings),
        left_out=about_this(remarks),
        explained=explained(remarks),
        ending=ending_lines(trace, None),
        counted=each_call and run.whole.cost > 0,
        next_steps=(*_next_steps(trace, root, options, run, each_call=each_call), *to_legend(options)),
        view="modules",
        table=in_words(rows),
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


def _used(columns: tuple[str, ...], rows: tuple[ScreenRow, ...]) -> tuple[tuple[str, ...], tuple[ScreenRow, ...]]:
    """Returns the columns that say something in some row, and the rows with only these columns.

    The column of calls is left out if every row is called once.
    """
    nothing = {"calls": ("", "1")}
    used = [n for n, name in enumerate(columns)
            if any(row.cells[n] not in nothing.get(name, ("",)) for row in rows if n < len(row.cells))]  # fmt: skip
    cut = tuple(replace(row, cells=tuple(row.cells[n] for n in used if n < len(row.cells))) for row in rows)
    return tuple(columns[n] for n in used), cut


def _part(whole: Part, name: str) -> Part | None:
    """Returns the part with that name, or whose name ends with it; None if there is none."""
    parts = [(part, (part.name, *part.names, part.type, row)) for part, row in _with_row_names(whole)]
    part_named = next((part for part, names in parts if name in names), None)
    ends = (part for part, names in parts if any((known or "").endswith(f".{name}") for known in names))
    return part_named or next(ends, None)


def _with_row_names(whole: Part) -> Iterator[tuple[Part, str]]:
    """Yields a part and all parts inside, each with the name in its row."""
    pending = [(whole, "")]
    while pending:
        part, module = pending.pop()
        yield part, _names(part, module)
        around = part.name if part.kind == "module" else module
        pending += [(inner, around) for inner in reversed(part.parts)]


def _no_part(whole: Part, name: str) -> PtexploreError:
    known = ", ".join(dict.fromkeys(part.name for part in list(whole.walk())[1:6]))
    return PtexploreError(
        f"nothing here has the name {name}", f"there is {known}, …", "--view modules shows them", USAGE
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """What all rows of a table of parts have in common: the run, the columns, the least share that has a row.

    `opened`: every operator has a row. `each_call`: every call is known. Operators are then named, with the number of
    their calls beside the name.
    """

    run: Run
    columns: tuple[Column, ...]
    least: float = 0.0
    opened: bool = False
    each_call: bool = False
    lists: bool = False  # operators of an innermost part have rows, if a line cannot name them all
    deepest: int | None = None  # the last level with rows, if no cost says which parts to leave out

    @property
    def wall(self) -> int:
        """The cost of the whole, which shares are fractions of."""
        return max(self.run.whole.cost, 1)

    def has(self, part: Part) -> bool:
        """Whether a part has a row: its share is large enough, and it called an operator or took noticeable time."""
        share = part.cost / self.wall
        return share >= self.least and (part.operators > 0 or share >= NOTHING)

    def goes_below(self, level: int) -> bool:
        """Whether parts inside a part on this level may have rows."""
        return self.deepest is None or level < self.deepest

    def share(self, cost: int) -> float | None:
        """Returns the share of the whole.

        None if nothing was measured, for example in another thread or after a cut.
        """
        return cost / self.wall if not self.each_call or (cost and self.wall > 1) else None


def fitting(root: Part, shown: Shown, most: int) -> tuple[tuple[ScreenRow, ...], int]:
    """Returns the rows of a part and of all parts inside, and how many parts are left out, the cheapest first."""
    rows: tuple[ScreenRow, ...] = ()
    for less in _ever_less(root, shown):
        shown = less
        imports = (part for part in root.parts if part.kind == "imports" and shown.has(part))
        rows = tuple(_rows((*imports, root), shown))
        if len(rows) <= most:
            break
    return rows[:most], _hidden(root, shown) + max(len(rows) - most, 0)


def _ever_less(root: Part, shown: Shown) -> Iterator[Shown]:
    """Yields ways to show less of a part: without the cheapest parts, or, if no cost is known, without the deepest."""
    if root.cost:
        yield from (replace(shown, least=least) for least in LEAST)
        return
    yield shown
    depth = max(level for _, level in with_levels([root]))
    yield from (replace(shown, deepest=level) for level in range(depth - 1, 0, -1))


def _rows(parts: Iterable[Part], shown: Shown) -> list[ScreenRow]:
    """Returns the rows of parts and of all parts inside."""
    rows: list[ScreenRow] = []
    unrolled(each(_add_rows(rows, part, "", shown, 0) for part in parts))
    return rows


def _add_rows(rows: list[ScreenRow], part: Part, module: str, shown: Shown, level: int) -> Unrolling[None]:
    """Adds the rows of a part and of all parts inside. `module` is the name of the innermost module around it."""
    inside = [inner for inner in part.parts if inner.kind != "imports"] if shown.goes_below(level) else []
    own = _with_rows(part, shown) if shown.goes_below(level) else {}
    lists_operators = shown.each_call and not (inside or own or shown.opened or part.kind == "backward")
    row = ScreenRow(
        name=_names(part, module),
        level=level,
        share=shown.share(part.cost) if part.kind != "imports" else None,
        cells=of_part(shown.columns, part, AT_LEAST),
        details=(
            *((_operators(part.own or part.parts),) if lists_operators and _says_more(part) else ()),
            *part.choices,
        ),
        place=part.source,
        times=max(len(part.names), 1),
        opens=part.name,
    )
    rows.append(row)
    items: list[Part | OwnOperators] = [*(inner for inner in inside if shown.has(inner)), *own.values()]
    for item in sorted(items, key=lambda item: (isinstance(item, Part) and item.kind == "thread", item.first)):
        if isinstance(item, Part):
            yield _add_rows(rows, item, part.name if part.kind == "module" else module, shown, level + 1)
        else:
            rows.append(_operator_row(item, shown, level + 1))
    if part.kind == "backward":
        rows += _rest_of_backward(part, own, shown, level + 1) if items else ()
    elif inside or own:
        rows += _rest_row(part, own, shown, level + 1)


def _with_rows(part: Part, shown: Shown) -> dict[str, OwnOperators]:
    """Returns the operators and nodes that a part called itself and that have rows between the rows of its parts.

    Cheap ones have none. In backward, only the costliest nodes have rows.
    """
    if shown.opened or part.kind == "backward":
        own = part.own if shown.opened else part.own[:NODES]
        return {operators.name: operators for operators in own if operators.cost / shown.wall >= shown.least}
    if shown.lists and not part.parts and len(part.own) >= NODES:
        return {own.name: own for own in part.own}
    if not part.parts or _overlap(part):
        return {}
    if shown.each_call:
        return {own.name: own for own in part.own if own.cost / shown.wall >= shown.least}
    least = max(shown.least, OWN_ROW)
    most = LEAST_NAMED * shown.run.whole.saved
    named = (own for own in part.own if own.cost / shown.wall >= least or own.saved > most > 0)
    return {own.name: own for own in named}


def _overlap(part: Part) -> bool:
    """Whether a part's own operators took more time than the part itself: one called another through Python."""
    return total(part.own).cost > part.cost


def _rest_of_backward(
    part: Part, shown_own: Mapping[str, OwnOperators], shown: Shown, level: int
) -> Iterator[ScreenRow]:
    """Yields rows for the rest of backward: the other nodes, then the time outside all nodes and parts."""
    rest = [own for own in part.own if own.name not in shown_own]
    if rest:
        figures = cells(shown.columns, total(rest), "backward", *_without_calls(shown))
        name = worded(beside.MoreKinds(few=len(rest)))
        yield ScreenRow(name, level, cells=figures, share=shown.share(total(rest).cost))
    between = part.cost - total(part.own).cost - total(part.parts).cost
    if between >= NOTHING * shown.wall:
        figures = cells(shown.columns, Weighed(cost=between), "calls")
        name = worded(beside.RestOfBackward())
        yield ScreenRow(name, level, cells=figures, share=shown.share(between), is_rest=True)


def _without_calls(shown: Shown) -> tuple[str, ...]:
    """Returns the weights that a row of operators leaves out.

    In an expression, the number of calls is beside the name.
    """
    return ("calls",) if shown.each_call else ()


def _hidden(part: Part, shown: Shown) -> int:
    """Returns how many parts inside a part have no row."""

    def goes_in(inner: Part, level: int) -> bool:
        return shown.has(inner) and shown.goes_below(level)

    left = (inner for inner, level in with_levels(part.parts, goes_in) if not goes_in(inner, level))
    return sum(1 for inner in left for _ in inner.walk())


def _rest_row(part: Part, shown_own: Mapping[str, OwnOperators], shown: Shown, level: int) -> Iterator[ScreenRow]:
    """Yields the row for the rest of a part: its own operators without rows, and Python."""
    inside = [inner for inner in part.parts if inner.kind not in ("imports", "thread")]  # their time is apart
    own = [own for own in part.own if own.name not in shown_own]
    with_rows = total(inside).cost + total(shown_own.values()).cost
    time = max(part.cost - with_rows, 0 if _overlap(part) else total(own).cost)
    if not own and time < NOTHING * shown.wall:
        return
    figures = cells(shown.columns, replace(total(own), cost=time), *(_without_calls(shown) if own else ("calls",)))
    python = time - total(own).cost
    names = [described((_operators(own),))] if own else []
    if python > time * NOTICED or not names:  # named if it took most of the time, or much
        names.insert(0 if 2 * python > time else len(names), "Python")
    name = worded(beside.RestIs(names=tuple(names)))
    yield ScreenRow(name=name, level=level, share=shown.share(time), cells=figures, opens=part.name, is_rest=True)


def _operators(given: Sequence[OwnOperators | Part]) -> says.Names:
    """Returns the names of a part's own operators, the costliest first; or the names of its parts."""
    return says.Names(names=tuple(own.name for own in given[: NODES - 1]), more=len(given) >= NODES)


def _says_more(part: Part) -> bool:
    """Whether the names of a part's operators say more than the name of its class."""
    names = [own.name.replace("_", "") for own in part.own]
    return names != [(part.type or "").rpartition(".")[2].lower()]


def _operator_row(own: OwnOperators, shown: Shown, level: int) -> ScreenRow:
    figures = cells(shown.columns, own, *_without_calls(shown))
    share = shown.share(own.cost) if own.cost else None  # otherwise its time is in the time of the row around it
    times = own.calls if shown.each_call else 1
    return ScreenRow(own.name, level, share=share, cells=figures, times=times, opens=own.name)


def _names(part: Part, module: str) -> str:
    """Returns the name of a part within the module around it; for alike parts, the first and the last name."""
    names = [name.removeprefix(f"{module}.") if part.kind == "module" else name for name in part.names or (part.name,)]
    if part.kind == "imports":
        return f"imports  {worded(beside.Modules(count=part.calls))}"
    if part.kind == "module" and not part.name:
        return part.type or "module"
    name = ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}"
    return f"{name}  {part.type}" if part.kind == "module" and part.type else name


def costliest(root: Part, run: Run, *, has_nodes: bool) -> Iterator[TraceRemark]:
    """Yields one line with the costliest operators and nodes of backward."""
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
    may_open = ("module",) if each_call else ("user", "module", "backward", "optimizer", "data", "thread")
    parts = [part for part in root.walk() if part.own and part.kind in may_open and part is not root]
    times = Counter(part.name for part in parts)
    alone = (part for part in parts if times[part.name] == 1 and part.name)
    widest = max(alone, key=lambda part: part.own_cost, default=None)
    if widest is not None:
        to_step = each_call and run.unit != "instructions"  # `--open` then steps an operator of it
        yield typed(options, beside.InsideOf(name=widest.name), "--open", widest.name, runs=to_step)
    yield typed(options, beside.OperatorsBy(cost=bool(run.unit)), "--view", "operators")
