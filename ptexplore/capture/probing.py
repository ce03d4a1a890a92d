"""Communication with a probe: the request, the start, the messages, and ending all its processes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

from ptexplore import processes
from ptexplore.capture.left_running import left_running
from ptexplore.capture.not_captured import NotCaptured, RefusedOptions, Stopped, TimeOver
from ptexplore.errors import MISSING
from ptexplore.model import actions as to
from ptexplore.model import reasons as why
from ptexplore.model.messages import ProbeMessage, RunRequest
from ptexplore.model.observed import LeftProcess
from ptexplore.model.options import TraceOptions, refused
from ptexplore.model.places import Runtime
from ptexplore.model.reasons import Reason
from ptexplore.model.rungs import RungName


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest(TraceOptions):
    """One expression, some statements or a script, and all options of the run.

    `timeout` is in seconds, for all runs together. `native` asks for stepping; `native_op` ("add.Tensor#2")
    selects one operator call to step. `script_sha256` is the hash of a script that was shown: the probe runs no other
    content. `passes_on`: a program gets the standard input of this process, and what it prints appears on its standard
    error at once. `wraps`: torch.compile compiles the expression as a whole.
    """

    expression: str | None = None
    cwd: str = "/"
    script_sha256: str | None = None
    passes_on: bool = False
    after: str | None = None  # for tensors: further statements, after which the tensors are read again
    owners: bool = False  # for a graph: says who holds memory
    leak: bool = False  # for a graph: finds leaks.
    steps: int | None = None  # for a graph: calls of backward that are watched.
    against: str | None = None  # for tensors: statements whose tensors are compared
    wraps: bool = False
    rungs: tuple[RungName, ...] = ()  # for lower: the rungs.
    checks: bool = False  # for lower: compares single operators, too.
    dynamic: bool = False  # for lower: torch.export may make sizes symbolic.
    only: str | None = None  # for lower: the module of a program.
    judge: str | None = None  # for a solution of an exercise, which is `expression`: what judges it
    function: str = ""  # for a solution: the function that is called
    seed: int = 0  # for a solution: the random cases follow from it


def asked_for(expression: str | None, values: Mapping[str, Any]) -> TraceRequest:
    """Returns the request for one expression or script in the current folder.

    `values` are the given options, by field.
    """
    grad = bool(values.get("grad") or values.get("backward"))
    return TraceRequest(expression=expression, cwd=os.getcwd(), **{"native": True, **values, "grad": grad})


def check_options(asked: Collection[str], *, is_script: bool) -> None:
    """Raises RefusedOptions for options, by field, that exclude each other or do not fit."""
    refusal = refused(asked, is_script=is_script)
    if refusal is not None:
        raise RefusedOptions(refusal)


_BUDGET = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([kMG]?)")
_TIMES = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
A_FORK = 20_000  # instructions that a fork of a program counts for: FORK of probe/stepping.py
MOST = 1_000_000_000_000
BUDGET = f"0 or more than {A_FORK:,} instructions, because a fork counts as {A_FORK:,}: for example 500k, 3M or 3000000"


def native_budget(given: object) -> int | None:
    """Returns the number of instructions in a text ("3M") or number. None if it is not a budget."""
    if type(given) not in (int, str):
        return None
    budget = _BUDGET.fullmatch(str(given).strip())
    wanted = round(float(budget[1]) * _TIMES[budget[2]]) if budget is not None else -1
    return wanted if wanted == 0 or A_FORK < wanted <= MOST else None


PROBE = Path(__file__).resolve().parent.parent / "probe" / "main.py"
IMPORT_TIMEOUT = 180.0  # seconds that `import torch` may take on a cold disk
IDLE = ("operators", "done")  # messages after which a probe waits for the parent
GRACE = 10.0  # seconds after which the probe should have ended a run itself
FOLDING = (
    # seconds for an interrupted program to report what it did: another interrupt ends it
    60.0
)
DAY = 86400.0  # seconds


def request_of(
    request: TraceRequest,
    work: Literal["trace", "compile", "lower", "survey", "tensors", "graph", "judge"],
    runtime: Runtime,
    digests: Mapping[str, str],
) -> RunRequest:
    """Returns the request for a trace, a survey, a run of `compile`, tensors or a graph, in the form for the probe.

    `digests` are the catalogue's, by operator.
    """
    from ptexplore.facts.choosers import PYTHON_CHOOSERS  # imports the codes of all rows

    choosers = [(row.file, row.function, row.variables) for row in PYTHON_CHOOSERS]
    asked = {
        "work": work, "torch_dir": runtime.torch_dir, "digests": dict(digests), "choosers": choosers, **asdict(request),
    }  # fmt: skip
    return cast("RunRequest", asked)  # a test ensures that the fields of TraceRequest fit


def ask(
    runtime: Runtime,
    request: RunRequest,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    left: list[LeftProcess] | None = None,
) -> Generator[ProbeMessage]:
    """Yields the probe's messages after its "ready". All runs together may take `timeout` seconds.

    In a trace, the probe itself enforces the limit; it is killed here only if it does not.

    `environment` are further variables for the probe. When the iterator ends, `left` has the processes that runs left
    running. Raises NotCaptured if a probe cannot start, has no torch or another one, or breaks the channel; Stopped if
    it takes too long or dies. When the iterator ends, for any reason, the probe's whole process group is gone.
    """
    with tempfile.TemporaryFile() as given:
        given.write(json.dumps(request).encode())
        given.seek(0)
        child = _start(runtime, given, environment, repeatable=not request.get("vary"))
    yield from _heard(child, runtime, timeout, {"ready": timeout}, left, _patience(request, timeout))


def ask_of_program(
    runtime: Runtime,
    request: RunRequest,
    timeout: float,
    left: list[LeftProcess] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Generator[ProbeMessage]:
    """Does the same as `ask` for a program: if it is interrupted, it still reports its work until then.

    If it does not answer within a minute, it is killed as `ask` does.
    """
    with tempfile.TemporaryFile() as given, _passed_on(request) as descriptors:
        given.write(json.dumps({**request, **descriptors}).encode())
        given.seek(0)
        child = _start(runtime, given, environment, passed=tuple(descriptors.values()))
    yield from _heard(_Patient(child), runtime, timeout, {"ready": timeout}, left, _patience(request, timeout))


@contextlib.contextmanager
def _passed_on(request: RunRequest) -> Iterator[dict[str, int]]:
    """Yields the descriptors that a program's probe gets: of standard input, and to show its output. Closes ours.

    Input from a pipe is copied first if the program may run again: then each run reads it from its beginning. A
    standard stream that is closed is not passed on.
    """
    with contextlib.ExitStack() as opened:
        descriptors = {}
        for name, number in (("stdin", 0), ("live", 2)) if request.get("passes_on") else ():
            with contextlib.suppress(OSError):
                descriptors[name] = os.dup(number)
                opened.callback(os.close, descriptors[name])
        given = descriptors.get("stdin")
        runs_again = request.get("twice") or request.get("again") or request.get("native_op")
        if given is not None and runs_again and stat.S_ISFIFO(os.fstat(given).st_mode):
            copy = opened.enter_context(tempfile.TemporaryFile())
            with os.fdopen(given, "rb", closefd=False) as pipe:
                shutil.copyfileobj(pipe, copy)
            copy.seek(0)
            descriptors["stdin"] = copy.fileno()
        yield descriptors


@dataclass
class _Patient:
    """A child that is interrupted first, and killed only if it does not answer."""

    child: processes.Child

    def messages(
        self, timeout: float, extend: Callable[[dict[str, Any]], float | None], patience: float
    ) -> Iterator[dict[str, Any]]:
        """Yields the same messages as `processes.Child.messages`."""
        begun = False
        try:
            for message in self.child.messages(timeout, extend, patience):
                begun = begun or message.get("type") == "begin"
                yield message
            return
        except KeyboardInterrupt:
            if not begun:
                raise
        self.child.interrupt()
        yield from self.child.messages(FOLDING, lambda _: None)

    def descendants(self) -> list[processes.Descendant]:
        """Does the same as `processes.Child.descendants`."""
        return self.child.descendants()

    def stop(self) -> int:
        """Does the same as `processes.Child.stop`."""
        return self.child.stop()


def converse(runtime: Runtime, request: RunRequest, timeout: float) -> tuple[IO[bytes], Iterator[ProbeMessage]]:
    """Starts a probe that receives more lines later. Returns a file to write them to, and its messages as from `ask`.

    Closing the file asks it to end. Before its first run, it may take as long as the import of torch.
    """
    reader, writer = os.pipe()
    given = os.fdopen(writer, "wb", buffering=0)
    try:
        child = _start(runtime, reader, repeatable=True)
    except BaseException:
        given.close()
        raise
    finally:
        os.close(reader)
    with contextlib.suppress(BrokenPipeError):  # the probe is gone already; its channel reports that
        given.write(json.dumps(request).encode() + b"\n")
    return given, _heard(child, runtime, timeout, _allowed(timeout, IMPORT_TIMEOUT) | dict.fromkeys(IDLE, DAY))


def _patience(request: RunRequest, timeout: float) -> float:
    """Returns how long to wait for a probe that enforces its time itself: a first run may report what it saw."""
    return timeout + 6 * GRACE if request["work"] in ("trace", "compile", "lower", "tensors") else 0.0


def _allowed(timeout: float, ready: float) -> dict[str, float]:
    """Returns how long the part after a message may take.

    The probe itself ends, at an earlier time, a run that checks whether the expression can be run twice ("second").
    """
    return {"ready": ready, "begin": timeout, "second": 2 * timeout + GRACE}


def _heard(
    child: processes.Child | _Patient,
    runtime: Runtime,
    timeout: float,
    allowed: Mapping[str, float],
    left: list[LeftProcess] | None = None,
    patience: float = 0.0,
) -> Generator[ProbeMessage]:
    """Yields messages: first within the import's own time, then within the time `allowed` after each kind of message.

    After that, `patience` more seconds are allowed.
    """
    running: Reason = why.ImportingTorch()
    ended = is_alone = False
    try:
        for sent in child.messages(IMPORT_TIMEOUT, lambda m: allowed.get(str(m.get("type"))), patience):
            message = cast("ProbeMessage", sent)  # the probe's code is checked against this type
            if message["type"] == "end":
                ended, is_alone = True, not message["left"]
                return
            if message["type"] == "begin":
                running = why.RunningPass(message["recorder"])
            _check(message, runtime)
            if message["type"] == "late":
                raise _too_slow(timeout, running)
            yield message
    except processes.ChannelTimeout as error:
        raise _too_slow(timeout, running) from error
    except processes.ChannelError as error:
        raise NotCaptured(why.ProbeUnread(), why.Said(str(error)), to.ShowOutput()) from error
    finally:
        if left is not None and not is_alone:
            left += left_running(child, ended=ended)
        status = child.stop()
    raise Stopped(why.ProbeDied(), _died(status, running), to.ShowOutput())


def _start(
    runtime: Runtime,
    given: IO[bytes] | int,
    environment: Mapping[str, str] | None = None,
    *,
    repeatable: bool = False,
    passed: tuple[int, ...] = (),
) -> processes.Child:
    errors = None if os.environ.get("PTEXPLORE_DEBUG") else subprocess.DEVNULL
    _compile_probe()
    try:
        return processes.start(
            runtime.python, PROBE, stdin=given, stderr=errors, environment=environment, repeatable=repeatable,
            passed=passed,
        )  # fmt: skip
    except OSError as error:
        because = why.Said(error.strerror or str(error))
        raise NotCaptured(why.NotStarted(runtime.python), because, to.Diagnose(), MISSING) from error


def _compile_probe() -> None:
    """Compile the probe's modules for this Python if one is newer than all that is compiled.

    The probe writes no compiled file, for the sake of your folders. Without this, each run would compile the modules
    again (0.1 s).
    """
    if sys.dont_write_bytecode:  # you asked Python to write no compiled files
        return
    folder = PROBE.parent
    with contextlib.suppress(OSError):
        compiled = _newest(folder / "__pycache__", f".{sys.implementation.cache_tag}.pyc")
        if _newest(folder, ".py") > compiled and os.access(folder, os.W_OK):
            import compileall  # 0.03 s

            compileall.compile_dir(folder, maxlevels=0, quiet=2)


def _newest(folder: Path, ending: str) -> float:
    """Returns when the newest file with this ending was written. 0 if there is none."""
    try:
        with os.scandir(folder) as entries:
            return max((entry.stat().st_mtime for entry in entries if entry.name.endswith(ending)), default=0.0)
    except FileNotFoundError:
        return 0.0


def _check(message: ProbeMessage, runtime: Runtime) -> None:
    """Raises NotCaptured for a message that makes it impossible to go on."""
    if message["type"] == "no-torch":
        text = why.Said(message["message"])
        raise NotCaptured(why.TorchNotImported(), text, to.InstallTorch(runtime.python), MISSING)
    if message["type"] == "wrong-torch":
        other = why.OtherTorchFound(message["folder"])
        raise NotCaptured(why.OtherTorchImported(), other, to.CheckSearchPath(), MISSING)
    if message["type"] == "broken":
        raise NotCaptured(why.ProbeFailed(), why.Said(message["message"]), to.ShowOutput())


def _died(status: int, running: Reason) -> Reason:
    """Returns how a probe ended during a run."""
    if status >= 0:
        return why.ProbeEnded(status, running)
    known = {s.value: s.name for s in signal.Signals}
    return why.ProbeKilled(known.get(-status, f"signal {-status}"), running)


def _too_slow(timeout: float, running: Reason) -> NotCaptured:
    if running == why.ImportingTorch():
        return NotCaptured(why.TorchNotInTime(), why.TookMoreThan(IMPORT_TIMEOUT), to.ImportFaster())
    return TimeOver(why.NotEndedInTime(timeout), why.PassStopped(running, timeout), to.GiveLonger())
