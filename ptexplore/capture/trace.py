"""Capture one trace: the passes' messages become one session of numbered observations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ptexplore.capture.compare import AGAIN, compare
from ptexplore.capture.failures import failure, no_native
from ptexplore.capture.probing import Stopped, ask
from ptexplore.capture.request import TraceRequest
from ptexplore.errors import USAGE, PtexploreError
from ptexplore.locations import symbols_dir
from ptexplore.model import Observation, Runtime, Session

RECORDERS = ("ops", "frames", "dispatch")
NATIVE = "native"
NOT_ASKED = "the native pass was not asked for"
ONCE = "--once runs it a single time, and the native pass runs it again"


def capture(request: TraceRequest, runtime: Runtime, digests: Mapping[str, str] | None = None) -> Session:
    """Run the expression or script in a probe of `runtime` and keep what its recorders saw.

    `digests` are the catalogue's, by operator: only operators that differ from it tell their tables. The native pass
    may fail alone: the session then says why, and holds what the others saw.
    Raises PtexploreError (usage) for what cannot be run, (failed) for what raises, dies or takes too long.
    """
    _check(request)
    request = replace(request, native=request.native and not request.once)
    asked: dict[str, Any] = {
        "work": "trace",
        "torch_dir": runtime.torch_dir,
        "digests": dict(digests or {}),
        **asdict(request),
    }
    return gather(ask(runtime, asked, request.timeout), request, runtime)


def gather(messages: Iterable[dict[str, Any]], request: TraceRequest, runtime: Runtime) -> Session:
    """The session of one trace's messages. Raises as `capture` does."""
    heard = _Heard(request)
    try:
        for message in messages:
            heard.take(message)
    except Stopped as error:
        if heard.running != NATIVE:
            raise
        heard.no_native = f"{error.why}"
    for kind, data in compare(heard.passes):
        heard.add("compare", kind, data)
    return _session(request, runtime, heard)


@dataclass
class _Heard:
    """What a probe has said so far."""

    request: TraceRequest
    passes: dict[str, dict[str, Any]] = field(default_factory=dict)
    observations: list[Observation] = field(default_factory=list)
    running: str = ""  # the recorder that runs now
    no_native: str | None = None
    first: dict[str, Any] = field(default_factory=dict)  # why it is the first call that is told, where modules came in

    def add(self, recorder: str, kind: str, data: dict[str, Any]) -> None:
        """Keep one observation."""
        self.observations.append(Observation(len(self.observations) + 1, recorder, kind, data))

    def take(self, message: dict[str, Any]) -> None:
        """Keep one message. Raises PtexploreError for what ends the whole trace."""
        kind, recorder = message.get("type"), str(message.get("recorder"))
        if kind == "begin":
            self.running = recorder
        elif kind == "first":
            self.first = {"imported": message["imported"], "why": str(message["why"])}
            self.no_native = f"it steps a later call than the first, and the second {self.first['why']}"
        elif recorder == NATIVE:
            self._native(message)
        elif kind == "output" and not self.passes and message.get("text"):
            self.add(recorder, "output", {"text": str(message["text"]), "cut": bool(message.get("cut"))})
        elif kind == "pass":
            self.passes[recorder] = message
            for seen in message["observations"] if recorder != AGAIN else ():
                self.add(seen["recorder"], seen["kind"], seen["data"])
        elif kind in ("refused", "raised", "died") and recorder != AGAIN:
            raise failure(message, self.request)

    def _native(self, message: dict[str, Any]) -> None:
        if message["type"] == "pass":
            from ptexplore.capture.native.record import calls  # numpy, only where it is needed

            for seen in calls(message["observations"], symbols_dir()):
                self.add(seen["recorder"], seen["kind"], seen["data"])
        elif message["type"] != "output":
            self.no_native = no_native(message)

    @property
    def native(self) -> dict[str, Any]:
        """Whether the native pass told anything, and why not."""
        if any(o.kind == "calls" for o in self.observations):
            return {"native": True, "reason": None}
        given = ONCE if self.request.once else self.no_native if self.request.native else NOT_ASKED
        return {"native": False, "reason": given or "the native pass said nothing"}


def _check(request: TraceRequest) -> None:
    if request.script is None and request.expression is None:
        raise PtexploreError(
            "there is nothing to trace", "no expression and no script", 'ptexplore trace "a + b"', USAGE
        )
    if request.script is not None and not Path(request.script).is_file():
        hint = "ptexplore trace --script FILE"
        raise PtexploreError(f"there is no script {request.script}", "no file of that name", hint, USAGE)


def _session(request: TraceRequest, runtime: Runtime, heard: _Heard) -> Session:
    first = next(iter(heard.passes.values()))
    captured: dict[str, Any] = {name: "once" in heard.passes or name in heard.passes for name in RECORDERS}
    if request.script is not None:
        captured["dispatch"] = False
    if first.get("warm"):
        captured["warm"] = first["imported"]
    if heard.first:
        captured["first"] = heard.first
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
        captured={**captured, **heard.native},
        result=first["result"],
        observations=tuple(heard.observations),
    )
