"""The view `operators`: the distinct operator calls of a trace, the costliest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ptexplore.model import details as says
from ptexplore.model.details import Detail
from ptexplore.model.run import Unit
from ptexplore.model.trace import Hop, Session, Trail
from ptexplore.view.line import Line
from ptexplore.view.trace import native
from ptexplore.view.trace.amounts import seconds
from ptexplore.view.trace.around import findings, legend, typed
from ptexplore.view.trace.ending import ending_lines
from ptexplore.view.trace.expression_parts import how_timed, outermost_timed, unit_of
from ptexplore.view.trace.lines import formulas_of, lines_of
from ptexplore.view.trace.native_names import kernel_name
from ptexplore.view.trace.page import NextStep, Options, ScreenRow, TrailView, in_words
from ptexplore.view.trace.path import keys_of, of_call
from ptexplore.view.trace.run_again import run_again
from ptexplore.view.trace.screen import (
    bare,
    call_numbers,
    counted_parts,
    everything,
    facts,
    place_of,
    reads,
)

MOST = 22  # rows: the rest is one row
FUNCTIONS = 3  # of Python that are named for one operator


@dataclass(slots=True)
class _Calls:
    """The calls of one operator that went the same way."""

    first: Hop
    number: int
    count: int = 0
    inside: int = 0  # of the count: made by another operator
    instructions: int = 0  # without those of calls inside of another one of these: they are part of that one's
    stepped: int = 0  # calls whose instructions were counted
    time: int = 0  # nanoseconds of those that were timed, counted in the same way
    timed: bool = False
    around: dict[str, None] = field(default_factory=dict)  # functions of torch's Python that called it
    libraries: Counter[tuple[str, ...]] = field(default_factory=Counter)  # calls by what they ran in linked libraries
    launched: dict[str, None] = field(default_factory=dict)  # names of what devices were given to do
    nodes: dict[str, Hop] = field(default_factory=dict)  # the first of each name that such a call recorded
    recorded: Counter[str] = field(default_factory=Counter)  # calls by the name of the node that they recorded


@dataclass(frozen=True, slots=True)
class _Call:
    """One operator call, and the function of torch's Python nearest around it, with where that is defined."""

    hop: Hop
    function: str
    around: tuple[Hop, ...]  # the operator calls that it is inside of, the outermost first


def operators_view(trail: Trail, options: Options, session: Session | None) -> TrailView:
    """One row for each operator and each way its calls went, by cost; by count where none is known.

    The cost is in instructions where the whole expression was stepped. Else it is the time of the calls: what was
    stepped of some says nothing of the others.
    """
    numbers = call_numbers(trail)
    unit = unit_of(trail, session)
    groups: dict[tuple[str, tuple[str, ...], str], _Calls] = {}
    of: dict[int, _Calls] = {}  # by the number of a call's hop
    for call in _calls(trail.hops, "", ()):
        hop = call.hop
        kernel = kernel_of(hop)
        key = (hop.op or hop.name, keys_of(hop), kernel.name if kernel is not None else "")
        calls = of[hop.id] = groups.setdefault(key, _Calls(hop, numbers[hop.id]))
        calls.count += hop.calls
        calls.inside += hop.calls * bool(call.around)
        around = [outer for outer in call.around if of[outer.id] is calls]
        if hop.instructions is not None:
            calls.instructions += hop.instructions * all(outer.instructions is None for outer in around)
            calls.stepped += 1
        if hop.time is not None:
            calls.time += hop.time * all(outer.time is None for outer in around)
            calls.timed = True
        if call.function:
            calls.around.setdefault(call.function)
        ran = tuple(native.entered(part) for part in of_call(hop) if part.library and not part.library.query)
        calls.libraries[ran] += hop.calls * bool(ran)
        calls.launched |= dict.fromkeys(part.name for part in of_call(hop) if part.kind == "launch")
        for name, node in _recorded(hop).items():
            calls.nodes.setdefault(name, node)
            calls.recorded[name] += hop.calls
    ordered = sorted(groups.values(), key=lambda calls: (-_cost(calls, unit), -calls.count))
    if unit == "nanoseconds":
        whole = sum(hop.time or 0 for hop in outermost_timed(trail.hops))
    else:
        whole = max(sum(counted_parts(session).values()), max((c.instructions for c in ordered), default=0))
    columns = ("calls", *(("time",) if unit == "nanoseconds" else ()))
    columns += ("instr",) if any(calls.stepped for calls in ordered) else ()
    rows = [_row(calls, options, whole, unit, columns) for calls in ordered[:MOST]]
    rest = ordered[MOST:]
    if rest:
        others = says.OthersCostLess(others=len(rest)) if unit else says.OthersCalledLess(others=len(rest))
        count = sum(calls.count for calls in rest)
        rows.append(ScreenRow(f"… {count:,} more", details=(others,), cells=("",) * len(columns)))
    return TrailView(
        title=trail.expression,
        facts=(*facts(trail, options, session), *_of_shares(trail, session, ordered, unit)),
        findings=findings(trail),
        counted="instr" in columns,
        next_steps=_next_steps(trail, options, session, ordered),
        read=reads(trail),
        ending=ending_lines(trail, None),
        view="operators",
        table=in_words(rows),
        columns=columns,
        legend=legend(trail, rows),
        left_out=run_again(trail),
    )


def _cost(calls: _Calls, unit: Unit) -> int:
    """What the calls cost, in this unit; 0 where it is not known."""
    return calls.time if unit == "nanoseconds" else calls.instructions


def _of_shares(trail: Trail, session: Session | None, ordered: list[_Calls], unit: Unit) -> Iterator[str]:
    """What the shares are parts of."""
    yield "calls are those that torch's profiler records (--explain legend says which it does not)"
    nested = "what one operator called is counted in it too, once in a row" if any(c.inside for c in ordered) else ""
    if unit == "nanoseconds":
        yield from how_timed(trail, session, with_nodes=False)
        yield from filter(None, [nested])
    elif any(calls.stepped for calls in ordered):
        yield f"shares are of all that was stepped{f' ({nested})' if nested else ''}"


def _calls(hops: Iterable[Hop], function: str, around: tuple[Hop, ...]) -> Iterator[_Call]:
    """Every operator call; `function` is the one of torch's Python that is around these hops."""
    pending = [(hop, function, around) for hop in hops][::-1]
    while pending:
        hop, function, around = pending.pop()
        if hop.kind == "op":
            yield _Call(hop, function, around)
            around = (*around, hop)
        else:
            function = _defined(hop) or function
        pending += [(child, function, around) for child in reversed(hop.children)]


def _defined(hop: Hop) -> str:
    """A function of torch's Python, and where it is defined; "" for what is none, and for your own."""
    if hop.kind != "python" or hop.source.layer is None or hop.source.line is None:
        return ""
    return f"{hop.name}() {PurePosixPath(hop.source.path or '').name}:{hop.source.line}"


def kernel_of(call: Hop) -> Hop | None:
    """The last kernel that an operator call reached: its hand-written body where that is known."""
    last: Hop | None = None
    for part in of_call(call):
        if part.kind == "kernel" or (part.kind == "impl" and not part.name.startswith("at::meta::")):
            last = part
    return last


def of_launches(names: Sequence[str]) -> tuple[Detail, ...]:
    """What an operator gave a device to do: the first one of these, and how many more; () for none."""
    first = kernel_name(names[0]).partition("<")[0] if names else ""
    return (says.Launches(kernel=first, more=len(names) - 1),) if names else ()


def way_of(call: Hop | None, kernel: Hop | None) -> tuple[Detail, ...]:
    """The way of a call: its keys, and the kernel behind them; () where neither is known."""
    keys = keys_of(call) if call is not None else ()
    way = says.WayOfCall(keys=keys, kernel=bare(kernel.name) if kernel is not None else "")
    return (way,) if way != says.WayOfCall() else ()


def _recorded(call: Hop) -> dict[str, Hop]:
    """The nodes that an operator call recorded, by name."""
    nodes = [part for part in of_call(call) if part.kind == "node" and part.node is not None and part.node.recorded]
    return {bare(node.name).removesuffix("::apply"): node for node in nodes}


def _in_libraries(calls: _Calls) -> tuple[Detail, ...]:
    """What the first call that ran something in a linked library ran there, and how many calls are unlike it."""
    first = next((ran for ran in calls.libraries if ran), ())
    unlike = calls.libraries.total() - calls.libraries[first]
    return (says.RanInLibrary(first=first[0], more=len(first) - 1, unlike=unlike),) if first else ()


def _recorded_by(calls: _Calls) -> Iterator[Detail]:
    """The nodes that the calls recorded."""
    for name, count in calls.recorded.items():
        if count == calls.count:
            yield says.Records(node=name)
        else:  # of the others no node is left in the graph: a write in place may have taken its place
            yield says.RecordsSometimes(node=name, seen=count, calls=calls.count)


def _row(calls: _Calls, options: Options, whole: int, unit: Unit, columns: tuple[str, ...]) -> ScreenRow:
    hop = calls.first
    kernel = kernel_of(hop)
    way = way_of(hop, kernel)
    if kernel is not None and kernel.status != "observed":
        way = (says.KnownAs(status=kernel.status, told=way),)
    details = (*way, *_in_libraries(calls), *of_launches(list(calls.launched)), *_recorded_by(calls))
    around = list(calls.around)
    more = f" and {len(around) - FUNCTIONS} more" if len(around) > FUNCTIONS else ""
    told = [Line("note", f"called by {', '.join(around[:FUNCTIONS])}{more}")] if around else []
    told += [Line("note", f"the formula: {formulas_of(node)}") for node in calls.nodes.values() if formulas_of(node)]
    told += lines_of(hop, full=False)
    stepped = f" ({calls.stepped} stepped)" if 0 < calls.stepped < calls.count else ""
    cells = {
        "calls": f"{calls.count:,}",
        "time": seconds(calls.time) if calls.timed else "",
        "instr": f"{calls.instructions:,}{stepped}" if calls.stepped else "",
    }
    known = calls.timed if unit == "nanoseconds" else calls.stepped
    share = _cost(calls, unit) / whole if whole and known else None
    return ScreenRow(
        hop.op or hop.name, share=share, instructions=calls.instructions if calls.stepped else None,
        cells=tuple(cells[name] for name in columns),
        details=details, place=place_of(kernel) if kernel is not None else None,
        status=hop.status, hop=hop.id,
        opens=f"{native.operator_name(hop)}#{calls.number}",
        lines=tuple(told) if options.verbose else (),
    )  # fmt: skip


def _next_steps(trail: Trail, options: Options, session: Session | None, ordered: list[_Calls]) -> tuple[NextStep, ...]:
    """The costliest call opened, and everything."""
    whole = everything(trail, options, session)
    if not ordered:
        return (whole,)
    name = f"{native.operator_name(ordered[0].first)}#{ordered[0].number}"
    return (typed(options, "the first row, opened", "--open", name), whole)
