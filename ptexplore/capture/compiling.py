"""Runs an expression or a script once, and takes the log of torch.compile: one message becomes a `CompileRun`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.failures import failure, gets_trace, is_about_run, is_failure
from ptexplore.capture.not_captured import NotCaptured, Stopped
from ptexplore.capture.probing import TraceRequest, ask_of_program, request_of
from ptexplore.capture.seen import seen_in
from ptexplore.errors import USAGE
from ptexplore.locations import compiler_cache_dir
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.codes import convert
from ptexplore.model.compiled import CompileRun
from ptexplore.model.compiler_log import CompilerLog
from ptexplore.model.messages import ProbeMessage, RunAnswered, RunRaised
from ptexplore.model.observed import LeftProcess, RaisedError
from ptexplore.model.options import options_of
from ptexplore.model.places import Runtime
from ptexplore.model.trace import BoundName, TorchInfo, of_program

# Inductor's caches of whole graphs are off, since a graph from a cache has fewer records. Its provenance is on.
_VARIABLES = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0", "INDUCTOR_PROVENANCE": "1"}


def compile_run(run: AllowedRun, runtime: Runtime) -> CompileRun:
    """Runs the allowed code once in a probe of `runtime`, and returns the compiler's log.

    The compiler's files go into a folder of ptexplore's cache: the user's own caches stay as they are. Code that raises
    gets a result, too. Raises NotCaptured if it cannot be run, dies or takes too long without an answer.
    """
    request = run.request
    check_compiled(request)
    left: list[LeftProcess] = []
    asked = request_of(request, "compile", runtime, {})
    messages = ask_of_program(runtime, asked, request.timeout, left, environment(runtime))
    with closing(messages):
        return _gather(messages, request, runtime, left)


def environment(runtime: Runtime) -> Mapping[str, str]:
    """Returns the variables for the probe: a private folder for the compiler's files, and no cached graphs."""
    folder = compiler_cache_dir(runtime.version)
    return {"TORCHINDUCTOR_CACHE_DIR": str(folder), **_VARIABLES}


def check_compiled(request: TraceRequest) -> None:
    """Raises NotCaptured for a request that cannot succeed, whatever the torch."""
    if request.script is not None and not Path(request.script).is_file():
        raise NotCaptured(why.NoScript(request.script), why.NoFile(), to.TraceScript(), USAGE)


def _gather(
    messages: Iterable[ProbeMessage], request: TraceRequest, runtime: Runtime, left: list[LeftProcess]
) -> CompileRun:
    """Returns the run of one probe's messages."""
    answer: RunAnswered | None = None
    printed, is_cut = "", False
    try:
        for message in messages:
            if not is_about_run(message):
                continue
            if message["type"] == "output":
                printed, is_cut = message["text"], message["cut"]
            elif message["type"] == "pass":
                answer = message
            elif is_failure(message):
                raise failure(message, request)
    except Stopped:
        if answer is None:
            raise
    assert answer is not None  # a probe that ends without an answer raises Stopped
    raised = _raised(answer)
    if raised is not None and not gets_trace(raised):
        raise failure(_message_of(raised), request)
    return CompileRun(
        expression=request.expression.strip() if request.expression else of_program(request),
        torch=TorchInfo.of(runtime),
        options=options_of(request),
        wraps=request.wraps,
        bound=tuple(BoundName(**bound) for bound in answer["bound"]),
        log=convert(answer["compiler"], CompilerLog),
        raised=raised,
        printed=printed,
        printed_cut=is_cut,
        left=tuple(left),
        cwd=os.fspath(request.cwd),
    )


def _raised(answer: RunAnswered) -> RaisedError | None:
    errors = (read.data for read in seen_in(answer["observations"]))
    return next((error for error in errors if isinstance(error, RaisedError)), None)


def _message_of(raised: RaisedError) -> RunRaised:
    return {
        "type": "raised",
        "recorder": "compiler",
        "stage": raised.stage,
        "exception": raised.exception,
        "message": raised.message,
        "by": raised.by,
        "close": raised.close,
    }
