"""Records in the calling process: loads the probe's recorder by path and runs it around the user's own code.

`import ptexplore` loads none of this. The recorder reports like the probe of a script, so the result is the same kind
of session.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

from msgspec import to_builtins

from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import PROBE, TraceRequest
from ptexplore.capture.trace import gather
from ptexplore.errors import FAILED, MISSING, USAGE, PtexploreError
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.autograd_graph import AutogradGraph, GraphSession
from ptexplore.model.codes import convert
from ptexplore.model.messages import RunAnswered, RunUnavailable
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import RanInYourProcess, Reason, reason_of
from ptexplore.model.recorders import NATIVE
from ptexplore.model.trace import ResultInfo, Session, TorchInfo
from ptexplore.source.runtime.describe import INSTALL, OLDEST, release_of

NOT_STEPPED = to_builtins(RanInYourProcess())
# What would help, by the reason why a process cannot be recorded. Else another profiler is in the way.
_INSTEAD: Mapping[type[Reason], to.Action] = {
    why.RecordedAlready: to.EndRecording(),
    why.InOtherThreadThanMain: to.CallInMainThread(),
}
AGAIN = "record() once more"


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """A recorded block of the user's own process: its name, the torch that ran, and the recorder's message.

    If it failed, `failed` says why, and `message` is empty.
    """

    name: str
    torch_dir: str
    message: bytes
    failed: str = ""


class BlockRecorder:
    """Records this process from `begin` to `end`. If something fails, the block that `end` gives says so."""

    def __init__(self, native_budget: int = 0) -> None:
        self._native_budget = native_budget  # instructions that may be stepped, each call in a fork of this process
        self._block: Any = None  # the block of the probe
        self._name = self._torch_dir = ""

    def begin(self, frame: FrameType | None = None, function: object = None) -> None:
        """Starts to record: the rest of the function that `frame` is in, or a call of `function`.

        Raises PtexploreError if that is not possible: there is no supported torch, a profiler is active, this process
        is recorded already, or this is not the main thread.
        """
        check_torch()
        program = probe_module("program")
        refused = program.why_not_here()
        if refused is not None:
            because = reason_of(refused)
            raise NotCaptured(why.NotRecordedNow(), because, _INSTEAD.get(type(because), to.EndProfiler()), USAGE)
        yours = _yours(frame) if frame is not None else None
        code = yours.f_code if yours is not None else getattr(function, "__code__", None)
        self._name = _name_of_block(yours) if yours is not None else _name_of_call(function)
        self._torch_dir = str(probe_module("torch_api").TORCH_DIR)
        self._block = program.Block(self._native_budget)
        self._block.begin(yours, (code.co_filename,) if code is not None else ())

    def end(self, error: BaseException | None = None) -> None:
        """Stops recording and removes every hook. `error` is the exception that the code raised.

        An exception of a signal handler is raised when all is done. `end` may be called again.
        """
        if self._block is not None:
            self._block.end(error)

    @property
    def is_over(self) -> bool:
        """Whether recording has ended and every hook is removed."""
        return self._block is None or bool(self._block.is_over)

    @property
    def recorded(self) -> RecordedBlock | None:
        """The recording, after `end`. None if it did not begin."""
        if self._block is None:
            return None
        return RecordedBlock(self._name, self._torch_dir, self._block.message or b"", self._block.failed)


def is_the_programs(error: BaseException) -> bool:
    """Whether an exception raised from here belongs to the program, for example one of a signal handler."""
    return bool(probe_module("held_signals").is_the_programs(error))


def session_of(recorded: RecordedBlock, runtime: Runtime, digests: Mapping[str, str]) -> Session:
    """Returns the session of a recording. `digests` are the catalogue's, by operator.

    Raises PtexploreError if another torch ran than that of `runtime`, or if nothing could be recorded.
    """
    if not recorded.message:
        raise PtexploreError("nothing was recorded", recorded.failed or "the recording did not begin", AGAIN, FAILED)
    if os.path.realpath(recorded.torch_dir) != os.path.realpath(runtime.torch_dir):
        because = f"{recorded.torch_dir} ran, but this workspace reads {runtime.torch_dir}"
        raise PtexploreError("another torch was recorded", because, "use a Workspace() without python=", MISSING)
    message: RunAnswered = json.loads(recorded.message)
    tables = [seen["data"] for seen in message["observations"] if seen["kind"] == "table"]
    changed = set(probe_module("program").unlike(tables, dict(digests)))
    message["observations"] = [
        seen for seen in message["observations"] if seen["kind"] != "table" or seen["data"]["op"] in changed
    ]
    request = TraceRequest(expression=recorded.name, native=True)
    no_native: RunUnavailable = {"type": "unavailable", "recorder": NATIVE, "told": NOT_STEPPED}
    return gather((no_native, message), request, runtime, raising=True)


def graph_session(value: object, caller: FrameType, runtime: Runtime) -> GraphSession:
    """Returns the autograd graph behind a value of this process. The variables of `caller` name its leaves.

    Raises PtexploreError if torch is not the one of `runtime`, or if the value has no tensor.
    """
    check_torch()
    reader, values = probe_module("autograd_graph"), probe_module("values")
    folder = str(probe_module("torch_api").TORCH_DIR)
    if os.path.realpath(folder) != os.path.realpath(runtime.torch_dir):
        because = f"{folder} is imported, but this workspace reads {runtime.torch_dir}"
        raise PtexploreError("the value is of another torch", because, "use a Workspace() without python=", MISSING)
    try:
        read = reader.of_your_process(value, caller)
    except probe_module("expression").Refused as refused:
        raise NotCaptured(reason_of(refused.reason), why.GraphNeedsTensor(), to.ShowGraphOf(), USAGE) from None
    graph = convert(read["graph"], AutogradGraph)
    has_lines = any(node.made is not None for node in graph.nodes)
    return GraphSession(
        expression=values.type_name(value),
        torch=TorchInfo.of(runtime),
        bound=(),
        result=ResultInfo(values.type_name(value), values.describe(value)),
        graph=graph,
        no_lines=None if has_lines else "own",
    )


def probe_module(name: str) -> Any:
    """Returns a module of the probe, under the name that it has in a probe."""
    return importlib.import_module(f"{_package()}.{name}")


@cache
def _package() -> str:
    spec = importlib.util.spec_from_file_location("_ptexplore_probe_main", PROBE)
    assert spec is not None
    assert spec.loader is not None
    main = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    if main.PACKAGE not in sys.modules:  # it is loaded already in a probe, whose script may be the caller
        main.load_siblings()
    return str(main.PACKAGE)


def check_torch() -> None:
    """Imports torch. Raises PtexploreError if there is none, or one that is too old."""
    try:
        version = str(getattr(importlib.import_module("torch"), "__version__", ""))
    except ImportError as error:
        raise PtexploreError("torch cannot be imported", str(error), INSTALL, MISSING) from error
    if release_of(version) < OLDEST:
        stated = f"torch {version} is too old" if version else "the imported torch has no version"
        raise PtexploreError(stated, "ptexplore needs torch 2.6 or later", INSTALL, MISSING)


def _yours(frame: FrameType) -> FrameType:
    """Returns the user's frame, skipping those of contextlib: an ExitStack may enter the recording."""
    while frame.f_globals.get("__name__") == "contextlib" and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _name_of_block(frame: FrameType) -> str:
    code = frame.f_code
    place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
    return f"record() at {place}" if code.co_name == "<module>" else f"record() in {code.co_name} at {place}"


def _name_of_call(function: object) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{name.rpartition('<locals>.')[2]}()"
