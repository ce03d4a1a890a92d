"""What became of each operator on the way down the rungs, by the links that torch keeps; nothing is matched by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ptexplore.model.compiled import CompileRun
from ptexplore.model.rungs import (
    RUNGS,
    LoweredOperator,
    LowerReport,
    LowerRun,
    Rung,
    RungName,
    RungOperator,
    RungStep,
)
from ptexplore.resolve.compiler.conclude import report as compile_report


def conclude_rungs(run: LowerRun) -> LowerReport:
    """Returns the rungs of a run, with the steps between a rung and the one that it was made from."""
    rungs = tuple(
        _with_kernels(rung, run) if rung.name == "inductor" and rung.failure is None else rung
        for rung in run.ladder.rungs
    )
    bare = replace(run, ladder=replace(run.ladder, rungs=(), compiler=None))  # the report has the rungs
    steps = []
    for rung in rungs:
        above = next((other for other in rungs if other.name == rung.links_to), None)
        if above is not None and above.failure is None and rung.failure is None and rung.name != "aot-backward":
            steps.append(
                _step(above, rung, {operator.name: _names(operator, above.name) for operator in rung.operators})
            )
    return LowerReport(bare, rungs, tuple(steps))


def step_between(rungs: Sequence[Rung], before: RungName, after: RungName) -> RungStep | None:
    """Returns the way from one rung to a lower one, over all rungs between them. None if torch keeps no record."""
    by_name = {rung.name: rung for rung in rungs}
    first, last = by_name.get(before), by_name.get(after)
    if first is None or last is None or first.failure is not None or last.failure is not None:
        return None
    sources: dict[str, tuple[str, ...]] = {operator.name: (operator.name,) for operator in last.operators}
    rung = last
    while rung.name != before:
        above = rung.links_to
        # A saved file may have links in a circle.
        if above is None or above not in by_name or RUNGS.index(above) >= RUNGS.index(rung.name):
            return None
        links = {operator.name: _names(operator, above) for operator in rung.operators}
        sources = {
            name: tuple(dict.fromkeys(up for known in origin for up in links.get(known, ())))
            for name, origin in sources.items()
        }
        rung = by_name[above]
    return _step(first, last, sources)


def _names(operator: RungOperator, rung: RungName) -> tuple[str, ...]:
    return tuple(link.name for link in operator.sources if link.rung == rung)


def _step(before: Rung, after: Rung, sources: Mapping[str, Iterable[str]]) -> RungStep:
    """Returns what became of each operator. `sources` has the operators that each one of `after` was made from."""
    kinds = {operator.name: operator.operator for operator in after.operators}
    into: dict[str, list[str]] = {operator.name: [] for operator in before.operators}
    added = []
    for name, origin in sources.items():
        known = [source for source in origin if source in into]
        for source in known:
            into[source].append(name)
        if not known:
            added.append(name)
    return RungStep(before.name, after.name, tuple(_outcome(operator, into[operator.name], kinds)
                                                   for operator in before.operators), tuple(added))  # fmt: skip


def _outcome(operator: RungOperator, into: list[str], kinds: Mapping[str, str]) -> LoweredOperator:
    if not into:
        return LoweredOperator(operator.name, (), "removed")
    if len(into) > 1:
        return LoweredOperator(operator.name, tuple(into), "decomposed")
    return LoweredOperator(operator.name, tuple(into), "same" if kinds[into[0]] == operator.operator else "replaced")


def _with_kernels(rung: Rung, run: LowerRun) -> Rung:
    """Returns the rung of Inductor with its kernels, concluded from torch's log."""
    if run.ladder.compiler is None:
        return rung
    ran = CompileRun(
        expression=run.expression, torch=run.torch, options=run.options, wraps=True, bound=run.bound, cwd=run.cwd,
        log=run.ladder.compiler,
    )  # fmt: skip
    kernels = compile_report(ran).kernels
    operators = tuple(
        RungOperator(
            name=f"kernel {number}",
            operator=kernel.name,
            at=kernel.lines[0] if kernel.lines else None,
            inputs=(),
            type=", ".join(dict.fromkeys(kernel.calls or kernel.operators)),
        )
        for number, kernel in enumerate(kernels, 1)
    )
    return replace(rung, operators=operators, count=len(operators))
