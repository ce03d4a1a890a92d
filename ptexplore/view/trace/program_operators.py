"""The operators of a recorded program by cost: how often, how long, which keys, which kernel, from which lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ptexplore.model.places import SourceRef
from ptexplore.model.program import OperatorCalls, Program
from ptexplore.model.trace import Hop, Trail, walk
from ptexplore.view.trace.modules import script_name, seconds, size
from ptexplore.view.trace.page import NextStep, Options, ScreenRow, TrailView
from ptexplore.view.trace.program_parts import NODES, operator_name

ROWS = 60  # of operators: those that took longest
LINES = 2  # places of yours that a row names
COLUMNS = ("time", "calls", "saved")
LEGEND = (
    ("the bar and %", "the share of the recorded run's time, from entry to exit, with all that it called"),
    ("A → B → kernel", "the dispatch keys that it goes through, first to last, and the last kernel"),
    ("called from", "the lines of yours that called it most often"),
    ("saved", "bytes kept for backward"),
)


@dataclass(eq=False)
class _Operator:
    """All calls of one operator, or all runs of a node. `lines`: how often each line of yours came to it."""

    name: str
    hops: list[Hop]
    is_node: bool
    calls: int = 0
    time: int = 0
    saved: int = 0
    routes: set[int] = field(default_factory=set)
    lines: dict[tuple[str, int], int] = field(default_factory=dict)


def program_operators(trail: Trail, program: Program, options: Options) -> TrailView:
    """The operators that took longest, as many as fit."""
    operators = sorted(_operators(trail, program), key=lambda operator: -operator.time)
    rows = tuple(_row(operator, max(program.wall, 1)) for operator in operators[:ROWS])
    hidden = len(operators) - len(rows)
    names = next((row.opens for row in rows), "")
    command = shlex.join(options.command)
    return TrailView(
        title=script_name(trail),
        facts=(f"torch {trail.torch.version}; one run, {seconds(program.wall)}",),
        findings=tuple(f"{f.kind}: {f.text}" for f in trail.findings),
        left_out=(f"{hidden} more that took less time are not shown",) if hidden > 0 else (),
        next_steps=(NextStep(f"{command} --open {shlex.quote(names)}", "one with all that it went through"),)
        if names
        else (),
        view="operators",
        table=rows,
        columns=COLUMNS,
        legend=LEGEND,
    )


def _operators(trail: Trail, program: Program) -> Iterable[_Operator]:
    hops = {hop.id: hop for hop in trail.hops}
    by_name: dict[tuple[str, bool], _Operator] = {}
    for calls in program.calls:
        route = program.routes[calls.route]
        kind = program.kinds[route.kind]
        if kind.type in ("user", "script"):
            continue
        shown = [hops[number] for number in route.hops if number in hops]
        is_node = kind.type in NODES
        name = operator_name(kind) if is_node else _full_name(shown) or operator_name(kind)
        operator = by_name.setdefault((name, is_node), _Operator(name, shown, is_node))
        operator.calls += calls.calls
        operator.time += calls.time
        operator.saved += calls.saved
        operator.routes.add(calls.route)
        line = _users_line(program, calls)
        if line is not None:
            operator.lines[line] = operator.lines.get(line, 0) + calls.calls
    return by_name.values()


def _full_name(hops: Sequence[Hop]) -> str | None:
    """The operator with its overload, as the hops of its route name it."""
    found = next((hop for hop in walk(hops) if hop.kind == "op" and hop.op), None)
    return found.op.removeprefix("aten::") if found is not None and found.op else None


def _users_line(program: Program, calls: OperatorCalls) -> tuple[str, int] | None:
    """The innermost line of the user's own that came to a call: file and line."""
    at: int | None = calls.path if calls.recorded is None else program.calls[calls.recorded].path
    while at is not None:
        path = program.paths[at]
        outer = program.paths[path.parent] if path.parent is not None else None
        if outer is not None and outer.kind == "user" and path.line is not None and outer.file is not None:
            return outer.file, path.line
        at = path.parent
    return None


def _row(operator: _Operator, wall: int) -> ScreenRow:
    steps = list(walk(operator.hops))
    chain = () if operator.is_node else tuple(_chain(operator.hops))
    keys = dict.fromkeys(hop.key for hop in chain if hop.key)
    kernels = [hop for hop in chain if hop.kind == "kernel"]
    node = next((hop for hop in steps if hop.kind == "node" and hop.derivative is not None), None)
    what = _formulas(node) if operator.is_node else kernels[-1].name.rpartition("::")[2] if kernels else ""
    place = (node.derivative.source if node and node.derivative else None) if operator.is_node else _place(kernels)
    lines = sorted(operator.lines, key=lambda line: -operator.lines[line])
    told = ", ".join(f"{file.rpartition('/')[2]}:{line}" for file, line in lines[:LINES])
    more = f" +{len(lines) - LINES}" if len(lines) > LINES else ""
    cells = (seconds(operator.time), f"{operator.calls:,}", size(operator.saved) if operator.saved else "")
    way = " → ".join(filter(None, (*keys, what)))
    return ScreenRow(
        name=operator.name, share=operator.time / wall, cells=cells, place=place, opens=operator.name,
        what="; ".join(filter(None, (way, f"called from {told}{more}" if told else ""))),
    )  # fmt: skip


def _chain(hops: Sequence[Hop]) -> Iterator[Hop]:
    """The keys and kernels that one operator call goes through itself: not those of the operators that it calls."""
    pending = list(hops)[::-1]
    started = False
    while pending:
        hop = pending.pop()
        if hop.kind == "op":
            if started:
                continue
            started = True
        if hop.kind in ("key", "kernel"):
            yield hop
        pending += reversed(hop.children)


def _formulas(node: Hop | None) -> str:
    """Which inputs of the operator that recorded a node have a formula."""
    formulas = node.derivative.formulas if node is not None and node.derivative is not None else ()
    inputs = [f.inputs for f in formulas if f.mode == "backward" and f.text.strip() != "non_differentiable"]
    return f"formula for {', '.join(inputs)}" if inputs else ""


def _place(kernels: Sequence[Hop]) -> SourceRef | None:
    return next((hop.source for hop in reversed(kernels) if hop.source.path is not None), None)
