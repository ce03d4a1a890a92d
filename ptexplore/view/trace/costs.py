"""The costs behind the shares of a path: instructions, or times where only some operator calls were stepped.

If all of an expression was stepped, each row costs its instructions. Otherwise the operator calls have times, and a
stepped call has instructions inside. The rows outside of stepped calls then cost time. A row inside costs a part of the
call's time: its part of the call's instructions. This only decides which rows are opened. No row shows it as its share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ptexplore.model.nesting import folded
from ptexplore.model.observed import SteppedCalls, records
from ptexplore.model.trace import Hop, Session, Trace, walk
from ptexplore.view.trace.screen import counted_parts, has_cut, is_timed, outermost_timed, stepped

UNREACHED = 0.1  # of a cut call's time: the most that calls inside took if they were not reached
STEPPED_INSIDE = 0.5  # of a cut call's instructions: above that, the calls inside have the work


@dataclass(frozen=True, slots=True)
class Costs:
    """The hops of a trace with their costs in place of instructions, and the whole that shares are fractions of.

    `parts` are the costs of phases. If `timed`, costs are nanoseconds, and `calls` has the cost of the stepped call
    around each hop that is inside one, by the hop's id.
    """

    hops: tuple[Hop, ...]
    whole: int
    parts: Mapping[str, int]
    has_cut: bool
    timed: bool = False
    calls: Mapping[int, int] = field(default_factory=dict)
    instructions: Mapping[int, int] = field(default_factory=dict)  # by hop id: the stepped instructions


def costs_of(trace: Trace, session: Session | None, *, single: bool) -> Costs:
    """Returns the costs of a trace: times if several operators were called and only calls of them were stepped.

    `single`: the expression is one operator call.
    """
    parts = counted_parts(session)
    timed = sum(hop.time or 0 for hop in outermost_timed(trace.hops))
    if set(parts) == {"operator"} and timed and not single:
        return _timed(trace, session, timed)
    return Costs(trace.hops, stepped(trace, session), parts, has_cut(session))


@dataclass(frozen=True, slots=True)
class _Inside:
    """The stepped call around a hop, with its time and its instructions."""

    time: int
    instructions: int


def _is_cut_outside_of_calls(hop: Hop) -> bool:
    """Whether stepping a cut call ended in a function of the call itself, not in an operator call inside it.

    What a cut call did not reach has no instructions. Where operator calls inside took the rest, their own times say
    more than the instructions.
    """
    inner = list(outermost_timed(hop.children))
    unreached = sum(call.time or 0 for call in inner if call.instructions is None)
    stepped_inside = sum(call.instructions or 0 for call in inner)
    return unreached <= UNREACHED * (hop.time or 0) and stepped_inside <= STEPPED_INSIDE * (hop.instructions or 0)


def _timed(trace: Trace, session: Session | None, whole: int) -> Costs:
    observations = session.observations if session is not None else ()
    cut = {part.observation for part in records(observations, "calls", SteppedCalls) if part.cut is not None}
    around: dict[int, _Inside] = {}
    pending = list(trace.hops)
    while pending:
        hop = pending.pop()
        inside = around.get(hop.id)
        is_known = cut.isdisjoint(hop.evidence) or _is_cut_outside_of_calls(hop)
        if inside is None and hop.instructions and is_timed(hop) and hop.time and is_known:
            inside = _Inside(hop.time, hop.instructions)
        for child in hop.children:
            if inside is not None:
                around[child.id] = inside
        pending += hop.children

    def with_cost(hop: Hop, children: tuple[Hop, ...]) -> Hop:
        call, cost = around.get(hop.id), hop.time if is_timed(hop) else None
        if call is not None:
            is_counted = hop.instructions is not None
            cost = round(call.time * min((hop.instructions or 0) / call.instructions, 1.0)) if is_counted else None
        return replace(hop, instructions=cost, children=children)

    parts: dict[str, int] = {}
    for hop in trace.hops:
        parts[hop.phase] = parts.get(hop.phase, 0) + sum(timed.time or 0 for timed in outermost_timed((hop,)))
    counted = {hop.id: hop.instructions for hop in walk(trace.hops) if hop.instructions is not None}
    calls = {number: inside.time for number, inside in around.items()}
    return Costs(
        folded(trace.hops, with_cost), whole, parts, has_cut=False, timed=True, calls=calls, instructions=counted
    )
