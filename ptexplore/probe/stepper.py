"""Step a call in this process, and log its jumps: the Python half of the stepper (the other half is machine code).

Works on x86-64 Linux. Everything that is changed for it (the handler of SIGTRAP, the signal mask, bytes of a function)
is put back. If the stepping ends early, the stepped call still ends as usual.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import mmap
import os
import platform
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import machine_code as code
from . import python_calls
from . import straight_code as straight
from .reasons import Said, reason
from .system_numbers import number_in, text_in
from .unshared import shared_with_forks

SIGNALS_LEFT = ("SIGTRAP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS")  # the code causes these
READINGS = 10  # readings of both clocks: at least one is not interrupted
GLIBC_OWN = (32, 33)  # signals that glibc's own threads use
NEVER = (1 << 64) - 1
SA_SIGINFO, SA_NODEFER = 4, 0x40000000


class Unavailable(Exception):
    """Stepping is impossible here; `reason` says why."""

    def __init__(self, reason: Said) -> None:
        super().__init__(reason["code"])
        self.reason = reason


@dataclass(frozen=True)
class Limit:
    """The limit of instructions that a run would exceed. `singly`: only those stepped with the trap flag count."""

    count: int
    singly: bool


@dataclass(frozen=True)
class Steps:
    """The log of a run: `rows` of eight 64-bit numbers, the number of instructions, and why it was cut, if it was.

    `limit` is the instruction limit that cut it. Every run reaches this limit at the same instruction. `counts` says
    how often each breakpoint was reached, and `entry` at which of them the stepped call began. `python` says which rows
    are Python's own calls. If that is unknown, `unprofiled` says why.
    """

    rows: bytes
    instructions: int
    cut: Said | None
    seconds: float = 0.0
    singly: int = 0  # instructions stepped with the trap flag
    limit: Limit | None = None
    counts: tuple[int, ...] = ()
    entry: int | None = None
    python: python_calls.PythonCalls | None = None
    unprofiled: Said | None = None


def why_not() -> Said | None:
    """Return the reason why this process cannot be stepped; None if stepping is possible."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 1 << 32:
        return reason("other-machine", machine=platform.machine(), system=sys.platform)
    if signal.SIGTRAP in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        return reason("trap-blocked")
    if number_in("/proc/self/status", b"TracerPid:"):
        return reason("already-traced")
    return None


class _Action(ctypes.Structure):
    """glibc's struct sigaction on x86-64."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Stepper:
    """Machine code and a log, made once; `step` and `step_call` run a function under it. Not reentrant.

    `rows` limits the log, `most` the instructions, and `singly` the instructions stepped with the trap flag, which take
    about ten times as long. With these limits, a run ends at the same place each time. `seconds` is a further limit,
    which should never be reached, not even on a busy machine. While something is stepped, a profile function is set
    that writes Python's calls into the log. Raises Unavailable if this process cannot be stepped.
    """

    def __init__(
        self, rows: int = 1 << 19, most: int = 1 << 40, seconds: float = 3600.0, singly: int = 1 << 40
    ) -> None:
        refused = why_not()
        if refused is not None:
            raise Unavailable(refused)
        self.most, self.seconds, self.singly = 1 << 40, 3600.0, 1 << 40  # for the trial; the given limits come later
        self._libc = ctypes.CDLL(None, use_errno=True)
        # Both are shared with forks: the steps of a child are read after it has ended, in whatever way.
        self._shared = _memory(8 * code.STATE)
        self._state = (ctypes.c_uint64 * code.STATE).from_buffer(self._shared)
        self._log = _memory(rows * code.ROW)
        self._begin = ctypes.addressof(ctypes.c_char.from_buffer(self._log))
        self._end = self._begin + rows * code.ROW
        python = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value or 0
        # Without a shadow stack, which only the kernel corrects.
        self._alone = b"shstk" not in text_in("/proc/self/status", b"x86_Thread_features:")
        profile, self.unprofiled = python_calls.program()
        self._tables = ctypes.create_string_buffer(straight.tables(self._alone), straight.LENGTH)
        handler = code.handler(ctypes.addressof(self._state), ctypes.addressof(self._tables), self._alone)
        self._handler, run, clock, *placed = self._place(handler, code.runner(python), code.CLOCK, *profile)
        self.python = python_calls.Profiled(placed[0]) if placed else None
        prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.py_object)
        self._run = prototype(run)
        self._clock = ctypes.CFUNCTYPE(ctypes.c_uint64)(clock)
        self._rate = self._ticks_a_second()
        if self.step(int)[1].instructions < 10:
            raise Unavailable(reason("trap-flag-idle"))
        self.most, self.seconds, self.singly = most, seconds, singly

    def _place(self, *programs: str) -> list[int]:
        """Put programs into executable memory; return where each begins."""
        self._code = _memory(mmap.PAGESIZE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        places = []
        for program in programs:
            self._code.write(bytes(-self._code.tell() % 16))
            places.append(base + self._code.tell())
            self._code.write(code.assemble(program)[0])
        self._protect(base, mmap.PROT_READ | mmap.PROT_EXEC, "no-executable-memory")
        return places

    def _ticks_a_second(self) -> float:
        """Return the frequency of the processor's clock."""
        began, first = self._both_clocks()
        time.sleep(0.002)
        ended, last = self._both_clocks()
        return (last - first) / (ended - began)

    def _both_clocks(self) -> tuple[float, int]:
        """Read the system's clock and the processor's clock so close together that both show the same moment.

        The number of readings is fixed, and the best reading is kept in C numbers. So the result of a clock never
        changes the layout of memory.
        """
        read, best = (ctypes.c_double * 3)(), (ctypes.c_double * 3)(math.inf)
        ticks, of_best = (ctypes.c_uint64 * 1)(), (ctypes.c_uint64 * 1)()
        for _ in range(READINGS):
            read[1], ticks[0], read[2] = time.monotonic(), self._clock(), time.monotonic()
            read[0] = read[2] - read[1]
            if read[0] < best[0]:
                ctypes.memmove(best, read, ctypes.sizeof(read))
                ctypes.memmove(of_best, ticks, ctypes.sizeof(ticks))
        return best[1], of_best[0]

    def step(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Steps]:
        """Call `function` and log its jumps; return its result and the steps. An error of the function is raised.

        Signals that come meanwhile wait until the end. Their handlers are not part of the call. And a timer that is
        suitable at full speed would fire without end at the speed of stepping.
        """
        with self._handling(self.seconds):
            before = self._block(_meanwhile())
            self._state[code.SIGNALS_AFTER // 8] = before
            with self.profiled():
                began = time.monotonic()
                try:
                    result = self._run(function, arguments, {})
                finally:
                    seconds = time.monotonic() - began
                    self._block(before)
        return result, self._steps(seconds)

    def profiled(self) -> contextlib.AbstractContextManager[None]:
        """Have Python call the profile function inside a block, if this Python has one."""
        return self.python.open() if self.python is not None else contextlib.nullcontext()

    def step_call(self, addresses: Sequence[int], number: int, function: Callable[[], Any]) -> tuple[Any, Steps]:
        """Call `function` at full speed, but step the `number`th call (from 1; 0: none) of the code at `addresses`."""
        result, counts, seconds = self._broken(addresses, {code.WANTED: number}, function)
        steps = self._steps(seconds)
        return result, replace(steps, counts=counts, entry=_entry(steps, addresses))

    def list_calls(self, addresses: Sequence[int], function: Callable[[], Any]) -> tuple[Any, list[int] | None]:
        """Call `function` at full speed; return its result, and by position in `addresses` which code was called.

        The second result is None if there were more calls than rows.
        """
        result, counts, _ = self._broken(addresses, {code.LISTING: 1}, function)
        place = {address: position for position, address in enumerate(addresses)}
        listed = [place[address] for address in row_addresses(self._rows())]
        return result, listed if len(listed) == sum(counts) else None

    def step_calls(
        self, addresses: Sequence[int], numbers: Sequence[int], each: int, each_singly: int, function: Callable[[], Any]
    ) -> tuple[Any, dict[int, Steps]]:
        """Call `function` at full speed, but step the calls of the code at `addresses` with these ascending numbers.

        `each` limits the instructions of a call, and `each_singly` those that the trap flag steps. Returns the result,
        and the steps of each call by its number. A call inside a stepped call is not stepped on its own.
        """
        later = (ctypes.c_uint64 * len(numbers))(*numbers[1:], 0)
        given = {
            code.WANTED: numbers[0],
            code.LATER: ctypes.addressof(later),
            code.EACH: each,
            code.EACH_SINGLY: each_singly,
        }
        result, _, seconds = self._broken(addresses, given, function)
        return result, dict(self._calls(addresses, each, each_singly, seconds))

    def _calls(
        self, addresses: Sequence[int], each: int, each_singly: int, seconds: float
    ) -> Iterator[tuple[int, Steps]]:
        """Yield the number and the steps of each call of the log."""
        log = self._rows()
        places = row_addresses(log)
        begin, left, left_singly = 0, self.most, self.singly
        while begin < len(places):
            try:
                end = places.index(0, begin)
            except ValueError:
                end = len(places)
            rows = log[begin * code.ROW : end * code.ROW]
            if end == len(places):  # what ended this call ended everything
                count, status, singly, number = (
                    int(self._state[word // 8]) for word in (code.COUNT, code.STATUS, code.SINGLY, code.WANTED)
                )
            else:
                *_, count, status, singly, number = struct.unpack_from("<8Q", log, end * code.ROW)
            limits = min(each, left), min(each_singly, left_singly)
            steps = self._as_steps(rows, count, status, singly, limits, seconds)
            yield number, replace(steps, entry=_entry(steps, addresses))
            begin, left, left_singly = end + 1, left - count, left_singly - singly

    def _broken(
        self, addresses: Sequence[int], given: Mapping[int, int], function: Callable[[], Any]
    ) -> tuple[Any, tuple[int, ...], float]:
        """Call `function` with breakpoints at `addresses`; return its result, how often each was met, and the seconds.

        `given` are words of the handler's state.
        """
        with self._writable(addresses), self._handling(self.seconds):
            originals = [ctypes.c_ubyte.from_address(address) for address in addresses]
            covered = [byte.value for byte in originals]
            entries = [n for address, byte in zip(addresses, covered, strict=True) for n in (address, byte, 0)]
            table = (ctypes.c_uint64 * (len(entries) + 1))(*entries)
            self._state[code.TABLE // 8] = ctypes.addressof(table)
            for word, value in given.items():
                self._state[word // 8] = value
            began = time.monotonic()
            try:
                for byte in originals:
                    byte.value = code.BREAKPOINT
                with self.profiled():
                    result = function()
            finally:
                for byte, value in zip(originals, covered, strict=True):
                    byte.value = value
            seconds = time.monotonic() - began
        return result, tuple(table[2::3]), seconds

    def clear(self) -> None:
        """Erase the earlier steps: a child that dies too soon must not leave the steps of another child."""
        self._state[:] = [0] * code.STATE
        self._state[code.CURSOR // 8] = self._begin

    def arm(self, addresses: Sequence[int], number: int) -> None:
        """Step the `number`th call of the code at `addresses`. The process ends with this call, or with the stepping.

        Only for a child that was forked for one call. The parent then gets the steps from `taken`.
        """
        held = contextlib.ExitStack()
        held.enter_context(self._writable(addresses))
        held.enter_context(self._handling(self.seconds))
        originals = [ctypes.c_ubyte.from_address(address) for address in addresses]
        entries = [n for address, byte in zip(addresses, originals, strict=True) for n in (address, byte.value, 0)]
        table = (ctypes.c_uint64 * (len(entries) + 1))(*entries)
        self._state[code.TABLE // 8], self._state[code.WANTED // 8] = ctypes.addressof(table), number
        self._state[code.EXIT // 8] = 1
        self._armed = held, table  # for the rest of this process
        for byte in originals:
            byte.value = code.BREAKPOINT

    def has_begun(self) -> bool:
        """Return whether the call that `arm` waits for has begun."""
        return self._state[code.CURSOR // 8] > self._begin

    def taken(self, seconds: float) -> Steps | None:
        """Return the steps of a child that called `arm`; None if the child ended in another way.

        No Python ran in the child, otherwise there would be no steps. So the rows have no Python calls.
        """
        if self._state[code.STATUS // 8] == code.RUNNING:
            return None
        return replace(self._steps(seconds), python=python_calls.PythonCalls(0, 0))

    @contextlib.contextmanager
    def _handling(self, seconds: float) -> Iterator[None]:
        """Install our SIGTRAP handler for a block. Then put back the earlier one, unless somebody has set another."""
        with self._breakable() as ranges:
            yield from self._handled(seconds, ctypes.addressof(ranges))

    def _handled(self, seconds: float, ranges: int) -> Iterator[None]:
        deadline = int(self._clock() + seconds * self._rate)
        given = {
            code.CURSOR: self._begin,
            code.END: self._end,
            code.MOST: self.most,
            code.MOST_SINGLY: self.singly,
            code.EACH: self.most,
            code.ALL: self.most,
            code.EACH_SINGLY: self.singly,
            code.ALL_SINGLY: self.singly,
            code.DEADLINE: min(deadline, NEVER),
            code.STOP: NEVER,
            code.SIGNALS_MEANWHILE: _meanwhile(),
            code.RANGES: ranges,
            code.RANGE: ranges,
        }
        self._state[:] = [given.get(8 * position, 0) for position in range(code.STATE)]
        before = ctypes.addressof(self._state) + code.BEFORE
        new, now = _Action(), (ctypes.c_uint64 * 4)()
        new.handler, new.flags = self._handler, SA_SIGINFO | (SA_NODEFER if self._alone else 0)
        if self._kernel_action(None, before) != 0 or self._libc.sigaction(signal.SIGTRAP, ctypes.byref(new), None) != 0:
            raise Unavailable(reason("no-trap-handler", error=os.strerror(ctypes.get_errno())))
        try:
            yield
        finally:
            self._kernel_action(None, ctypes.addressof(now))
            if now[0] == self._handler:
                self._kernel_action(before, None)

    def _kernel_action(self, new: int | None, old: int | None) -> int:
        """Set and get the action of SIGTRAP in the kernel's form, so that the earlier one comes back bit for bit."""
        arguments = [ctypes.c_long(number) for number in (13, signal.SIGTRAP, new or 0, old or 0, 8)]
        return int(self._libc.syscall(*arguments))

    def _block(self, signals: int) -> int:
        """Block exactly these signals (bit n-1 is signal n); return the signals that were blocked before."""
        new, old = (ctypes.c_uint64 * 16)(signals), (ctypes.c_uint64 * 16)()
        self._libc.pthread_sigmask(signal.SIG_SETMASK, new, old)
        return int(old[0])

    @contextlib.contextmanager
    def _writable(self, addresses: Sequence[int]) -> Iterator[None]:
        """Make the pages of these functions writable inside a block."""
        pages = {address & ~(mmap.PAGESIZE - 1) for address in addresses}
        read_and_run, changed = mmap.PROT_READ | mmap.PROT_EXEC, []
        try:
            for page in pages:
                self._protect(page, read_and_run | mmap.PROT_WRITE, "no-breakpoint")
                changed.append(page)
            yield
        finally:
            for page in changed:
                self._protect(page, read_and_run, "not-protected-again")

    @contextlib.contextmanager
    def _breakable(self) -> Iterator[ctypes.Array[ctypes.c_uint64]]:
        """Return pairs of addresses between which breakpoints can be set inside a block; two zeros end them.

        These are all spans of code from files that the system allows to be written. Another thread would run into a
        breakpoint. So if there are other threads, or if the system refuses, only the trap flag is used.
        """
        ours: list[tuple[int, int]] = []
        held = contextlib.ExitStack()
        with held:
            for start, end, can_write in _private_code() if _threads() == 1 else ():
                if not can_write:
                    if self._mprotect(start, end - start, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) != 0:
                        continue
                    held.callback(self._mprotect, start, end - start, mmap.PROT_READ | mmap.PROT_EXEC)
                ours.append((start, end))
            yield (ctypes.c_uint64 * (2 * len(ours) + 2))(*(address for pair in ours for address in pair))

    def _protect(self, address: int, protection: int, code: str) -> None:
        """Change the protection of a page. Raises Unavailable, with a reason of this code, if the system refuses."""
        if self._mprotect(address, mmap.PAGESIZE, protection) != 0:
            raise Unavailable(reason(code, error=os.strerror(ctypes.get_errno())))

    def _mprotect(self, address: int, size: int, protection: int) -> int:
        return int(self._libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection))

    def _steps(self, seconds: float) -> Steps:
        count, status, singly = (int(self._state[word // 8]) for word in (code.COUNT, code.STATUS, code.SINGLY))
        return self._as_steps(self._rows(), count, status, singly, (self.most, self.singly), seconds)

    def _rows(self) -> bytes:
        return self._log[: int(self._state[code.CURSOR // 8]) - self._begin]

    def _as_steps(
        self, rows: bytes, count: int, status: int, singly: int, limits: tuple[int, int], seconds: float
    ) -> Steps:
        """Return the steps of a call. `limits`: of its instructions, and of those that the trap flag stepped."""
        most, most_singly = limits
        cut = {
            code.FULL: reason("log-full"),
            code.LIMIT: reason("many-instructions", most=most),
            code.ONE_BY_ONE: reason("many-single-steps", most=most_singly),
            code.LATE: reason("stepping-time-up", seconds=float(f"{self.seconds:.3g}")),
            code.BLOCKS: reason("blocks-trap"),
            code.HANDLES: reason("handles-trap"),
            code.STARTS: reason("starts-another"),
        }.get(status)
        python = self.python.read(rows) if self.python is not None else None
        limit = {code.LIMIT: Limit(most, False), code.ONE_BY_ONE: Limit(most_singly, True)}.get(status)
        return Steps(rows, count, cut, seconds, singly, limit, python=python, unprofiled=self.unprofiled)


def row_addresses(rows: bytes) -> list[int]:
    """Return the address in each row."""
    return memoryview(rows).cast("Q")[:: code.ROW // 8].tolist()


def _entry(steps: Steps, addresses: Sequence[int]) -> int | None:
    """Return the position of the address where a call began; None if none was stepped."""
    return addresses.index(struct.unpack_from("<Q", steps.rows)[0]) if steps.rows else None


def _meanwhile() -> int:
    """Return the signals that wait while something is stepped: those that come from outside."""
    left = {getattr(signal, name) for name in SIGNALS_LEFT} | set(GLIBC_OWN)
    return sum(1 << number - 1 for number in range(1, 65) if number not in left)


def _threads() -> int:
    """Return how many threads this process has."""
    return len(os.listdir("/proc/self/task"))


def _private_code() -> Iterator[tuple[int, int, bool]]:
    """Yield the spans of code that come from files and that no other process shares, and whether each is writable.

    Code that was made while the program ran is left out: the program may replace it meanwhile.
    """
    with open("/proc/self/maps") as lines:
        mapped = [line.split(maxsplit=5) for line in lines]
    for addresses, access, *_, name in (row if len(row) > 5 else [*row, ""] for row in mapped):
        if access[0] == "r" and access[2:] == "xp" and name.startswith("/"):
            start, _, end = addresses.partition("-")
            yield int(start, 16), int(end, 16), access[1] == "w"


def _memory(size: int) -> mmap.mmap:
    try:
        return shared_with_forks(size)
    except (OSError, ValueError) as error:
        why = os.strerror(getattr(error, "errno", None) or errno.ENOMEM)
        raise Unavailable(reason("no-memory-for-log", kilobytes=size >> 10, error=why)) from error


def rows_of(steps: Steps) -> list[tuple[int, ...]]:
    """Return the rows as numbers."""
    return list(struct.iter_unpack("<8Q", steps.rows))
