"""Makes a trace from a session: the list of passes in order, and the findings about the recorders' limits."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from ptexplore.capture.left_running import remarks_about
from ptexplore.catalogue.dump import parse_table
from ptexplore.model.actions import StepOperator
from ptexplore.model.observed import (
    ChangedTable,
    LeftRunning,
    RaisedError,
    Remark,
    SecondRun,
    SteppedResult,
    records,
)
from ptexplore.model.operators import TableEntry
from ptexplore.model.options import TraceOptions
from ptexplore.model.program import Program, StepBudget
from ptexplore.model.program_order import last_calls
from ptexplore.model.reasons import (
    CallsInAll,
    GradientCopied,
    KindsLeft,
    KindsStepped,
    OneOfEach,
    OtherResult,
    Reason,
    RegistrationsChanged,
)
from ptexplore.model.trace import Ending, Finding, Hop, Session, Trace, walk
from ptexplore.resolve import autograd, copies, merge, python_places, raising
from ptexplore.resolve.claims import Claim, Context, Pass, number, numbers
from ptexplore.resolve.dispatch import operator_calls, reasoning
from ptexplore.resolve.keyset import KeySets
from ptexplore.resolve.native import join, launches, libraries
from ptexplore.resolve.order import in_order
from ptexplore.resolve.places.lookup import Lookup
from ptexplore.resolve.places.stubs import Stubs
from ptexplore.source.canonical import InstalledFolders, generator_of, is_made, recorded_path

# accumulateGrad (torch/csrc/autograd/functions/accumulate_grad.h) calls one of these if anything else holds the
# gradient. The profiler's recording of inputs (torch/csrc/profiler/collection.cpp) holds it.
COPIES = ("aten::new_empty_strided", "aten::clone")


def report(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add a finding for each remark of a recorder (cuts, differences, new registrations). Claims stay the same."""
    for observation in context.session.observations:
        match observation.data:
            case Remark(told=reason):
                context.tell(observation.kind, reason)
            case SteppedResult(equal=False):
                context.tell("nondeterministic", OtherResult())
            case SecondRun(equal=equal, told=reason):
                context.tell("twice" if equal else "differs", reason)
            case LeftRunning(processes=processes):
                for reason in remarks_about(processes, is_script=context.session.program is not None):
                    context.tell(observation.kind, reason)
            case ChangedTable(op=op) if context.store.operator(op) is not None:
                context.tell("registrations-changed", RegistrationsChanged(op))
    return claims


def copied(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add a finding if AccumulateGrad copied a gradient in the only run: the recorder may be the cause."""
    is_single = context.session.options.once or context.session.program is not None
    twice = [second.equal for second in records(context.session.observations, "twice", SecondRun)]
    if is_single and not any(twice) and any(_copies(claim) for claim in walk(claims)):
        context.tell("perturbed", GradientCopied())
    return claims


def _copies(claim: Claim) -> bool:
    """Whether a claim is a node that accumulates a gradient and copies it."""
    if claim.hop.kind != "node" or "AccumulateGrad" not in claim.hop.name:
        return False
    return any(inner.hop.kind == "op" and inner.event.name in COPIES for inner in claim.walk())


def stepped(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Add a finding: for how many kinds of a program's calls a call was stepped."""
    program = context.session.program
    if program is not None and program.stepping is not None and any(r.represented is not None for r in program.routes):
        context.tell("stepped", _stepped(program, program.stepping, context.session.options))
    return claims


def _stepped(program: Program, stepping: StepBudget, options: TraceOptions) -> KindsStepped:
    done = {route.kind for route in program.routes if route.represented is not None}
    calls = (route for route in program.routes if program.kinds[route.kind].type != "launch")
    left = {route.kind: route.unstepped for route in calls if route.kind not in done}
    stepped_routes = {number for number, route in enumerate(program.routes) if route.represented == number}
    of_each: Reason = CallsInAll(len(stepped_routes)) if len(stepped_routes) > len(done) else OneOfEach()
    reasons = Counter(why for why in left.values() if why is not None)
    others = tuple(KindsLeft(count, why) for why, count in reasons.most_common())
    made = KindsStepped(len(done), len(done) + len(left), of_each, stepping.stepped or 0, others)
    ops = (program.kinds[kind] for kind in left if program.kinds[kind].name.startswith("aten::"))
    op = next((f"{kind.name}.{kind.overload}" if kind.overload else kind.name for kind in ops), "")
    if not options.is_program or not op:
        return made
    name = op.removeprefix("aten::")
    then = StepOperator(options.script or "", name, options.module or "", options.arguments)
    return structs.replace(made, then=then, op=name)


@dataclass(frozen=True)
class Step:
    """A pass: its requirements from earlier passes and from observations, and its contribution to the claims."""

    run: Pass
    needs: str
    gives: str
    whole: bool = True  # False: only for an expression; in a program, no error left the claims


# The way from observations to hops. Each pass gets all claims and returns better ones. A pass comes after the passes
# that it needs.
PASSES: tuple[Step, ...] = (
    Step(merge.build,
         "the events of the passes `frames` and `ops`",
         "the tree: Python's functions, builtins, operator calls, nodes of the graph, as they nest"),
    Step(merge.attach,
         "the tree; your calls, and the operators of the pass `dispatch`",
         "your call at each top claim; a claim for operator syntax (`a + b`), which leaves no builtin"),
    Step(operator_calls.name,
         "the tree, with the name by which Python called each operator",
         "each operator's full name with its overload, its schema and entry point; `op` is None if it is not known"),
    Step(copies.conclude,
         "operators with names; their tensors with sizes and strides",
         "the tensors of each operator; for an operator that copies: the copied tensors, and the reason", whole=False),
    Step(python_places.bindings,
         "the catalogue's rows of PyMethodDef",
         "for each builtin: its C++ function, with the place"),
    Step(python_places.frames,
         "the wheel's own files",
         "for each Python function: the line of its `def`"),
    Step(reasoning.reason,
         "operators with names, bindings with places; the key sets that were read, the dispatcher's tables",
         "below each operator call: its keys and kernels, and the functions that the text of a kernel calls"),
    Step(autograd.link,
         "kernels; the result's graph, what is kept for backward",
         "the nodes that a call recorded; for a node that ran: its formula, its forward call, its kept bytes"),
    Step(raising.cut,
         "keys and kernels; the place where C++ threw, and the C++ stack at that moment",
         "the same, without the steps that the error prevented", whole=False),
    Step(raising.reach,
         "the remaining keys and kernels; the C++ stack",
         "functions that only the stack has, inside their callers", whole=False),
    Step(report,
         "the recorders' own reports",
         "findings: cut passes, different runs, effects of recording"),
    Step(copied,
         "nodes; whether one run has all observations",
         "a finding: a gradient was copied, perhaps because of the recorder"),
    Step(stepped,
         "the routes of a program",
         "a finding: the kinds of calls of which one call was stepped"),
    Step(launches.place,
         "launches on a device, from the profiler",
         "the definition of each device kernel; a finding if the profiler reports no launches"),
    Step(join.join,
         "all claims; every function that was stepped (`calls`)",
         "one tree: steps that ran are observed, steps that did not run are gone, further functions are added"),
    Step(raising.handed_over,
         "functions that ran",
         "the bindings through which a caught C++ error reached Python", whole=False),
    Step(libraries.attach,
         "functions that ran; the verbose output of oneDNN and MKL",
         "at each call of these libraries: the line that the library printed"),
)  # fmt: skip


def resolve(session: Session, lookup: Lookup) -> Trace:
    """Returns the trace for a session. Pure: reads catalogue, trees and indexes, runs nothing, needs no torch."""
    store = lookup.store
    keys = KeySets(store.keys(), int(store.meta("num_backends") or 0))
    context = Context(session, store, lookup.tree, keys, lookup, Stubs(lookup), changed=_changed(session))
    claims: tuple[Claim, ...] = ()
    program = session.program
    for step in PASSES:
        if program is None or step.whole:
            claims = step.run(context, claims)
    claims = in_order(claims)
    numbered = numbers(claims)
    hops = number(claims, numbered)
    left = claims if program is None else _left_by_error(context, program, claims)
    ending = end_of_run(context, left, numbered)
    if program is not None and ending is not None and ending.hop is None and not ending.stack:
        raised = next((claim for top in left for claim in top.walk() if claim.hop.kind == "op"), None)
        ending = replace(ending, hop=numbered[raised.identity] if raised is not None else None)
    return Trace(
        expression=session.expression,
        bound=session.bound,
        torch=session.torch,
        trees=lookup.infos,
        captured=session.captured,
        result=session.result,
        findings=_findings(context, numbered),
        hops=hops,
        generators=_generators(hops),
        ending=ending,
        program=_concluded(context, program, hops) if program is not None else None,
    )


def end_of_run(context: Context, left: tuple[Claim, ...], numbered: dict[int, int]) -> Ending | None:
    """Returns how the run ended, if it raised."""
    raised = next(iter(records(context.session.observations, "raised", RaisedError)), None)
    if raised is None:
        return None
    from ptexplore.resolve.ending import conclude  # with all causes of errors: 0.03 s

    return conclude(context, raised, left, numbered)


def _findings(context: Context, numbered: Mapping[int, int]) -> tuple[Finding, ...]:
    """Returns the findings of the passes, each once, with the number of its hop; None if this hop is gone."""
    findings = (replace(finding, hop=numbered.get(about or 0)) for finding, about in context.findings)
    return tuple(dict.fromkeys(findings))


def _left_by_error(context: Context, program: Program, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Returns the claims of the program's last call if it raised, else ().

    It raised if the builtin that made it raised, or if the C++ stack contains its operator.
    """
    last = last_calls(program)
    if last is None:
        return ()
    route_of, wanted = _route_finder(program), program.calls[last].route
    made = tuple(claim for claim in claims if route_of(_first_observation(claim)) == wanted)
    is_left = program.failed is not None and program.calls[last].path == program.failed
    return made if is_left or raising.is_on_stack(context, made) else ()


def _route_finder(program: Program) -> Callable[[int], int]:
    """Returns a function from an observation to its route. A route's observations begin with its first one."""
    first = [route.observation or 0 for route in program.routes]
    return lambda observation: bisect_right(first, observation) - 1


def _first_observation(claim: Claim) -> int:
    """Returns the observation behind a claim, or behind the first claim inside it that has one."""
    return next((inner.event.observation for inner in claim.walk() if inner.event.observation), 0)


def _concluded(context: Context, program: Program, hops: Sequence[Hop]) -> Program:
    """Returns the program; its routes have the hops from their observations, and its paths have their places."""
    route_of = _route_finder(program)
    shown: dict[int, list[int]] = {}
    for hop in hops:
        seen = next((number for step in walk((hop,)) for number in step.evidence), 0)
        shown.setdefault(route_of(seen), []).append(hop.id)
    routes = (structs.replace(route, hops=tuple(shown.get(number, ()))) for number, route in enumerate(program.routes))
    paths = python_places.of_paths(context, program.paths)
    return structs.replace(program, routes=tuple(routes), paths=tuple(paths))


def _generators(hops: Iterable[Hop]) -> dict[str, str]:
    """Returns the generator of each generated file in the hops, in the order of their first mention."""
    named = (ref for hop in walk(hops) for ref in (hop.source, hop.registration, hop.declaration) if ref is not None)
    paths = dict.fromkeys(ref.path for ref in named if ref.path is not None and is_made(ref.path))
    known = ((path, generator_of(path)) for path in paths)
    return {path: generator for path, generator in known if generator is not None}


def _changed(session: Session) -> dict[str, list[TableEntry]]:
    """Returns the dispatch tables of operators whose registrations the traced process changed."""
    where = InstalledFolders(session.torch.torch_dir)
    changed = records(session.observations, "table", ChangedTable)
    return {table.op: parse_table(table.op, table.table, lambda file: recorded_path(file, where)) for table in changed}
