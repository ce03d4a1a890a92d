"""How the stepper's handler goes back to the code that it interrupted: by itself, without the kernel.

A handler that returns in the usual way calls rt_sigreturn, which reads back the whole signal frame: a step takes some
4% longer with it. The same can be done here: the vector registers by XRSTOR from where the kernel saved them (a handler
begins with none of them set), the general ones by loads, and what is left by IRETQ, which sets the trap flag again. The
signal mask is not put back: the handler must run with SA_NODEFER and no mask of its own, so that it stays as it was.
"""

from __future__ import annotations

from .assembly import (
    RETURN,
    RETURN_FROM_TRAP,
    Instruction,
    Label,
    alu_constant,
    jump,
    load,
    move,
    push_memory,
    restore_state,
    shift_right,
)

# Offsets in the ucontext_t (sys/ucontext.h): its flags, the registers in gregs, and where the XSAVE area lies.
WHAT, R8, RDI, RSI, STATE = 0, 40, 104, 112, 224
RDX, RAX, RCX, RSP, RIP, FLAGS, SEGMENTS = range(136, 192, 8)
_CODE, _STACK = SEGMENTS, SEGMENTS + 6  # cs is the first 16 bits, ss the last; IRETQ reads no more than 16 of each
_SAVED = 3  # UC_FP_XSTATE, UC_SIGCONTEXT_SS (asm/ucontext.h): there is an XSAVE area; ss is in the frame
_FEATURES = 464 + 8  # in the XSAVE area: which of its parts the kernel saved (struct _fpx_sw_bytes)


def returning(alone: bool) -> list[Instruction | Label]:
    """Go back to what the ucontext_t in rsi says. Not `alone`, or where the frame is of another kind: by the kernel."""
    if not alone:
        return [RETURN]
    return [
        load("rcx", "rsi", WHAT),
        alu_constant("and", "rcx", _SAVED),
        alu_constant("cmp", "rcx", _SAVED),
        jump("jne", "by the kernel"),
        load("rcx", "rsi", STATE),
        load("rax", "rcx", _FEATURES),
        move("rdx", "rax"),
        shift_right("rdx", 32),
        restore_state("rcx"),
        push_memory("rsi", _STACK),
        push_memory("rsi", RSP),
        push_memory("rsi", FLAGS),
        push_memory("rsi", _CODE),
        push_memory("rsi", RIP),
        load("rax", "rsi", RAX),
        load("rcx", "rsi", RCX),
        load("rdx", "rsi", RDX),
        load("rdi", "rsi", RDI),
        *[load(f"r{number}", "rsi", R8 + 8 * (number - 8)) for number in range(8, 12)],
        load("rsi", "rsi", RSI),  # all others are as they were
        RETURN_FROM_TRAP,
        Label("by the kernel"),
        RETURN,
    ]
