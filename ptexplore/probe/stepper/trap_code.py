"""The stepper's machine code: the SIGTRAP handler that logs jumps, what calls a function under it, and a clock.

The handler runs after every instruction (the trap flag: Intel 64 manual, volume 3, 17.3.1.4) and at breakpoints
(int3) on functions, from one of which it begins to step. It looks one instruction ahead: before a system call that
would start a thread or process, or block SIGTRAP, take it over or send it, it stops: the kernel kills what traps there.
"""

from __future__ import annotations

from .assembly import (
    CLOCK,
    POP_FLAGS,
    PUSH_FLAGS,
    RETURN,
    SYSTEM_CALL,
    Instruction,
    Label,
    alu,
    alu_constant,
    alu_memory,
    call,
    constant,
    increment,
    jump,
    load,
    load_byte,
    memory_constant,
    move,
    pop,
    push,
    put,
    shift_left,
    store,
    store_byte,
)
from .trap_return import FLAGS, RAX, RDI, RDX, RIP, RSI, RSP, returning

ROW = 64  # bytes: rip, rsp, the two before it, instructions so far, and the first three argument registers
SEQUENTIAL = 15  # bytes; the longest instruction: whatever goes forward by no more looks like going on
TRAP = 0x100  # the trap flag
BREAKPOINT = 0xCC

SIGNALS = 296  # where uc_sigmask is in the ucontext_t that a handler gets as its third argument (sys/ucontext.h)

# The handler's own state: eight bytes each. TABLE: the breakpoints, 0 when none is set; SIGNALS_AFTER and
# SIGNALS_MEANWHILE: which signals are blocked when it no longer steps, and while it does. BEFORE: the action that
# SIGTRAP had before, as the kernel knows it (struct kernel_sigaction: handler, flags, restorer, mask).
(
    CURSOR, END, STATUS, LAST_RIP, LAST_RSP, COUNT, MOST, DEADLINE, STOP, SIGNALS_AFTER, SIGNALS_MEANWHILE,
    TABLE, HITS, WANTED, REARM, BEFORE,
) = range(0, 128, 8)  # fmt: skip
STATE = 20  # numbers in it: BEFORE is four
ENTRY = 24  # bytes of a breakpoint in the table: its address, the byte it covers, how often it was met; 0 ends it

# What STATUS says: why the handler no longer steps.
RUNNING, FULL, LIMIT, LATE, LEFT, BLOCKS, HANDLES, STARTS = range(8)
_WHY = ("full", "limit", "late", "left", "blocks", "handles", "starts")  # their labels, from FULL on

SIGTRAP = 5
_SIGTRAP_BIT = 1 << SIGTRAP - 1
# System calls (asm/unistd_64.h); fork and vfork lie between clone and execve.
_RT_SIGACTION, _RT_SIGPROCMASK, _CLONE, _EXECVE, _KILL, _TKILL, _TGKILL = 13, 14, 56, 59, 62, 200, 234
_EXECVEAT, _CLONE3 = 322, 435
_SIG_UNBLOCK = 1


def handler(state: int, alone: bool = True) -> list[Instruction | Label]:
    """The SIGTRAP handler as a program; it gets the ucontext_t in rdx and keeps its state at `state`.

    `alone`: it goes back by itself (see trap_return); its signal frame must have no shadow.
    """
    program = [constant("rax", state), *_COMING_IN, *_LOOKING_AHEAD, *_LOGGING, *_in_time(state)]
    return [*program, *returning(alone), *_STOPPING, *_AT_A_BREAKPOINT, *_BEGINNING]


def _equal(register: str, value: int, label: str) -> list[Instruction | Label]:
    return [alu_constant("cmp", register, value), jump("je", label)]


def _unequal(register: str, value: int, label: str) -> list[Instruction | Label]:
    return [alu_constant("cmp", register, value), jump("jne", label)]


# From here on rsi is the ucontext_t, r9 and r10 are instruction and stack pointer now, r11 and rdi those one
# instruction ago, rcx and r8 are for passing use.
_COMING_IN: list[Instruction | Label] = [
    move("rsi", "rdx"),
    load("r9", "rsi", RIP),
    load("r10", "rsi", RSP),
    load("rcx", "rax", REARM),
    *_unequal("rcx", 0, "rearm"),
    load("rcx", "rax", TABLE),
    *_unequal("rcx", 0, "breakpoint"),
    # one instruction ran
    increment("rax", COUNT),
    load("r11", "rax", LAST_RIP),
    load("rdi", "rax", LAST_RSP),
    store("rax", LAST_RIP, "r9"),
    store("rax", LAST_RSP, "r10"),
    alu_memory("cmp", "r10", "rax", STOP),  # the stack is above the stepped call's: it has returned or thrown
    jump("ja", "left"),
]
_LOOKING_AHEAD: list[Instruction | Label] = [
    load_byte("r8", "r9", 0),  # bytes one by one: the second may lie on a page that is not there
    *_equal("r8", BREAKPOINT, "handles"),
    *_unequal("r8", 0x0F, "harmless"),
    load_byte("r8", "r9", 1),
    *_unequal("r8", 0x05, "harmless"),
    # a system call comes next
    load("r8", "rsi", RAX),
    *_equal("r8", _RT_SIGPROCMASK, "mask"),
    *_equal("r8", _RT_SIGACTION, "action"),
    *_equal("r8", _CLONE3, "starts"),
    *_equal("r8", _EXECVEAT, "starts"),
    *_equal("r8", _KILL, "second"),
    *_equal("r8", _TKILL, "second"),
    *_equal("r8", _TGKILL, "third"),
    alu_constant("cmp", "r8", _CLONE),
    jump("jb", "harmless"),
    alu_constant("cmp", "r8", _EXECVE),
    jump("jbe", "starts"),
    jump("jmp", "harmless"),
    # rt_sigprocmask(how, set, ...): does it block SIGTRAP?
    Label("mask"),
    load("r8", "rsi", RDI),
    *_equal("r8", _SIG_UNBLOCK, "harmless"),
    load("r8", "rsi", RSI),
    *_equal("r8", 0, "harmless"),
    load("r8", "r8", 0),
    alu_constant("and", "r8", _SIGTRAP_BIT),
    *_equal("r8", 0, "harmless"),
    jump("jmp", "blocks"),
    # rt_sigaction(signal, action, ...): does it take SIGTRAP over?
    Label("action"),
    load("r8", "rsi", RDI),
    *_unequal("r8", SIGTRAP, "harmless"),
    load("r8", "rsi", RSI),
    *_equal("r8", 0, "harmless"),
    jump("jmp", "handles"),
    # kill(process, signal), tkill(thread, signal), tgkill(process, thread, signal): do they send it?
    Label("second"),
    load("r8", "rsi", RSI),
    *_equal("r8", SIGTRAP, "handles"),
    jump("jmp", "harmless"),
    Label("third"),
    load("r8", "rsi", RDX),
    *_equal("r8", SIGTRAP, "handles"),
    Label("harmless"),
]
_LOGGING: list[Instruction | Label] = [
    move("r8", "r9"),
    alu("sub", "r8", "r11"),
    alu_constant("cmp", "r8", SEQUENTIAL),
    jump("jbe", "done"),
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
    load("r8", "rsi", RDI),
    store("rcx", 40, "r8"),
    load("r8", "rsi", RSI),
    store("rcx", 48, "r8"),
    load("r8", "rsi", RDX),
    store("rcx", 56, "r8"),
    alu_constant("add", "rcx", ROW),
    store("rax", CURSOR, "rcx"),
]


def _in_time(state: int) -> list[Instruction | Label]:
    """Is there time left? The clock comes in rdx and rax, so that rax is loaded anew."""
    return [
        CLOCK,
        shift_left("rdx", 32),
        alu("or", "rdx", "rax"),
        constant("rax", state),
        alu_memory("cmp", "rdx", "rax", DEADLINE),
        jump("jae", "late"),
        Label("done"),
        load("rcx", "rax", COUNT),
        *_unequal("rcx", 0, "stepped"),
        RETURN,  # no step was done: the signal mask is another from here on, or nothing is stepped
        Label("stepped"),
    ]


def _because(label: str, status: int) -> list[Instruction | Label]:
    return [Label(label), put("rax", STATUS, status), jump("jmp", "stop")]


# The call goes on at full speed, with the signals that were held back, and SIGTRAP does what it did before.
_STOPPING: list[Instruction | Label] = [
    *[one for status, label in enumerate(_WHY, FULL) for one in _because(label, status)],
    Label("stop"),
    load("r8", "rax", SIGNALS_AFTER),
    store("rsi", SIGNALS, "r8"),
    memory_constant("and", "rsi", FLAGS, ~TRAP),
    constant("rdi", SIGTRAP),
    move("rsi", "rax"),
    alu_constant("add", "rsi", BEFORE),
    constant("rdx", 0),
    constant("r10", 8),  # bytes of a kernel's signal set
    constant("rax", _RT_SIGACTION),
    SYSTEM_CALL,
    RETURN,
]
_AT_A_BREAKPOINT: list[Instruction | Label] = [
    # which one? rcx goes through the table
    Label("breakpoint"),
    load("r8", "rcx", 0),
    *_equal("r8", 0, "done"),  # none of ours: somebody sent the signal
    alu_constant("add", "r8", 1),
    alu("cmp", "r8", "r9"),
    jump("je", "met"),
    alu_constant("add", "rcx", ENTRY),
    jump("jmp", "breakpoint"),
    # the instruction that it covers is put back and comes next, under the trap flag
    Label("met"),
    increment("rax", HITS),
    increment("rcx", 16),
    load("r8", "rcx", 8),
    load("r9", "rcx", 0),
    store_byte("r9", 0, "r8"),
    store("rsi", RIP, "r9"),
    memory_constant("or", "rsi", FLAGS, TRAP),
    load("r8", "rax", HITS),
    alu_memory("cmp", "r8", "rax", WANTED),
    jump("je", "begin"),
    store("rax", REARM, "r9"),
    RETURN,
    # one instruction after a call that was not asked for: the breakpoint is set again
    Label("rearm"),
    constant("r8", BREAKPOINT),
    store_byte("rcx", 0, "r8"),
    put("rax", REARM, 0),
    memory_constant("and", "rsi", FLAGS, ~TRAP),
    RETURN,
]
_BEGINNING: list[Instruction | Label] = [
    # the call that was asked for: no more breakpoints
    Label("begin"),
    load("rcx", "rax", TABLE),
    Label("disarm"),
    load("r8", "rcx", 0),
    *_equal("r8", 0, "disarmed"),
    load("r11", "rcx", 8),
    store_byte("r8", 0, "r11"),
    alu_constant("add", "rcx", ENTRY),
    jump("jmp", "disarm"),
    Label("disarmed"),
    put("rax", TABLE, 0),
    load("r8", "rsi", SIGNALS),
    store("rax", SIGNALS_AFTER, "r8"),
    load("r8", "rax", SIGNALS_MEANWHILE),
    store("rsi", SIGNALS, "r8"),
    store("rax", STOP, "r10"),
    store("rax", LAST_RIP, "r9"),
    store("rax", LAST_RSP, "r10"),
    # logged as a call from nowhere
    move("rdi", "r10"),
    alu_constant("add", "rdi", 8),
    constant("r11", 0),
    jump("jmp", "log"),
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


def clock() -> list[Instruction | Label]:
    """Return the processor's time-stamp counter."""
    return [CLOCK, shift_left("rdx", 32), alu("or", "rax", "rdx"), RETURN]
