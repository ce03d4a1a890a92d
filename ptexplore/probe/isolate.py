"""Run a piece of work in a forked child with limits and caught output. The caller always gets an outcome."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import mmap
import resource
import runpy
import select
import socket
import struct
import sys as of_program  # its streams and hooks, as the program has set them
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from . import unpatched
from .live_output import LiveOutput, of_child
from .system_numbers import number_in
from .taken import os, signal, sys, threading, time
from .unshared import shared_with_forks
from .whose import OURS

OUTPUT_LIMIT = 64 * 1024  # maximum number of bytes that are kept of the user's output
ANSWER_LIMIT = 512 * 1024 * 1024  # bytes of memory for an answer; more than any honest pass needs
SMALLER = 4  # if the process cannot have so much memory for an answer, it is divided by this
LEAST_LIMIT = 1 << 20
LINE = 1 << 16  # maximum number of bytes in a request to a child
NUMBER = struct.Struct("q")
PASS, SO_FAR = b'{"type":"pass"', b'{"type":"so-far"'  # how an answer begins, and how a reserve answer begins.
FIRST = 8  # bytes before the first answer: they hold where the answer begins and how long it is
SECOND = 1000  # milliseconds
POLL = 10  # milliseconds between looks at the child on a system without pidfd

# Signals about the time of a process. The first says that a part of the time is over. The second and third say that all
# of it is over; the process then says what it saw. Programs do not use these signals. Python's own handlers get the
# first two: they run between two instructions of Python, where nothing is half done. The third also reaches C code that
# does not end. 0: the system has no such signals.
TIME_GOES_BY, TIME_IS_OVER, HURRY = (
    (int(signal.SIGRTMAX) - n for n in (3, 2, 1)) if hasattr(signal, "SIGRTMAX") else (0, 0, 0)
)

TELLING = 20.0  # seconds that a run has at least to say what it saw, after its time is over
RUNNING = runpy.run_path.__code__.co_filename  # of the code that runs a script: "<frozen runpy>" from Python 3.11 on


@dataclass
class ChildOutcome:
    """The child's answer, its status of `os.waitpid`, whether its time limit ended it (`late`), and what it printed."""

    answer: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    status: int = 0
    late: bool = False

    @property
    def signal(self) -> str | None:
        """The name of the signal that killed the child; None if no signal did."""
        if not os.WIFSIGNALED(self.status):
            return None
        number = os.WTERMSIG(self.status)
        return next((s.name for s in signal.Signals if s.value == number), f"signal {number}")

    @property
    def exit_code(self) -> int | None:
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else None

    @property
    def printed(self) -> str:
        """What the child printed, without the profiler's own lines and frames of ptexplore."""
        return of_child(bytes(self.output[:OUTPUT_LIMIT])).decode(errors="replace")

    @property
    def is_cut(self) -> bool:
        return len(self.output) > OUTPUT_LIMIT


class SharedAnswer:
    """Memory for the answer of a child, shared with it. No file descriptor of the child leads to the memory.

    The traced code may close, fill or use up all descriptors, and may end at any moment: the last answer put is whole.
    A child of the child shares the memory, too. Only the process that is meant to answer may call `put`.
    """

    def __init__(self) -> None:
        size = ANSWER_LIMIT
        while True:
            try:
                self._memory = shared_with_forks(size)
                break
            except OSError:
                size //= SMALLER
                if size < LEAST_LIMIT:
                    raise
        self._word = memoryview(self._memory)[:FIRST].cast("Q")  # begin and length of the answer
        self._half = size // 2

    def put(self, data: bytes | bytearray) -> None:
        """Replace the answer. Raises ValueError if there is no room for the new one."""
        begin, length = divmod(self._word[0], 1 << 32)
        at = self._half if length and begin < self._half else FIRST
        if len(data) > self._half - FIRST:
            at = FIRST
        if at + len(data) > len(self._memory):
            raise ValueError(f"an answer of {len(data):,} bytes is too long")
        self._memory[at : at + len(data)] = data
        self._word[0] = at << 32 | len(data)  # a single write: a reader finds the new answer or the one before

    def take(self) -> bytearray:
        """Returns the last answer, and removes it."""
        begin, length = divmod(self._word[0], 1 << 32)
        with memoryview(self._memory) as whole:
            data = bytearray(whole[begin : begin + length])
        self._word[0] = 0
        with contextlib.suppress(AttributeError, OSError):
            self._memory.madvise(mmap.MADV_REMOVE)  # Linux: frees the pages that were written
        return data

    def close(self) -> None:
        """Release the memory."""
        self._word.release()
        self._memory.close()


@dataclass
class _Isolated:
    """The number of this child process, and where its answer goes. A process forked from it has another number."""

    process: int = 0
    answer: SharedAnswer | None = None


_own = _Isolated()


def is_forked() -> bool:
    """Returns whether this process was forked by the traced code from the one that answers."""
    return _own.process not in (0, os.getpid())


def put(data: bytes | bytearray) -> None:
    """Set the answer, until another one is set. Does nothing in a process that has no answer to give."""
    if _own.answer is not None and _own.process == os.getpid():
        _own.answer.put(data)


def adopt_answer(process: int) -> None:
    """Make this fork the process that answers, instead of `process`, which it was forked from."""
    if _own.process == process:
        _own.process = os.getpid()


def end_if_forked(error: BaseException | None = None) -> None:
    """End a process that the traced code forked, after it finished or raised `error`, as Python would end it."""
    if not is_forked():
        return
    status = 0
    if error is not None:
        with contextlib.suppress(BaseException):
            status = _status(error)
    for last in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]  # Python's own last steps
        with contextlib.suppress(BaseException):
            last()
    _flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


def _status(error: BaseException) -> int:
    """Returns the exit status of a program that an error ends, and prints the error as Python does."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        of_program.stderr.write(f"{error.code}\n")
        return 1
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename.startswith((OURS, RUNNING)):
        step = step.tb_next
    of_program.excepthook(type(error), error.with_traceback(step), step)
    return 1


class Channel:
    """The probe's end of the private channel."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self.descriptor = descriptor

    def send(self, message: Mapping[str, object]) -> None:
        """Write one whole message."""
        self.pass_on(encoded(message))

    def pass_on(self, data: bytes | bytearray) -> None:
        """Write a message that a child has encoded."""
        write(self.descriptor, data)

    def wait_for_reader(self) -> None:
        """Wait until the reader of the channel is gone."""
        poll = select.poll()
        poll.register(self.descriptor, 0)  # errors are always reported
        poll.poll()


def encoded(message: Mapping[str, object]) -> bytes:
    """Encode a message as a line of JSON."""
    return json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"


def write(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of the data, however much the descriptor takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


_adopters: list[int] = []  # the number of the process that adopts; a fork of it does not adopt


def adopt() -> None:
    """Make this process the parent of all processes that outlive a child, however often they forked. Linux only.

    Otherwise the system's first process becomes their parent, and nobody can find out who started them.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER, which a fork does not inherit
        _adopters.append(os.getpid())


def has_children() -> bool:
    """Returns whether a child of this process runs. Reaps the children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


@contextlib.contextmanager
def reaping(process: int) -> Iterator[None]:
    """Reap adopted processes as soon as they end, as the system's first process would; but not `process`.

    Otherwise code that waits for the end of its daemon would wait forever. A process that adopts nothing leaves
    children and handlers alone: they belong to the code that runs there.
    """
    if os.getpid() not in _adopters:
        yield
        return

    def reap(*_: Any) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid == process:
                    return
                os.waitpid(ended.si_pid, 0)

    before = signal.signal(signal.SIGCHLD, reap)
    try:
        reap()
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)


class Abandoned(BrokenPipeError):
    """The reader of `guard` is gone: nobody waits for the child's answer any longer."""


@dataclass(frozen=True)
class TimeLimit:
    """When and how a child is ended: after `seconds` it gets the first of the `signals`, then the next ones.

    Each signal comes with the seconds until the next step. At a signal the child may answer what it saw so far, and end
    itself. After the last one it is killed.
    """

    seconds: float
    signals: tuple[tuple[int, float], ...] = ()


def isolated(work: Callable[[], bytes], guard: int, limit: TimeLimit | None = None) -> ChildOutcome:
    """Fork, do `work` in the child, and return its answer and output. The child is ended when its time is over.

    The child's stdin is empty. Its stdout and stderr are caught (stderr passes through under PTEXPLORE_DEBUG). `guard`
    is the writing end of a pipe, which the child does not get. Raises Abandoned when the pipe's reader goes away.
    """
    answer = SharedAnswer()
    outputs, output = os.pipe()
    _flush()
    unpatched.keep()
    process = os.fork()
    if process == 0:
        _child(work, answer, output, (guard, outputs))
    os.close(output)
    watch = _watch(process)

    def ended() -> int | None:
        gone, status = os.waitpid(process, os.WNOHANG)
        return status if gone else None

    try:
        with reaping(process):
            return _outcome(_Waiting(process, guard, watch, ended), answer, outputs, limit)
    finally:
        if watch is not None:
            os.close(watch)
        answer.close()


def apart(work: Callable[[], bytes]) -> bytes | None:
    """Do `work` in a fork that prints nothing. Returns its result, or None if the fork fails.

    The parent makes one call meanwhile, however long the fork takes, so that its memory is the same each time.
    """
    answer = SharedAnswer()
    try:
        _flush()
        process = os.fork()
        if process == 0:
            _child(work, answer, os.open(os.devnull, os.O_WRONLY), ())
        status = 0
        with contextlib.suppress(ChildProcessError):  # the traced code may have the system reap its children
            status = os.waitpid(process, 0)[1]
        return bytes(answer.take()) or None if status == 0 else None
    finally:
        answer.close()


class Forks:
    """A process that does nothing but fork, so that the memory of all its children is laid out in the same way.

    A process that waits for a child collects its output piece by piece, looks at the clock and reads the answer. A
    fork of such a process would find other free addresses each time. Python's cache of attributes, which is indexed by
    addresses, would be filled differently.
    """

    def __init__(
        self, work: Callable[[dict[str, Any]], bytes], guard: int, stdin: int | None = None, live: int | None = None
    ) -> None:
        """`work` is done in each child, with the request as its argument; `guard` is the same as for `isolated`.

        Each child reads `stdin`, a descriptor, from where it is now; without one, its stdin is empty. Output is shown
        on the descriptor `live`, if it is asked for.
        """
        self._guard, self._answer = guard, SharedAnswer()
        self._stdin, self._live = stdin, live
        for descriptor in (stdin, live):
            if descriptor is not None:
                os.set_inheritable(descriptor, False)
        self._begin = _position(stdin)
        self._control, theirs = socket.socketpair()
        _flush()
        unpatched.keep()
        self._process = os.fork()
        if self._process == 0:
            try:
                self._control.close()
                os.close(guard)  # the pipe's reader must notice when the parent is gone
                self._serve(work, theirs)
            finally:
                os._exit(1)
        theirs.close()

    def _serve(self, work: Callable[[dict[str, Any]], bytes], control: socket.socket) -> NoReturn:
        """Fork for each request that comes, and send back the child's number, and later its status."""
        if TIME_GOES_BY:  # a child that begins late may get this signal before it does anything
            signal.signal(TIME_GOES_BY, signal.SIG_IGN)
        while True:
            line, (*outputs,), _, _ = socket.recv_fds(control, LINE, 1)
            if not line:
                os._exit(0)
            process = self._fork(work, line, outputs[0], control)
            os.close(outputs[0])
            control.send(NUMBER.pack(process))
            control.send(NUMBER.pack(os.waitpid(process, 0)[1]))

    def _fork(self, work: Callable[[dict[str, Any]], bytes], line: bytes, output: int, control: socket.socket) -> int:
        if self._begin is not None and self._stdin is not None:
            os.lseek(self._stdin, self._begin, os.SEEK_SET)
        process = os.fork()
        if process == 0:
            private = (control.fileno(), *(() if self._live is None else (self._live,)))
            is_seen = self._live is not None and os.isatty(self._live)
            _child(lambda: work(json.loads(line)), self._answer, output, private, self._stdin, is_seen=is_seen)
        return process

    def isolated(self, asked: dict[str, Any], limit: TimeLimit | None = None, shown: str = "") -> ChildOutcome:
        """Do the work in a child, with the request `asked`, as the function `isolated` does.

        `shown` is the title of a run whose output is shown at once.
        """
        live = LiveOutput(self._live, shown) if self._live is not None and shown else None
        outputs, output = os.pipe()
        try:
            socket.send_fds(self._control, [json.dumps(asked).encode()], [output])
        finally:
            os.close(output)
        process = self._number()

        def ended() -> int:
            status = self._number(-1)
            if status < 0:  # the forking process was killed: its child is adopted by this process
                _send(process, signal.SIGKILL)
            return status if status >= 0 else signal.SIGKILL

        with reaping(self._process):
            waiting = _Waiting(process, self._guard, self._control.fileno(), ended, self._process)
            return _outcome(waiting, self._answer, outputs, limit, live)

    def _number(self, otherwise: int | None = None) -> int:
        """Read the next number from the forking process.

        If that process is gone, returns `otherwise`, or raises ChildProcessError if `otherwise` is None.
        """
        received = self._control.recv(NUMBER.size, socket.MSG_WAITALL)
        if not received and otherwise is None:
            raise ChildProcessError("the process that forks was killed")
        return int(NUMBER.unpack(received)[0]) if received else int(otherwise or 0)

    def close(self) -> None:
        """End the forking process, whatever it is doing."""
        self._control.close()
        with contextlib.suppress(OSError):
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        self._answer.close()


def _position(descriptor: int | None) -> int | None:
    """Returns the position in an open file; None for a pipe or a terminal, which have no position."""
    try:
        return None if descriptor is None else os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None


def _send(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(process, number)


@dataclass(frozen=True)
class _Waiting:
    """How to wait for a child: `watch` becomes readable when the child ends, and `ended` then gives its status.

    `forker`: the process that forked the child and waits for it, if that is not this process.
    """

    process: int
    guard: int
    watch: int | None
    ended: Callable[[], int | None]
    forker: int | None = None

    def hears(self, number: int) -> None:
        """Send the child a signal, even if the traced code has stopped the child or its forker.

        The signal goes to the main thread. In a stopped process any other thread could take the signal, and Python
        would go on meanwhile.
        """
        tell = getattr(_C, "tgkill", None)  # some C libraries do not have it
        if tell is None or number == signal.SIGKILL:
            _send(self.process, number)
        else:
            tell(self.process, self.process, number)
        if number != TIME_GOES_BY:
            for stopped in (self.process, self.forker):
                if stopped is not None:
                    _send(stopped, signal.SIGCONT)


def _outcome(
    waiting: _Waiting, answer: SharedAnswer, outputs: int, limit: TimeLimit | None, live: LiveOutput | None = None
) -> ChildOutcome:
    """Wait for a child, and return its outcome. `outputs` is the reading end of its output, which is closed.

    `live` shows the output at once.
    """
    outcome = ChildOutcome()
    try:
        with PrintedText(OUTPUT_LIMIT, live) as printed:
            outcome.status, outcome.late = _wait(waiting, {outputs: printed}, limit)
            outcome.output = printed.read()
    except Abandoned:
        _send(waiting.process, signal.SIGKILL)
        raise
    finally:
        os.close(outputs)
        outcome.answer = answer.take()
    return outcome


class PrintedText:
    """What a child prints, up to `limit`, kept outside of this process's own memory until the child has ended.

    The text comes in pieces of unpredictable length. If the pieces were joined here, the memory of the next fork would
    be laid out differently each time, and the fork would run differently.
    """

    def __init__(self, limit: int, live: LiveOutput | None = None) -> None:
        self.limit, self.live = limit, live
        in_memory = hasattr(os, "memfd_create")
        descriptor = os.memfd_create("ptexplore") if in_memory else _unnamed()
        self._file = os.fdopen(descriptor, "r+b", 0)

    def __enter__(self) -> PrintedText:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self.live is not None:
            self.live.end()

    @property
    def is_full(self) -> bool:
        """Whether more came than is kept."""
        return self._file.tell() > self.limit

    def take(self, descriptor: int) -> int:
        """Read what is there. Text beyond the limit is dropped, but is read, so that a writer never waits."""
        count = os.readv(descriptor, [_PIECE])
        if self.live is not None:
            self.live.take(_PIECE[:count])
        if not self.is_full:
            with memoryview(_PIECE) as piece:
                self._file.write(piece[: min(count, self.limit + 1 - self._file.tell())])
        return count

    def read(self) -> bytearray:
        """Returns all text that was kept."""
        whole = bytearray(self._file.tell())
        self._file.seek(0)
        self._file.readinto(whole)
        return whole


def _unnamed() -> int:
    """Returns a file that is deleted when it is closed."""
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor


_PIECE = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
Sinks = dict[int, PrintedText]


def _wait(waiting: _Waiting, sinks: Sinks, limit: TimeLimit | None) -> tuple[int, bool]:
    """Read until the child is gone. Returns its status, and whether its time was over.

    Reading does not wait for the end of file: processes that the child started may hold its pipes forever.
    """
    end, late = None if limit is None else time.monotonic() + limit.seconds, False
    further = iter(limit.signals if limit is not None else ())
    poll = select.poll()
    for descriptor in (*sinks, *([waiting.watch] if waiting.watch is not None else [])):
        poll.register(descriptor, select.POLLIN)
    poll.register(waiting.guard, 0)  # errors are always reported
    while (status := _turn(waiting, poll, sinks, end)) is None:
        if end is not None and time.monotonic() >= end:
            number, seconds = next(further, (signal.SIGKILL, None))
            end = None if seconds is None else end + seconds
            late = late or number != TIME_GOES_BY
            waiting.hears(number)
    for descriptor, kept in sinks.items():
        os.set_blocking(descriptor, False)
        with contextlib.suppress(BlockingIOError):
            while not kept.is_full and kept.take(descriptor):
                pass
            if kept.live is not None:  # a pipe holds less than one piece
                kept.take(descriptor)
    return status, late


def _turn(waiting: _Waiting, poll: select.poll, sinks: Sinks, end: float | None) -> int | None:
    """Wait for an event, and read what has come. Returns the child's status if the child is gone, else None."""
    lives = [kept.live for kept in sinks.values() if kept.live is not None]
    left = None if end is None else max(end - time.monotonic(), 0.0) * 1000
    if lives:
        left = min(left, SECOND) if left is not None else SECOND
    ready = {descriptor for descriptor, _ in poll.poll(left if waiting.watch is not None else POLL)}
    if waiting.guard in ready:
        raise Abandoned
    for descriptor in sinks:
        if descriptor in ready and not sinks[descriptor].take(descriptor):
            poll.unregister(descriptor)
    for live in lives:
        live.wait()
    return waiting.ended() if waiting.watch is None or waiting.watch in ready else None


def _watch(process: int) -> int | None:
    """Returns a descriptor that becomes readable when the process ends; None if the system has no such thing."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


def _child(
    work: Callable[[], bytes], answer: SharedAnswer, output: int, private: tuple[int, ...], stdin: int | None = None,
    *, is_seen: bool = False,
) -> NoReturn:  # fmt: skip
    """Do the work of a child, and end. `is_seen`: a terminal shows its output, so each line is written at once."""
    status = 1
    try:
        _own.process, _own.answer = os.getpid(), answer
        _settle(output, private, stdin)
        if is_seen:
            of_program.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a TextIOWrapper
        unpatched.keep()
        unpatched.keep_spare()
        answered = work()
        end_if_forked()
        answer.put(answered)
        status = 0
    except BaseException as error:
        end_if_forked(error)
        unpatched.put_back()
        with contextlib.suppress(Exception):
            of_program.stderr.write(traceback.format_exc())
    finally:
        _flush()
        _end_workers()
        os._exit(status)  # no atexit handler runs: the handlers belong to the process that forked this one


def _flush() -> None:
    for stream in (of_program.stdout, of_program.stderr, of_program.__stdout__, of_program.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]


def _end_workers() -> None:
    """End this process's daemonic workers of multiprocessing. Python does so at its end, but `os._exit` does not.

    Workers of the process that this one was forked from are left alone.
    """
    if "multiprocessing.process" in sys.modules:
        with contextlib.suppress(Exception):
            for worker in sys.modules["multiprocessing.process"].active_children():
                if worker.daemon and worker._parent_pid == os.getpid():
                    worker.terminate()


def _settle(output: int, private: tuple[int, ...], stdin: int | None) -> None:
    for descriptor in private:
        os.close(descriptor)
    null = os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin
    os.dup2(null, 0)
    os.dup2(output, 1)
    if not os.environ.get("PTEXPLORE_DEBUG"):
        os.dup2(output, 2)
    for descriptor in {null, output} - {0, 1, 2}:
        os.close(descriptor)
    if stdin is not None:  # the stream that is there has read the request, and may hold a part of that
        was = of_program.stdin
        reopened = open(0, encoding=was.encoding, errors=was.errors, closefd=False)  # noqa: SIM115  (stays open)
        of_program.stdin = of_program.__stdin__ = reopened  # type: ignore[misc]  # `__stdin__` is final
    if TIME_GOES_BY:
        signal.signal(TIME_GOES_BY, signal.SIG_IGN)  # until a recorder sets a handler
    _limit()


def _limit() -> None:
    """Let an allocation beyond the available memory fail here, before the kernel kills something. No core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    available = available_memory()
    if available is None:
        return  # not Linux: only the system's own limits apply
    used = number_in("/proc/self/statm") * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + int(available * 0.9)
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


_C = ctypes.CDLL(None)
# C numbers: the length of a number of Python would depend on its value (see `system_numbers`).
_bytes = (ctypes.c_ulonglong * 4)()  # available; then of a control group: its limit, its use, what is left


def available_memory() -> int | None:
    """Returns the bytes that are free on the machine, or in the control group if that has less; None if unknown."""
    _bytes[0] = number_in("/proc/meminfo", b"MemAvailable:") * 1024
    if not _bytes[0]:
        return None
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        _bytes[1], _bytes[2] = number_in(limit), number_in(used)
        if _bytes[1] and _bytes[2]:
            _bytes[3] = _bytes[1] - _bytes[2] if _bytes[2] < _bytes[1] else 0
            _bytes[0] = _bytes[3] if _bytes[3] < _bytes[0] else _bytes[0]
    return _bytes[0]
