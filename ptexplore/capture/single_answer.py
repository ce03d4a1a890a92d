"""The answer of a probe that runs code once, for a command of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Literal

from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.failures import failure, is_about_run, is_failure
from ptexplore.capture.left_running import remarks_about
from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import ask, request_of
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.messages import RunAnswered
from ptexplore.model.observed import LeftProcess
from ptexplore.model.places import Runtime


def single_answer(
    run: AllowedRun,
    work: Literal["lower", "tensors"],
    runtime: Runtime,
    instead: to.Action,
    *,
    seconds: float,
    variables: Mapping[str, str] | None = None,
) -> tuple[RunAnswered, str]:
    """Returns the answer of the allowed run, which gets so many seconds, and everything that its code printed.

    `instead` is the remedy where a trace would be one. Raises NotCaptured if the code cannot be run, raises, or dies.
    """
    asked = request_of(replace(run.request, timeout=seconds), work, runtime, {})
    left: list[LeftProcess] = []
    answer: RunAnswered | None = None
    printed = ""
    try:
        with closing(ask(runtime, asked, seconds, variables, left)) as messages:
            for message in messages:
                if message["type"] == "output":
                    printed += message["text"]
                if is_about_run(message) and is_failure(message):
                    raise failure(message, run.request)
                if message["type"] == "pass":
                    answer = message
        if answer is None:
            raise NotCaptured(why.ProbeUnread(), why.SaysNothing(), to.ShowOutput())
    except NotCaptured as error:
        if isinstance(error.then, to.TraceExpression):
            error.then = instead
        error.add(tuple(remarks_about(left, is_script=False)))
        raise
    return answer, printed
