"""Capture one trace: the passes' messages become one session of numbered observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ptexplore.capture.compare import AGAIN, compare
from ptexplore.capture.failures import failure
from ptexplore.capture.probing import ask
from ptexplore.capture.request import TraceRequest
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import Observation, Runtime, Session

NO_NATIVE = "the native pass is not part of this version"
RECORDERS = ("ops", "frames", "dispatch")


def capture(request: TraceRequest, runtime: Runtime, digests: Mapping[str, str] | None = None) -> Session:
    """Run the expression or script in a probe of `runtime` and keep what its recorders saw.

    `digests` are the catalogue's, by operator: only operators that differ from it tell their tables.
    Raises PtexploreError (usage) for what cannot be run, (failed) for what raises, dies or takes too long.
    """
    _check(request)
    asked: dict[str, Any] = {
        "work": "trace",
        "torch_dir": runtime.torch_dir,
        "digests": dict(digests or {}),
        **asdict(request),
    }
    passes: dict[str, dict[str, Any]] = {}
    observations: list[Observation] = []

    def add(recorder: str, kind: str, data: dict[str, Any]) -> None:
        observations.append(Observation(len(observations) + 1, recorder, kind, data))

    for message in ask(runtime, asked, request.timeout):
        kind, recorder = message.get("type"), str(message.get("recorder"))
        if kind == "output" and not passes and message.get("text"):
            add(recorder, "output", {"text": str(message["text"]), "cut": bool(message.get("cut"))})
        elif kind == "pass":
            passes[recorder] = message
            for seen in message["observations"] if recorder != AGAIN else ():
                add(seen["recorder"], seen["kind"], seen["data"])
        elif kind in ("refused", "raised", "died") and recorder != AGAIN:
            raise failure(message, request)
    for kind, data in compare(passes):
        add("compare", kind, data)
    return _session(request, runtime, passes, observations)


def _check(request: TraceRequest) -> None:
    if request.script is None and request.expression is None:
        raise PtexploreError(
            "there is nothing to trace", "no expression and no script", 'ptexplore trace "a + b"', USAGE
        )
    if request.script is not None and not Path(request.script).is_file():
        hint = "ptexplore trace --script FILE"
        raise PtexploreError(f"there is no script {request.script}", "no file of that name", hint, USAGE)


def _session(
    request: TraceRequest, runtime: Runtime, passes: Mapping[str, dict[str, Any]], observations: list[Observation]
) -> Session:
    first = next(iter(passes.values()))
    captured: dict[str, Any] = {name: "once" in passes or name in passes for name in RECORDERS}
    if request.script is not None:
        captured["dispatch"] = False
    torch = {
        "version": runtime.version,
        "git_version": runtime.git_version,
        "build": runtime.build,
        "python": runtime.python_version,
        "torch_dir": runtime.torch_dir,
    }
    return Session(
        expression=request.expression.strip() if request.expression else f"--script {request.script}",
        torch=torch,
        bound=tuple(first["bound"]),
        options={k: v for k, v in asdict(request).items() if k not in ("cwd", "expression")},
        captured={**captured, "native": False, "reason": NO_NATIVE},
        result=first["result"],
        observations=tuple(observations),
    )
