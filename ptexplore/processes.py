"""Start a Python child by the absolute path of its script, in a neutral folder, with a private JSON channel.

The child gets a pipe's descriptor as `--channel FD` and writes one JSON object a line to it; its
stdout stays free for whatever user code prints. Nothing is ever unpickled.
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

PARENT = "PTEXPLORE_PARENT"  # names the variable that tells a child who started it
ROOM = "PTEXPLORE_ROOM"  # and the one that fills the environment up, so that a child's stack begins at the same address
HASH_SEED = "PYTHONHASHSEED"
_NO_RANDOM_ADDRESSES, _ASK = 0x0040000, 0xFFFFFFFF  # personality(2): ADDR_NO_RANDOMIZE, and what only reads it
_FULL = 1 << 15  # bytes that the words and variables of a repeatable child take together, or a multiple of them
_DIGITS = 10  # of a number that is handed over: a longer one would move what comes after it
LOOK, TIMES = 1.0, 3  # seconds between looks whether a child that is late was stopped, and how often it may go on then
MESSAGE_LIMIT = 512 * 1024 * 1024  # bytes of one message; more than any honest capture needs


class ChannelError(Exception):
    """The child broke the channel's protocol: not JSON, not an object, or too much of it."""


class ChannelTimeout(Exception):
    """The child did not finish within its time."""


@contextlib.contextmanager
def starting_workers() -> Iterator[None]:
    """What multiprocessing starts in this block runs neither the caller's own script nor the folder one stands in.

    The script of somebody who calls our API may have no `if __name__ == "__main__"`, and would then start itself. What
    our workers run stands in our modules, never in that script. A new Python has the current folder first on its path
    until multiprocessing gives it ours, and has imported a `pickle.py` that lies there by then: `-I` leaves that out.
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
    """The workers that `pool` starts in this block are ended where an error or Ctrl-C ends the block.

    A pool waits for what its workers are at, which may take many seconds, and nobody wants that any more.
    """
    import multiprocessing

    before = set(multiprocessing.active_children())
    try:
        yield
    except BaseException:  # GeneratorExit too: whoever asked wants no more
        for worker in set(multiprocessing.active_children()) - before:
            worker.kill()
        # One may have written half an answer. The pool waits for the rest until nobody can write it, and we could.
        pool._result_queue._writer.close()  # type: ignore[attr-defined]  # it has no public name
        raise


def as_done(futures: Iterable[Future[_T]]) -> Iterator[Future[_T]]:
    """Each of the futures when it is done.

    `concurrent.futures.as_completed` takes the lock of each; one that Ctrl-C leaves taken stops the pool for ever.
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
    """Have this process, which multiprocessing started, end when its parent does, even if that is killed.

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
    except RuntimeError:  # the limit on processes, which counts threads: the system ends us then, without `last`
        import ctypes

        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG


@dataclass(frozen=True, slots=True)
class Descendant:
    """A process that a child of ours started, itself or through others."""

    pid: int
    command: str  # its command line; empty where it is a fork of the child that runs no other program
    in_group: bool  # whether `Child.stop` ends it


@dataclass
class Child:
    """A running child: its process (leader of a process group of its own) and our end of its channel."""

    process: subprocess.Popen[bytes]
    channel: int
    _pending: bytearray = field(default_factory=bytearray)  # of a message that has not come whole

    def messages(
        self,
        timeout: float | None = None,
        extend: Callable[[dict[str, Any]], float | None] = lambda _: None,
        patience: float = 0.0,
    ) -> Iterator[dict[str, Any]]:
        """Yield each message until the child closes the channel.

        `extend(message)` may give the seconds allowed from that message on. Raises ChannelTimeout when the
        time is up first, ChannelError on bad data. A child that ends by itself when its time is up has `patience`
        seconds more to say so; if it was stopped (SIGSTOP) it is made to go on.
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
        """Wait until the child has said something. Raises ChannelTimeout."""
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
        """Whether the child itself was stopped; False where the system does not say so."""
        state = _state(Path(f"/proc/{self.process.pid}"))
        return state is not None and state.letter == "T"

    def interrupt(self) -> None:
        """Interrupt what the child runs as Ctrl-C would; `messages` can be asked again for what it answers."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGINT)

    def descendants(self) -> list[Descendant]:
        """What the child started, itself or through others, and what still runs; the child is not among it.

        What another process has adopted is not known of: the child must do that itself. [] where the system has no
        `/proc`.
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
        """Kill whatever is left of the child's process group, reap it, close the channel; its exit status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.channel)
        return status


class _State(NamedTuple):
    """What Linux tells of a process."""

    letter: str  # R, S, Z, …
    parent: int
    group: int


def _processes() -> list[Path]:
    try:
        return [entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    except OSError:
        return []


def _state(entry: Path) -> _State | None:
    """None where it is gone."""
    try:
        letter, parent, group, *_ = (entry / "stat").read_text("utf-8", "replace").rpartition(") ")[2].split()
        return _State(letter, int(parent), int(group))
    except (OSError, ValueError):
        return None


def _command(pid: int) -> str:
    """The command line of a process, as one would type it; empty where it is gone or has none."""
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
    """The variable that has a child end when we do, however we end.

    The system tells a child that the thread is gone which started it: whoever starts a child waits for it in that
    thread.
    """
    return {PARENT: str(os.getpid())}


@contextlib.contextmanager
def repeating(words: Sequence[str], variables: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment in which what this thread starts in this block, by `words`, runs the same way each time.

    The system places its memory where it did before (Linux; a container's filter may refuse that: the child can ask),
    Python's hashes have a fixed seed, unless you gave one, and the stack begins at the same address however long the
    variables are.
    """
    seed = variables.get(HASH_SEED, "random")
    given = {**variables, HASH_SEED: "0" if seed == "random" else seed, ROOM: ""}
    # What the system puts above the stack: each word and variable with the zero behind it, and a pointer to it.
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
    """What personality(2) answers: how this thread, and what it starts, ran before; -1 where it is refused."""
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
) -> Child:
    """Start `script` under `python`. The neutral folder is the script's own, which holds only our files.

    `environment` are variables that it gets besides ours. A `repeatable` child runs the same way each time: see
    `repeating`.
    Raises OSError when `python` cannot be started.
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
                pass_fds=(writer,),
                start_new_session=True,
            )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return Child(process, reader)
