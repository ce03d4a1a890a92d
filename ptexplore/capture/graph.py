"""Captures the autograd graph behind the value of an expression: one run reads it, a second one notes its lines.

A third run does backward, if it is asked for.
"""

from __future__ import annotations

from msgspec import structs

from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.failures import failure, is_failure
from ptexplore.capture.not_captured import NotCaptured, Stopped
from ptexplore.capture.probing import TraceRequest, ask, request_of
from ptexplore.errors import USAGE
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.autograd_graph import (
    AutogradGraph,
    GraphLines,
    GraphRun,
    GraphSession,
    MemoryWatch,
    NoLines,
    OwnedMemory,
    ReadGraph,
)
from ptexplore.model.codes import convert
from ptexplore.model.messages import RunAnswered
from ptexplore.model.places import Runtime
from ptexplore.model.recorders import GRAPH, GRAPH_LINES, GRAPH_MEMORY, GRAPH_RUN
from ptexplore.model.trace import BoundName, ResultInfo, TorchInfo


def capture_graph(run: AllowedRun, runtime: Runtime) -> GraphSession:
    """Runs the allowed expression twice in a probe of `runtime`, and returns the graph behind its value.

    Raises PtexploreError: (usage) if it cannot be run or its value has no tensor, (failed) if it raises, dies or takes
    too long.
    """
    request = run.request
    if request.expression is None and request.script is None:
        raise NotCaptured(why.NothingToTrace(), why.NothingGiven(), to.ShowGraphOf(), USAGE)
    answers: dict[str, RunAnswered] = {}
    printed = ""
    try:
        for message in ask(runtime, request_of(request, "graph", runtime, {}), request.timeout):
            if message["type"] == "pass":
                answers[message["recorder"]] = message
            elif message["type"] == "output" and message["recorder"] == GRAPH:
                printed = message["text"]
            elif is_failure(message) and message["recorder"] == GRAPH:
                raise failure(message, request)
    except Stopped:
        if GRAPH not in answers:
            raise
    return _session(request, runtime, answers, printed)


def _session(request: TraceRequest, runtime: Runtime, answers: dict[str, RunAnswered], printed: str) -> GraphSession:
    answer = answers[GRAPH]
    read = convert(answer["graph"], ReadGraph)
    second = answers.get(GRAPH_LINES)
    third = answers.get(GRAPH_RUN)
    ran = convert(third["ran"], GraphRun) if third is not None else None
    is_same = ran is not None and ran.shape == read.shape
    no_run: NoLines | None = None if is_same or not request.backward else "failed" if ran is None else "differs"
    watch = answers.get(GRAPH_MEMORY)
    graph, no_lines = _with_lines(read, convert(second["lines"], GraphLines) if second is not None else None)
    return GraphSession(
        expression=(request.expression or request.script or "").strip(),
        script=request.script,
        torch=TorchInfo.of(runtime),
        bound=tuple(BoundName(**bound) for bound in answer["bound"]),
        result=convert(answer["result"], ResultInfo),
        graph=graph,
        no_lines=no_lines,
        ran=ran if is_same else None,
        no_run=no_run,
        owners=convert(answer["owners"], tuple[OwnedMemory, ...]) if "owners" in answer else None,
        watched=convert(watch["watched"], MemoryWatch) if watch is not None else None,
        no_watch=watch is None and (request.owners or request.leak),
        printed=printed,
    )


def _with_lines(read: ReadGraph, lines: GraphLines | None) -> tuple[AutogradGraph, NoLines | None]:
    """Returns the graph with the code that made each node, if the second run made the same graph."""
    if lines is None:
        return read.graph, "failed"
    if lines.shape != read.shape or len(lines.made) != len(read.graph.nodes):
        return read.graph, "differs"
    nodes = (structs.replace(node, made=made) for node, made in zip(read.graph.nodes, lines.made, strict=True))
    detached = dict(lines.detached)
    tensors = (structs.replace(tensor, detached=detached.get(tensor.name)) for tensor in read.graph.tensors)
    return structs.replace(read.graph, nodes=tuple(nodes), tensors=tuple(tensors)), None
