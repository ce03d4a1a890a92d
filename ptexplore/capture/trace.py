"""Capture one trace: the passes' messages become one session of numbered observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ptexplore.capture.failures import failure
from ptexplore.capture.probing import ask
from ptexplore.capture.request import TraceRequest
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.model import Observation, Runtime, Session

NO_NATIVE = "the native pass is not part of this version"


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
    for message in ask(runtime, asked, request.timeout):
        kind = message.get("type")
        if kind == "output":
            if not passes and message.get("text"):
                data = {"text": str(message["text"])}
                observations.append(Observation(len(observations) + 1, str(message["recorder"]), "output", data))
        elif kind == "pass":
            passes[str(message["recorder"])] = message
            observations += _numbered(message["observations"], len(observations))
        elif kind in ("refused", "raised", "died"):
            raise failure(message, request)
    return _session(request, runtime, passes, observations)


def _check(request: TraceRequest) -> None:
    if request.script is not None and not Path(request.script).is_file():
        raise PtexploreError(f"there is no script {request.script}", "", "", USAGE)


def _numbered(found: list[dict[str, Any]], start: int) -> list[Observation]:
    return [Observation(start + n, o["recorder"], o["kind"], o["data"]) for n, o in enumerate(found, 1)]


def _session(
    request: TraceRequest, runtime: Runtime, passes: dict[str, dict[str, Any]], observations: list[Observation]
) -> Session:
    first = next(iter(passes.values()))
    ran = {o.recorder for o in observations}
    everything = "once" in passes
    captured = {name: everything or name in passes for name in ("ops", "frames", "dispatch")}
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
        captured={**captured, "native": False, "reason": NO_NATIVE, "recorders": sorted(ran)},
        result=first["result"],
        observations=tuple(observations),
    )
