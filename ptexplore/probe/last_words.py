"""What a process that a signal kills says before it ends: what was recorded until then, and where it was.

A handler of C's own, which Python's `signal` and `faulthandler` know nothing of, forks the dying process at the place
where it dies. The fork has all that was recorded, gives the answer, and ends; the process then dies by its signal as it
would have. Nothing is done for that as long as nothing dies. Linux only: elsewhere a process that dies says nothing.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # C's part of `signal`: the other calls builtins, which may be replaced
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

# What kills a process and can be noticed; SIGTRAP is what calls are stepped by.
SIGNALS = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL", "SIGSYS", "SIGTERM", "SIGXCPU", "SIGALRM", "SIGHUP")
# What is called of the C library. Each is looked up before the program, which may replace the builtins that it takes.
CALLED = ("backtrace", "dladdr", "kill", "raise", "sigaction", "sigaltstack", "signal", "syscall", "usleep", "waitpid")
CLONE = {"x86_64": 56, "aarch64": 220}  # the number of the system call that forks, and nothing else: no lock is taken
EVERY_CHILD = 0x40000000  # __WALL of Linux: one that tells nobody of its end, too
ON_STACK, ONCE = 0x08000000, -0x80000000  # SA_ONSTACK, SA_RESETHAND
TRIES = 8  # in which a handler of Python's may raise meanwhile
IGNORED = ctypes.c_void_p(1)  # SIG_IGN
OF_PROCESS = 2  # CPUCLOCK_SCHED of Linux: as clock_getcpuclockid(3) makes the clock of a process
STACK = 4 << 20  # bytes for the handler, where the process's own stack is used up
ASKED_AFTER = 1.0  # seconds after which a thread that waits for Python's lock asks for it, once the process dies
PATIENCE = 15_000  # milliseconds that the fork may take
AS_LONG_AS_IT_TAKES = 1 << 40  # milliseconds: who sent these signals waits no longer than it wants to
DEEPEST = 64  # functions of C++ that are told
BELOW = "guarded"  # the function of ours that calls the traced code

EndedBy: TypeAlias = Literal["signal", "exit", "timeout"]
KILLED: Final = "signal"  # what ends a process
EXITING: Final = "exit"
LATE: Final = "timeout"
EXIT_NAME, LATE_NAME = "os._exit", "timeout"

Tell = Callable[[BaseException], bytes]
EXIT: Any = os._exit
# What may send a process a signal that it does not hear, by what is called of C.
KILL: dict[Any, str] = {
    os.kill: "os.kill",
    os.killpg: "os.killpg",
    signal.raise_signal: "signal.raise_signal",
    signal.pthread_kill: "signal.pthread_kill",
}
IN = "in "  # before the name of one in which a process was killed


class Ended(BaseException):
    """What ended a process, in the form of an error: its class has the name of the signal, function or option.

    `by` says which of these; `cpp`: the functions of C++ on the stack, innermost first, each as a library's file and
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
    """What the handler needs, made before: it may not take memory from C's own heap, which may be what is broken."""

    process = 0
    tell: Tell | None = None
    keeps = False  # whether what was seen so far is kept meanwhile
    library: Any = None  # the C library, called without giving up Python's lock: no other thread goes on meanwhile
    stack: Any = None
    addresses: Any = (ctypes.c_void_p * DEEPEST)()
    came = 0  # the signal that kills

    def __init__(self) -> None:
        self.handlers: dict[int, Any] = {}  # by signal what C calls
        self.before: dict[int, Any] = {}  # what it called before


_state = _State()


def _ended(by: EndedBy, name: str, frame: FrameType | None) -> Ended:
    """What ended this process, having left all functions that run, from `frame` on."""
    error: Ended = type(name, (Ended,), {"by": by})()
    step: TracebackType | None = None
    while frame is not None and _is_ours(frame) and frame.f_code.co_name != BELOW:  # a handler of ours, or a hook
        frame = frame.f_back
    while frame is not None and not (frame.f_code.co_name == BELOW and _is_ours(frame)):
        step = TracebackType(step, frame, frame.f_lasti, frame.f_lineno or 0)
        frame = frame.f_back
    return error.with_traceback(step)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(OURS)


@contextmanager
def spoken(tell: Tell, goes_by: Callable[[], None] | None = None, *, keeps: bool = False) -> Iterator[None]:
    """Have `tell` give the answer of this process if a signal, or `os._exit`, ends it in this block.

    `goes_by` is called now and then as its time goes by. In a block inside of another one it is the inner that speaks.
    `keeps`: what there is to tell is kept then, and before a signal is sent, since SIGKILL lets nothing be told.
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
        # It would die at once, or a handler of C's (None), as faulthandler's, would be called: that is next then.
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
        if of_before.flags == 2:  # SS_DISABLE: there was none
            library.sigaltstack(byref(of_before), None)


def stay_ready() -> None:
    """Have the handler keep its stack: `faulthandler.enable` puts a small one in its place, and calls it."""
    if _state.tell is not None:
        now = _Stack()
        _state.library.sigaltstack(None, byref(now))
        if now.begin != ctypes.addressof(_state.stack):
            _state.library.sigaltstack(byref(_Stack(ctypes.addressof(_state.stack), 0, STACK)), None)


def exits(frame: FrameType) -> None:
    """`os._exit` is about to be called: the answer is given before it."""
    tell = _state.tell
    if tell is None or _state.process != os.getpid():
        return
    _state.tell = None
    _answer(tell, _ended(EXITING, EXIT_NAME, frame))


def keep(frame: FrameType | None, called: Any = None) -> None:
    """Keep what there is to tell by now, for a process that is killed without hearing it.

    `frame` is where it calls one of `KILL`; None where nothing says where it will be killed. A fork tells it, as where
    the process dies: this one goes on, and what it answers later is put in the place of that.
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
    """`time.process_time_ns` of the process that dies, in its fork."""
    return time.clock_gettime_ns(~_state.process << 3 | OF_PROCESS)


def _prepared() -> bool:
    if not sys.platform.startswith("linux") or platform.machine() not in CLONE:
        return False
    if _state.library is None:
        library = ctypes.PyDLL(None)
        for name in CALLED:
            getattr(library, name)
        library.backtrace(byref(_state.addresses), 1)  # its first call loads a library
        _state.library, _state.stack = library, ctypes.create_string_buffer(STACK)
        numbers = (*(int(getattr(signal, name)) for name in SIGNALS), HURRY)
        _state.handlers.update((number, _handler(number)) for number in numbers)
    return True


def _dying(number: int) -> Generator[None, int, None]:
    """Waits for a signal that kills, gives the answer, and lets the process die by it.

    C calls it as the signal's handler. A handler of Python's that was due by then may raise in here, at any line: this
    has begun by then, as a function would not have.
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
    # It waits until this handler is left, in this thread, and does what it would have done.
    _state.library.sigaction(number, byref(_state.before.get(number, _Action())), None)
    getattr(_state.library, "raise")(number)
    yield


def _handler(number: int) -> Any:
    """What C calls at a signal: a builtin, in which nothing of Python's runs before `_dying` does."""
    waits = _dying(number)
    next(waits)
    return ctypes.CFUNCTYPE(None, ctypes.c_int)(waits.send)


def _in_time(number: int, frame: FrameType | None) -> None:
    """The handler of Python's own that hears that the time is over: the answer is given, and the process ends.

    Whoever waited for Python's lock may send an interrupt meanwhile, as the recorder of a script does: that is over.
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
    """Ignore how much of the time has gone by: the answer is on its way."""
    for number in (TIME_GOES_BY, TIME_IS_OVER):
        _signal.signal(number, _signal.SIG_IGN)
    _state.library.signal(HURRY, IGNORED)


def _fork(tell: Tell, number: int, frame: FrameType | None) -> None:
    """Have a fork of this process, which was in `frame`, give its answer, and wait until it has."""
    library = _state.library
    # A thread that waits for Python's lock asks for it after a while, and the next instruction hands it over. In the
    # fork is no such thread, and handing over would never end. So who waits now gets it, and who comes asks later.
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
    """Wait so many milliseconds until a fork has given its answer. What is raised meanwhile is raised behind that."""
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
    """The library of each address, and the address in it."""
    for address in addresses:
        place = _Found()
        if address and _state.library.dladdr(ctypes.c_void_p(address), byref(place)) and place.file:
            yield os.fsdecode(place.file), address - (place.base or 0)


def _answer(tell: Tell, error: Ended) -> None:
    with contextlib.suppress(BaseException):
        isolate.put(tell(error))
