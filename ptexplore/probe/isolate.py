"""Run one piece of work in a forked child: limits of its own, output caught, and an outcome whatever becomes of it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import mmap
import re
import resource
import runpy
import select
import socket
import struct
import sys as of_program  # whose streams and hooks are what the program has made of them
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from ctypes import byref
from dataclasses import dataclass, field
from typing import Any, NoReturn

from . import unpatched
from .taken import os, signal, sys, threading, time
from .unshared import shared_with_forks
from .whose import OURS

OUTPUT_LIMIT = 64 * 1024  # bytes of what the user's code printed that are kept
ANSWER_LIMIT = 512 * 1024 * 1024  # bytes of an answer; more than any honest pass needs
SMALLER = 4  # by which the memory for an answer is divided where the process may not have so much
LEAST_LIMIT = 1 << 20
LINE = 1 << 16  # bytes that a child can be asked in
NUMBER = struct.Struct("q")
PASS, SO_FAR = b'{"type":"pass"', b'{"type":"so-far"'  # how an answer begins; and one that is kept in case none comes
FIRST = 8  # bytes before the first answer: where it begins, and how long it is
POLL = 10  # milliseconds between looks at the child where the system has no pidfd

# The signals by which a process hears how much of its time has gone by, and that it is over: it then says what it saw.
# No program uses them. Python's own handlers hear the first two: they run between two instructions of Python, where
# nothing is half done. Code of C that does not end hears the last, wherever it is. 0: there are none here.
TIME_GOES_BY, TIME_IS_OVER, HURRY = (
    (int(signal.SIGRTMAX) - n for n in (3, 2, 1)) if hasattr(signal, "SIGRTMAX") else (0, 0, 0)
)

TELLING = 20.0  # seconds that a run has, at least, to say what it saw when its time is over
RUNNING = runpy.run_path.__code__.co_filename  # of what runs a script for us: "<frozen runpy>" from Python 3.11 on

# The profiler's own lines (kineto's logger), which may follow on a line that the user's code left open:
# "ERROR:2026-01-31 12:00:00 77:77 Name.cpp:47] text".
NOISE = re.compile(
    rb"(?:USDT|VERBOSE|INFO|WARNING|ERROR|STAGE):\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ [\w.]+:\d+\] .*(?:\n|\Z)"
)
# A frame of ours in a traceback or a stack that Python printed, with its lines of text: the user's code ran in it.
FRAME = re.compile(
    rb'^([ \t]*)File "%s[^"\n]*", line \d+, in .*(?:\n|\Z)(?:\1[ \t]+\S.*(?:\n|\Z))*'
    rb"(?:\1\[Previous line repeated .*(?:\n|\Z))?" % re.escape(os.fsencode(OURS)),
    re.MULTILINE,
)


@dataclass
class ChildOutcome:
    """What the child answered, how it ended (`os.waitpid`'s status; `late`: by its limit), and what it printed."""

    answer: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    status: int = 0
    late: bool = False

    @property
    def signal(self) -> str | None:
        """The name of the signal that killed the child; None where none did."""
        if not os.WIFSIGNALED(self.status):
            return None
        number = os.WTERMSIG(self.status)
        return next((s.name for s in signal.Signals if s.value == number), f"signal {number}")

    @property
    def exit_code(self) -> int | None:
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else None

    @property
    def printed(self) -> str:
        """What was printed, without the profiler's own lines and frames of ours."""
        return FRAME.sub(b"", NOISE.sub(b"", bytes(self.output[:OUTPUT_LIMIT]))).decode(errors="replace")

    @property
    def is_cut(self) -> bool:
        return len(self.output) > OUTPUT_LIMIT


class SharedAnswer:
    """Memory that a child shares with us, for its answer: no descriptor of the child's leads to it.

    The traced code may close, fill or use up all descriptors there are, and may end at any moment: what was put last
    is whole. A child of the child's shares it too: only the process that is meant to answer may call `put`.
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
        self._word = memoryview(self._memory)[:FIRST].cast("Q")  # where the answer begins, and its length
        self._half = size // 2

    def put(self, data: bytes | bytearray) -> None:
        """Answer this from now on. Raises ValueError if there is no room for it."""
        begin, length = divmod(self._word[0], 1 << 32)
        at = self._half if length and begin < self._half else FIRST
        if len(data) > self._half - FIRST:
            at = FIRST
        if at + len(data) > len(self._memory):
            raise ValueError(f"an answer of {len(data):,} bytes is too long")
        self._memory[at : at + len(data)] = data
        self._word[0] = at << 32 | len(data)  # by one write: it is this answer or the one before

    def take(self) -> bytearray:
        """What was put last; nothing is there afterwards."""
        begin, length = divmod(self._word[0], 1 << 32)
        with memoryview(self._memory) as whole:
            data = bytearray(whole[begin : begin + length])
        self._word[0] = 0
        with contextlib.suppress(AttributeError, OSError):
            self._memory.madvise(mmap.MADV_REMOVE)  # Linux: what was written takes no memory any more
        return data

    def close(self) -> None:
        """Give the memory up."""
        self._word.release()
        self._memory.close()


@dataclass
class _Isolated:
    """The child that this process is: its number, and where its answer goes. A fork of it has another number."""

    process: int = 0
    answer: SharedAnswer | None = None


_own = _Isolated()


def is_forked() -> bool:
    """Whether this is a process that the traced code forked from the one that answers."""
    return _own.process not in (0, os.getpid())


def put(data: bytes | bytearray) -> None:
    """Answer this, unless something later is put; nothing in a process that has no answer to give."""
    if _own.answer is not None and _own.process == os.getpid():
        _own.answer.put(data)


def adopt_answer(process: int) -> None:
    """In a fork that was made to answer for `process`: its answer is this one's from here on."""
    if _own.process == process:
        _own.process = os.getpid()


def end_if_forked(error: BaseException | None = None) -> None:
    """Where the traced code forked, and this fork has come to its end or raised `error`: end as Python does alone."""
    if not is_forked():
        return
    status = 0
    if error is not None:
        with contextlib.suppress(BaseException):
            status = _status(error)
    for last in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]  # what Python ends with
        with contextlib.suppress(BaseException):
            last()
    _flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


def _status(error: BaseException) -> int:
    """The exit status of a program that an error ends; what Python prints then is printed."""
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
    """Our end of the private channel."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self.descriptor = descriptor

    def send(self, message: Mapping[str, object]) -> None:
        """Write one message whole."""
        self.pass_on(encoded(message))

    def pass_on(self, data: bytes | bytearray) -> None:
        """Write a message that a child has encoded already."""
        write(self.descriptor, data)

    def wait_for_reader(self) -> None:
        """Wait until its reader is gone."""
        poll = select.poll()
        poll.register(self.descriptor, 0)  # errors are always told
        poll.poll()


def encoded(message: Mapping[str, object]) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"


def write(descriptor: int, data: bytes | bytearray | memoryview) -> None:
    """Write all of it, however much the descriptor takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


_adopters: list[int] = []  # the process that adopts, by its number: a fork of it does not


def adopt() -> None:
    """Have what a child leaves running become a child of this process, however often it forked. Linux alone can.

    Otherwise the system's first process gets it, and nobody can tell who started it.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER, which no fork inherits
        _adopters.append(os.getpid())


def has_children() -> bool:
    """Whether a child of this process runs. Those that have ended are reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


@contextlib.contextmanager
def reaping(process: int) -> Iterator[None]:
    """Reap what this process has adopted as soon as it ends, as the system's first process would; but not `process`.

    Otherwise code that waits until its daemon is gone would wait without end. A process that adopts nothing leaves its
    children, and its handlers, to the code that runs in it.
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
    """Whoever reads `guard` is gone: nobody waits for the child's answer any more."""


@dataclass(frozen=True)
class TimeLimit:
    """After how many seconds a child is ended, and how: by each of the `signals`, behind which it has so many seconds.

    At these it may end itself, and answer what it saw until then. Behind the last it is killed.
    """

    seconds: float
    signals: tuple[tuple[int, float], ...] = ()


def isolated(work: Callable[[], bytes], guard: int, limit: TimeLimit | None = None) -> ChildOutcome:
    """Fork, do `work` in the child, and return what it wrote; the child is ended where its time is over.

    The child's stdin is empty; its stdout and stderr are caught (stderr passes through under PTEXPLORE_DEBUG).
    `guard` is the writing end of a pipe, which the child does not get. Raises Abandoned when its reader goes away.
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
    """Do `work` in a fork, in which nothing is printed: what it gives, None where the fork comes to nothing.

    Its parent does one thing meanwhile, however long that takes: its memory is the same afterwards each time.
    """
    answer = SharedAnswer()
    try:
        _flush()
        process = os.fork()
        if process == 0:
            _child(work, answer, os.open(os.devnull, os.O_WRONLY), ())
        status = 0
        with contextlib.suppress(ChildProcessError):  # the traced code has the system reap its children
            status = os.waitpid(process, 0)[1]
        return bytes(answer.take()) or None if status == 0 else None
    finally:
        answer.close()


class Forks:
    """A process that does nothing but fork, so that its children's memory is laid out in one way.

    Whoever waits for a child takes what it prints as it comes, looks at the clock and reads its answer. A fork of that
    process would find other addresses free each time, and Python's cache of attributes, whose places are made of
    addresses, would be filled in another way.
    """

    def __init__(self, work: Callable[[dict[str, Any]], bytes], guard: int) -> None:
        """`work` is done in each child, of what it is asked for; `guard` is as that of `isolated`."""
        self._guard, self._answer = guard, SharedAnswer()
        self._control, theirs = socket.socketpair()
        _flush()
        unpatched.keep()
        self._process = os.fork()
        if self._process == 0:
            try:
                self._control.close()
                os.close(guard)  # its reader must see when we are gone
                self._serve(work, theirs)
            finally:
                os._exit(1)
        theirs.close()

    def _serve(self, work: Callable[[dict[str, Any]], bytes], control: socket.socket) -> NoReturn:
        """Fork for each line that comes: the child's number, and then its status, go back."""
        if TIME_GOES_BY:  # a child that begins late may be sent it before it does anything
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
        process = os.fork()
        if process == 0:
            _child(lambda: work(json.loads(line)), self._answer, output, (control.fileno(),))
        return process

    def isolated(self, asked: dict[str, Any], limit: TimeLimit | None = None) -> ChildOutcome:
        """Have a child do its work, of what it is asked for: as `isolated`."""
        outputs, output = os.pipe()
        try:
            socket.send_fds(self._control, [json.dumps(asked).encode()], [output])
        finally:
            os.close(output)
        process = self._number()

        def ended() -> int:
            status = self._number(-1)
            if status < 0:  # what forks was killed: its child is ours now
                _send(process, signal.SIGKILL)
            return status if status >= 0 else signal.SIGKILL

        with reaping(self._process):
            waiting = _Waiting(process, self._guard, self._control.fileno(), ended, self._process)
            return _outcome(waiting, self._answer, outputs, limit)

    def _number(self, otherwise: int | None = None) -> int:
        """The next number that it tells; `otherwise` where it is gone."""
        told = self._control.recv(NUMBER.size, socket.MSG_WAITALL)
        if not told and otherwise is None:
            raise ChildProcessError("the process that forks was killed")
        return int(NUMBER.unpack(told)[0]) if told else int(otherwise or 0)

    def close(self) -> None:
        """End it, whatever it is at."""
        self._control.close()
        with contextlib.suppress(OSError):
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        self._answer.close()


def _send(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(process, number)


@dataclass(frozen=True)
class _Waiting:
    """How a child is waited for: `watch` becomes readable when it ends, and then `ended` gives its status.

    `forker`: the process that forked it, and waits for it, where that is another one than this.
    """

    process: int
    guard: int
    watch: int | None
    ended: Callable[[], int | None]
    forker: int | None = None

    def hears(self, number: int) -> None:
        """Send it a signal, which it hears even if the traced code has stopped it, or the one that waits for it.

        Its main thread hears it: of what is stopped any other thread might, and Python would go on meanwhile.
        """
        tell = getattr(_C, "tgkill", None)  # not every C library has it
        if tell is None or number == signal.SIGKILL:
            _send(self.process, number)
        else:
            tell(self.process, self.process, number)
        if number != TIME_GOES_BY:
            for stopped in (self.process, self.forker):
                if stopped is not None:
                    _send(stopped, signal.SIGCONT)


def _outcome(waiting: _Waiting, answer: SharedAnswer, outputs: int, limit: TimeLimit | None) -> ChildOutcome:
    """What becomes of a child; `outputs` is where it prints, and is closed."""
    outcome = ChildOutcome()
    try:
        with PrintedText(OUTPUT_LIMIT) as printed:
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
    """What a child says, as far as `limit`: outside of this process's own memory until all is there.

    It comes in pieces, of which nobody knows how long they are. Were they put together here, what is forked next would
    find its memory laid out in another way each time, and run otherwise.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        in_memory = hasattr(os, "memfd_create")
        descriptor = os.memfd_create("ptexplore") if in_memory else _unnamed()
        self._file = os.fdopen(descriptor, "r+b", 0)

    def __enter__(self) -> PrintedText:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def is_full(self) -> bool:
        """Whether more came than is kept."""
        return self._file.tell() > self.limit

    def take(self, descriptor: int) -> int:
        """Take what is there; beyond the limit it is read and dropped, so that a writer never waits for us."""
        count = os.readv(descriptor, [_PIECE])
        if not self.is_full:
            with memoryview(_PIECE) as piece:
                self._file.write(piece[: min(count, self.limit + 1 - self._file.tell())])
        return count

    def read(self) -> bytearray:
        """All that was kept."""
        whole = bytearray(self._file.tell())
        self._file.seek(0)
        self._file.readinto(whole)
        return whole


def _unnamed() -> int:
    """A file that goes when it is closed."""
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor


_PIECE = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
Sinks = dict[int, PrintedText]


def _wait(waiting: _Waiting, sinks: Sinks, limit: TimeLimit | None) -> tuple[int, bool]:
    """Read until the child is gone, and tell whether its time was over.

    Not until end of file: what the child started may hold its pipes for ever.
    """
    end, late = None if limit is None else time.monotonic() + limit.seconds, False
    further = iter(limit.signals if limit is not None else ())
    poll = select.poll()
    for descriptor in (*sinks, *([waiting.watch] if waiting.watch is not None else [])):
        poll.register(descriptor, select.POLLIN)
    poll.register(waiting.guard, 0)  # errors are always told
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
    return status, late


def _turn(waiting: _Waiting, poll: select.poll, sinks: Sinks, end: float | None) -> int | None:
    """Wait for something, and take what has come; the child's status once it is gone."""
    left = None if end is None else max(end - time.monotonic(), 0.0) * 1000
    ready = {descriptor for descriptor, _ in poll.poll(left if waiting.watch is not None else POLL)}
    if waiting.guard in ready:
        raise Abandoned
    for descriptor in sinks:
        if descriptor in ready and not sinks[descriptor].take(descriptor):
            poll.unregister(descriptor)
    return waiting.ended() if waiting.watch is None or waiting.watch in ready else None


def _watch(process: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the system has no such thing."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


def _child(work: Callable[[], bytes], answer: SharedAnswer, output: int, private: tuple[int, ...]) -> NoReturn:
    status = 1
    try:
        _own.process, _own.answer = os.getpid(), answer
        _settle(output, private)
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
        os._exit(status)  # no atexit handlers: this is a fork of a process that goes on


def _flush() -> None:
    for stream in (of_program.stdout, of_program.stderr, of_program.__stdout__, of_program.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]


def _end_workers() -> None:
    """End this process's daemonic workers of multiprocessing, as Python does at its end, which `os._exit` leaves out.

    Those of the process that it is a fork of are not its own.
    """
    if "multiprocessing.process" in sys.modules:
        with contextlib.suppress(Exception):
            for worker in sys.modules["multiprocessing.process"].active_children():
                if worker.daemon and worker._parent_pid == os.getpid():
                    worker.terminate()


def _settle(output: int, private: tuple[int, ...]) -> None:
    for descriptor in private:
        os.close(descriptor)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    if not os.environ.get("PTEXPLORE_DEBUG"):
        os.dup2(output, 2)
    for descriptor in {null, output} - {0, 1, 2}:
        os.close(descriptor)
    if TIME_GOES_BY:
        signal.signal(TIME_GOES_BY, signal.SIG_IGN)  # until it is of use
    _limit()


def _limit() -> None:
    """Let an allocation beyond what there is fail here, before the kernel kills something; leave no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    available = available_memory()
    if available is None:
        return  # not Linux: the system's own limits hold
    used = _number("/proc/self/statm") * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + int(available * 0.9)
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))


# These numbers are others each time, and the traced code comes right after them. What it makes must lie where it did
# the last time: so no object is as long as such a number, and which is kept is decided among C's numbers.
_TEXT = ctypes.create_string_buffer(1 << 13)  # what a file of the system's says
_C = ctypes.CDLL(None)
_C.strtoull.restype = ctypes.c_ulonglong
_bytes = (ctypes.c_ulonglong * 4)()  # there are; a group may have, has, may have besides


def available_memory() -> int | None:
    """Bytes that may still be used: the machine's, or what is left of the control group's; None where unknown."""
    _bytes[0] = _number("/proc/meminfo", b"MemAvailable:") * 1024
    if not _bytes[0]:
        return None
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        _bytes[1], _bytes[2] = _number(limit), _number(used)
        if _bytes[1] and _bytes[2]:
            _bytes[3] = _bytes[1] - _bytes[2] if _bytes[2] < _bytes[1] else 0
            _bytes[0] = _bytes[3] if _bytes[3] < _bytes[0] else _bytes[0]
    return _bytes[0]


def _number(path: str, name: bytes = b"") -> int:
    """The number that follows a name in a file of the system's; 0 where there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        os.readv(file, [_TEXT])
    except OSError:
        return 0
    finally:
        os.close(file)
    place = _TEXT.raw.find(name)
    return int(_C.strtoull(byref(_TEXT, place + len(name)), None, 10)) if place >= 0 else 0
