"""What torch.compile did to a program."""

from __future__ import annotations

from msgspec import Struct

from ptexplore.model.compiled import (
    CompiledGraph,
    CompileReport,
    GeneratedKernel,
    LineGuards,
    MetFunction,
    PhaseTime,
    Recompilation,
)
from ptexplore.model.observed import RaisedError
from ptexplore.view.documents.parts import FORMAT


class CompileDocument(Struct, frozen=True):
    """`compile --json`."""

    format: int  # 1.
    expression: str  # the expression, or `--script FILE`.
    torch: str  # the version of torch.
    wrapped: bool  # whether `--compile` gave the expression to torch.compile.
    functions: tuple[MetFunction, ...]  # the functions that Dynamo met, in this order.
    graphs: int  # how many graphs of forward were compiled.
    backward_graphs: int  # how many graphs of backward AOTAutograd made.
    recompilations: tuple[Recompilation, ...]  # functions that were compiled again.
    guard_count: int | None  # how many guards Dynamo made, over all compilations; null if torch does not say.
    guards: tuple[LineGuards, ...]  # what the compiled functions check, by the line that made the guard.
    kernels: tuple[GeneratedKernel, ...]  # kernels that Inductor generated.
    compiled: tuple[CompiledGraph, ...]  # the graphs, with their texts.
    phases: tuple[PhaseTime, ...]  # the time of each phase of the compiler, the longest first.
    seconds: float | None  # the time of all compilations; null if torch does not say.
    raised: RaisedError | None  # what ended the run; null if it came to its end.
    lost: int  # records in torch's log that could not be read or kept.


def compile_document(report: CompileReport) -> CompileDocument:
    """Returns the document of a report."""
    run = report.run
    return CompileDocument(
        format=FORMAT,
        expression=run.expression,
        torch=run.torch.version,
        wrapped=run.wraps,
        functions=report.functions,
        graphs=report.graphs,
        backward_graphs=report.backward_graphs,
        recompilations=report.recompilations,
        guard_count=report.guard_count,
        guards=report.guards,
        kernels=report.kernels,
        compiled=report.compiled,
        phases=report.phases,
        seconds=report.seconds,
        raised=run.raised,
        lost=run.log.lost,
    )
