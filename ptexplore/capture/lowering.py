"""Makes the graphs of `ptexplore lower` in a probe: one message becomes a `LowerRun`."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import fields, replace

from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.compiling import check_compiled, environment
from ptexplore.capture.failures import failure, is_about_run, is_failure
from ptexplore.capture.left_running import remarks_about
from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import TraceRequest, ask, request_of
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.codes import convert
from ptexplore.model.messages import RunAnswered
from ptexplore.model.observed import LeftProcess
from ptexplore.model.options import TraceOptions
from ptexplore.model.places import Runtime
from ptexplore.model.rungs import RUNGS, LadderRungs, LowerRun
from ptexplore.model.trace import BoundName, TorchInfo, of_program


def lower_run(run: AllowedRun, runtime: Runtime) -> LowerRun:
    """Makes the requested rungs of the allowed expression in a probe of `runtime`.

    The timeout of the request is for each rung. Raises NotCaptured if the code cannot be run, raises, or dies.
    """
    check_compiled(run.request)
    left: list[LeftProcess] = []
    try:
        return _lowered(run.request, runtime, left)
    except NotCaptured as error:
        if isinstance(error.then, to.TraceExpression):
            error.then = to.LowerExpression()
        error.add(tuple(remarks_about(left, is_script=False)))
        raise


def _lowered(request: TraceRequest, runtime: Runtime, left: list[LeftProcess]) -> LowerRun:
    seconds = request.timeout * (len(RUNGS) + 1)  # one more for eager mode
    asked = request_of(replace(request, timeout=seconds), "lower", runtime, {})
    answer: RunAnswered | None = None
    variables = environment(runtime) if "inductor" in request.rungs else None
    with closing(ask(runtime, asked, seconds, variables, left)) as messages:
        for message in messages:
            if is_about_run(message) and is_failure(message):
                raise failure(message, request)
            if message["type"] == "pass":
                answer = message
    if answer is None:
        raise NotCaptured(why.ProbeUnread(), why.SaysNothing(), to.ShowOutput())
    return LowerRun(
        expression=(request.expression or "").strip() or f"{of_program(request)}, {request.only}",
        torch=TorchInfo(runtime.version, runtime.git_version, runtime.build, runtime.python_version, runtime.torch_dir),
        options=TraceOptions(**{option.name: getattr(request, option.name) for option in fields(TraceOptions)}),
        bound=tuple(BoundName(**bound) for bound in answer["bound"]),
        ladder=convert(answer["ladder"], LadderRungs),
        cwd=os.fspath(request.cwd),
    )
