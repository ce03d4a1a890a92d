"""Step a call instruction by instruction: a SIGTRAP handler in machine code that logs every jump, and its runner.

x86-64 Linux. The handler runs with the trap flag of the flags register (Intel 64 manual, volume 3, 17.3.1.4): after
each instruction the kernel delivers SIGTRAP, and the handler writes a row when the instruction pointer did not simply
go on.
The same handler meets a breakpoint (int3) at a function's first byte and steps from there until that call returns.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .assembly import (
    POP_FLAGS,
    PUSH_FLAGS,
    RETURN,
    Instruction,
    Label,
    alu,
    alu_constant,
    alu_memory,
    assemble,
    call,
    constant,
    increment,
    jump,
    load,
    memory_constant,
    move,
    pop,
    push,
    put,
    store,
    store_byte,
)

ROW = 64  # bytes: rip, rsp, the two before it, instructions so far, and the first three argument registers
SEQUENTIAL = 15  # bytes; the longest instruction: whatever goes forward by no more looks like going on
TRAP = 0x100  # the trap flag
BREAKPOINT = 0xCC

# Offsets in the ucontext_t that a handler gets as its third argument (sys/ucontext.h: uc_mcontext.gregs).
RDI, RSI, RDX, RSP, RIP, FLAGS = 104, 112, 136, 160, 168, 176

# The handler's own state: eight bytes each.
(
    CURSOR, END, STATUS, LAST_RIP, LAST_RSP, COUNT, MOST, BREAK, ORIGINAL, HITS, WANTED, STOP, REARM, AFTER,
) = range(0, 112, 8)  # fmt: skip
RUNNING, FULL, LIMIT, LEFT = range(4)  # what STATUS says: why the handler stopped stepping


class Unavailable(Exception):
    """Stepping cannot be done here; the text says why."""


@dataclass(frozen=True)
class Steps:
    """What was logged: `rows` of eight 64-bit numbers, how many instructions, and whether it was cut short."""

    rows: bytes
    instructions: int
    cut: str | None
    hits: int = 0  # how often the breakpoint was met


def handler(state: int) -> list[Instruction | Label]:
    """The SIGTRAP handler as a program; it gets the ucontext_t in rdx and keeps its state at `state`."""
    return [constant("rax", state), *_COMING_IN, *_LOGGING, *_STOPPING, *_AT_THE_BREAKPOINT]


# From here on r9 and r10 are instruction and stack pointer now, r11 and rdi those one instruction ago.
_COMING_IN = [
    load("r9", "rdx", RIP),
    load("r10", "rdx", RSP),
    load("rcx", "rax", REARM),  # first: one instruction after a breakpoint can be one byte after it
    alu_constant("cmp", "rcx", 0),
    jump("jne", "rearm"),
    load("rcx", "rax", AFTER),
    alu("cmp", "rcx", "r9"),
    jump("je", "breakpoint"),
    # one instruction ran
    increment("rax", COUNT),
    load("r11", "rax", LAST_RIP),
    load("rdi", "rax", LAST_RSP),
    store("rax", LAST_RIP, "r9"),
    store("rax", LAST_RSP, "r10"),
    alu_memory("cmp", "r10", "rax", STOP),  # the stack is above the stepped call's: it has returned or thrown
    jump("ja", "left"),
    move("r8", "r9"),
    alu("sub", "r8", "r11"),
    alu_constant("cmp", "r8", SEQUENTIAL),
    jump("jbe", "done"),
]
_LOGGING = [
    Label("log"),
    load("rcx", "rax", CURSOR),
    alu_memory("cmp", "rcx", "rax", END),
    jump("jae", "full"),
    load("r8", "rax", COUNT),
    alu_memory("cmp", "r8", "rax", MOST),
    jump("jae", "limit"),
    store("rcx", 0, "r9"),
    store("rcx", 8, "r10"),
    store("rcx", 16, "r11"),
    store("rcx", 24, "rdi"),
    store("rcx", 32, "r8"),
    load("r8", "rdx", RDI),
    store("rcx", 40, "r8"),
    load("r8", "rdx", RSI),
    store("rcx", 48, "r8"),
    load("r8", "rdx", RDX),
    store("rcx", 56, "r8"),
    alu_constant("add", "rcx", ROW),
    store("rax", CURSOR, "rcx"),
    Label("done"),
    RETURN,
]
_STOPPING = [  # the call goes on at full speed
    Label("full"),
    put("rax", STATUS, FULL),
    jump("jmp", "stop"),
    Label("limit"),
    put("rax", STATUS, LIMIT),
    jump("jmp", "stop"),
    Label("left"),
    put("rax", STATUS, LEFT),
    Label("stop"),
    memory_constant("and", "rdx", FLAGS, ~TRAP),
    RETURN,
]
_AT_THE_BREAKPOINT = [
    # int3 was met: the instruction it covers is put back and comes next, under the trap flag
    Label("breakpoint"),
    increment("rax", HITS),
    load("rcx", "rax", BREAK),
    load("r8", "rax", ORIGINAL),
    store_byte("rcx", 0, "r8"),
    store("rdx", RIP, "rcx"),
    memory_constant("or", "rdx", FLAGS, TRAP),
    load("r8", "rax", HITS),
    alu_memory("cmp", "r8", "rax", WANTED),
    jump("je", "begin"),
    put("rax", REARM, 1),
    RETURN,
    # the call that was asked for begins: logged as a call from nowhere
    Label("begin"),
    put("rax", AFTER, 0),
    store("rax", STOP, "r10"),
    store("rax", LAST_RIP, "rcx"),
    store("rax", LAST_RSP, "r10"),
    move("r9", "rcx"),
    move("rdi", "r10"),
    alu_constant("add", "rdi", 8),
    constant("r11", 0),
    jump("jmp", "log"),
    # one instruction after a call that was not asked for: the breakpoint is set again
    Label("rearm"),
    load("rcx", "rax", BREAK),
    constant("r8", BREAKPOINT),
    store_byte("rcx", 0, "r8"),
    put("rax", REARM, 0),
    memory_constant("and", "rdx", FLAGS, ~TRAP),
    RETURN,
]


def runner(function: int) -> list[Instruction | Label]:
    """Call `function` with the arguments given, the trap flag set meanwhile."""
    return [
        push("rbx"),  # keeps the stack aligned to 16
        constant("rax", function),
        PUSH_FLAGS,
        memory_constant("or", "rsp", 0, TRAP),
        POP_FLAGS,
        call("rax"),
        PUSH_FLAGS,
        memory_constant("and", "rsp", 0, ~TRAP),
        POP_FLAGS,
        pop("rbx"),
        RETURN,
    ]


def why_not() -> str | None:
    """Why this process cannot be stepped, None where it can."""
    if sys.platform != "linux" or os.uname().machine != "x86_64" or sys.maxsize < 1 << 32:
        return f"stepping needs x86-64 Linux, and this is {os.uname().machine} {sys.platform}"
    if signal.SIGTRAP in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        return "the signal SIGTRAP is blocked here"
    if _tracer():
        return "another program (a debugger, strace) already traces this process"
    return None


def _tracer() -> int:
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as status:
        return next((int(line.split()[1]) for line in status if line.startswith("TracerPid:")), 0)
    return 0


class _Action(ctypes.Structure):
    """glibc's struct sigaction on x86-64."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class Stepper:
    """Machine code and a buffer, made once; `step` and `step_call` run something under it. Not reentrant.

    Raises Unavailable when this process cannot be stepped. `rows` bounds what is logged, `most` the instructions.
    """

    def __init__(self, rows: int = 1 << 21, most: int = 1 << 40) -> None:
        reason = why_not()
        if reason is not None:
            raise Unavailable(reason)
        self.most = most
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._state = (ctypes.c_uint64 * (AFTER // 8 + 1))()
        self._buffer = mmap.mmap(-1, rows * ROW)
        self._begin = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))
        self._end = self._begin + rows * ROW
        python = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value
        handle, _ = assemble(handler(ctypes.addressof(self._state)))
        run, _ = assemble(runner(python or 0))
        start = -(-len(handle) // 16) * 16
        self._code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._code.write(handle.ljust(start, b"\x90") + run)
        self._handler = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        self._protect(self._handler, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC, "memory that can be executed")
        prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.py_object)
        self._run = prototype(self._handler + start)
        self.code = (self._handler, self._handler + start + len(run))  # ours: not part of what is told

    def step(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, Steps]:
        """Call `function` under the trap flag: its result and the steps. What it raises is raised."""
        with self._handling():
            result = self._run(function, arguments, {})
        return result, self._steps()

    def step_call(self, address: int, number: int, function: Callable[..., Any]) -> tuple[Any, Steps]:
        """Call `function` at full speed, but step the `number`th call (from 1) of the code at `address`."""
        page = address & ~(mmap.PAGESIZE - 1)
        everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self._protect(page, mmap.PAGESIZE, everything, "a breakpoint in torch's own code")
        original = ctypes.c_ubyte.from_address(address)
        with self._handling():
            byte = original.value
            for slot, value in ((BREAK, address), (AFTER, address + 1), (ORIGINAL, byte), (WANTED, number)):
                self._state[slot // 8] = value
            original.value = BREAKPOINT
            try:
                result = function()
            finally:
                original.value = byte
        return result, self._steps()

    @contextlib.contextmanager
    def _handling(self) -> Any:
        """Our SIGTRAP handler for the time of a block; whatever was there before comes back."""
        for slot in range(0, AFTER + 8, 8):
            self._state[slot // 8] = 0
        for slot, value in ((CURSOR, self._begin), (END, self._end), (MOST, self.most), (STOP, (1 << 64) - 1)):
            self._state[slot // 8] = value
        new, old = _Action(), _Action()
        new.handler, new.flags = self._handler, 4  # SA_SIGINFO
        if self._libc.sigaction(signal.SIGTRAP, ctypes.byref(new), ctypes.byref(old)) != 0:
            raise Unavailable(f"no handler can be set for SIGTRAP: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            self._libc.sigaction(signal.SIGTRAP, ctypes.byref(old), None)

    def _protect(self, address: int, size: int, protection: int, what: str) -> None:
        if self._libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection) != 0:
            raise Unavailable(f"this system refuses {what}: {os.strerror(ctypes.get_errno())}")

    def _steps(self) -> Steps:
        used = int(self._state[CURSOR // 8]) - self._begin
        cut = {FULL: "the log was full", LIMIT: f"it ran more than {self.most:,} instructions"}
        status = int(self._state[STATUS // 8])
        count, hits = int(self._state[COUNT // 8]), int(self._state[HITS // 8])
        return Steps(self._buffer[:used], count, cut.get(status), hits)


def rows_of(steps: Steps) -> list[tuple[int, ...]]:
    """The rows as numbers."""
    return list(struct.iter_unpack("<8Q", steps.rows))
