"""Shared parts of the views that fit a screen: the facts above the rows, and the names and places of rows."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ptexplore.model import trace_remarks as says
from ptexplore.model.nesting import outermost
from ptexplore.model.observed import SteppedCalls, records
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import BoundName, Hop, ResultInfo, Session, Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace import native
from ptexplore.view.trace.around import typed
from ptexplore.view.trace.lines import leads_somewhere
from ptexplore.view.trace.native_rules import rule_for
from ptexplore.view.trace.page import NextStep, Options, percent
from ptexplore.view.trace.rows import facts_of, stops_to_read

NAMED = 2  # stepped operators that a next step names
MADE_INSIDE = ".<locals>."  # in the qualified name of a Python function that is defined inside another one
_NAMESPACES = ("torch::autograd::generated::", "torch::autograd::", "torch::", "at::native::", "at::meta::", "at::")


def is_yours(hop: Hop) -> bool:
    """Whether a hop calls a Python function of yours: its line is known, and its file is not torch's."""
    return hop.kind == "python" and hop.source.layer is None and hop.source.line is not None


def bare(name: str) -> str:
    """Removes from a C++ name the namespaces that most PyTorch functions are in.

    A single word in `at` keeps its namespace.
    """
    short = next((name[len(space) :] for space in _NAMESPACES if name.startswith(space)), name)
    return short if "::" in short or "_" in short.strip("_") or not name.startswith("at::") else name


def place_of(hop: Hop) -> SourceRef | None:
    """Returns the place that says most about a hop: its body, else its declaration or registration.

    None if there is none.
    """
    if hop.kind == "closed":
        return None  # code of a linked library: in PyTorch's source, the same name is something else
    known = (hop.source, hop.declaration, hop.registration)
    named = (ref for ref in known if ref is not None and (ref.path is not None or ref.candidates))
    return next(filter(leads_somewhere, named), None)


def role_of(hop: Hop) -> str:
    """Returns in a few words what a C++ frame does, if a rule of the readable tree says so; else ""."""
    rule = rule_for(hop.name, hop.native.library if hop.native is not None else "")
    return rule.role if rule is not None else ""


def stepped(trace: Trace, session: Session | None) -> int:
    """Returns the number of all stepped instructions, which shares are fractions of; 0 if nothing was stepped."""
    parts = records(session.observations if session else (), "calls", SteppedCalls)
    counted = sum(part.instructions for part in parts)
    outermost = sum(hop.instructions or 0 for hop in outermost_counted(trace.hops))
    return max(counted, outermost)


def counted_parts(session: Session | None) -> dict[str, int]:
    """Returns the instructions of each stepped part: `forward`, `backward`, `operator`."""
    parts = records(session.observations if session else (), "calls", SteppedCalls)
    return {part.part: part.instructions for part in parts}


def has_cut(session: Session | None) -> bool:
    """Whether stepping ended early in some part. Shares are then fractions of what ran before."""
    return _is_cut(records(session.observations if session else (), "calls", SteppedCalls))


def call_numbers(trace: Trace) -> dict[int, int]:
    """Returns, by id of an operator's hop, which of the operator's calls it is.

    A hop that stands for several calls has the number of the first one.
    """
    counts: Counter[str] = Counter()
    numbers: dict[int, int] = {}
    for hop in walk(trace.hops):
        if hop.kind == "op":
            name = native.operator_name(hop)
            numbers[hop.id] = counts[name] + 1
            counts[name] += hop.calls
    return numbers


def outermost_counted(hops: Iterable[Hop]) -> Iterator[Hop]:
    """Yields the outermost hops with an instruction count."""
    return outermost(hops, lambda hop: hop.instructions is not None)


def is_timed(hop: Hop) -> bool:
    """Whether a hop is an operator call or a node that was timed.

    A profiler range is neither: the forward of a torch.autograd.Function is Python code.
    """
    return hop.time is not None and hop.kind in ("op", "node")


def outermost_timed(hops: Iterable[Hop]) -> Iterator[Hop]:
    """Yields the operator calls and nodes that were timed, except those inside another timed one."""
    return outermost(hops, is_timed)


def facts(trace: Trace, options: Options, session: Session | None) -> tuple[TraceRemark, ...]:
    """Returns the facts above the rows: bound names, the result, how much was stepped.

    With -v, returns all known facts.
    """
    if options.verbose:
        return (*facts_of(trace), *native.facts(trace, session))
    remarks = tuple(how_stepped(trace, session))
    return (
        *bound_names(trace.bound, trace.result),
        says.TorchRan(version=trace.torch.version, remarks=remarks[:1]),
        *remarks[1:],
        *native.begins_with(trace.captured),
    )


def bound_names(names_bound: Iterable[BoundName], result: ResultInfo) -> tuple[TraceRemark, ...]:
    """Returns one line with the bound names and the result; () if neither is known."""
    given: dict[tuple[str, bool], list[str]] = {}
    for bound in names_bound:
        given.setdefault((bound.description, bound.how == "seeded"), []).append(bound.name)
    out: list[TraceRemark] = [
        says.NamesBound(names=tuple(names), description=description, random=is_random)
        for (description, is_random), names in given.items()
    ]
    if result.description:
        out.append(says.Gives(description=result.description))
    return (says.InOneLine(remarks=tuple(out)),) if out else ()


def how_stepped(trace: Trace, session: Session | None) -> Iterator[TraceRemark]:
    """Says in one line how much was stepped, or why nothing was stepped."""
    parts = records(session.observations if session else (), "calls", SteppedCalls)
    captured = trace.captured
    whole = [part for part in parts if part.part != "operator"]
    if whole:
        yield says.WholeStepped(
            instructions=sum(part.instructions for part in whole),
            cut=_is_cut(whole),
            backward=len(whole) > 1,
            cold=captured.cold,
            threads=whole[0].threads,
            because=captured.first.why if captured.cold and captured.first is not None else None,
        )
    if parts and not trace.traced.each_call:
        instructions = sum(part.instructions for part in parts)
        several = says.CallsStepped(few=len(parts), instructions=instructions)
        yield several if len(parts) > 1 else says.OneCallStepped(instructions=instructions)
    calls = [part for part in parts if part.part == "operator"] if trace.traced.each_call else []
    if len(calls) > 1:
        yield kinds_stepped(trace, calls)
    elif calls:
        is_asked = session is not None and session.options.native_op is not None
        yield says.OnlyCallStepped(
            op=calls[0].op,
            call=native.which_call(calls[0]),
            instructions=calls[0].instructions,
            cut=_is_cut(calls),
            why=native.beyond(calls[0]) if not is_asked else None,
        )
    if not parts and native.frames(trace.hops):
        yield says.InstructionsAreOf(cold=captured.cold)
    elif not parts:
        yield says.NothingStepped(why=captured.reason if captured.reason is not None else says.NotAskedFor())


def kinds_stepped(trace: Trace, calls: Sequence[SteppedCalls]) -> TraceRemark:
    """Says of how many kinds of operator calls one call was stepped, and how much of the time their calls took."""
    times, stepped_kinds = Counter[tuple[str, str]](), set[tuple[str, str]]()
    for hop in outermost_timed(trace.hops):
        kind = _kind(hop)
        times[kind] += hop.time or 0
        if any(inner.instructions is not None for inner in walk((hop,))):
            stepped_kinds.add(kind)
    known = sum(time for kind, time in times.items() if kind in stepped_kinds)
    return says.KindsOfCallsStepped(
        few=len(calls),
        share=percent(known / times.total()) if times.total() else "",
        instructions=sum(call.instructions for call in calls),
        cut=sum(call.cut is not None for call in calls),
        others=len(times.keys() - stepped_kinds),
        why=native.beyond(calls[0]),
    )


def _kind(call: Hop) -> tuple[str, str]:
    """Returns an operator with the first dispatch key of the call; a node has no key."""
    first = next((part.key or part.name for part in call.children if part.kind == "key"), "")
    return (call.op or call.name if call.kind == "op" else call.name), first


def everything(trace: Trace, options: Options, session: Session | None) -> NextStep:
    """Returns the command that lists everything that was recorded, with the amount.

    The amount counts the stepped function calls: all of them, or those before a cut, or those of the only stepped
    operator call. If nothing was stepped, it counts the hops of the trace.
    """
    frames = native.frames(trace.hops)
    parts = records(session.observations if session else (), "calls", SteppedCalls)
    if not frames:
        shows: TraceRemark = says.AllSteps(count=sum(1 for _ in walk(trace.hops)))
    else:
        is_of_operators = any(part.part == "operator" for part in parts)
        called = [part.op.removeprefix("aten::") if part.op else says.OneOperator() for part in parts]
        of: tuple[str | says.OneOperator | says.SteppedCallsOf, ...] = (
            tuple(dict.fromkeys(called)) if is_of_operators else ()
        )
        of = of if len(of) <= NAMED else (says.SteppedCallsOf(few=len(parts)),)
        shows = says.AllFunctionCalls(count=frames, of=of, cut=has_cut(session))
    return typed(options, shows, "--view", "tree", "--full")


def _is_cut(parts: Iterable[SteppedCalls]) -> bool:
    """Whether the stepping of a part was cut: a count then covers only what ran before."""
    return any(part.cut for part in parts)


def reads(trace: Trace) -> tuple[str, ...]:
    """Returns the command that shows the first stop about the trace; () if there is no stop."""
    return tuple(shlex.join(["ptexplore", "tour", *name.split("#")]) for name in stops_to_read(trace)[:1])
