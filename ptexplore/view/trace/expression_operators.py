"""The operators of an expression, from its hops. Every call counts, also a call that another operator made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ptexplore.model import details as says
from ptexplore.model import trace_remarks as beside
from ptexplore.model.details import Detail
from ptexplore.model.run import CARRIED, NO_WEIGHTS, Carried, Unit, known_weights, total
from ptexplore.model.trace import Hop, Session, Trace
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.line import Line
from ptexplore.view.trace import native
from ptexplore.view.trace.around import to_legend, typed
from ptexplore.view.trace.columns import columns, weights_of
from ptexplore.view.trace.expression_parts import how_timed, unit_of
from ptexplore.view.trace.hop_weights import weights_shown
from ptexplore.view.trace.lines import formulas_of, lines_of
from ptexplore.view.trace.operators import (
    INSTRUCTIONS,
    Operators,
    OperatorWay,
    by_cost,
    gathered,
    kernel_of,
    of_launches,
    operators_view,
    way_of,
)
from ptexplore.view.trace.page import NextStep, Options, TraceView
from ptexplore.view.trace.path import keys_of, of_call
from ptexplore.view.trace.run_again import run_again
from ptexplore.view.trace.screen import (
    bare,
    call_numbers,
    counted_parts,
    everything,
    facts,
    outermost_timed,
    place_of,
    reads,
)

MOST = 22  # rows
FUNCTIONS = 3  # Python functions that are named for one operator


@dataclass(frozen=True, slots=True)
class _Call:
    """One operator call, and the nearest function around it in torch's Python, with its place."""

    hop: Hop
    function: str
    around: tuple[_Call, ...]  # the operator calls around it, outermost first
    key: tuple[str, tuple[str, ...], str]  # equal for calls with the same way through the dispatcher
    nodes: dict[str, Hop]  # the nodes that it recorded, by name


def expression_operators(trace: Trace, options: Options, session: Session | None) -> TraceView:
    """Lays out the distinct operator calls of an expression.

    If the whole expression was stepped, the cost is in instructions. Otherwise it is the time of the calls: the
    instructions of some calls say nothing about other calls.
    """
    unit = unit_of(trace, session)
    numbers = call_numbers(trace)
    alike: dict[object, list[_Call]] = {}
    for call in _calls(trace.hops):
        alike.setdefault(call.key, []).append(call)
    weights = weights_shown(trace.hops, "operators")
    ways = gathered(
        (key, _way(call, numbers[call.hop.id], unit, weights.get(call.hop.id, NO_WEIGHTS)))
        for key, calls in alike.items()
        for call in calls
    )
    ordered = by_cost(_worded(way, alike[key], options) for key, way in ways.items())
    if unit == "nanoseconds":
        whole = sum(hop.time or 0 for hop in outermost_timed(trace.hops))
    else:
        whole = max(sum(counted_parts(session).values()), max((way.instructions for way in ordered), default=0))
    is_stepped = any(way.stepped for way in ordered)
    measured = ("calls", "cost") if unit == "nanoseconds" else ("calls",)
    shown = (*measured, *(weight for weight in weights_of(total(ordered), "operators") if weight in CARRIED))
    is_nested = any(call.around for calls in alike.values() for call in calls)
    operators = Operators(
        ways=ordered,
        whole=whole,
        columns=(*columns(unit, *shown), *((INSTRUCTIONS,) if is_stepped else ())),
        facts=(
            *facts(trace, options, session),
            *_of_shares(trace, session, unit, is_nested=is_nested, is_stepped=is_stepped),
        ),
        left_out=run_again(trace),
        next_steps=_next_steps(trace, options, session, ordered),
        read=reads(trace),
        most=MOST,
        is_by_cost=bool(unit),
    )
    return operators_view(trace, operators)


def _way(call: _Call, number: int, unit: Unit, weights: Carried) -> OperatorWay:
    """Returns one call as an OperatorWay. `weights` has the weights of everything inside.

    Cost and weights are 0 if a call around it went the same way: they count there.
    """
    hop = call.hop
    around = [outer.hop for outer in call.around if outer.key == call.key]
    instructions = 0 if any(outer.instructions is not None for outer in around) else hop.instructions or 0
    time = 0 if any(outer.time is not None for outer in around) else hop.time or 0
    ran = tuple(native.entered(part) for part in of_call(hop) if part.library and not part.library.query)
    return OperatorWay(
        name=hop.op or hop.name,
        calls=hop.calls,
        cost=time if unit == "nanoseconds" else instructions,
        status=hop.status,
        hop=hop.id,
        opens=f"{native.operator_name(hop)}#{number}",
        instructions=instructions,
        stepped=int(hop.instructions is not None),
        launched=tuple((part.name, 0) for part in of_call(hop) if part.kind == "launch"),
        callers=((call.function, hop.calls),) if call.function else (),
        libraries=((ran, hop.calls * bool(ran)),),
        recorded=tuple((name, hop.calls) for name in call.nodes),
        **(known_weights(weights) if not around else NO_WEIGHTS),
    )


def _worded(way: OperatorWay, calls: Sequence[_Call], options: Options) -> OperatorWay:
    """Adds the details: how the first call went, what the calls ran in libraries, launched and recorded."""
    kernel = kernel_of(calls[0].hop)
    details = way_of(calls[0].hop, kernel)
    if kernel is not None and kernel.status != "observed":
        details = (says.KnownAs(status=kernel.status, told=details),)
    return replace(
        way,
        details=(*details, *_in_libraries(way), *of_launches(way.launched), *_recorded_by(way)),
        place=place_of(kernel) if kernel is not None else None,
        lines=tuple(_lines(way, calls)) if options.verbose else (),
    )


def _lines(way: OperatorWay, calls: Sequence[_Call]) -> Iterator[Line]:
    around = [function for function, _ in way.callers]
    more = f" and {len(around) - FUNCTIONS} more" if len(around) > FUNCTIONS else ""
    if around:
        yield Line("note", f"called by {', '.join(around[:FUNCTIONS])}{more}")
    nodes = {name: node for call in reversed(calls) for name, node in call.nodes.items()}  # the first of each name
    recorded_formulas = filter(None, (formulas_of(nodes[name]) for name, _ in way.recorded))
    yield from (Line("note", f"the formula: {formulas}") for formulas in recorded_formulas)
    yield from lines_of(calls[0].hop, full=False)


def _of_shares(
    trace: Trace, session: Session | None, unit: Unit, *, is_nested: bool, is_stepped: bool
) -> Iterator[TraceRemark]:
    """Explains which calls are recorded, and the whole that shares are fractions of."""
    yield beside.CallsAreRecorded()
    nested = beside.CountedTwice() if is_nested else None
    if unit == "nanoseconds":
        yield from how_timed(trace, session, with_nodes=False)
        if nested is not None:
            yield nested
    elif is_stepped:
        yield beside.SharesOfStepped(nested=nested)


def _calls(hops: Sequence[Hop]) -> Iterator[_Call]:
    """Yields every operator call."""
    pending: list[tuple[Hop, str, tuple[_Call, ...]]] = []
    pending += ((hop, "", ()) for hop in reversed(hops))
    while pending:
        hop, function, around = pending.pop()
        if hop.kind == "op":
            kernel = kernel_of(hop)
            key = (hop.op or hop.name, keys_of(hop), kernel.name if kernel is not None else "")
            call = _Call(hop, function, around, key, _recorded(hop))
            yield call
            around = (*around, call)
        else:
            function = _defined(hop) or function
        pending += [(child, function, around) for child in reversed(hop.children)]


def _defined(hop: Hop) -> str:
    """Returns the name and place of a function in torch's Python; "" for a function of yours and for other hops."""
    if hop.kind != "python" or hop.source.layer is None or hop.source.line is None:
        return ""
    return f"{hop.name}() {PurePosixPath(hop.source.path or '').name}:{hop.source.line}"


def _recorded(call: Hop) -> dict[str, Hop]:
    """Returns the nodes that an operator call recorded, by name."""
    nodes = [part for part in of_call(call) if part.kind == "node" and part.node is not None and part.node.recorded]
    return {bare(node.name).removesuffix("::apply"): node for node in nodes}


def _in_libraries(way: OperatorWay) -> tuple[Detail, ...]:
    """Describes the first call that entered a linked library, and how many calls differ from it."""
    first, alike = next(((ran, calls) for ran, calls in way.libraries if ran), ((), 0))
    unlike = sum(calls for _, calls in way.libraries) - alike
    return (says.RanInLibrary(first=first[0], more=len(first) - 1, unlike=unlike),) if first else ()


def _recorded_by(way: OperatorWay) -> Iterator[Detail]:
    """Yields the nodes that the calls recorded."""
    for name, count in way.recorded:
        if count == way.calls:
            yield says.Records(node=name)
        else:  # for the other calls no node is left in the graph: a write in place may have replaced it
            yield says.RecordsSometimes(node=name, seen=count, calls=way.calls)


def _next_steps(
    trace: Trace, options: Options, session: Session | None, ordered: Sequence[OperatorWay]
) -> tuple[NextStep, ...]:
    """Returns two commands: open the costliest call, and list everything."""
    first = (
        (typed(options, beside.FirstRowOpened(), "--open", ordered[0].opens, runs=not ordered[0].stepped),)
        if ordered
        else ()
    )
    return (*first, everything(trace, options, session), *to_legend(options))
