"""Judges the solution of an exercise in a probe: it runs there in a child of its own, without torch."""

from __future__ import annotations

import json
from contextlib import closing

from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import ask, request_of
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.judged import JudgedSolution, WrongCase
from ptexplore.model.messages import JudgedCase
from ptexplore.model.places import Runtime

SEED = 20260
TIMEOUT = 120.0  # seconds; the probe itself ends a solution much earlier


def judge(run: AllowedRun, runtime: Runtime) -> JudgedSolution:
    """Returns how an allowed solution does against PyTorch on random cases. Raises NotCaptured."""
    with closing(ask(runtime, request_of(run.request, "judge", runtime, {}), TIMEOUT)) as messages:
        for message in messages:
            if message["type"] == "judged":
                first = _case(message["first"]) if message["first"] is not None else None
                return JudgedSolution(
                    message["torch"], message["cases"], message["right"], first, message["raised"], message["died"],
                    message["printed"], message["rules_of"],
                )  # fmt: skip
    raise NotCaptured(why.ProbeUnread(), why.SaysNothing(), to.ShowOutput())


def _case(case: JudgedCase) -> WrongCase:
    result = json.loads(case["result"]) if case["result"] else None
    return WrongCase(case["number"], json.loads(case["case"]), json.loads(case["wanted"]), result, bool(case["result"]))
