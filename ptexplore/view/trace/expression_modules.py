"""What stands around the parts of an expression: what was called, what the costs are of, what was stepped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ptexplore.model.observed import SteppedCalls, records
from ptexplore.model.recorders import OPS
from ptexplore.model.run import Part, Run
from ptexplore.model.trace import Session, Trail, walk
from ptexplore.view.trace import native
from ptexplore.view.trace.around import findings
from ptexplore.view.trace.expression_parts import expression_run, how_timed
from ptexplore.view.trace.modules import AroundParts, has_nodes, modules_view, saved_for_backward
from ptexplore.view.trace.page import Options, TrailView
from ptexplore.view.trace.run_again import run_again
from ptexplore.view.trace.screen import bound_names, how_stepped
from ptexplore.view.words.trace_remarks import all_said, said

ROWS = 44  # of the table: with what stands around it, it fits a screen


def expression_modules(trail: Trail, options: Options, session: Session | None) -> TrailView | None:
    """The parts of an expression, and what is told of its run."""
    run = expression_run(trail, session)
    return modules_view(trail, options, run, lambda root: _around(trail, session, run, root))


def _around(trail: Trail, session: Session | None, run: Run, root: Part) -> AroundParts:
    with_nodes = has_nodes(trail, root)
    return AroundParts(
        most=ROWS,
        facts=tuple(_facts(trail, session, run)),
        findings=findings(trail),
        measured=tuple(_measured(trail, session, run, with_nodes=with_nodes)),
        further=run_again(trail),
        told=f"operators{' and nodes' * with_nodes}{', costliest first' * bool(run.unit)}",
    )


def _measured(trail: Trail, session: Session | None, run: Run, *, with_nodes: bool) -> Iterator[str]:
    if run.unit == "instructions":
        yield "instr: single-stepped instructions of a row with all inside of it; rows add up to the one they are in"
    if run.unit == "nanoseconds":
        yield from how_timed(trail, session, with_nodes=with_nodes)


def _facts(trail: Trail, session: Session | None, run: Run) -> Iterator[str]:
    whole = run.whole
    yield from all_said(bound_names(trail))
    modules = Counter(hop.phase for hop in walk(trail.hops) if hop.module is not None)
    # Python calls them, or nodes of backward, or TorchScript's interpreter.
    plural = "s" * (whole.operators != 1)
    least = "at least " * _is_cut(session)
    called = (
        f"{least}{whole.operators:,} operator call{plural} that torch's profiler records, "
        "without those that operators make"
    )
    called += f", {modules['forward']} module call{'s' * (modules['forward'] != 1)}" if modules else ""
    called += f" and {modules['backward']} more in backward" if modules["backward"] else ""
    yield f"torch {trail.torch.version}; {called}{saved_for_backward(run)}"
    yield from all_said(native.begins_with(trail.captured))
    parts = records(session.observations if session else (), "calls", SteppedCalls)
    if run.unit == "instructions" or not parts:
        yield from all_said(how_stepped(trail, session))
        return
    limit = native.beyond(parts[0])
    long = said(limit) if limit is not None else ""
    timed = "operators were timed" if run.unit else ""
    yield "; ".join(filter(None, (timed, long, "--open NAME steps the costliest operator in NAME")))


def _is_cut(session: Session | None) -> bool:
    """Whether more ran than the recorder of operators tells."""
    return any(seen.kind == "cut" and seen.recorder == OPS for seen in (session.observations if session else ()))
