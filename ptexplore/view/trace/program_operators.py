"""The operators of a recorded program: count, time, dispatch keys, kernel, and the lines that call them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ptexplore.model import details as says
from ptexplore.model import trace_remarks as beside
from ptexplore.model.details import Detail
from ptexplore.model.program import NODES, OperatorKind, Program
from ptexplore.model.reasons import LibraryTold, ToldOfSuchCall
from ptexplore.model.run import sums
from ptexplore.model.trace import Hop, LibraryEntry, Session, Trace, walk
from ptexplore.view.trace import native
from ptexplore.view.trace.amounts import library_time
from ptexplore.view.trace.around import to_legend, typed
from ptexplore.view.trace.columns import columns_of, time_of
from ptexplore.view.trace.lines import run_formulas
from ptexplore.view.trace.modules import uncounted
from ptexplore.view.trace.operators import (
    Operators,
    OperatorWay,
    by_cost,
    gathered,
    kernel_of,
    of_launches,
    operators_view,
    way_of,
)
from ptexplore.view.trace.page import Options, TraceView
from ptexplore.view.trace.program_modules import on_device
from ptexplore.view.trace.program_parts import (
    LAUNCH,
    calls_python,
    has_row,
    is_function,
    launches,
    operator_name,
    own_operators,
    program_run,
    users_place,
)
from ptexplore.view.trace.screen import place_of

ROWS = 30  # of operators: the costliest
PLACES = 2  # places in your code that a row names


def program_operators(trace: Trace, options: Options, _session: Session | None) -> TraceView:
    """Lays out the operators of a program, and the nodes of backward that ran."""
    program = trace.recorded
    ways = by_cost(_worded(way) for way in gathered(_ways(trace, program)).values())
    run = program_run(trace, None)
    whole = max(run.whole.cost, 1) if not run.whole.at_most else 0
    times = beside.TimesWithCalled(python=calls_python(program))
    one_run = beside.RunWithoutImports(time=time_of(run.whole))
    operators = Operators(
        ways=ways,
        whole=whole,
        columns=columns_of(run, "operators of a program"),
        facts=(beside.TorchRan(version=trace.torch.version, remarks=(one_run, times)),),
        left_out=(*(uncounted(run) if any(way.saved for way in ways) else ()), *on_device(program)),
        next_steps=(
            *([typed(options, beside.FirstRowOpened(), "--open", ways[0].opens)] if ways else []),
            *to_legend(options),
        ),
        most=ROWS,
    )
    return operators_view(trace, operators)


def _ways(trace: Trace, program: Program) -> Iterator[tuple[object, OperatorWay]]:
    """Yields the calls of each route, and of the operators inside it that have rows, each with the key of its row."""
    hops = {hop.id: hop for hop in trace.hops}
    known: dict[tuple[int, int], tuple[object, OperatorWay]] = {}  # by the numbers of route and kind
    for calls in program.calls:
        route, place = program.routes[calls.route], users_place(program, calls)
        for number, own in own_operators(program, calls):
            kind, is_route = program.kinds[number], number == route.kind
            if not has_row(program, kind):
                continue
            if (calls.route, number) not in known:
                shown = [hops[hop] for hop in route.hops if hop in hops]
                made = _operator(kind, shown if is_route else _calls_of(kind, shown))
                known[calls.route, number] = (made.name, made.details, made.place, kind.type in NODES), made
            key, made = known[calls.route, number]
            yield (
                key,
                replace(
                    made,
                    **sums((own,)),
                    launched=tuple(zip(launches(program, number), calls.device, strict=False)) if is_route else (),
                    callers=((place, own.calls),) if place is not None else (),
                ),
            )


def _worded(way: OperatorWay) -> OperatorWay:
    """Adds the details: what the calls launched, and the places in your code that called them."""
    places = [place for place, _ in sorted(way.callers, key=lambda caller: -caller[1])]
    called_from = (says.CalledFrom(places=tuple(places[:PLACES]), more=max(len(places) - PLACES, 0)),) if places else ()
    return replace(way, details=(*way.details, *of_launches(way.launched), *called_from))


def _calls_of(kind: OperatorKind, hops: Sequence[Hop]) -> list[Hop]:
    """Returns the calls of an operator among these hops and all hops inside."""
    return [hop for hop in walk(hops) if hop.kind == "op" and (hop.op or hop.name).partition(".")[0] == kind.name]


def _operator(kind: OperatorKind, hops: Sequence[Hop]) -> OperatorWay:
    """Returns an operator as the hops of one route show it: its way through the dispatcher. A node has its formulas."""
    name, first = operator_name(kind), hops[0].id if hops else None
    way: tuple[Detail, ...] = ()
    place = None
    if kind.type in NODES:
        node = next((hop for hop in walk(hops) if hop.kind == "node" and hop.derivative is not None), None)
        if node is not None and node.derivative is not None:
            way, place = (says.RunNode(), *_formulas(node)), node.derivative.source
    elif kind.type == LAUNCH:
        way = (says.LaunchedByNone(),)
    elif is_function(kind):
        way = (says.AutogradFunction(),)
    else:
        call = next((hop for hop in walk(hops) if hop.kind == "op"), None)
        kernel = kernel_of(call) if call is not None else None
        place = place_of(kernel) if kernel is not None else None
        name, way = _full_name(hops) or name, (*way_of(call, kernel), *_in_libraries(hops))
    return OperatorWay(name=name, details=way, place=place, hop=first, opens=name)


def _in_libraries(hops: Sequence[Hop]) -> Iterator[Detail]:
    """Yields what ran in linked libraries: at the functions that ran, or as the libraries reported it for such a call.

    The call that took longest is named.
    """
    entries = (part.library for part in walk(hops) if part.library is not None and not part.library.query)
    ran: list[LibraryEntry | LibraryTold] = list(entries)
    reports = [reason for hop in walk(hops) for reason in hop.why if isinstance(reason, ToldOfSuchCall)]
    more = sum(reason.more for reason in reports[:1])
    if reports:  # then stepping was cut, and functions are missing
        ran = list(reports[0].calls)
    if ran:
        count = sum(max(call.times, 1) if isinstance(call, LibraryTold) else 1 for call in ran)
        longest = max(ran, key=lambda call: call.took or 0)
        took = library_time(longest.took or 0)
        yield says.RanInLibrary(first=native.reported(longest), took=took, more=count - 1 + more)


def _full_name(hops: Sequence[Hop]) -> str | None:
    """Returns the operator's name with its overload, as the hops of its route name it."""
    call = next((hop for hop in walk(hops) if hop.kind == "op" and hop.op), None)
    return call.op.removeprefix("aten::") if call is not None and call.op else None


def _formulas(node: Hop) -> tuple[Detail, ...]:
    """Names the inputs that have a formula in the operator that recorded a node."""
    inputs = tuple(f.inputs for f in run_formulas(node) if f.text.strip() != "non_differentiable")
    return (says.FormulaFor(inputs=inputs),) if inputs else ()
