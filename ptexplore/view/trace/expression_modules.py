"""The text around the parts of an expression: the calls, what the costs measure, and what was stepped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ptexplore.model import trace_remarks as says
from ptexplore.model.observed import SteppedCalls, records
from ptexplore.model.recorders import OPS
from ptexplore.model.run import Part, Run
from ptexplore.model.trace import Session, Trace, walk
from ptexplore.model.trace_remarks import TraceRemark
from ptexplore.view.trace import native
from ptexplore.view.trace.around import findings
from ptexplore.view.trace.expression_parts import expression_run, how_timed
from ptexplore.view.trace.modules import AroundParts, has_nodes, modules_view, saved_for_backward
from ptexplore.view.trace.page import Options, TraceView
from ptexplore.view.trace.run_again import run_again
from ptexplore.view.trace.screen import bound_names, how_stepped, kinds_stepped

ROWS = 44  # with the text around it, the table fits a screen


def expression_modules(trace: Trace, options: Options, session: Session | None) -> TraceView | None:
    """Returns the parts of an expression, with the facts about its run."""
    run = expression_run(trace, session)
    return modules_view(trace, options, run, lambda root: _around(trace, options, session, run, root))


def _around(trace: Trace, options: Options, session: Session | None, run: Run, root: Part) -> AroundParts:
    with_nodes = has_nodes(trace, root)
    return AroundParts(
        most=ROWS,
        facts=tuple(_facts(trace, session, run)),
        findings=findings(trace, verbose=options.verbose),
        measured=tuple(_measured(trace, session, run, with_nodes=with_nodes)),
        further=run_again(trace),
        details_heading=f"operators{' and nodes' * with_nodes}{', costliest first' * bool(run.unit)}",
    )


def _measured(trace: Trace, session: Session | None, run: Run, *, with_nodes: bool) -> Iterator[TraceRemark]:
    if run.unit == "instructions":
        yield says.InstructionsMean()
    if run.unit == "nanoseconds":
        yield from how_timed(trace, session, with_nodes=with_nodes)


def _facts(trace: Trace, session: Session | None, run: Run) -> Iterator[TraceRemark]:
    yield from bound_names(trace.bound, trace.result)
    modules = Counter(hop.phase for hop in walk(trace.hops) if hop.module is not None)
    more = says.More(few=modules["backward"]) if modules["backward"] else None
    # Called by Python, by nodes of backward or by TorchScript's interpreter.
    called = says.OperatorCallsBeside(
        count=run.whole.operators,
        at_least=_is_cut(session),
        modules=says.ModuleCalls(few=modules["forward"], backward=more) if modules else None,
    )
    saved = saved_for_backward(run)
    yield says.TorchRan(version=trace.torch.version, remarks=(called, saved) if saved is not None else (called,))
    yield from native.begins_with(trace.captured)
    parts = records(session.observations if session else (), "calls", SteppedCalls)
    if run.unit == "instructions" or not parts:
        yield from how_stepped(trace, session)
        return
    timed = says.OperatorsTimed() if run.unit else None
    stepped = kinds_stepped(trace, parts) if len(parts) > 1 else native.beyond(parts[0])
    remarks = (timed, stepped, says.OpenSteps())
    yield says.InOneLine(remarks=tuple(remark for remark in remarks if remark is not None))


def _is_cut(session: Session | None) -> bool:
    """Whether more ran than the recorder of operators reports."""
    return any(seen.kind == "cut" and seen.recorder == OPS for seen in (session.observations if session else ()))
