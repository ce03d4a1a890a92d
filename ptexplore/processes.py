"""Starts a Python child by the absolute path of its script, in a neutral folder, with a private JSON channel.

The child gets the descriptor of a pipe as `--channel FD` and writes one JSON object per line to it. Its stdout stays
free for the output of user code. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from ptexplore.safe_text import clean, clean_json

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_T = TypeVar("_T")

PARENT = "PTEXPLORE_PARENT"  # the variable with the process id of the parent
ROOM = "PTEXPLORE_ROOM"  # fills the environment up, so that a child's stack begins at the same address
HASH_SEED = "PYTHONHASHSEED"
_NO_RANDOM_ADDRESSES, _ASK = 0x0040000, 0xFFFFFFFF  # personality(2): ADDR_NO_RANDOMIZE, and the value that only reads
_FULL = 1 << 15  # bytes that the words and variables of a repeatable child take together, or a multiple of it
_DIGITS = 10  # digits of a descriptor's or process's number: a longer one would move the data after it
LOOK, TIMES = 1.0, 3  # seconds between checks whether a late child was stopped, and how often it may be continued
MESSAGE_LIMIT = 512 * 1024 * 1024  # bytes of one message; more than any honest capture needs


class ChannelError(Exception):
    """The child broke the protocol of the channel: a message is no JSON, is no object, or is too long."""


class ChannelTimeout(Exception):
    """The child did not finish in its time."""


@contextlib.contextmanager
def starting_workers() -> Iterator[None]:
    """Keep the processes that multiprocessing starts in this block from running the caller's script or current folder.

    The script of somebody who calls our API may have no `if __name__ == "__main__"`, and would then start itself. Our
    workers only run functions of our modules, never of that script. A new Python has the current folder first on its
    path, until multiprocessing gives it our path. By then it would have imported a `pickle.py` from that folder. `-I`
    leaves the folder out.
    """
    from multiprocessing import util

    script, flags = sys.modules["__main__"], util._args_from_interpreter_flags  # type: ignore[attr-defined]

    def isolated() -> list[str]:
        return ["-I", *(flag for flag in flags() if flag not in ("-I", "-E", "-s", "-P"))]

    sys.modules["__main__"] = ModuleType("__main__")
    util._args_from_interpreter_flags = isolated  # type: ignore[attr-defined]  # it has no public name
    try:
        yield
    finally:
        util._args_from_interpreter_flags = flags  # type: ignore[attr-defined]
        sys.modules["__main__"] = script


@contextlib.contextmanager
def ending_workers(pool: ProcessPoolExecutor) -> Iterator[None]:
    """End the workers that `pool` starts in this block, if an error or Ctrl-C ends the block.

    A pool waits until its workers are ready. That may take many seconds, and nobody wants the results any longer.
    """
    import multiprocessing

    before = set(multiprocessing.active_children())
    try:
        yield
    except BaseException:  # also GeneratorExit: the caller wants no further result
        for worker in set(multiprocessing.active_children()) - before:
            worker.kill()
        # A worker may have written half of an answer. The pool waits for the rest until every writer is closed, and
        # this process holds one.
        pool._result_queue._writer.close()  # type: ignore[attr-defined]  # it has no public name
        raise


def as_done(futures: Iterable[Future[_T]]) -> Iterator[Future[_T]]:
    """Yields each future when it is done.

    `concurrent.futures.as_completed` takes the lock of each future. If Ctrl-C leaves a lock taken, the pool stops
    forever.
    """
    from queue import SimpleQueue

    done: SimpleQueue[Future[_T]] = SimpleQueue()
    count = 0
    for future in futures:
        future.add_done_callback(done.put)
        count += 1
    for _ in range(count):
        yield done.get()


def end_with_parent(last: Callable[[], None] = lambda: None) -> None:
    """Make this worker of multiprocessing end when its parent ends, even if the parent is killed.

    `last` is called before it ends.
    """
    import multiprocessing

    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            last()
            os._exit(1)

    try:
        threading.Thread(target=watch, daemon=True).start()
    except RuntimeError:  # the limit on processes counts threads: then the system ends this process, without `last`
        import ctypes

        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG


@dataclass(frozen=True, slots=True)
class Descendant:
    """A process that our child started, directly or through other processes."""

    pid: int
    command: str  # its command line; empty if it is a fork of the child that runs no other program
    in_group: bool  # whether `Child.stop` ends it


@dataclass
class Child:
    """A running child: its process, which leads its own process group, and our end of its channel."""

    process: subprocess.Popen[bytes]
    channel: int
    _pending: bytearray = field(default_factory=bytearray)  # the first part of an incomplete message

    def messages(
        self,
        timeout: float | None = None,
        extend: Callable[[dict[str, Any]], float | None] = lambda _: None,
        patience: float = 0.0,
    ) -> Iterator[dict[str, Any]]:
        """Yield each message until the child closes the channel.

        `extend(message)` may return a number of seconds: the time allowed from that message on. A child that ends by
        itself when its time is up has `patience` more seconds to say so. If it was stopped (SIGSTOP), it is continued.
        Raises ChannelTimeout if the time is up, ChannelError on bad data.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        pending = self._pending
        while True:
            self._wait(deadline, patience)
            chunk = os.read(self.channel, 1 << 20)
            if not chunk:
                if pending:
                    raise ChannelError("the last message is cut off")
                return
            pending += chunk
            if len(pending) > MESSAGE_LIMIT:
                raise ChannelError(f"a message is longer than {MESSAGE_LIMIT} bytes")
            if b"\n" in chunk:
                *lines, rest = bytes(pending).split(b"\n")
                pending[:] = rest
                for line in lines:
                    message = _decode(line)
                    more = extend(message)
                    deadline = deadline if more is None else time.monotonic() + more
                    yield message

    def _wait(self, deadline: float | None, patience: float) -> None:
        """Wait until the child has written something. Raises ChannelTimeout."""
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        stops = 0
        while not select.select([self.channel], [], [], left)[0]:
            assert deadline is not None
            stops += self._is_stopped()
            left = min(deadline + patience - time.monotonic(), LOOK)
            if left <= 0 or stops > TIMES:
                raise ChannelTimeout
            if stops:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(self.process.pid, signal.SIGCONT)

    def _is_stopped(self) -> bool:
        """Whether the child itself was stopped; False if the system does not say so."""
        state = _state(Path(f"/proc/{self.process.pid}"))
        return state is not None and state.letter == "T"

    def interrupt(self) -> None:
        """Interrupt the child as Ctrl-C would. After that you can ask `messages` for its answer."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGINT)

    def descendants(self) -> list[Descendant]:
        """Returns the processes that the child started, directly or through others, and that still run.

        Processes that another process has adopted are missing; the child must adopt them itself for that. Empty if the
        system has no `/proc`.
        """
        states = {int(entry.name): state for entry in _processes() if (state := _state(entry)) is not None}
        family, further = {self.process.pid}, {self.process.pid}
        while further:
            further = {pid for pid, state in states.items() if state.parent in further} - family
            family |= further
        own = _command(self.process.pid)
        return [
            Descendant(pid, "" if (command := _command(pid)) == own else command, states[pid].group == self.process.pid)
            for pid in sorted(family - {self.process.pid})
            if states[pid].letter not in "ZX"  # it has ended
        ]

    def stop(self) -> int:
        """Kill the rest of the child's process group, reap the child, close the channel. Returns the exit status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.channel)
        return status


class _State(NamedTuple):
    """The state of a process, as Linux reports it."""

    letter: str  # R, S, Z, …
    parent: int
    group: int


def _processes() -> list[Path]:
    try:
        return [entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    except OSError:
        return []


def _state(entry: Path) -> _State | None:
    """Read the state of a process; None if the process is gone."""
    try:
        letter, parent, group, *_ = (entry / "stat").read_text("utf-8", "replace").rpartition(") ")[2].split()
        return _State(letter, int(parent), int(group))
    except (OSError, ValueError):
        return None


def _command(pid: int) -> str:
    """Returns the command line of a process as you would type it; "" if the process is gone or has none."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return ""
    return clean(shlex.join(word.decode("utf-8", "replace") for word in words)) if words != [b""] else ""


def _decode(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(clean_json(line))
    except (ValueError, RecursionError) as error:
        raise ChannelError(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise ChannelError("a message is not an object")
    return message


def _ends_with_us() -> dict[str, str]:
    """Returns the variable that makes a child end when this process ends, in any way.

    The system signals a child when the thread that started it ends. So the thread that starts a child must also wait
    for it.
    """
    return {PARENT: f"{os.getpid():0{_DIGITS}}"}  # a longer number would move the memory of the child


@contextlib.contextmanager
def repeating(words: Sequence[str], variables: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yields the environment in which a child that this thread starts with `words` runs the same way each time.

    The system places its memory at the same addresses (on Linux; the filter of a container may refuse that, then the
    child can ask). The hashes of Python have a fixed seed, unless you set one. The stack begins at the same address,
    for any length of the variables.
    """
    seed = variables.get(HASH_SEED, "random")
    given = {**variables, HASH_SEED: "0" if seed == "random" else seed, ROOM: ""}
    # The system puts this above the stack: each word and variable with a zero after it, and a pointer to it.
    texts = [os.fsencode(text) for text in (*words, *(f"{name}={value}" for name, value in given.items()))]
    given[ROOM] = "." * (-sum(len(text) + 1 + 8 for text in texts) % _FULL)
    before = _personality(_ASK)
    if before >= 0:
        _personality(before | _NO_RANDOM_ADDRESSES)
    try:
        yield given
    finally:
        if before >= 0:
            _personality(before)


def _personality(wanted: int) -> int:
    """Call personality(2). Returns the earlier value for this thread and its children; -1 if the call is refused."""
    if not sys.platform.startswith("linux"):
        return -1
    import ctypes

    return int(ctypes.CDLL(None).personality(ctypes.c_ulong(wanted)))


def start(  # noqa: PLR0913  (what is started, where its streams lead, and how it runs)
    python: str | Path,
    script: Path,
    arguments: Sequence[str] = (),
    *,
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = subprocess.DEVNULL,
    stderr: int | IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    repeatable: bool = False,
    passed: tuple[int, ...] = (),
) -> Child:
    """Start `script` under `python`. Its current folder is the script's folder, which holds only our files.

    `environment` are variables that it gets besides ours. The descriptors `passed` keep their numbers in it. A
    `repeatable` child runs the same way each time: see `repeating`. Raises OSError if `python` cannot be started.
    """
    reader, writer = os.pipe()
    words = [str(python), "-B", str(script.resolve()), "--channel", f"{writer:0{_DIGITS}}", *arguments]
    variables = {**os.environ, **_ends_with_us(), **(environment or {})}
    try:
        with repeating(words, variables) if repeatable else contextlib.nullcontext(variables) as given:
            process = subprocess.Popen(
                words,
                cwd=script.resolve().parent,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=given,
                pass_fds=(writer, *passed),
                start_new_session=True,
            )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return Child(process, reader)
