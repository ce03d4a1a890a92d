"""Turns a failed pass into the three-part error for the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import FAILED, USAGE
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.actions import Action
from ptexplore.model.codes import convert
from ptexplore.model.messages import (
    AboutRun,
    ProbeMessage,
    ReasonSaid,
    RunDied,
    RunFailure,
    RunRaised,
    RunRefused,
)
from ptexplore.model.observed import LeftFrame, RaisedError
from ptexplore.model.reasons import Reason, reason_of

# For each kind of refusal: the reason, and what would help.
REFUSED: Mapping[str, tuple[Reason, Action]] = {
    "empty": (why.NothingToRun(), to.TraceExpression()),
    "syntax": (why.ParserRefuses(), to.TraceExpression()),
    "statements": (why.OneExpression(), to.GiveStatements()),
    "name": (why.NamesBecomeTensors(), to.BindName()),
    "attribute": (why.LookedForBefore(), to.LookUpOperator()),
    "variable": (why.VariablesRunOnce(), to.BindValue()),
    "setup": (why.SetupRunsFirst(), to.Prepare()),
    "no-tensor": (why.TensorsAreDrawn(), to.DrawTensors()),
    "script": (why.ParserRefuses(), to.TraceScript()),
    "only": (why.ModulesByClassOrPath(), to.LowerExpression()),
    "input": (why.InputsByPosition(), to.LowerExpression()),
    "context": (why.ContextsAreExpressions(), to.EnterContext()),
    "profiler": (why.OneProfiler(), to.TraceScript()),
    "graph": (why.GraphNeedsTensor(), to.ShowGraphOf()),
    "backward": (why.BackwardNeeds(), to.ComputeFromInputs()),
}
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc", "Cannot allocate memory")
TYPED = ("<--", "<expression")  # the probe's file names for code that was typed
TEXT_LIMIT = 1000  # characters shown of an error's own message


def is_about_run(message: ProbeMessage) -> TypeGuard[AboutRun]:
    """Whether a message reports about a run that has begun: its output, its result or its failure."""
    return message["type"] in ("output", "pass", "refused", "raised", "unavailable", "died", "late")


def is_failure(message: ProbeMessage) -> TypeGuard[RunFailure]:
    """Whether a message says why a run failed. "unavailable", a run that is impossible here, does not count."""
    return message["type"] in ("refused", "raised", "died")


def failure(message: RunFailure, request: TraceRequest) -> NotCaptured:
    """Returns the error for a run without a result."""
    if message["type"] == "refused":
        because, then = REFUSED.get(message["kind"], (why.CannotRun(), to.TraceExpression()))
        return NotCaptured(shown_reason(message["told"]), _caret(message) or because, _near(message) or then, USAGE)
    return _raised(message, request) if message["type"] == "raised" else _died(message, request)


def shown_reason(sent: ReasonSaid) -> Reason:
    """Returns the reason that a probe gives, with texts cut to the shown length."""
    return reason_of(_shortened(sent))


def _shortened(sent: Any) -> Any:
    if isinstance(sent, dict):
        return {name: _shortened(value) for name, value in sent.items()}
    return sent[:TEXT_LIMIT] if isinstance(sent, str) else sent


def _near(message: RunRefused | RunRaised) -> Action | None:
    close = message.get("close")
    return to.UseNearName(tuple(close)) if close else None


def _caret(message: RunRefused) -> Reason | None:
    """Returns the wrong line with a caret under the place, or None if there is no place."""
    lines, (line, column) = str(message["source"]).split("\n"), message["where"] or (0, 0)
    if not 1 <= line <= len(lines):
        return None
    shown, column = lines[line - 1], max(column, 1)
    start = max(column - 60, 0)  # shows only the part of a long line around the place
    return why.GivenLine(shown[start : start + 100], f"\n       {' ' * (column - start - 1)}^")


def no_native(message: AboutRun) -> Reason:
    """Returns why there is no native call tree, given a message of the stepped run other than an answer."""
    if message["type"] == "raised":
        return why.RaisedUnderStepper(message["exception"], _first_line(message["message"]))
    if message["type"] == "died":
        signal = message["signal"]
        if signal == "SIGTRAP":
            return why.TrapTaken()
        return why.EndedBySignal(signal) if signal else why.EndedByItself()
    if message["type"] != "refused" and message["type"] != "unavailable":
        return why.SaysNothing()
    reason = shown_reason(message["told"])
    if message["type"] == "refused" and message["kind"] == "repeat":
        return why.FurtherRun(reason)
    # The other passes did not raise, since the setup runs once in a process.
    if isinstance(reason, why.GivenRaised) and isinstance(reason.given, why.GivenSetup):
        return why.SetupRaisedAgain(reason.exception, reason.message.partition("\n")[0])
    return reason


def unwatched(message: AboutRun) -> Reason:
    """Returns why a run that watches saved tensors has no result. If the run was successful: it saw no write."""
    if message["type"] == "pass":
        return why.WritesNotTold(why.ErrorNotRaised())
    if message["type"] == "died":
        signal = message["signal"]
        return why.WritesNotTold(why.RunEndedBySignal(signal) if signal else why.RunEndedByItself())
    if message["type"] == "raised":
        return why.WritesNotTold(_first_line(message["message"]))
    if message["type"] == "refused" or message["type"] == "unavailable":
        return why.WritesNotTold(shown_reason(message["told"]))
    return why.WritesNotTold(why.SaysNothing())


def _first_line(message: str) -> Reason:
    text = message.strip().split("\n")[0]
    return why.Said(text[:TEXT_LIMIT]) if text else why.SaysNothing()


def _source(request: TraceRequest) -> str:
    text = request.script or request.module or request.expression or ""
    return text if len(text) <= 200 else f"{text[:200]}…"


def without_stack(message: str) -> str:
    """Returns an error's own text, without the C++ stack that c10::Error appends if asked to."""
    return message.partition("\nException raised from ")[0]


def gets_trace(raised: RaisedError) -> bool:
    """Whether an error gets a trace.

    An error gets no trace if memory ran out, since the next run may fail at another place, or if a name in the
    expression is misspelt. A block of the user's own process always gets a trace, since it has no next run.
    """
    if raised.stage == "block":
        return True
    slip = bool(raised.close) and all(frame.file == "<expression>" for frame in raised.frames)
    return not slip and not _out_of_memory(raised.exception, raised.message)


def _out_of_memory(name: str, text: str) -> bool:
    return name in ("MemoryError", "OutOfMemoryError") or any(phrase in text for phrase in OUT_OF_MEMORY)


def _raised(message: RunRaised, request: TraceRequest) -> NotCaptured:
    by, name = message.get("by", "error"), message["exception"]
    if by == "timeout":
        ended = why.ScriptNotEnded if request.is_program else why.NotEndedInTime
        over = why.RunsOver(request.timeout, message["recorder"], _where(message))
        return NotCaptured(ended(request.timeout), over, to.GiveLonger(), FAILED)
    if by == "signal":
        return _ended(why.KilledBy(name), message["recorder"], request, signal=name, where=_where(message))
    if by != "error":
        how = why.CalledToEnd(name, message["message"])
        return _ended(how, message["recorder"], request, where=_where(message))
    stage = message["stage"]
    part = PARTS.get(stage) or why.PartOfRun(stage)
    text = message["message"].strip()
    # torch's own message, without the C++ stack that may follow.
    words = without_stack(text).strip()[:TEXT_LIMIT]
    because = why.Said(words) if words else why.ErrorSilent(name)
    if _out_of_memory(name, text):
        because = why.Said(words.split("\n")[0]) if words else because
        return NotCaptured(why.PartNeedsMemory(part), because, to.UseSmallerTensors(), FAILED)
    then = _near(message) or (to.RunAlone() if request.is_program else to.RunAloneOrOtherwise())
    return NotCaptured(why.PartRaised(part, name, _source(request)), because, then, FAILED)


PARTS: Mapping[str, Reason] = {"backward": why.PartBackward(), "context": why.PartContext()}


def _where(message: RunRaised) -> Reason | None:
    """Returns where Python was: a function, and the innermost line of the typed code."""
    frames = convert(message.get("frames", ()), list[LeftFrame])
    typed = next((frame for frame in reversed(frames) if frame.file.startswith(TYPED)), None)
    if typed is None:
        return None
    line, file = typed.line or 0, typed.file.strip("<>")
    if frames[-1] is not typed:
        return why.InFunction(frames[-1].function, line, file)
    return why.AtLine(line, file)


def _who_kills() -> Reason:
    """Returns the likely reason for a kill: the limit on processor time, if there is one, or lack of memory."""
    import resource

    if resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY:
        return why.SystemKillsForTime()
    return why.SystemKillsForMemory()


LIMITS: Mapping[str, Reason] = {"SIGXCPU": why.ProcessorTimeLimit(), "SIGXFSZ": why.FileSizeLimit()}


def _died(message: RunDied, request: TraceRequest) -> NotCaptured:
    signal, status = message["signal"], message["exit"]
    how: Reason = why.KilledBy(signal) if signal else why.EndedWithStatus(status or 0)
    alone = message.get("alone")
    same = alone == (signal or f"status {status}")
    return _ended(how, message["recorder"], request, signal=signal, alone=alone, same=same)


def _ended(
    how: Reason,
    recorder: str,
    request: TraceRequest,
    *,
    signal: str | None = None,
    where: Reason | None = None,
    alone: str | None = None,
    same: bool = False,
) -> NotCaptured:
    """Returns the error for a process that ended.

    `alone` is how a run without recorders ended; `same`: in the same way.
    """
    without = why.AloneGoesOn() if alone == "answered" else why.AloneAlike() if same else why.AloneOtherwise(str(alone))
    ended = why.ProcessEnded(
        how,
        recorder,
        where,
        killer=_who_kills() if signal == "SIGKILL" else None,
        limit=LIMITS.get(str(signal)),
        alone=without if alone is not None else None,
    )
    given: Reason = why.GivenScript() if request.is_program else why.GivenExpression()
    if alone == "answered":
        return NotCaptured(why.CannotBeTraced(given, _source(request)), ended, to.ShowOutput(), FAILED)
    then = to.ShowOutput() if alone is not None else to.RunAloneToEnd()
    return NotCaptured(why.KilledProcess(given, _source(request)), ended, then, FAILED)
