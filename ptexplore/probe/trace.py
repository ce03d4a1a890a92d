"""The passes of one trace: each runs in a forked child, and one message says how it ended, well or badly."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from . import dispatch, isolate, last_words, native, passes, program, raising
from .expression import UNREPEATABLE, Refused, is_program
from .isolate import HURRY, SO_FAR, TELLING, TIME_GOES_BY, TIME_IS_OVER, Channel, ChildOutcome, Forks, TimeLimit
from .last_words import EXITING
from .observations import answered
from .passes import OPS, OPS_AGAIN, TOGETHER
from .reasons import Said, reason
from .recorders import ALONE, COMPILER, FOLLOWING_RUNS, GRAPH, PASSES, RUNS
from .stepper import Unavailable
from .throws import ThrowLog

if TYPE_CHECKING:
    from .messages import (
        FirstIsShownData,
        ProbeBrokenData,
        RunBeginsData,
        RunDiedData,
        RunLateData,
        RunPrintedData,
        RunRaisedData,
        RunRefusedData,
        RunRequestData,
        RunUnavailableData,
    )

EXITED = b'"by":"exit"'  # in an answer: os._exit ended the process
# The share of the time limit for a second pass: of all recorders, and of operators. It leaves time to show the first
# pass. If all runs end in time, no clock decides what is recorded.
MANY, ONE = 0.5, 0.4
LATE = b'"by":"timeout"'  # in an answer: the run was ended because its time was over
BETWEEN_TWO = 2.0  # seconds until Python reaches its next instruction, unless C code does not end
# Parts of its time at which a run checks how much it has recorded.
LOOKS = tuple(1 / part for part in (64, 32, 16, 8, 4, 2))
TEXT_LIMIT = 4000  # characters kept of an error's own message
FIRST_LINE = 300  # characters kept of its first line
PASSED = re.compile(  # a good answer
    rb'\{"type":"pass","recorder":"\w+","sequence":"(\w+)"(?:,"imported":(\d+))?(?:,"raised":"([^"]*)")?'
    rb'(?:,"began":"(\w+)")?'
)


def run_passes(request: RunRequestData, known: dict[str, str], channel: Channel) -> None:
    """Run every pass, until one fails. If the passes saw different operators, run the first again, to find the cause.

    A script is run once, under a recorder of its own. It runs again only on request: for one operator call, or to see
    who wrote to a saved tensor. `request["until"]` may say when the time of all runs is over. Then the first run sends
    what it has seen until then, and a later run is given up.
    """
    if is_program(request):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is meant for the script, which runs in the fork
    else:
        dispatch.settle()
        throws = ThrowLog.where_possible()
        if throws is not None:
            throws.prepare()
    with _Runs(request, known, channel) as runs:
        (_run_script if is_program(request) else _run_expression)(request, runs)


class _Runs:
    """The runs of one request, each in a child of its own. Their answers go to `channel`."""

    def __init__(self, request: RunRequestData, known: dict[str, str], channel: Channel) -> None:
        """Start the process that forks. The children know `request`; a run sends them only its differences."""
        self.channel, self._request = channel, request
        self._forks = Forks(
            lambda asked: answer(asked["recorder"], {**request, **asked["changed"]}, known), channel.descriptor,
            request.get("stdin"), request.get("live"),
        )  # fmt: skip

    def __enter__(self) -> _Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self._forks.close()

    def forked(
        self,
        recorder: str,
        request: RunRequestData,
        limit: TimeLimit | None = None,
        begins: Literal["begin", "second"] = "begin",
    ) -> ChildOutcome:
        """Do one run, and return its outcome. So far only the message that it `begins` has been sent."""
        message: RunBeginsData = {"type": begins, "recorder": recorder}
        self.channel.send(message)
        was: Mapping[str, object] = self._request
        changed = {name: value for name, value in request.items() if name not in was or was[name] is not value}
        program_name = os.path.basename(request.get("script") or "") or request.get("module") or ""
        shown = program_name if recorder == program.RECORDER else ""
        return self._forks.isolated({"recorder": recorder, "changed": changed}, limit or _limit(request), shown)

    def report(self, recorder: str, outcome: ChildOutcome) -> str | None:
        """Pass a run's answer on; return the digest of the operators it saw, or None if the run failed."""
        self.channel.send(_printed(recorder, outcome))
        passed = PASSED.match(outcome.answer) if pass_on(recorder, outcome, self.channel) else None
        return passed[1].decode() if passed else None

    def further(self, after: str, request: RunRequestData, outcomes: Mapping[str, ChildOutcome]) -> None:
        """Do the runs that follow an expression, a script, or a request for the C++ stack, in order."""
        seen = dict(outcomes)
        for following in FOLLOWING_RUNS:
            asked = following.asked(request, seen) if following.after == after else None
            if isinstance(asked, Unavailable):
                self.channel.send(_unavailable(following.recorder, asked.reason))
            elif asked is not None:
                seen[following.recorder] = self.forked(following.recorder, asked)
                self.report(following.recorder, seen[following.recorder])


def _run_expression(request: RunRequestData, runs: _Runs) -> None:
    outcomes, request = _warmed(request, runs)
    recorder, first = next(iter(outcomes.items()))
    # If the waiting process was stopped, the child may still have come to its end: then the next pass is late.
    if first.late and (not first.answer or LATE in first.answer):
        runs.report(recorder, first)
        return
    passed = PASSED.match(first.answer)
    request = {**request, "raises": passed is not None and bool(passed[3])}
    digests = set()
    for recorder in (TOGETHER,) if TOGETHER in outcomes else PASSES:
        outcome = outcomes.get(recorder) or runs.forked(recorder, request)
        if not outcome.answer and not outcome.late:
            _ended(recorder, outcome, request, runs)
            return
        digest = runs.report(recorder, outcome)
        if digest is None:
            return
        digests.add(digest)
    if len(digests) > 1:
        runs.report(OPS_AGAIN, runs.forked(OPS_AGAIN, request))
    runs.further("expression", request, outcomes)


def _run_script(request: RunRequestData, runs: _Runs) -> None:
    outcome = runs.forked(program.RECORDER, request, _limit(request, patience=TELLING))
    runs.report(program.RECORDER, outcome)
    if LATE not in outcome.answer:
        runs.further("script", request, {program.RECORDER: outcome})


def _ended(recorder: str, outcome: ChildOutcome, request: RunRequestData, runs: _Runs) -> None:
    """Run the expression again after a pass ended its process without an answer.

    First all recorders run together, because they see who may end the process. An end such as by SIGKILL cannot be
    noticed, so this run keeps its recording while it goes on. If this run gives no answer, the expression runs without
    recorders.
    """
    again = runs.forked(TOGETHER, {**request, "keeps": True}, _limit(request, telling=True))
    if again.answer:
        runs.report(TOGETHER, again)
        return
    alone = runs.forked(ALONE, request)
    how = "answered" if alone.answer else alone.signal or f"status {alone.exit_code}"
    runs.channel.send(_printed(recorder, outcome))
    died = _died(recorder, outcome)
    died["alone"] = how
    runs.channel.send(died)


def run_again_for_stack(request: RunRequestData, channel: Channel) -> None:
    """Run the failed expression once more, in a process whose torch says where C++ threw.

    If a saved tensor had been written to, or the graph freed, a further run finds out who did that.
    """
    with _Runs(request, {}, channel) as runs:
        runs.further("stack", request, {})


def run_once(recorder: str, request: RunRequestData, channel: Channel) -> None:
    """Do one run in a child: the work of a question that is no trace."""
    with _Runs(request, {}, channel) as runs:
        runs.report(recorder, runs.forked(recorder, request))


def read_graph(request: RunRequestData, channel: Channel) -> None:
    """Run the expression for the graph behind its value, and once more for the code that made the graph's nodes."""
    with _Runs(request, {}, channel) as runs:
        outcome = runs.forked(GRAPH, request)
        runs.report(GRAPH, outcome)
        runs.further("graph", request, {GRAPH: outcome})


def run_compiler(request: RunRequestData, channel: Channel) -> None:
    """Run the code once for the compiler's log. An interrupt is meant for the code, which runs in the fork."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _Runs(request, {}, channel) as runs:
        limit = _limit(request, telling=True)
        runs.report(COMPILER, runs.forked(COMPILER, request, limit))


def _warmed(request: RunRequestData, runs: _Runs) -> tuple[dict[str, ChildOutcome], RunRequestData]:
    """Return the outcomes of passes that have run, by recorder, and the request for all further passes.

    If the first call is asked for, all passes show the first call. Otherwise every pass evaluates once or twice before
    the run that it shows. So all passes show a run that finds caches filled and modules imported, as the native pass
    does. An expression that cannot be repeated is not repeated: its first run is shown, with the reason. The native
    pass then steps the first run, unless it imports modules.

    The first run is recorded with the profiler only. The run that is shown has all recorders. If it called the same
    operators as the first run, neither a recorder nor a cache has changed what ran. Then the shown run is the result of
    all passes. Otherwise further runs find out which of the two caused the change, and each recorder gets a pass of its
    own.
    """
    if request["once"]:
        return {TOGETHER: runs.forked(TOGETHER, request, _limit(request, telling=True))}, request
    first = runs.forked(OPS, request, _limit(request, telling=True))
    passed = PASSED.match(first.answer)
    if passed and passed[4] and not (first.late or request.get("first")):  # no text of the user named the device
        request = {**request, "begin": passed[4].decode()}
        first = runs.forked(OPS, request, _limit(request, telling=True))
        passed = PASSED.match(first.answer)
    if passed is None or first.late:
        return {OPS: first}, request
    if request.get("first"):
        return _together(first, request, runs), request
    imported = int(passed[2] or 0)
    whys, is_late = list[Said](), False
    ways: tuple[Literal["again", "anew"], ...] = (passes.AGAIN, passes.ANEW) if request["setup"] else (passes.AGAIN,)
    for repeat in ways:
        repeated: RunRequestData = {
            **request,
            "repeat": repeat,
            "imported": imported,
            "warm_ups": min(passes.WARM_UPS),
        }
        if not imported:
            limit = MANY * float(request["timeout"])
            seen = runs.forked(TOGETHER, repeated, _limit(request, most=limit), "second")
            if _agree(first, seen):
                first.answer = seen.answer  # the first run's output stays: the other run printed it several times
                return {TOGETHER: first}, repeated
            is_late = seen.late
            if is_late or _is_unrepeatable(seen):
                whys.append(reason("does-not-end-recorded", seconds=limit) if is_late else _failed(seen))
                if is_late:
                    break
                continue
        repeated["warm_ups"], limit = max(passes.WARM_UPS), ONE * float(request["timeout"])
        second = runs.forked(OPS, repeated, _limit(request, most=limit), "second")
        same, is_late = PASSED.match(second.answer), second.late
        # An error after other operators than in the first run may come from an object that the first run used up.
        elsewhere = same is not None and same[3] != b"" and same[1] != passed[1] and not imported
        if same and same[3] == passed[3] and not elsewhere:
            first.answer = second.answer
            return _together(first, repeated, runs), repeated
        whys.append(reason("does-not-end", seconds=limit) if is_late else _failed(second))
        if is_late:
            break
    different = [why for number, why in enumerate(whys) if why not in whys[:number]]
    shown: FirstIsShownData = {"type": "first", "imported": imported, "whys": different}
    runs.channel.send(shown)
    request = {**request, "native": False} if imported else {**request, "repeat": passes.FIRST}
    return {OPS: first} if is_late else _together(first, request, runs), request


def _together(alone: ChildOutcome, request: RunRequestData, runs: _Runs) -> dict[str, ChildOutcome]:
    """Return one pass of all recorders, if it called the same operators as the pass `alone`; otherwise that pass."""
    limit = MANY * float(request["timeout"])
    seen = runs.forked(TOGETHER, request, _limit(request, most=limit), "second")
    if not _agree(alone, seen):
        return {OPS: alone}
    alone.answer = seen.answer
    return {TOGETHER: alone}


def _agree(first: ChildOutcome, other: ChildOutcome) -> bool:
    """Return whether two runs called the same operators, and raised the same error or none."""
    before, after = PASSED.match(first.answer), PASSED.match(other.answer)
    return before is not None and after is not None and (before[1], before[3]) == (after[1], after[3])


def _is_unrepeatable(outcome: ChildOutcome) -> bool:
    """Return whether a pass could not find the objects that the first run had found."""
    return outcome.answer.endswith(b"\n") and json.loads(outcome.answer).get("kind") == UNREPEATABLE


def _failed(outcome: ChildOutcome) -> Said:
    """Return what a pass without a good answer did, as a reason."""
    if not outcome.answer.endswith(b"\n"):
        if outcome.signal is not None:
            return reason("ends-process", signal=outcome.signal)
        return reason("exits-process", status=outcome.exit_code)
    message = json.loads(outcome.answer)
    if message["type"] == "pass":
        raised = next((o["data"] for o in message["observations"] if o["kind"] == "raised"), None)
        if raised is None:
            return reason("raises-nothing")
        return reason("raises-error", exception=raised["exception"], message=raised["message"])
    if message.get("kind") == UNREPEATABLE:
        return dict(message["told"])
    text = str(message.get("message") or "").strip().partition("\n")[0][:FIRST_LINE]
    if "exception" in message:
        return reason("raises-error", exception=message["exception"], message=text)
    return reason("cannot-be-run", because=message.get("told") or reason("said", sentence=text))


def _limit(
    request: RunRequestData, *, telling: bool = False, patience: float = 0.0, most: float | None = None
) -> TimeLimit | None:
    """Return the time that is left for a run, at most `most`, plus `patience` seconds in which it may end by itself.

    Returns None if there is no limit. With `telling` or patience, the run then has time to send what it has seen. It
    has as long for this as all runs had, because sending takes longer the more it has seen.
    """
    if "until" not in request:
        return TimeLimit(most) if most is not None else None
    left = max((request["until"] - time.monotonic_ns()) / 1e9, 0.0) + patience
    left = left if most is None else min(left, most)
    if not (telling or patience) or not TIME_IS_OVER:
        return TimeLimit(left)
    ends = (TIME_IS_OVER, BETWEEN_TWO), (HURRY, max(TELLING, float(request["timeout"])))
    if patience:  # the recorder of a script checks by itself
        return TimeLimit(left, ends)
    looks = [left * (later - at) for at, later in pairwise((*LOOKS, 1.0))]
    return TimeLimit(left * LOOKS[0], (*((TIME_GOES_BY, seconds) for seconds in looks), *ends))


def pass_on(recorder: str, outcome: ChildOutcome, channel: Channel) -> bool:
    """Send a child's answer, or that it died, or that its time was over; return whether it gave an answer."""
    if outcome.late and not outcome.answer:
        late: RunLateData = {"type": "late", "recorder": recorder}
        channel.send(late)
        return False
    if outcome.answer.startswith(SO_FAR):
        message = json.loads(outcome.answer)
        ended = program.ended if "program" in message else program.ended_expression
        channel.send(ended(message, outcome))
        return True
    if EXITED in outcome.answer and outcome.answer.endswith(b"\n") and outcome.exit_code is not None:
        message = json.loads(outcome.answer)
        for seen in message.get("observations", ()):
            if seen["kind"] == "raised" and seen["data"].get("by") == EXITING:
                seen["data"]["message"] = f"status {outcome.exit_code}"  # only the parent process gets the status
        channel.send(message)
        return True
    if outcome.answer.endswith(b"\n") and outcome.answer.count(b"\n") == 1:  # a child that dies may still have answered
        channel.pass_on(outcome.answer)
        return True
    channel.send(_died(recorder, outcome))
    return False


def _printed(recorder: str, outcome: ChildOutcome) -> RunPrintedData:
    return {"type": "output", "recorder": recorder, "text": outcome.printed, "cut": outcome.is_cut}


def _died(recorder: str, outcome: ChildOutcome) -> RunDiedData:
    return {"type": "died", "recorder": recorder, "signal": outcome.signal, "exit": outcome.exit_code}


def _unavailable(recorder: str, why: Said) -> RunUnavailableData:
    return {"type": "unavailable", "recorder": recorder, "told": why}


def _raised(recorder: str, raised: raising.Raised) -> RunRaisedData:
    return {"type": "raised", "recorder": recorder, **raised.data()}


def _refused(recorder: str, error: Refused) -> RunRefusedData:
    return {
        "type": "refused",
        "recorder": recorder,
        "kind": error.kind,
        "told": error.reason,
        "close": error.close,
        "where": error.where,
        "source": error.source,
    }


def answer(recorder: str, request: RunRequestData, known: dict[str, str]) -> bytes:
    """Run a pass and encode its message: "pass", "refused" (it cannot be run) or "raised" (the user's code raised)."""
    child = RUNS[recorder]
    with last_words.spoken(partial(_dying, recorder)) if child.speaks else nullcontext():
        return encoded(lambda: answered(recorder, child.run(request, known)), recorder)


def _dying(recorder: str, error: BaseException) -> bytes:
    """Return the message of a pass that is ended before, or after, the part that it records: where it was."""
    return isolate.encoded(_raised(recorder, raising.Raised("preparation", error)))


def encoded(run: Callable[[], Mapping[str, object]], recorder: str) -> bytes:
    """Encode the message that `run` returns, or the message about the error that it raised, and in which recorder."""
    message: Mapping[str, object]
    try:
        message = run()
    except Refused as error:
        message = _refused(recorder, error)
    except raising.Raised as raised:
        message = _raised(recorder, raised)
    except Unavailable as error:
        message = _unavailable(recorder, error.reason)
    except (MemoryError, RecursionError) as error:
        message = _raised(recorder, raising.Raised("expression", error))
    except dispatch.Broken as error:
        message = _broken(recorder, str(error))
    except Exception as error:
        message = _own_failure(recorder, error)
    return isolate.encoded(message)


def _broken(recorder: str, text: str) -> ProbeBrokenData:
    return {"type": "broken", "recorder": recorder, "message": text}


def _own_failure(recorder: str, error: Exception) -> ProbeBrokenData | RunUnavailableData:
    """Return the message about a failure of our own code. If the native pass failed, the trace lacks only its part."""
    text = traceback.format_exc()
    if recorder != native.RECORDER:
        return _broken(recorder, text[-TEXT_LIMIT:])
    sys.stderr.write(text)
    why = reason("own-code-failed", exception=type(error).__name__, message=str(error))
    return _unavailable(recorder, why)
