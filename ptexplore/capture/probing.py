"""Talk to a probe: what a trace is asked for, how the probe is started, its messages, and nothing left of it behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest(TraceOptions):
    """One expression or script, and all that decides how it runs. `timeout` is in seconds, for all runs together.

    `native` asks for the native pass, `native_op` ("add.Tensor#2") for one operator call to be stepped in it.
    `script_sha256` is of the bytes of a script that were shown: the probe runs no others.
    """

    expression: str | None = None
    cwd: str = "/"
    script_sha256: str | None = None


def asked_for(expression: str | None, values: Mapping[str, Any]) -> TraceRequest:
    """The request of one expression or script in the current folder, with the options that were given, by field."""
    grad = bool(values.get("grad") or values.get("backward"))
    return TraceRequest(expression=expression, cwd=os.getcwd(), **{"native": True, **values, "grad": grad})


def check_options(asked: Collection[str], *, is_script: bool) -> None:
    """Raises RefusedOptions for options, by field, that do not go together, or that are for something else."""
    refusal = refused(asked, is_script=is_script)
    if refusal is not None:
        raise RefusedOptions(refusal)


_BUDGET = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([kMG]?)")
_TIMES = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
A_FORK = 20_000  # instructions that a fork of a program counts for: FORK of probe/stepping.py
MOST = 1_000_000_000_000
BUDGET = f"a number of instructions as 500k, 3M or 3000000: above {A_FORK:,}, which is what one fork counts for, or 0"


def native_budget(given: object) -> int | None:
    """The instructions that a text ("3M") or a number means; None if no budget can be that."""
    if type(given) not in (int, str):
        return None
    budget = _BUDGET.fullmatch(str(given).strip())
    wanted = round(float(budget[1]) * _TIMES[budget[2]]) if budget is not None else -1
    return wanted if wanted == 0 or A_FORK < wanted <= MOST else None


PROBE = Path(__file__).resolve().parent.parent / "probe" / "main.py"
IMPORT_TIMEOUT = 180.0  # seconds that `import torch` may take on a cold disk
IDLE = ("operators", "done")  # messages after which a probe waits for us
GRACE = 10.0  # seconds after which the probe would have ended something itself
FOLDING = (
    60.0  # seconds that a program may take, once it was interrupted, to say what it did: another interrupt ends it
)
DAY = 86400.0  # seconds


def request_of(
    request: TraceRequest, work: Literal["trace", "survey"], runtime: Runtime, digests: Mapping[str, str]
) -> RunRequest:
    """A trace, or a survey's traces, as a probe is asked for it. `digests` are the catalogue's, by operator."""
    asked = {"work": work, "torch_dir": runtime.torch_dir, "digests": dict(digests), **asdict(request)}
    return cast("RunRequest", asked)  # a test holds the fields of TraceRequest to it


def ask(
    runtime: Runtime,
    request: RunRequest,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    left: list[LeftProcess] | None = None,
) -> Generator[ProbeMessage]:
    """Yield the probe's messages after its "ready"; all runs that it begins may take `timeout` seconds together.

    Of a trace the probe itself sees to that; it is ended here only where it does not.

    `environment` are variables that it gets besides ours. When the iterator ends, `left` has what runs left running.

    Raises NotCaptured for a probe that cannot start, has no torch or another one or breaks the channel, Stopped for
    one that takes too long or dies. The probe's whole process group is gone when the iterator ends, however it ends.
    """
    with tempfile.TemporaryFile() as given:
        given.write(json.dumps(request).encode())
        given.seek(0)
        child = _start(runtime, given, environment, repeatable=not request.get("vary"))
    yield from _heard(child, runtime, timeout, {"ready": timeout}, left, _patience(request, timeout))


def ask_of_program(
    runtime: Runtime, request: RunRequest, timeout: float, left: list[LeftProcess] | None = None
) -> Generator[ProbeMessage]:
    """As `ask`, of a program: one that is interrupted tells what it did until then.

    What does not answer within a minute is ended as `ask` ends it.
    """
    with tempfile.TemporaryFile() as given:
        given.write(json.dumps(request).encode())
        given.seek(0)
        child = _start(runtime, given)
    yield from _heard(_Patient(child), runtime, timeout, {"ready": timeout}, left, _patience(request, timeout))


@dataclass
class _Patient:
    """A child that is interrupted first, and ended only if it does not answer."""

    child: processes.Child

    def messages(
        self, timeout: float, extend: Callable[[dict[str, Any]], float | None], patience: float
    ) -> Iterator[dict[str, Any]]:
        """As `processes.Child.messages`."""
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
        """As `processes.Child.descendants`."""
        return self.child.descendants()

    def stop(self) -> int:
        """As `processes.Child.stop`."""
        return self.child.stop()


def converse(runtime: Runtime, request: RunRequest, timeout: float) -> tuple[IO[bytes], Iterator[ProbeMessage]]:
    """A probe that is told more as it goes: where to write lines to, and its messages as `ask` gives them.

    Closing the first asks it to end. What it does before its first run may take as long as the import of torch.
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
    with contextlib.suppress(BrokenPipeError):  # it is gone already; its channel tells
        given.write(json.dumps(request).encode() + b"\n")
    return given, _heard(child, runtime, timeout, _allowed(timeout, IMPORT_TIMEOUT) | dict.fromkeys(IDLE, DAY))


def _patience(request: RunRequest, timeout: float) -> float:
    """How long a probe that sees to its time itself is waited for then: a first run may say what it saw."""
    return timeout + 6 * GRACE if request["work"] == "trace" else 0.0


def _allowed(timeout: float, ready: float) -> dict[str, float]:
    """How long what follows a message may take.

    A run to see whether the expression can be run twice ("second") is ended by the probe before.
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
    """First the import's own time, then what is `allowed` from each kind of message on, and `patience` seconds."""
    running: Reason = why.ImportingTorch()
    ended = is_alone = False
    try:
        for told in child.messages(IMPORT_TIMEOUT, lambda m: allowed.get(str(m.get("type"))), patience):
            message = cast("ProbeMessage", told)  # as the probe's own code is held to it
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
) -> processes.Child:
    errors = None if os.environ.get("PTEXPLORE_DEBUG") else subprocess.DEVNULL
    try:
        return processes.start(
            runtime.python, PROBE, stdin=given, stderr=errors, environment=environment, repeatable=repeatable
        )
    except OSError as error:
        because = why.Said(error.strerror or str(error))
        raise NotCaptured(why.NotStarted(runtime.python), because, to.Diagnose(), MISSING) from error


def _check(message: ProbeMessage, runtime: Runtime) -> None:
    """Raise NotCaptured for a message that says that there is no probe to go on with."""
    if message["type"] == "no-torch":
        text = why.Said(message["message"])
        raise NotCaptured(why.TorchNotImported(), text, to.InstallTorch(runtime.python), MISSING)
    if message["type"] == "wrong-torch":
        other = why.OtherTorchFound(message["folder"])
        raise NotCaptured(why.OtherTorchImported(), other, to.CheckSearchPath(), MISSING)
    if message["type"] == "broken":
        raise NotCaptured(why.ProbeFailed(), why.Said(message["message"]), to.ShowOutput())


def _died(status: int, running: Reason) -> Reason:
    """How a probe ended in the middle of what was running."""
    if status >= 0:
        return why.ProbeEnded(status, running)
    known = {s.value: s.name for s in signal.Signals}
    return why.ProbeKilled(known.get(-status, f"signal {-status}"), running)


def _too_slow(timeout: float, running: Reason) -> NotCaptured:
    if running == why.ImportingTorch():
        return NotCaptured(why.TorchNotInTime(), why.TookMoreThan(IMPORT_TIMEOUT), to.ImportFaster())
    return TimeOver(why.NotEndedInTime(timeout), why.PassStopped(running, timeout), to.GiveLonger())
