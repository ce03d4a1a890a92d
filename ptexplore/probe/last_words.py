"""Save what was recorded, and where the process was, if a signal kills the process.

A C handler, which Python's `signal` and `faulthandler` do not know of, forks the process at the place where it dies.
The fork has everything that was recorded; it gives the answer and ends. Then the process dies by its signal as it would
have without the handler. While nothing dies, no work is done. Linux only: elsewhere a dying process gives no answer.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # C's part of `signal`: the rest calls builtins, which may be replaced
import contextlib
import ctypes
import platform
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref
from types import FrameType, TracebackType
from typing import Any, Final, Literal, TypeAlias

from . import isolate
from .isolate import HURRY, TIME_GOES_BY, TIME_IS_OVER
from .taken import os, signal, sys, time
from .whose import OURS

# Signals that kill a process and can be handled. SIGTRAP is missing, because it is used to step through calls.
SIGNALS = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGSYS", "SIGTERM", "SIGXCPU", "SIGALRM", "SIGHUP")
# C library functions in use. They are looked up before the program runs: it may replace builtins that a look-up calls.
CALLED = ("backtrace", "dladdr", "kill", "raise", "sigaction", "sigaltstack", "signal", "syscall", "usleep", "waitpid")
CLONE = {"x86_64": 56, "aarch64": 220}  # the number of the system call that only forks and takes no lock
EVERY_CHILD = 0x40000000  # __WALL of Linux: also children that send no signal at their end
ON_STACK, ONCE = 0x08000000, -0x80000000  # SA_ONSTACK, SA_RESETHAND
TRIES = 8  # a Python handler may raise during a try
IGNORED = ctypes.c_void_p(1)  # SIG_IGN
OF_PROCESS = 2  # CPUCLOCK_SCHED of Linux: as clock_getcpuclockid(3) makes the clock of a process
STACK = 4 << 20  # bytes of stack for the handler, in case the process has used up its own
ASKED_AFTER = 1.0  # seconds until a thread that waits for Python's lock asks for it, once the process dies
PATIENCE = 15_000  # milliseconds that the fork may take
AS_LONG_AS_IT_TAKES = 1 << 40  # milliseconds: the sender of these signals limits the time itself
DEEPEST = 64  # maximum number of C++ functions that are reported
BELOW = "guarded"  # the function of ptexplore that calls the traced code

EndedBy: TypeAlias = Literal["signal", "exit", "timeout"]
KILLED: Final = "signal"  # the three ways in which a process ends
EXITING: Final = "exit"
LATE: Final = "timeout"
EXIT_NAME, LATE_NAME = "os._exit", "timeout"

Tell = Callable[[BaseException], bytes]
EXIT: Any = os._exit
# C functions of Python that may send the process a signal which it cannot handle, with their names.
KILL: dict[Any, str] = {
    os.kill: "os.kill",
    os.killpg: "os.killpg",
    signal.raise_signal: "signal.raise_signal",
    signal.pthread_kill: "signal.pthread_kill",
}
IN = "in "  # before the name of the function in which a process was killed


class Ended(BaseException):
    """What ended a process, as an error: the name of its class is the name of the signal, function or option.

    `by` says which of the three. `cpp`: the C++ functions on the stack, innermost first, each as a library's file and
    an address in it.
    """

    by: EndedBy
    cpp: Sequence[tuple[str, int]] = ()


class _Found(ctypes.Structure):
    """`Dl_info` of the C library."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux's C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * (1024 // 8 // ctypes.sizeof(ctypes.c_ulong))),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Stack(ctypes.Structure):
    """`stack_t` of Linux."""

    _fields_ = (("begin", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


class _State:
    """Data that the handler needs, made early: it may not use the C heap, which may be damaged."""

    process = 0
    tell: Tell | None = None
    keeps = False  # whether an answer so far is kept from time to time
    library: Any = None  # the C library, called without releasing Python's lock: no other thread runs meanwhile
    stack: Any = None
    addresses: Any = (ctypes.c_void_p * DEEPEST)()
    came = 0  # the signal that kills the process

    def __init__(self) -> None:
        self.handlers: dict[int, Any] = {}  # by signal: the function that C calls
        self.before: dict[int, Any] = {}  # by signal: the action before


_state = _State()


def _ended(by: EndedBy, name: str, frame: FrameType | None) -> Ended:
    """Returns what ended this process, as an error raised in `frame` that came through all of its callers."""
    error: Ended = type(name, (Ended,), {"by": by})()
    step: TracebackType | None = None
    while frame is not None and _is_ours(frame) and frame.f_code.co_name != BELOW:  # our handler or hook
        frame = frame.f_back
    while frame is not None and not (frame.f_code.co_name == BELOW and _is_ours(frame)):
        step = TracebackType(step, frame, frame.f_lasti, frame.f_lineno or 0)
        frame = frame.f_back
    return error.with_traceback(step)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(OURS)


@contextmanager
def spoken(tell: Tell, goes_by: Callable[[], None] | None = None, *, keeps: bool = False) -> Iterator[None]:
    """Let `tell` give the answer of this process if a signal or `os._exit` ends it in this block.

    `goes_by` is called from time to time, at TIME_GOES_BY. Of nested blocks, the innermost gives the answer. With
    `keeps`, the answer so far is kept at these times and before a signal is sent, because SIGKILL cannot be handled.
    """
    if isolate.is_forked() or not _prepared():
        yield
        return
    if goes_by is not None:
        signal.signal(TIME_GOES_BY, lambda *_: goes_by())
    if _state.tell is not None and _state.process == os.getpid():
        outer, _state.tell, _state.keeps = _state.tell, tell, keeps
        try:
            yield
        finally:
            _state.tell, _state.keeps = outer, False
            _hear_no_more()
        return
    library = _state.library
    _state.process, _state.tell, _state.keeps = os.getpid(), tell, keeps
    _state.before, _state.came = {}, 0
    stack = _Stack(ctypes.addressof(_state.stack), 0, STACK)
    of_before = _Stack()
    library.sigaltstack(byref(stack), byref(of_before))
    signal.signal(TIME_IS_OVER, _in_time)
    for number in _state.handlers:
        had = _Action()
        library.sigaction(number, None, byref(had))
        # By default the process would die at once, or a C handler (None) such as faulthandler's would run. That happens
        # after the answer is given.
        if signal.getsignal(number) in (signal.SIG_DFL, None):
            handler = ctypes.cast(_state.handlers[number], ctypes.c_void_p).value
            library.sigaction(number, byref(_Action(handler, flags=ON_STACK | ONCE)), None)
            _state.before[number] = had
    try:
        yield
    finally:
        _state.tell, _state.keeps = None, False
        for number, had in _state.before.items():
            now = _Action()
            library.sigaction(number, None, byref(now))
            if now.handler == ctypes.cast(_state.handlers[number], ctypes.c_void_p).value and number != HURRY:
                library.sigaction(number, byref(had), None)
        _hear_no_more()
        if of_before.flags == 2:  # SS_DISABLE: there was no stack for signals
            library.sigaltstack(byref(of_before), None)


def stay_ready() -> None:
    """Set the handler's stack again: `faulthandler.enable` sets a small one, and its handler then calls ours."""
    if _state.tell is not None:
        now = _Stack()
        _state.library.sigaltstack(None, byref(now))
        if now.begin != ctypes.addressof(_state.stack):
            _state.library.sigaltstack(byref(_Stack(ctypes.addressof(_state.stack), 0, STACK)), None)


def exits(frame: FrameType) -> None:
    """Give the answer, because `os._exit` is about to be called."""
    tell = _state.tell
    if tell is None or _state.process != os.getpid():
        return
    _state.tell = None
    _answer(tell, _ended(EXITING, EXIT_NAME, frame))


def keep(frame: FrameType | None, called: Any = None) -> None:
    """Keep the answer so far, in case the process is killed by a signal that cannot be handled.

    `frame` is where the process calls a function of `KILL`; None if the place of a later kill is unknown. A fork makes
    the answer, as when the process dies. This process goes on, and its later answer replaces the kept one.
    """
    tell, interval = _state.tell, sys.getswitchinterval()
    if tell is None or not _state.keeps or _state.process != os.getpid():
        return

    def so_far(error: BaseException) -> bytes:
        error.args = (f"{IN}{KILL[called]}()",) if called is not None else ()
        return isolate.SO_FAR + tell(error).removeprefix(isolate.PASS)

    try:
        _fork(so_far, int(signal.SIGKILL), frame)
    finally:
        _state.tell = tell
        sys.setswitchinterval(interval)


def process_time_ns() -> int:
    """Returns `time.process_time_ns` of the dying process, when called in its fork."""
    return time.clock_gettime_ns(~_state.process << 3 | OF_PROCESS)


def _prepared() -> bool:
    if not sys.platform.startswith("linux") or platform.machine() not in CLONE:
        return False
    if _state.library is None:
        library = ctypes.PyDLL(None)
        for name in CALLED:
            getattr(library, name)
        library.backtrace(byref(_state.addresses), 1)  # the first call loads a library
        _state.library, _state.stack = library, ctypes.create_string_buffer(STACK)
        numbers = (*(int(getattr(signal, name)) for name in SIGNALS), HURRY)
        _state.handlers.update((number, _handler(number)) for number in numbers)
    return True


def _dying(number: int) -> Generator[None, int, None]:
    """Wait for a signal that kills, give the answer, and let the process die by the signal.

    C calls this generator as the signal's handler. A Python handler whose signal came earlier may raise at any line in
    here. The generator has entered its `try` by then, while a function would not have.
    """
    for _ in range(TRIES):
        try:
            if not _state.came:
                yield
            _state.came = number
            sys.setprofile(None)
            if _state.tell is not None and os.getpid() == _state.process:
                _fork(_state.tell, number, sys._getframe(0).f_back)
            break
        except BaseException:
            _state.came = number
    # The signal waits until this handler returns in this thread, and then acts as it would have without the handler.
    _state.library.sigaction(number, byref(_state.before.get(number, _Action())), None)
    getattr(_state.library, "raise")(number)
    yield


def _handler(number: int) -> Any:
    """Returns the handler that C calls: a builtin, so that no Python code runs before `_dying` continues."""
    waits = _dying(number)
    next(waits)
    return ctypes.CFUNCTYPE(None, ctypes.c_int)(waits.send)


def _in_time(number: int, frame: FrameType | None) -> None:
    """Python's own handler for the end of the time: give the answer, and end the process.

    A thread that waited for Python's lock may send an interrupt meanwhile, as the recorder of a script does. It has no
    effect here.
    """
    if _state.tell is None or os.getpid() != _state.process:
        return
    try:
        for _ in range(TRIES):
            try:
                _hear_no_more()
                sys.setprofile(None)
                if _state.tell is not None:
                    _fork(_state.tell, number, frame)
                break
            except BaseException:
                continue
    finally:
        EXIT(1)


def _hear_no_more() -> None:
    """Ignore the signals of time: the answer is on its way."""
    for number in (TIME_GOES_BY, TIME_IS_OVER):
        _signal.signal(number, _signal.SIG_IGN)
    _state.library.signal(HURRY, IGNORED)


def _fork(tell: Tell, number: int, frame: FrameType | None) -> None:
    """Let a fork of this process, which was in `frame`, give its answer, and wait for the fork."""
    library = _state.library
    # A thread that waits for Python's lock asks for it after a while, and the next instruction hands the lock over. The
    # fork has no such thread, and handing over would never end. So a thread that waits now gets the lock first, and a
    # thread that comes later asks only after ASKED_AFTER.
    sys.setswitchinterval(ASKED_AFTER)
    time.sleep(0)
    fork = library.syscall(CLONE[platform.machine()], 0, 0, 0, 0, 0)
    _state.tell = None
    if fork == 0:
        try:
            depth = library.backtrace(byref(_state.addresses), DEEPEST)
            isolate.adopt_answer(_state.process)
            is_late = number in (TIME_IS_OVER, HURRY)
            error = _ended(LATE, LATE_NAME, frame) if is_late else _ended(KILLED, signal.Signals(number).name, frame)
            error.cpp = list(_places(_state.addresses[at] for at in range(depth)))
            _answer(tell, error)
        finally:
            EXIT(0)
    if fork > 0:
        _wait(fork, AS_LONG_AS_IT_TAKES if number in (TIME_IS_OVER, HURRY) else PATIENCE)


def _wait(fork: int, most: int) -> None:
    """Wait up to `most` milliseconds for a fork's answer. An exception raised meanwhile is raised again at the end."""
    library, waited = _state.library, 0
    raised: BaseException | None = None
    while True:
        try:
            while library.waitpid(fork, None, EVERY_CHILD | os.WNOHANG) == 0:
                if waited > most:
                    library.kill(fork, int(signal.SIGKILL))
                    library.waitpid(fork, None, EVERY_CHILD)
                    break
                library.usleep(1000)
                waited += 1
            break
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised


def _places(addresses: Iterable[int | None]) -> Iterator[tuple[str, int]]:
    """Yields the library of each address, and the address in the library."""
    for address in addresses:
        place = _Found()
        if address and _state.library.dladdr(ctypes.c_void_p(address), byref(place)) and place.file:
            yield os.fsdecode(place.file), address - (place.base or 0)


def _answer(tell: Tell, error: Ended) -> None:
    with contextlib.suppress(BaseException):
        isolate.put(tell(error))
