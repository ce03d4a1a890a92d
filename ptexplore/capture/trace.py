"""Captures one trace: the messages of all passes become one session. Differences between passes become a finding."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs, to_builtins

from ptexplore.capture.allowed import AllowedRun
from ptexplore.capture.differences import OtherOrder, RunOperators, first_difference
from ptexplore.capture.failures import failure, gets_trace, is_about_run, is_failure, no_native, unwatched
from ptexplore.capture.left_running import remarks_about
from ptexplore.capture.not_captured import NotCaptured, Stopped, TimeOver
from ptexplore.capture.probing import TraceRequest, ask, ask_of_program, check_options, request_of
from ptexplore.capture.seen import seen_in
from ptexplore.errors import USAGE
from ptexplore.lazy import uncollected
from ptexplore.locations import symbols_dir
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.actions import GiveLonger
from ptexplore.model.codes import convert
from ptexplore.model.messages import (
    AboutRun,
    ProbeMessage,
    ReadObservation,
    RunAnswered,
    RunFailure,
    RunRaised,
    RunRequest,
    SentMap,
    SentObservation,
    SentSteps,
    Steps,
)
from ptexplore.model.observed import (
    AnyRecord,
    Difference,
    Event,
    LeftProcess,
    LeftRunning,
    Observation,
    Printed,
    RaisedError,
    Remark,
    SecondRun,
    SteppedCalls,
    records,
)
from ptexplore.model.options import given, options_of
from ptexplore.model.places import Runtime
from ptexplore.model.program import Program
from ptexplore.model.reasons import Reason, reason_of
from ptexplore.model.recorders import (
    COMPARE,
    DISPATCH,
    FRAMES,
    LIBRARIES,
    NATIVE,
    OPS_AGAIN,
    PROBE,
    PROCESSES,
    PROGRAM,
    RECORDERS,
    THROWN,
    TOGETHER,
    TWICE,
    WRITES,
)
from ptexplore.model.trace import BoundName, Captured, FirstCall, ResultInfo, Session, TorchInfo, of_program


def compare(passes: Mapping[str, Sequence[ReadObservation]]) -> list[tuple[str, Difference]]:
    """Returns observations (kind and data) for passes that saw other operators than the first pass.

    The kind is "nondeterministic" if the first pass differs from its own repetition. It is "perturbed" if only the pass
    of a recorder differs, or if the recursion limit ends a run, since the recorder's own frames count. `passes` has the
    observations of each recorder, the first pass first.
    """
    names = {recorder: operators(seen) for recorder, seen in passes.items()}
    reference = next(iter(names), None)
    if reference is None:
        return []
    errors = (seen.data for of_pass in passes.values() for seen in of_pass if isinstance(seen.data, RaisedError))
    is_deep = any(error.exception == RecursionError.__name__ for error in errors)
    kind = "perturbed" if is_deep or names.get(OPS_AGAIN) == names[reference] else "nondeterministic"
    limit = why.AtRecursionLimit() if is_deep else None
    cause: Reason = why.RunsDiffer(limit) if kind == "nondeterministic" else why.RecorderChanged(limit)
    causes = {FRAMES: why.RecorderChanged(limit, reference)} if kind == "perturbed" else {}
    return [
        (kind, _difference(causes.get(recorder, cause), reference, recorder, names[reference], seen))
        for recorder, seen in names.items()
        if seen != names[reference]
    ]


def operators(seen: Iterable[ReadObservation]) -> RunOperators:
    """Returns the operators and autograd nodes of one pass."""
    events = [read.data for read in seen if isinstance(read.data, Event) and read.data.is_operator]
    own = [str(event.name) for event in events if not event.thread]
    return RunOperators(own, Counter(str(event.name) for event in events if event.thread))


def _difference(cause: Reason, reference: str, recorder: str, first: RunOperators, second: RunOperators) -> Difference:
    """Returns the difference between two passes."""
    differs = first_difference(first, second)
    passes = (reference, recorder)
    if isinstance(differs, OtherOrder):
        names = [why.NameAlone(name) if name is not None else why.TheEnd() for name in differs.names]
        reason = why.PassesDiffer(cause, differs.position + 1, reference, recorder, *names)
        return Difference(reason, passes, differs.position, differs.names)
    assert differs is not None
    return Difference(why.CountsDiffer(cause, differs.name, *differs.counts, reference, recorder), passes)


# Makes torch report where C++ threw an error, and the C++ stack (capture/native/thrown.py reads it).
ENVIRONMENT = {"TORCH_SHOW_CPP_STACKTRACES": "1", "TORCH_DISABLE_ADDR2LINE": "1"}
LEAST_REST = 5.0  # least seconds for the search for the throw, however long the passes took
# the observations that are missing if only `ops` ran
LACKING = tuple(spec.missing for spec in RECORDERS.values() if spec.missing is not None)


def capture(
    run: AllowedRun, runtime: Runtime, digests: Mapping[str, str] | None = None, *, raising: bool = False
) -> Session:
    """Runs the allowed expression or script in a probe of `runtime`, and returns the observations of its recorders.

    `digests` are the catalogue's, by operator: only operators that differ from it report their tables. If only the
    stepped run fails, the session says why and has the observations of the others. With `raising`, code that raises
    gets a session too: with everything seen until then, and where the error was thrown.

    Raises PtexploreError: (usage) if it cannot be run, (failed) if it raises, dies or takes too long.
    """
    check(run.request)
    request = replace(run.request, native=run.request.native and not run.request.once)
    asked = request_of(request, "trace", runtime, digests or {})
    left: list[LeftProcess] = []
    try:
        session = _captured(request, asked, runtime, left, raising=raising)
    except NotCaptured as error:
        error.add(tuple(remarks_about(left, is_script=request.is_program)))
        raise
    if not left:
        return session
    observations = list(session.observations)
    _add(observations, PROCESSES, "left-running", LeftRunning(tuple(left)))
    return replace(session, observations=tuple(observations))


def _captured(
    request: TraceRequest, asked: RunRequest, runtime: Runtime, left: list[LeftProcess], *, raising: bool
) -> Session:
    """Returns the session of a request. `left` gets the processes that its runs left running."""
    if request.is_program:
        with closing(ask_of_program(runtime, asked, request.timeout, left)) as messages:
            return gather(messages, request, runtime, raising=raising)
    began = time.monotonic()
    with closing(ask(runtime, asked, request.timeout, left=left)) as messages:
        session = gather(messages, request, runtime, raising=raising)
    raised = records(session.observations, "raised", RaisedError)
    if request.once or all(error.by != "error" for error in raised):  # a signal itself says where it came
        return session
    rest = max(request.timeout - (time.monotonic() - began), LEAST_REST)
    with closing(ask(runtime, {**asked, "work": "stack"}, rest, ENVIRONMENT, left)) as messages:
        return with_throw(session, messages)


def with_throw(session: Session, messages: Iterable[ProbeMessage]) -> Session:
    """Adds the results of further runs to a session that raised: where C++ threw, what wrote to a saved tensor."""
    sent: list[SentObservation] = []
    observations = list(session.observations)
    try:
        for message in messages:
            if message["type"] == "pass":
                sent += message["observations"]
    except Stopped as error:
        if not sent:  # the first run may have reported by then
            stopped: Reason = why.Stopping(error.reason, error.because, error.then)
            if isinstance(error, TimeOver):
                stopped = why.RunsTimeOver(error.then)
            _add(observations, THROWN, "stopped", Remark(why.ThrowNotLooked(stopped)))
    _keep(observations, seen_in(sent))
    return replace(session, observations=tuple(observations))


def _add(observations: list[Observation], recorder: str, kind: str, data: AnyRecord) -> None:
    """Appends one observation, with its number."""
    data = structs.replace(data, observation=len(observations) + 1)
    observations.append(Observation(recorder, kind, data))


def _keep(observations: list[Observation], seen: Iterable[ReadObservation]) -> None:
    """Appends observations, except steps: other code makes observations of these."""
    for read in seen:
        if not isinstance(read.data, (SentSteps, SentMap)):
            _add(observations, read.recorder, read.kind, read.data)


def _as_typed(message: RunAnswered, request: TraceRequest) -> None:
    """Restores the script's name as typed in a probe's answer: Python itself uses the name with its folder."""
    script = str(request.script)
    file = request.cwd + os.sep + script
    program: Any = message.get("program")
    pending: list[Any] = [message["observations"]]
    if program is not None:
        pending += (*program["paths"], *program.get("sources", ()))
    while pending:
        value = pending.pop()
        if isinstance(value, dict) and value.get("file") == file:
            value["file"] = script
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        pending += (item for item in inner if isinstance(item, (dict, list)))


def gather(
    messages: Iterable[ProbeMessage], request: TraceRequest, runtime: Runtime, *, raising: bool = False
) -> Session:
    """Returns the session of one trace's messages. Raises the errors of `capture`."""
    heard = _Heard(request, raising)
    try:
        for message in messages:
            heard.take(message)
    except Stopped as error:
        heard.stopped(error)
    for kind, data in compare(heard.seen):
        heard.add(COMPARE, kind, data)
    return _session(request, runtime, heard)


EXIT = "os._exit"  # the probe's name for a process that ends itself at once


@dataclass
class _Heard:
    """The state while the messages of a probe arrive."""

    request: TraceRequest
    raising: bool = False  # whether code that raises gets a session
    passes: dict[str, RunAnswered] = field(default_factory=dict)
    seen: dict[str, list[ReadObservation]] = field(default_factory=dict)  # by pass
    program: Program | None = None  # of a script
    observations: list[Observation] = field(default_factory=list)
    running: str = ""  # the recorder that runs now
    no_native: Reason | None = None
    stepped_pass: RunAnswered | None = None  # the message of the stepped run of an expression
    late: bool = False  # whether the program was interrupted because it took too long
    printed: dict[str, tuple[str, bool]] = field(default_factory=dict)  # by recorder: text, whether it was cut
    first: FirstCall | None = None  # set if the first call is shown although a later one was asked for

    def add(self, recorder: str, kind: str, data: AnyRecord) -> None:
        """Appends one observation."""
        _add(self.observations, recorder, kind, data)

    def say(self, recorder: str, kind: str, reason: Reason) -> None:
        """Appends a remark to the observations."""
        self.add(recorder, kind, Remark(reason))

    def take(self, message: ProbeMessage) -> None:
        """Handles one message. Raises PtexploreError if the message ends the whole trace."""
        if message["type"] == "ready":
            self._ready(message["varies"])
        elif message["type"] == "begin":
            self.running = message["recorder"]
        elif message["type"] == "first":
            whys = tuple(map(reason_of, message["whys"]))
            self._first_call(FirstCall(message["imported"], whys[0] if len(whys) == 1 else why.Together(whys)))
        elif is_about_run(message):
            with uncollected():  # there may be a hundred thousand events
                _hearing(message["recorder"]).take(self, message)

    def stopped(self, error: Stopped) -> None:
        """Handles an error that ended the probe while a recorder ran. Raises the error if nothing was recorded."""
        _hearing(self.running).stopped(self, error)

    def _of_pass(self, message: AboutRun) -> None:
        """Handles a message of a pass. Raises PtexploreError if the message ends the whole trace."""
        recorder = message["recorder"]
        if message["type"] == "output" and not self.passes and message["text"]:
            self.printed[recorder] = message["text"], message["cut"]
            self.add(recorder, "output", Printed(message["text"], message["cut"]))
        elif message["type"] == "pass":
            self._pass(recorder, message)
        elif is_failure(message) and recorder != OPS_AGAIN:
            self._failed(recorder, message)

    def _pass_stopped(self, error: Stopped) -> None:
        """Records that a pass was stopped, and the observations that are missing.

        Raises the error if no earlier pass has ended.
        """
        if not self.passes:
            raise error
        spec = RECORDERS.get(self.running)
        missing = (spec.missing,) if spec is not None and spec.missing is not None else ()
        # The expression itself ended in earlier passes: only the time of all of them together was over.
        is_late = isinstance(error, TimeOver)
        ended = why.ProbeEndedIn(error.reason, error.because, error.then, missing)
        self.say(PROBE, "stopped", why.TooLate(error.because, error.then, missing) if is_late else ended)
        self.no_native = self.no_native or (why.TimeOverBefore() if is_late else error.reason)

    def _of_further_run(self, message: AboutRun) -> None:
        """Handles a message of a recorder whose failure affects nothing else."""
        if message["type"] == "pass":
            _keep(self.observations, seen_in(message["observations"]))

    def _further_run_stopped(self, error: Stopped) -> None:
        """Does nothing: nothing else is lost if such a recorder is stopped."""

    def _of_writes(self, message: AboutRun) -> None:
        """Records the writes to saved tensors, or why they are unknown."""
        self._of_further_run(message)
        if message["type"] != "output" and not (message["type"] == "pass" and message["observations"]):
            self.say(WRITES, "unwatched", unwatched(message))

    def _writes_stopped(self, error: Stopped) -> None:
        self.say(WRITES, "unwatched", why.WritesNotTold(error.because))

    def _failed(self, recorder: str, message: RunFailure) -> None:
        """Records how a later pass ended without a message, if earlier passes can be shown.

        Else raises PtexploreError.
        """
        if message["type"] != "died" or not (self.passes and self.raising):
            raise failure(message, self.request)
        signal, status = message["signal"], f"status {message['exit']}"
        by_exit = RaisedError("expression", EXIT, status, by="exit")
        ended = RaisedError("expression", signal, "", by="signal") if signal is not None else by_exit
        self.add(recorder, "raised", ended)
        by_itself = why.PassEndedByItself(recorder, message["exit"] or 0)
        self.no_native = why.PassEndedBySignal(recorder, signal) if signal is not None else by_itself

    def _ready(self, drawn: Iterable[str]) -> None:
        """Records the sources of randomness in the probe of an expression, with reasons."""
        varies = tuple(drawn)
        if varies and not self.request.is_program:
            self.say(PROBE, "varies", why.VariesByChance(varies) if self.request.vary else why.VariesAnyway(varies))

    def _pass(self, recorder: str, message: RunAnswered) -> None:
        """Stores the observations of a pass. Raises PtexploreError for an error without a trace."""
        self.passes[recorder] = message
        self.late = self.late or bool(message.get("late"))
        if self.request.script is not None and not os.path.isabs(self.request.script):
            _as_typed(message, self.request)
        seen = seen_in(message["observations"])
        errors = ((read.recorder, read.data) for read in seen if isinstance(read.data, RaisedError))
        whose, error = next(errors, (recorder, None))
        if error is not None and error.by == "timeout":
            if recorder != PROGRAM and not operators(seen).own:  # nothing to show
                raise failure(_raised_of(whose, error), self.request)
            ended = self._ended_by_time(recorder, error)
            seen = [read._replace(data=ended) if read.data is error else read for read in seen]
        self.seen[recorder] = seen
        if "program" in message:
            self._program(message, seen)
        if error is not None and not (self.raising and gets_trace(error)):
            raise failure(_raised_of(whose, error), self.request)
        if recorder != OPS_AGAIN:
            _keep(self.observations, (read for read in seen if read.recorder != NATIVE))

    def _ended_by_time(self, recorder: str, ended: RaisedError) -> RaisedError:
        """Returns the error of a run that was ended for its time, with that time.

        Its calls are kept; no later pass ran.
        """
        self.late = False  # the probe reported that the time was over
        if recorder != PROGRAM:
            self.no_native = why.TimeWasOver(LACKING if recorder != TOGETHER else ())
        return structs.replace(ended, over=why.AllRunsOver(self.request.timeout, GiveLonger()))

    def _first_call(self, first: FirstCall) -> None:
        """Records why the first call is shown. Stepping shows it too, unless it imports modules."""
        self.first = first
        if first.imported:
            self.no_native = why.LaterCallStepped(first.why)

    def _second_run(self, message: AboutRun) -> None:
        """Records how the second run of a program compares with the recorded one."""
        from ptexplore.capture.second_run import ComparedRun, compared

        if message["type"] == "output":
            self.printed[TWICE] = message["text"], message["cut"]
            return
        first = self.passes.get(PROGRAM)
        if message["type"] != "pass" or first is None or self.program is None:
            self.add(TWICE, TWICE, SecondRun(equal=False, told=why.SecondUnanswered()))
            return
        recorded = ComparedRun(*self.printed.get(PROGRAM, ("", False)), first["left"])
        second = ComparedRun(*self.printed.get(TWICE, ("", False)), message["second"])
        self.add(TWICE, TWICE, compared(self.program, recorded, second))

    def _program(self, message: RunAnswered, seen: Sequence[ReadObservation]) -> None:
        from ptexplore.capture.program import observed, stepped

        before = self.observations
        self.program, self.observations = observed(convert(message["program"], Program))
        in_routes = tuple(self.observations)
        for read in before:
            self.add(read.recorder, read.kind, read.data)
        if self.late:
            self.say(PROGRAM, "stopped", why.ScriptInterrupted(self.request.timeout, GiveLonger()))
        steps = [read for read in seen if read.recorder == NATIVE]
        if steps:
            self._stepped(stepped(self.program, in_routes, steps))
        elif self.program.stepping is not None:
            self.no_native = self.program.stepping.reason or _unstepped(self.program)

    def _native(self, message: AboutRun) -> None:
        if message["type"] == "pass":
            self.stepped_pass = message
            self._stepped(seen_in(message["observations"]))
        elif message["type"] != "output":
            self.no_native = no_native(message)

    def _stepped(self, seen: Iterable[ReadObservation]) -> None:
        """Adds the steps of the stepped run, or of a fork of a program."""
        from ptexplore.capture.native.record import calls  # imports numpy, so only if needed

        read = calls(list(seen), symbols_dir())
        _keep(self.observations, (step._replace(data=self._placed(step.data)) for step in read))

    def _native_stopped(self, error: Stopped) -> None:
        self.no_native = error.because

    def _placed(self, data: AnyRecord | Steps) -> AnyRecord | Steps:
        """Returns stepped calls. A numbered operator call of a program gets the event that shows it."""
        if self.program is None or not isinstance(data, SteppedCalls) or data.event is not None or data.number is None:
            return data
        from ptexplore.model.program_order import call_of

        return structs.replace(data, event=call_of(self.program, str(data.op), data.number))

    @property
    def stepped(self) -> bool:
        """Whether the stepped run has a result."""
        return any(o.kind == "calls" for o in self.observations)

    @property
    def shown(self) -> RunAnswered:
        """The message of the run to show: the stepped run if it stepped everything, since its path may differ."""
        parts = {calls.part for calls in records(self.observations, "calls", SteppedCalls)}
        first = next(iter(self.passes.values()))
        return self.stepped_pass if self.stepped_pass is not None and "forward" in parts else first

    @property
    def why_not_native(self) -> Reason | None:
        """Why the stepped run has no result. None if it has one."""
        if self.stepped:
            return None
        given = why.RunsOnce() if self.request.once else self.no_native if self.request.native else why.NativeNotAsked()
        if given is None and self.program is not None and not self.request.native_most:
            return why.NoBudget()
        return given or why.NativeSilent()


class _Hearing(NamedTuple):
    """How a recorder's messages, and its being stopped, are handled."""

    take: Callable[[_Heard, AboutRun], None]
    stopped: Callable[[_Heard, Stopped], None]


_OF_PASS = _Hearing(_Heard._of_pass, _Heard._pass_stopped)
_OF_FURTHER_RUN = _Hearing(_Heard._of_further_run, _Heard._further_run_stopped)
# Recorders with handlers of their own: their messages are more than observations.
_HEARINGS: Mapping[str, _Hearing] = {
    NATIVE: _Hearing(_Heard._native, _Heard._native_stopped),
    LIBRARIES: _Hearing(_Heard._of_further_run, _Heard._native_stopped),
    WRITES: _Hearing(_Heard._of_writes, _Heard._writes_stopped),
    TWICE: _Hearing(_Heard._second_run, _Heard._pass_stopped),
}


def _hearing(recorder: str) -> _Hearing:
    """Returns how a recorder is handled: by its row in `RECORDERS`, unless `_HEARINGS` has a row."""
    spec = RECORDERS.get(recorder)
    return _HEARINGS.get(recorder, _OF_FURTHER_RUN if spec is not None and spec.fails_alone else _OF_PASS)


def _unstepped(program: Program) -> Reason:
    """Returns why no call of a program was stepped: the reasons of most of its kinds."""
    reasons = Counter(route.unstepped for route in program.routes if route.unstepped is not None)
    counted = tuple(
        why.KindNotStepped(because) if count == 1 else why.KindsNotStepped(count, because)
        for because, count in reasons.most_common(3)
    )
    return counted[0] if len(counted) == 1 else why.Together(counted) if counted else why.CalledNoOperator()


def check(request: TraceRequest) -> None:
    """Raises NotCaptured or RefusedOptions for a request that cannot succeed, whatever the torch."""
    if not request.is_program and request.expression is None:
        raise NotCaptured(why.NothingToTrace(), why.NothingGiven(), to.TraceSomething(), USAGE)
    check_options(given(request), is_script=request.is_program)
    if request.script is not None and not Path(request.script).is_file():
        raise NotCaptured(why.NoScript(request.script), why.NoFile(), to.TraceScript(), USAGE)


def _raised_of(recorder: str, raised: RaisedError) -> RunRaised:
    """Returns a message for a run that reports only an error."""
    return {
        "type": "raised",
        "recorder": recorder,
        "stage": raised.stage,
        "exception": raised.exception,
        "message": raised.message,
        "by": raised.by,
        "close": raised.close,
        "frames": to_builtins(raised.frames),
    }


def _session(request: TraceRequest, runtime: Runtime, heard: _Heard) -> Session:
    first = next(iter(heard.passes.values()))
    result, shown = (convert(message["result"], ResultInfo) for message in (first, heard.shown))
    captured = Captured(
        ops=True,
        frames=heard.program is not None or not heard.passes.keys().isdisjoint((FRAMES, TOGETHER)),
        dispatch=heard.program is None and not heard.passes.keys().isdisjoint((DISPATCH, TOGETHER)),
        native=heard.stepped,
        cold=heard.stepped and (request.first or heard.first is not None),
        reason=heard.why_not_native,
        warm=(first["imported"] or None) if first.get("warm") else None,
        first=heard.first,
        put_back=tuple(map(str, first.get("put_back", ()))),
        anew=bool(first.get("anew")),
    )
    return Session(
        expression=request.expression.strip() if request.expression else of_program(request),
        torch=TorchInfo.of(runtime),
        bound=tuple(BoundName(**bound) for bound in first["bound"]),
        options=options_of(request),
        captured=captured,
        result=replace(result, type=shown.type or result.type, description=shown.description or result.description),
        observations=tuple(heard.observations),
        program=heard.program,
    )
