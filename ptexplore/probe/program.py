"""Run a script once, or a block of the user's own process, under a recorder that folds the calls during the run."""

from __future__ import annotations

import atexit
import linecache
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from json import dumps
from types import FrameType
from typing import TYPE_CHECKING, Final

from . import autograd, clock, freed, isolate, last_words, passes, throws, twice, unpatched, written
from . import torch_api as api
from .held_signals import HeldSignals, is_the_programs
from .last_words import EXIT_NAME, EXITING, KILLED, LATE, LATE_NAME, EndedBy
from .observations import answered, seen
from .process_hooks import THIS_PROCESS
from .raising import Raised
from .reasons import reason
from .recording import TRIES, Recorder
from .taken import sys, threading, time
from .whose import GIVEN

if TYPE_CHECKING:
    from .messages import (
        ChangedTableData,
        EffectsData,
        ProgramData,
        RunAnsweredData,
        RunRequestData,
        RunToldData,
        SentErrorData,
        SentObservationData,
    )
    from .reasons import Said

RECORDER: Final = "program"
CUT = reason("cut-by-silent-end")
NOT_IN_TIME = reason("cut-by-late-end")
EXPRESSION = "<expression>"  # the file name of the expression
BLOCK = "block"  # the stage of an error that a block of the user's own process raised
FORKED = "this process was forked from the one that is recorded"


def run(request: RunRequestData, known: dict[str, str]) -> RunToldData:
    """Record the script, and return the message of this pass.

    The message has the recording, the bound names, the error of the script and the tables of operators that changed. If
    the script is interrupted, the message has what ran until then. Raises Refused for names that cannot be bound.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running = passes.prepared(RECORDER, request)
    budget = int(request["native_most"]) if request.get("native") and not request.get("native_op") else 0
    left = max((request["until"] - time.monotonic_ns()) / 1e9, 0.0)
    recorder = Recorder((request.get("script") or "",), budget, left, running.names.seed_numpy)
    limit = sys.getrecursionlimit()

    def dying(error: BaseException) -> bytes:
        unpatched.put_back()
        running.raised = Raised("script", error)
        recorder.watcher.late = recorder.watcher.late or (isinstance(error, last_words.Ended) and error.by == LATE)
        recorder.stop(dying=True)
        return isolate.encoded(answered(RECORDER, _make_answer(recorder, running, known)))

    atexit._clear()  # functions registered before belong to the probe
    recorder.slices.keeps = partial(_keeps, recorder, running)
    with passes.stage("context"), ExitStack() as stack:
        passes.enter_contexts(stack, running)
        recorder.start()
        try:
            with last_words.spoken(dying):
                running.attempt("script", running.evaluate)
                passes.wait_for_threads(running)
                recorder.watcher.limit = None  # the script ended in time
        finally:
            unpatched.put_back()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # from here on the answer is on its way
            recorder.interrupted = running.raised is not None and isinstance(running.raised.error, KeyboardInterrupt)
            recorder.stop()
    sys.setrecursionlimit(limit)
    if not recorder.interrupted:
        with suppress(BaseException):
            atexit._run_exitfuncs()  # as Python does at its end
    return _make_answer(recorder, running, known)


def _make_answer(recorder: Recorder, running: passes.Pass, known: dict[str, str]) -> RunToldData:
    """Return the message of a script's pass, whose recorder has stopped."""
    ended_by = _seen_of(recorder, running.raised)
    left: EffectsData = twice.effects(running.raised) if running.request.get("twice") else {}
    if recorder.profiler.clock.saw_it_set:
        left["uncompared"] = clock.SET
    data = recorder.data()
    tables = passes.changed_tables(_called(data), known) if known else ()
    message = _message(recorder, data, ended_by, tables)
    message["bound"], message["operators"], message["left"] = running.names.bound, recorder.operators, left
    return message


def _keeps(recorder: Recorder, running: passes.Pass) -> None:
    """Keep the recording so far, for a process that ends without an answer, for example because it is killed."""
    data = recorder.so_far()
    message = _message(recorder, data, (), ())
    message["bound"], message["operators"], message["left"] = running.names.bound, 0, {}
    isolate.put(isolate.encoded({"type": "so-far", "recorder": RECORDER, **message}))


def ended(kept: RunAnsweredData, outcome: isolate.ChildOutcome) -> RunAnsweredData:
    """Return the message of a script whose process ended without an answer: its last recording, and how it ended."""
    program = kept["program"]
    cuts = [*program.get("cuts", ()), NOT_IN_TIME if outcome.late else CUT]
    by, name, words = _how(outcome)
    raised: SentErrorData = {"stage": "script", "close": [], "by": by, "exception": name, "message": words}
    return {
        **kept,
        "type": "pass",
        "raised": True,
        "late": outcome.late,
        "program": {**program, "cuts": cuts},
        "observations": [*kept["observations"], seen(RECORDER, "raised", raised)],
    }


def ended_expression(kept: RunAnsweredData, outcome: isolate.ChildOutcome) -> RunAnsweredData:
    """Return the same as `ended` for an expression. Frames are missing if nobody saw where the expression ended."""
    observations = list(kept["observations"])
    raised = next(observation for observation in observations if observation["kind"] == "raised")
    was_in = raised["data"]["message"] if outcome.signal == raised["data"]["exception"] else ""
    by, name, words = _how(outcome)
    raised["data"] |= {"by": by, "exception": name, "message": was_in or words}
    if not raised["data"]["frames"]:
        data = {"told": NOT_IN_TIME if outcome.late else CUT}
        observations.append({"recorder": raised["recorder"], "kind": "cut", "data": data})
    return {**kept, "type": "pass", "raised": name, "observations": observations}


def _how(outcome: isolate.ChildOutcome) -> tuple[EndedBy, str, str]:
    """Return what ended a process: the kind of end, its name, and its words."""
    if outcome.late:
        return LATE, LATE_NAME, ""
    if outcome.signal is not None:
        return KILLED, outcome.signal, ""
    return EXITING, EXIT_NAME, f"status {outcome.exit_code}"


def _called(data: ProgramData) -> set[str]:
    return {kind["name"] for kind in data["kinds"] if kind["type"] == "op"}


def _seen_of(recorder: Recorder, raised: Raised | None) -> list[SentObservationData]:
    """Return the observations about an error: itself, where C++ threw it, and the saved tensor or node it is about."""
    if raised is None:
        return []
    if recorder.watcher.late and isinstance(raised.error, KeyboardInterrupt):  # this interrupt is ours: the time limit
        return [seen(RECORDER, "raised", {**raised.data(), "by": LATE, "exception": LATE_NAME, "message": ""})]
    thrown, modified = recorder.thrown(raised.error), recorder.modified(raised.error)
    observations = [seen(RECORDER, "raised", raised.data())]
    if thrown is not None:
        observations.append(seen(throws.RECORDER, "thrown", thrown))
    if modified is not None:
        observations.append(seen(written.RECORDER, "saved", modified))
    again = recorder.freed(raised.error)
    if again is not None:
        observations.append(seen(freed.RECORDER, "freed", again))
    return observations


def _message(
    recorder: Recorder,
    data: ProgramData,
    ended_by: Iterable[SentObservationData],
    tables: Iterable[ChangedTableData],
) -> RunToldData:
    observations = list(ended_by)
    raised = any(observation["kind"] == "raised" for observation in observations)
    if recorder.device is not None:
        observations.append(seen(RECORDER, "launches", {"device": recorder.device}))
    observations.append(seen(RECORDER, "idle", {"devices": api.idle_devices()}))
    observations += recorder.steps()
    observations += [seen(passes.OPS, "table", table) for table in tables]
    return {
        "sequence": recorder.digest,
        "imported": 0,
        "raised": raised,
        "bound": [],
        "result": {},
        "late": recorder.watcher.late,
        "program": data,
        "observations": observations,
    }


# --- another run of an expression ---


def freed_again(request: RunRequestData) -> RunToldData:
    """Run an expression once more whose backward needed freed tensors; return an observation "freed", if it is seen.

    The typed text, `--setup` included, is recorded like the lines of a program. Raises Refused or Raised, as passes do.
    """
    texts = {f"{GIVEN} {number}>": code for number, code in enumerate(request["setup"], 1)}
    texts[EXPRESSION] = (request.get("expression") or "").strip()
    for file, text in texts.items():  # the lines of text that is in no file
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    recorder = Recorder(texts)
    recorder.start()
    try:
        running = passes.prepared(freed.RECORDER, request)
        with passes.stage("context"), ExitStack() as stack:
            passes.enter_contexts(stack, running)
            passes.phases(running, autograd.run_backward, lambda _, function, *given: function(*given))
    finally:
        recorder.stop()
    node = recorder.freed(running.raised.error) if running.raised is not None else None
    return {"observations": [seen(freed.RECORDER, "freed", node)] if node is not None else []}


# --- in the user's own process ---


def why_not_here() -> Said | None:
    """Return why nothing can be recorded in this process now; None if recording is possible."""
    if THIS_PROCESS.recorded is not None:
        return reason("recorded-already")
    if threading.current_thread() is not threading.main_thread():
        return reason("in-other-thread-than-main")
    if sys.getprofile() is not None:
        return reason("profile-function-set")
    if api.is_profiling():
        return reason("torch-profiler-at-work")
    return None


class Block:
    """A recording of the user's own process: `begin` sets all that it needs or nothing, `end` puts everything back.

    A fault in the recording is not raised: `message` stays None, and `failed` says why. A signal handler may raise out
    of both methods, after everything is set or put back.
    """

    def __init__(self, native_budget: int) -> None:
        self._native_budget = native_budget  # instructions that may be stepped, each call in a fork of this process
        self._recorder: Recorder | None = None
        self._held = HeldSignals()  # one for both: signals left held by an exception are put back by the next call
        self.message: bytes | None = None  # the message of a pass, encoded, with the tables of all called operators
        self.failed = ""

    @property
    def is_over(self) -> bool:
        """Return whether the recording has ended, and nothing is left to put back."""
        return self._recorder is None and not self._held.is_holding

    def begin(self, frame: FrameType | None, files: Iterable[str]) -> None:
        """Start to record this process. `frame` is a function that is running already, `files` are the user's files."""
        try:
            self._held.hold()
            with unpatched.ours():
                self._recorder = Recorder(files, self._native_budget, is_block=True)
            self._recorder.start(frame)
        except BaseException as error:
            self._recorder = None
            if is_the_programs(error):
                raise
            self.failed = _words(error)
        finally:
            self._held.release()

    def end(self, error: BaseException | None) -> None:
        """End the recording. `error` is the error of the user's code. A second call finishes an interrupted first one.

        A process that was forked from the recorded one has nothing to end.
        """
        try:
            self._held.hold()
            recorder = self._recorder
            if recorder is not None and recorder.is_elsewhere:
                self._recorder, self.failed = None, FORKED
            elif recorder is not None:
                with unpatched.ours():
                    self._end(recorder, error)
        finally:
            self._held.release()

    def _end(self, recorder: Recorder, error: BaseException | None) -> None:
        for _ in range(TRIES):
            try:
                recorder.stop()  # continues where it was interrupted
                self.message = self.message or _encoded(recorder, error)
                break
            except Exception as fault:
                self.failed = _words(fault)
        self._recorder = None
        self._held.came.update(dict.fromkeys(recorder.watcher.held_back))


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _encoded(recorder: Recorder, error: BaseException | None) -> bytes:
    ended_well = error is None or (isinstance(error, SystemExit) and error.code in (None, 0))
    raised = None if error is None or ended_well else Raised(BLOCK, error)
    ended_by = _seen_of(recorder, raised)
    data = recorder.data()
    message = _message(recorder, data, ended_by, passes.changed_tables(_called(data), {}))
    return dumps(answered(RECORDER, message), default=str).encode()


def unlike(tables: Iterable[ChangedTableData], known: dict[str, str]) -> Iterator[str]:
    """Yield the operators whose tables differ from the catalogue."""
    return (table["op"] for table in tables if known.get(table["op"]) != api.digest(table["dump"], table["table"]))
