"""The operators of a recorded program by cost: how often, how long, which keys, which kernel, from which lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ptexplore.model import details as says
from ptexplore.model.details import Detail
from ptexplore.model.places import SourceRef
from ptexplore.model.program import OperatorCalls, OperatorKind, Program
from ptexplore.model.run import Weighed
from ptexplore.model.trace import Hop, Trail, walk
from ptexplore.view.trace.amounts import seconds
from ptexplore.view.trace.around import findings, legend, typed
from ptexplore.view.trace.columns import Column, cells, columns_of
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.lines import run_formulas
from ptexplore.view.trace.modules import on_device as told_of_device
from ptexplore.view.trace.modules import script_name, uncounted_of
from ptexplore.view.trace.operators import kernel_of, of_launches, way_of
from ptexplore.view.trace.page import Options, ScreenRow, TrailView, in_words
from ptexplore.view.trace.program_parts import (
    LAUNCH,
    NODES,
    beside,
    calls_python,
    has_row,
    is_function,
    launches,
    operator_name,
    run_of,
    time_without_python,
)
from ptexplore.view.trace.screen import place_of

ROWS = 30  # of operators: those that took longest
PLACES = 2  # of yours that a row names
SHOWN = ("cost", "calls", "saved", "device")  # the weights that have a column


@dataclass(eq=False)
class _Operator:
    """The calls of one operator that went one way, or all runs of a node.

    `way`: the keys and the kernel, or the formulas; `place`: where that is. `places`: those of yours that came to it,
    and how often.
    """

    name: str
    way: tuple[Detail, ...]
    place: SourceRef | None
    hop: int | None  # the number of the first step that shows it
    calls: int = 0
    time: int = 0
    saved: int = 0
    launched: Counter[str] = field(default_factory=Counter)  # by name, how long
    places: dict[str, int] = field(default_factory=dict)


def program_operators(trail: Trail, program: Program, options: Options) -> TrailView:
    """The operators that took longest, as many as fit."""
    operators = sorted(_operators(trail, program), key=lambda operator: -operator.time)
    run = run_of(program, script_name(trail))
    whole = max(run.whole.cost, 1)
    columns = tuple(column for column in columns_of(run) if column.weight in SHOWN)
    rows = tuple(_row(operator, whole, columns) for operator in operators[:ROWS])
    hidden = len(operators) - len(rows)
    more = [f"{hidden} more that took less time are not shown"] if hidden > 0 else []
    opens = next((row.opens for row in rows), "")
    times = "times are with what was called" + (", but for Python" if calls_python(program) else "")
    return TrailView(
        title=script_name(trail),
        facts=(f"torch {trail.torch.version}; one run, {seconds(whole)} without imports; {times}",),
        findings=findings(trail),
        left_out=(
            *more,
            *(uncounted_of(program) if any(operator.saved for operator in operators) else ()),
            *told_of_device(program),
        ),
        next_steps=(typed(options, "the first row, opened", "--open", opens),) if opens else (),
        view="operators",
        table=in_words(rows),
        columns=tuple(column.heading for column in columns),
        legend=legend(trail, rows),
        ending=ending_lines(trail, None),
    )


def _operators(trail: Trail, program: Program) -> Iterable[_Operator]:
    hops = {hop.id: hop for hop in trail.hops}
    of_route: dict[tuple[int, int], _Operator] = {}
    distinct: dict[tuple[object, ...], _Operator] = {}

    def operator_of(route: int, number: int) -> _Operator:
        """The row of calls of a kind that came by a route: as that, or inside of it."""
        if (route, number) not in of_route:
            shown = [hops[hop] for hop in program.routes[route].hops if hop in hops]
            kind = program.kinds[number]
            made = _operator(kind, shown if number == program.routes[route].kind else _calls_of(kind, shown))
            same = (made.name, made.way, made.place, kind.type in NODES)
            of_route[route, number] = distinct.setdefault(same, made)
        return of_route[route, number]

    for calls in program.calls:
        number = program.routes[calls.route].kind
        kind, place = program.kinds[number], _users_place(program, calls)
        told = [(operator_of(calls.route, inner), count) for inner, count in beside(program, kind).items()]
        if has_row(program, kind):
            operator = operator_of(calls.route, number)
            operator.time += time_without_python(calls)
            operator.saved += calls.saved
            for name, time in zip(launches(program, number), calls.device, strict=False):
                operator.launched[name] += time
            told.append((operator, 1))
        for operator, count in told:
            operator.calls += calls.calls * count
            if place is not None:
                operator.places[place] = operator.places.get(place, 0) + calls.calls * count
    return distinct.values()


def _calls_of(kind: OperatorKind, hops: Sequence[Hop]) -> list[Hop]:
    """The calls of an operator among hops and all inside of them."""
    return [hop for hop in walk(hops) if hop.kind == "op" and (hop.op or hop.name).partition(".")[0] == kind.name]


def _operator(kind: OperatorKind, hops: Sequence[Hop]) -> _Operator:
    """An operator as the hops of one of its routes show it: its way through the dispatcher; of a node its formulas."""
    name, first = operator_name(kind), hops[0].id if hops else None
    if kind.type in NODES:
        node = next((hop for hop in walk(hops) if hop.kind == "node" and hop.derivative is not None), None)
        if node is None or node.derivative is None:
            return _Operator(name, (), None, first)
        return _Operator(name, (says.RunNode(), *_formulas(node)), node.derivative.source, first)
    if kind.type == LAUNCH:
        return _Operator(name, (says.LaunchedByNone(),), None, first)
    if is_function(kind):
        return _Operator(name, (says.AutogradFunction(),), None, first)
    call = next((hop for hop in walk(hops) if hop.kind == "op"), None)
    kernel = kernel_of(call) if call is not None else None
    place = place_of(kernel) if kernel is not None else None
    return _Operator(_full_name(hops) or name, way_of(call, kernel), place, first)


def _full_name(hops: Sequence[Hop]) -> str | None:
    """The operator with its overload, as the hops of its route name it."""
    call = next((hop for hop in walk(hops) if hop.kind == "op" and hop.op), None)
    return call.op.removeprefix("aten::") if call is not None and call.op else None


def _users_place(program: Program, calls: OperatorCalls) -> str | None:
    """The innermost place of the user's own that came to a call: a line, or the function where that is not known.

    Of an operator by syntax Python tells the function alone; what a package called has a line of the package's.
    """
    at: int | None = calls.path if calls.recorded is None else program.calls[calls.recorded].path
    line: int | None = None  # where the path below was called
    while at is not None:
        path = program.paths[at]
        if path.kind == "user" and path.file is not None:
            file = path.file.rpartition("/")[2]
            return f"{file}:{line}" if line is not None else f"in {path.name} {file}:{path.first or 1}"
        at, line = path.parent, path.line
    return None


def _row(operator: _Operator, wall: int, columns: tuple[Column, ...]) -> ScreenRow:
    """One operator or node: its way, what it launched, and the places of yours that came to it."""
    places = sorted(operator.places, key=lambda place: -operator.places[place])
    told = (says.CalledFrom(places=tuple(places[:PLACES]), more=max(len(places) - PLACES, 0)),) if places else ()
    ran = of_launches([name for name, _ in operator.launched.most_common()])
    device = operator.launched.total()
    weighed = Weighed(calls=operator.calls, cost=operator.time, saved=operator.saved, device=device)
    return ScreenRow(
        name=operator.name,
        share=operator.time / wall if operator.time else None,
        cells=cells(columns, weighed),
        place=operator.place,
        opens=operator.name,
        details=(*operator.way, *ran, *told),
        hop=operator.hop,
    )


def _formulas(node: Hop) -> tuple[Detail, ...]:
    """Which inputs of the operator that recorded a node have a formula."""
    inputs = tuple(f.inputs for f in run_formulas(node) if f.text.strip() != "non_differentiable")
    return (says.FormulaFor(inputs=inputs),) if inputs else ()
