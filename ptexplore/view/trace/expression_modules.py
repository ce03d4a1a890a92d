"""The view `modules` of an expression: its modules and what it calls itself, with what each cost and saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ptexplore.model.observed import GraphNode, KeptForBackward, SteppedCalls, UncountedSaved, records
from ptexplore.model.recorders import OPS
from ptexplore.model.run import Part, Unit
from ptexplore.model.trace import Session, Trail, walk
from ptexplore.view.trace import native
from ptexplore.view.trace.around import findings, legend, typed
from ptexplore.view.trace.columns import columns_of
from ptexplore.view.trace.ending import COPY_SLICES, ending_lines
from ptexplore.view.trace.expression_parts import expression_run, how_timed
from ptexplore.view.trace.modules import (
    IN_SLICES,
    Shown,
    backward_and_saved,
    costliest,
    fitting,
    opened,
    order,
    runs_nodes_itself,
    saved_elsewhere,
    saved_for_backward,
    uncounted,
)
from ptexplore.view.trace.page import OWN, NextStep, Options, ScreenRow, TrailView, in_words
from ptexplore.view.trace.run_again import run_again
from ptexplore.view.trace.screen import bound_names, how_stepped

FEW, LISTED = 8, 24  # rows: of fewer than the first, operators have rows too, as long as all are not more than these
ROWS = 44  # of the table: with what stands around it, it fits a screen


def expression_modules(trail: Trail, options: Options, session: Session | None) -> TrailView:
    """The parts of an expression, as many as fit.

    Raises PtexploreError (usage) where `options.opened` names none.
    """
    run = expression_run(trail, session)
    whole, unit = run.whole, run.unit
    root = whole if options.opened is None else opened(whole, options.opened)
    shown = Shown(run, columns_of(run), opened=options.opened is not None, of_expression=True)
    rows, hidden = fitting(root, shown, ROWS)
    if len(rows) <= FEW and not hidden:
        listed, _ = fitting(root, replace(shown, lists=True), ROWS)
        rows = listed if len(listed) <= LISTED else rows
    columns, rows = _used(tuple(column.heading for column in shown.columns), rows)
    return TrailView(
        title=trail.expression,
        facts=tuple(_facts(trail, session, whole, unit)),
        findings=findings(trail),
        left_out=tuple(_left_out(trail, session, root, whole, unit, hidden, rows)),
        ending=ending_lines(trail, None),
        counted=whole.cost > 0,
        next_steps=tuple(_next_steps(options, root, unit)),
        view="modules",
        table=in_words(rows),
        columns=columns,
        told=f"{OWN}{' and nodes' * _has_nodes(trail, root)}{', costliest first' * bool(unit)}",
        legend=legend(trail, rows),
    )


def _used(columns: tuple[str, ...], rows: tuple[ScreenRow, ...]) -> tuple[tuple[str, ...], tuple[ScreenRow, ...]]:
    """The columns in which some row says something, and the rows with these alone; without calls if each is one."""
    nothing = {"calls": ("", "1")}
    used = [n for n, name in enumerate(columns)
            if any(row.cells[n] not in nothing.get(name, ("",)) for row in rows if n < len(row.cells))]  # fmt: skip
    cut = tuple(replace(row, cells=tuple(row.cells[n] for n in used if n < len(row.cells))) for row in rows)
    return tuple(columns[n] for n in used), cut


def _facts(trail: Trail, session: Session | None, whole: Part, unit: Unit) -> Iterator[str]:
    yield from bound_names(trail)
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
    is_least = any(_uncounted(session)) or _writes_through_views(session)
    kept = saved_for_backward(_saved(session, whole), is_least=is_least)
    yield f"torch {trail.torch.version}; {called}{kept}"
    yield from native.begins_with(trail.captured)
    parts = records(session.observations if session else (), "calls", SteppedCalls)
    if unit == "instructions" or not parts:
        yield from how_stepped(trail, session)
        return
    long = native.beyond(parts[0])
    timed = "operators were timed" if unit else ""
    yield "; ".join(filter(None, (timed, long, "--open NAME steps the costliest operator in NAME")))


def _is_cut(session: Session | None) -> bool:
    """Whether more ran than the recorder of operators tells."""
    return any(seen.kind == "cut" and seen.recorder == OPS for seen in (session.observations if session else ()))


def _has_nodes(trail: Trail, root: Part) -> bool:
    """Whether nodes of backward are among what the rows tell of."""
    return runs_nodes_itself(trail) or any(part.kind == "backward" for part in root.walk())


def _saved(session: Session | None, whole: Part) -> int:
    """The bytes that are kept for backward, those too that no operator's node kept."""
    told = sum(kept.bytes for kept in records(session.observations if session else (), "kept", KeptForBackward))
    return max(whole.saved, told)


def _uncounted(session: Session | None) -> tuple[int, int, int]:
    """What is in no sum, as `uncounted` takes it."""
    seen = records(session.observations if session else (), "uncounted", UncountedSaved)
    return (seen[0].packed, seen[0].unread, seen[0].silent) if seen else (0, 0, 0)


def _writes_through_views(session: Session | None) -> bool:
    """Whether the graph has a node inside of CopySlices, which does not tell what it saved."""
    nodes = records(session.observations if session else (), "graph", GraphNode)
    return any(node.name.endswith(COPY_SLICES) for node in nodes)


def _left_out(
    trail: Trail,
    session: Session | None,
    root: Part,
    whole: Part,
    unit: Unit,
    hidden: int,
    rows: Sequence[ScreenRow],
) -> Iterator[str]:
    if hidden:
        which = "which cost least" if unit else "the innermost"
        yield f"{hidden} more part{'s' * (hidden != 1)}, {which}, {'are' if hidden > 1 else 'is'} not shown"
    if unit == "instructions":
        yield "instr: single-stepped instructions of a row with all inside of it; rows add up to the one they are in"
    if unit == "nanoseconds":
        yield from how_timed(trail, session, with_nodes=_has_nodes(trail, root))
    if any(part.parts for part in root.walk()):
        yield order(rows)
    yield from backward_and_saved(trail, root)
    yield from run_again(trail)
    yield from uncounted(*_uncounted(session))
    elsewhere = _saved(session, whole) - whole.saved
    if elsewhere > 0:
        yield saved_elsewhere(elsewhere)
    if _saved(session, whole) and _writes_through_views(session):
        yield IN_SLICES
    yield from costliest(
        root, "instructions" if unit == "instructions" else "time", with_nodes=runs_nodes_itself(trail)
    )


def _next_steps(options: Options, root: Part, unit: Unit) -> Iterator[NextStep]:
    leaves = [part for part in root.walk() if part.kind == "module" and part.name and part.own]
    times = Counter(part.name for part in leaves)
    costly = max((part for part in leaves if times[part.name] == 1), key=lambda part: part.own_cost, default=None)
    if costly is not None:
        yield typed(options, f"inside {costly.name}", "--open", costly.name)
    yield typed(options, "operators by cost" if unit else "operators by count", "--view", "operators")
