"""Turn a pass that failed into the three-part error that its user needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptexplore.capture.not_captured import NotCaptured
from ptexplore.capture.probing import TraceRequest
from ptexplore.errors import FAILED, USAGE
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.actions import Action
from ptexplore.model.reasons import Reason, reason_of

# Of each kind of refusal: why, and what would help.
REFUSED: Mapping[str, tuple[Reason, Action]] = {
    "empty": (why.NothingToRun(), to.TraceExpression()),
    "syntax": (why.ParserRefuses(), to.TraceExpression()),
    "statements": (why.OneExpression(), to.GiveStatements()),
    "name": (why.NamesBecomeTensors(), to.BindName()),
    "attribute": (why.LookedForBefore(), to.LookUpOperator()),
    "variable": (why.VariablesRunOnce(), to.BindValue()),
    "setup": (why.SetupRunsFirst(), to.Prepare()),
    "script": (why.ParserRefuses(), to.TraceScript()),
    "context": (why.ContextsAreExpressions(), to.EnterContext()),
    "profiler": (why.OneProfiler(), to.TraceScript()),
    "backward": (why.BackwardNeeds(), to.ComputeFromInputs()),
}
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc", "Cannot allocate memory")
TYPED = ("<--", "<expression")  # how the probe names the files of what was typed
TEXT_LIMIT = 1000  # characters shown of an error's own message


def failure(message: dict[str, Any], request: TraceRequest) -> NotCaptured:
    """The error for a message of type "refused", "raised" or "died"."""
    if message["type"] == "refused":
        because, then = REFUSED.get(message["kind"], (why.CannotRun(), to.TraceExpression()))
        return NotCaptured(told_by(message), _caret(message) or because, _near(message) or then, USAGE)
    return _raised(message, request) if message["type"] == "raised" else _died(message, request)


def told_by(message: Mapping[str, Any]) -> Reason:
    """The reason that a probe's message gives, with no text longer than is shown."""
    return reason_of(_shortened(message["told"]))


def _shortened(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _shortened(value) for name, value in told.items()}
    return told[:TEXT_LIMIT] if isinstance(told, str) else told


def _near(message: dict[str, Any]) -> Action | None:
    return to.UseNearName(tuple(message["close"])) if message["close"] else None


def _caret(message: dict[str, Any]) -> Reason | None:
    """The offending line with a caret under the place, where there is one."""
    lines, (line, column) = str(message["source"]).split("\n"), message["where"] or (0, 0)
    if not 1 <= line <= len(lines):
        return None
    shown, column = lines[line - 1], max(column, 1)
    start = max(column - 60, 0)  # a long line is shown around the place
    return why.GivenLine(shown[start : start + 100], f"\n       {' ' * (column - start - 1)}^")


def no_native(message: dict[str, Any]) -> Reason:
    """Why there is no native call tree, for a message of the native pass that is not its answer."""
    kind, signal = message["type"], message.get("signal")
    if kind == "raised":
        return why.RaisedUnderStepper(str(message["exception"]), _first_line(message))
    if signal == "SIGTRAP":
        return why.TrapTaken()
    if kind == "died":
        return why.EndedBySignal(str(signal)) if signal else why.EndedByItself()
    if "told" not in message:
        return _first_line(message)
    told = told_by(message)
    if kind == "refused" and message.get("kind") == "repeat":
        return why.FurtherRun(told)
    # Other passes had none of it: they run the setup once a process.
    if isinstance(told, why.GivenRaised) and isinstance(told.given, why.GivenSetup):
        return why.SetupRaisedAgain(told.exception, told.message.partition("\n")[0])
    return told


def unwatched(message: dict[str, Any]) -> Reason:
    """Why a run that watches saved tensors told nothing, for its message; of an answer, that it saw no such write."""
    if message["type"] == "pass":
        return why.WritesNotTold(why.ErrorNotRaised())
    if message["type"] == "died":
        signal = message.get("signal")
        return why.WritesNotTold(why.RunEndedBySignal(str(signal)) if signal else why.RunEndedByItself())
    return why.WritesNotTold(told_by(message) if "told" in message else _first_line(message))


def _first_line(message: dict[str, Any]) -> Reason:
    text = str(message.get("message") or "").strip().split("\n")[0]
    return why.Said(text[:TEXT_LIMIT]) if text else why.SaysNothing()


def _source(request: TraceRequest) -> str:
    text = request.script or request.expression or ""
    return text if len(text) <= 200 else f"{text[:200]}…"


def without_stack(message: str) -> str:
    """An error's own words, without C++'s stack, which c10::Error writes behind them where it is asked to."""
    return message.partition("\nException raised from ")[0]


def is_told(raised: dict[str, Any]) -> bool:
    """Whether a Trail tells what was raised.

    Not where memory ran out, which the next run may find elsewhere; nor of a name that is misspelt in the expression.
    What ran in the user's own process has no next run.
    """
    if raised["stage"] == "block":
        return True
    slip = bool(raised["close"]) and all(frame["file"] == "<expression>" for frame in raised["frames"])
    return not slip and not _out_of_memory(raised["exception"], str(raised.get("message") or ""))


def _out_of_memory(name: str, text: str) -> bool:
    return name in ("MemoryError", "OutOfMemoryError") or any(phrase in text for phrase in OUT_OF_MEMORY)


def _raised(message: dict[str, Any], request: TraceRequest) -> NotCaptured:
    if message.get("by") == "timeout":
        ended = why.ScriptNotEnded if request.script else why.NotEndedInTime
        over = why.RunsOver(request.timeout, str(message.get("recorder")), _where(message))
        return NotCaptured(ended(request.timeout), over, to.GiveLonger(), FAILED)
    if message.get("by", "error") != "error":
        what = {"signal" if message["by"] == "signal" else "called": message["exception"]}
        told = {**what, "recorder": message.get("recorder"), "status": message.get("message")}
        return _died(told, request, _where(message))
    stage, name = str(message["stage"]), str(message["exception"])
    part = PARTS.get(stage) or why.PartOfRun(stage)
    text = str(message.get("message") or "").strip()
    # torch's own message without the C++ stack that may follow.
    words = without_stack(text).strip()[:TEXT_LIMIT]
    because = why.Said(words) if words else why.ErrorSilent(name)
    if _out_of_memory(name, text):
        because = why.Said(words.split("\n")[0]) if words else because
        return NotCaptured(why.PartNeedsMemory(part), because, to.UseSmallerTensors(), FAILED)
    then = _near(message) or (to.RunAlone() if request.script else to.RunAloneOrOtherwise())
    return NotCaptured(why.PartRaised(part, name, _source(request)), because, then, FAILED)


PARTS: Mapping[str, Reason] = {"backward": why.PartBackward(), "context": why.PartContext()}


def _where(message: dict[str, Any]) -> Reason | None:
    """Where Python was: a function, and the innermost line of what was typed."""
    frames: list[dict[str, Any]] = message.get("frames") or []
    typed = next((frame for frame in reversed(frames) if frame["file"].startswith(TYPED)), None)
    if typed is None:
        return None
    line, file = int(typed["line"] or 0), str(typed["file"]).strip("<>")
    if frames[-1] is not typed:
        return why.InFunction(str(frames[-1]["function"]), line, file)
    return why.AtLine(line, file)


def _who_kills() -> Reason:
    """What kills a process without being asked to: the limit on its processor time where there is one, or memory."""
    import resource

    if resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY:
        return why.SystemKillsForTime()
    return why.SystemKillsForMemory()


LIMITS: Mapping[str, Reason] = {"SIGXCPU": why.ProcessorTimeLimit(), "SIGXFSZ": why.FileSizeLimit()}


def _died(message: dict[str, Any], request: TraceRequest, where: Reason | None = None) -> NotCaptured:
    signal, recorder, alone = message.get("signal"), message.get("recorder"), message.get("alone")
    how: Reason = why.KilledBy(str(signal)) if signal else why.EndedWithStatus(int(message.get("exit") or 0))
    if "called" in message:
        how = why.CalledToEnd(str(message["called"]), str(message["status"] or ""))
    same = alone == (signal or f"status {message.get('exit')}")
    without = why.AloneGoesOn() if alone == "answered" else why.AloneAlike() if same else why.AloneOtherwise(str(alone))
    ended = why.ProcessEnded(
        how,
        str(recorder or ""),
        where,
        killer=_who_kills() if signal == "SIGKILL" else None,
        limit=LIMITS.get(str(signal)),
        alone=without if alone is not None else None,
    )
    given: Reason = why.GivenScript() if request.script else why.GivenExpression()
    if alone == "answered":
        return NotCaptured(why.CannotBeTraced(given, _source(request)), ended, to.ShowOutput(), FAILED)
    then = to.ShowOutput() if alone is not None else to.RunAloneToEnd()
    return NotCaptured(why.KilledProcess(given, _source(request)), ended, then, FAILED)
