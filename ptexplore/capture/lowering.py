"""Makes the graphs of `ptexplore lower` in a probe: one message becomes a `LowerRun`."""

from __future__ import annotations

import os

from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.compiling import check_compiled, environment
from ptexplore.capture.single_answer import single_answer
from ptexplore.model.actions import LowerExpression
from ptexplore.model.codes import convert
from ptexplore.model.options import options_of
from ptexplore.model.places import Runtime
from ptexplore.model.rungs import RUNGS, LadderRungs, LowerRun
from ptexplore.model.trace import BoundName, TorchInfo, of_program


def lower_run(run: AllowedRun, runtime: Runtime) -> LowerRun:
    """Makes the requested rungs of the allowed expression in a probe of `runtime`.

    The timeout of the request is for each rung. Raises NotCaptured if the code cannot be run, raises, or dies.
    """
    request = run.request
    check_compiled(request)
    seconds = request.timeout * (len(RUNGS) + 1)  # one more for eager mode
    variables = environment(runtime) if "inductor" in request.rungs else None
    answer, _ = single_answer(run, "lower", runtime, LowerExpression(), seconds=seconds, variables=variables)
    return LowerRun(
        expression=(request.expression or "").strip() or f"{of_program(request)}, {request.only}",
        torch=TorchInfo.of(runtime),
        options=options_of(request),
        bound=tuple(BoundName(**bound) for bound in answer["bound"]),
        ladder=convert(answer["ladder"], LadderRungs),
        cwd=os.fspath(request.cwd),
    )
