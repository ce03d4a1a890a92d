"""The probe's machine code. There are five programs. The SIGTRAP handler logs jumps; another program calls a function
under that handler. There is a clock. A profile function puts Python's own calls into the log, and the last program
notes each C++ error.

The handler runs at each instruction that may not go straight on. It then sets a breakpoint (int3) on the next such
instruction (`straight_code`), or the trap flag, which stops after every instruction (Intel 64 manual, volume 3,
17.3.1.4). It also runs at breakpoints on functions, and begins to step at one of them. It stops before a system call
that would start a thread or process. It also stops before one that would block SIGTRAP, take it over or send it. The
kernel kills a process that traps there.

Programs are texts in Intel's syntax, one instruction a line, with labels and comments. `assemble` turns them into
bytes; it knows only the few instructions that are used here. A test compares each text with a disassembler's output.
"""

from __future__ import annotations

import re
import struct

from . import straight_code as straight

# The size of a row in bytes. A row has rip, rsp, the two before the jump, the number of instructions so far, and the
# first three argument registers (after a return, rax is the first).
ROW = 64
SEQUENTIAL = 15  # bytes of the longest instruction: a jump forward by no more looks like the next instruction
TRAP = 0x100  # the trap flag
BREAKPOINT = 0xCC

# A handler gets a ucontext_t as its third argument (sys/ucontext.h). These are offsets in it: its flags, the registers
# in gregs, the address of the XSAVE area, and the signal mask.
UC_FLAGS, R8, RDI, RSI, XSAVE, SIGNALS = 0, 40, 104, 112, 224, 296
RDX, RAX, RCX, RSP, RIP, FLAGS, SEGMENTS = range(136, 192, 8)
_CODE, _STACK = SEGMENTS, SEGMENTS + 6  # cs is the first 16 bits, ss the last; IRETQ reads only 16 bits of each
_SAVED = 3  # UC_FP_XSTATE, UC_SIGCONTEXT_SS (asm/ucontext.h): there is an XSAVE area; ss is in the frame
_FEATURES = 464 + 8  # in the XSAVE area: the parts that the kernel saved (struct _fpx_sw_bytes)

# The handler's own state, eight bytes each. TABLE: the breakpoints on functions, 0 if none is set. SIGNALS_AFTER and
# SIGNALS_MEANWHILE: the signals that are blocked after the stepping, and during it. BEFORE: the earlier action of
# SIGTRAP in the kernel's form (struct kernel_sigaction: handler, flags, restorer, mask). EXIT: not 0 if the process is
# to end with the stepping.
(
    CURSOR, END, STATUS, LAST_RIP, LAST_RSP, COUNT, MOST, DEADLINE, STOP, SIGNALS_AFTER, SIGNALS_MEANWHILE,
    TABLE, HITS, WANTED, REARM, BEFORE,
) = range(0, 128, 8)  # fmt: skip
EXIT = BEFORE + 32
# RANGES: pairs of addresses between which breakpoints can be set, ended by two zeros. RANGE: the pair that was used
# last. UNTIL: the address up to which instructions are read ahead in it. PLANTED: where the next breakpoint is, 0 while
# the trap flag is set. COVERED: the byte that the breakpoint replaces. AHEAD: how many instructions run before it.
# SINGLY: how many instructions the trap flag stepped. MOST_SINGLY: how many it may step.
RANGES, RANGE, UNTIL, PLANTED, COVERED, AHEAD, SINGLY, MOST_SINGLY = range(EXIT + 8, EXIT + 72, 8)
# For the calls of functions with a breakpoint. BEGUN: whether a step was done since the call began. LISTING: not 0 if
# each of the calls is to be listed in the log. LATER: the address of the numbers of further calls to step, ended by 0;
# itself 0 if there is only one call. KEPT: the table while no breakpoint of it is set. PART: the first row of the call.
# EACH and EACH_SINGLY: how many instructions of a call may be stepped. ALL and ALL_SINGLY: the rest for all calls.
# COUNT and SINGLY begin again with each call.
BEGUN, LISTING, LATER, KEPT, PART, EACH, ALL, EACH_SINGLY, ALL_SINGLY = range(EXIT + 72, EXIT + 144, 8)
STATE = 37  # numbers in the state: BEFORE has four of them
ENTRY = 24  # bytes of a breakpoint in the table: its address, the byte that it replaces, how often it was met; 0: end

# The values of STATUS: why the handler no longer steps.
RUNNING, FULL, LIMIT, ONE_BY_ONE, LATE, LEFT, BLOCKS, HANDLES, STARTS = range(9)
_WHY = ("full", "limit", "one_by_one", "late", "left", "blocks", "handles", "starts")  # their labels, from FULL on

SIGTRAP = 5
_SIGTRAP_BIT = 1 << SIGTRAP - 1
# System calls (asm/unistd_64.h); fork and vfork lie between clone and execve.
_RT_SIGACTION, _RT_SIGPROCMASK, _CLONE, _EXECVE, _KILL, _TKILL, _TGKILL = 13, 14, 56, 59, 62, 200, 234
_EXIT_GROUP, _EXECVEAT, _CLONE3 = 231, 322, 435
_SIG_UNBLOCK = 1


def handler(state: int, tables: int, alone: bool = True) -> str:
    """Returns the SIGTRAP handler as a program. The handler gets the ucontext_t in rdx, and has its state at `state`.

    `tables` is the address of the tables of `straight_code`. `alone`: the handler returns without the kernel (see
    `returning`); its signal frame must then have no shadow stack.
    """
    step = [f"movabs rax, {state}", _COMING_IN, _LOOKING_AHEAD, _LOGGING, _in_time(state), _planning(tables)]
    ends = [_STOPPING, _GOING_ON, _AT_A_BREAKPOINT, _BEGINNING]
    return "\n".join([*step, returning(alone), _BRANCHING, straight.READING, *ends])


# From here on rsi is the ucontext_t. r9 and r10 are the present instruction and stack pointers; r11 and rdi are those
# before the last instruction. rcx and r8 are for temporary values.
_COMING_IN = f"""
    mov rsi, rdx
    mov r9, [rsi + {RIP}]
    mov r10, [rsi + {RSP}]
    mov rcx, [rax + {REARM}]
    cmp rcx, 0
    jne rearm
    mov rcx, [rax + {TABLE}]
    cmp rcx, 0
    jne breakpoint
    mov rcx, [rax + {PLANTED}]
    cmp rcx, 0
    jne reached
    ; one instruction ran
    mov r8, [rsi + {FLAGS}]
    and r8, {TRAP}
    cmp r8, 0
    je released  ; the one that takes the trap flag away: the stepping is over
    inc qword ptr [rax + {SINGLY}]
    mov r11, [rax + {LAST_RIP}]
    mov rdi, [rax + {LAST_RSP}]
went:
    inc qword ptr [rax + {COUNT}]
before:
    mov qword ptr [rax + {BEGUN}], 1
    mov [rax + {LAST_RIP}], r9
    mov [rax + {LAST_RSP}], r10
    cmp r10, [rax + {STOP}]  ; the stack is above the stepped call's: it has returned or thrown
    ja left
"""
_LOOKING_AHEAD = f"""
    movzx r8, byte ptr [r9]  ; bytes one by one: the second may lie on a page that is not there
    cmp r8, {BREAKPOINT}
    je handles
    cmp r8, {0x0F}
    jne harmless
    movzx r8, byte ptr [r9 + 1]
    cmp r8, {0x05}
    jne harmless
    ; a system call comes next
    mov r8, [rsi + {RAX}]
    cmp r8, {_RT_SIGPROCMASK}
    je mask
    cmp r8, {_RT_SIGACTION}
    je action
    cmp r8, {_CLONE3}
    je starts
    cmp r8, {_EXECVEAT}
    je starts
    cmp r8, {_KILL}
    je second
    cmp r8, {_TKILL}
    je second
    cmp r8, {_TGKILL}
    je third
    cmp r8, {_CLONE}
    jb harmless
    cmp r8, {_EXECVE}
    jbe starts
    jmp harmless
mask:  ; rt_sigprocmask(how, set, ...): does it block SIGTRAP?
    mov r8, [rsi + {RDI}]
    cmp r8, {_SIG_UNBLOCK}
    je harmless
    mov r8, [rsi + {RSI}]
    cmp r8, 0
    je harmless
    mov r8, [r8]
    and r8, {_SIGTRAP_BIT}
    cmp r8, 0
    je harmless
    jmp blocks
action:  ; rt_sigaction(signal, action, ...): does it take SIGTRAP over?
    mov r8, [rsi + {RDI}]
    cmp r8, {SIGTRAP}
    jne harmless
    mov r8, [rsi + {RSI}]
    cmp r8, 0
    je harmless
    jmp handles
    ; kill(process, signal), tkill(thread, signal), tgkill(process, thread, signal): do they send it?
second:
    mov r8, [rsi + {RSI}]
    cmp r8, {SIGTRAP}
    je handles
    jmp harmless
third:
    mov r8, [rsi + {RDX}]
    cmp r8, {SIGTRAP}
    je handles
harmless:
"""
_LOGGING = f"""
    mov r8, r9
    sub r8, r11
    cmp r8, {SEQUENTIAL}
    jbe done
log:
    mov rcx, [rax + {CURSOR}]
    cmp rcx, [rax + {END}]
    jae full
    mov r8, [rax + {SINGLY}]
    cmp r8, [rax + {MOST_SINGLY}]
    jae one_by_one
    mov r8, [rax + {COUNT}]
    cmp r8, [rax + {MOST}]
    jae limit
    mov [rcx], r9
    mov [rcx + 8], r10
    mov [rcx + 16], r11
    mov [rcx + 24], rdi
    mov [rcx + 32], r8
    sub r10, rdi
    cmp r10, 8
    jne entered
    mov r8, [rsi + {RAX}]  ; it returned
    jmp first
entered:
    mov r8, [rsi + {RDI}]
first:
    mov [rcx + 40], r8
    mov r8, [rsi + {RSI}]
    mov [rcx + 48], r8
    mov r8, [rsi + {RDX}]
    mov [rcx + 56], r8
    add rcx, {ROW}
    mov [rax + {CURSOR}], rcx
"""


def _in_time(state: int) -> str:
    """Check whether there is time left. The clock comes in rdx and rax, so rax is loaded again."""
    return f"""
    rdtsc
    shl rdx, 32
    or rdx, rax
    movabs rax, {state}
    cmp rdx, [rax + {DEADLINE}]
    jae late
done:
    mov rcx, [rax + {BEGUN}]
    cmp rcx, 0
    jne stepped
    ret  ; no step was done: the signal mask is another from here on, or nothing is stepped
stepped:
"""


def _planning(tables: int) -> str:
    """Find the next place to stop: rdx goes through the instructions from rip on, and r11 counts them."""
    return f"""
    mov rcx, [rax + {RANGE}]
    cmp r9, [rcx]
    jb search
    cmp r9, [rcx + 8]
    jb inside
search:
    mov rcx, [rax + {RANGES}]
each:
    mov r8, [rcx]
    cmp r8, 0
    je trap
    cmp r9, r8
    jb following
    cmp r9, [rcx + 8]
    jb found
following:
    add rcx, 16
    jmp each
found:
    mov [rax + {RANGE}], rcx
    mov r8, [rcx + 8]
    sub r8, {straight.MARGIN}
    mov [rax + {UNTIL}], r8
inside:
    mov r10, [rsi + {RSP}]
    push rbx
    push rbp
    movabs rbx, {tables}
    mov rdx, r9
    movabs r11, 0
    jmp read
straight:
    add r11, 1
    mov rdx, rdi
    cmp r11, {straight.MOST}
    jae plant
read:
    cmp rdx, [rax + {UNTIL}]
    jb reading
    movabs r8, {straight.END}
ends:
    cmp r11, 0
    je branch
plant:
    pop rbp
    pop rbx
    movzx r8, byte ptr [rdx]
    mov [rax + {COVERED}], r8
    mov [rax + {PLANTED}], rdx
    mov [rax + {AHEAD}], r11
    movabs r8, {BREAKPOINT}
    mov byte ptr [rdx], r8b
    and qword ptr [rsi + {FLAGS}], {~TRAP}
    jmp back
unclear:
    pop rbp
    pop rbx
trap:
    or qword ptr [rsi + {FLAGS}], {TRAP}
back:
"""


def returning(alone: bool) -> str:
    """Return to the state in the ucontext_t in rsi; without the kernel if the handler runs `alone`.

    Usually a handler returns by rt_sigreturn, which reads the whole signal frame: a step takes about 4% longer with it.
    The same can be done here. XRSTOR loads the vector registers from where the kernel saved them (a handler begins with
    none of them set). Plain loads restore the general registers. IRETQ restores the rest, and sets the trap flag again.
    The signal mask is not restored. So the handler must run with SA_NODEFER and without a mask, which leaves the
    mask as it was. If the frame is of another kind, the kernel does the return.
    """
    if not alone:
        return "ret"
    return f"""
    mov rcx, [rsi + {UC_FLAGS}]
    and rcx, {_SAVED}
    cmp rcx, {_SAVED}
    jne by_the_kernel
    mov rcx, [rsi + {XSAVE}]
    mov rax, [rcx + {_FEATURES}]  ; XRSTOR takes them in edx:eax
    mov rdx, rax
    shr rdx, 32
    xrstor64 [rcx]
    push qword ptr [rsi + {_STACK}]
    push qword ptr [rsi + {RSP}]
    push qword ptr [rsi + {FLAGS}]
    push qword ptr [rsi + {_CODE}]
    push qword ptr [rsi + {RIP}]
    mov rax, [rsi + {RAX}]
    mov rcx, [rsi + {RCX}]
    mov rdx, [rsi + {RDX}]
    mov rdi, [rsi + {RDI}]
    mov r8, [rsi + {R8}]
    mov r9, [rsi + {R8 + 8}]
    mov r10, [rsi + {R8 + 16}]
    mov r11, [rsi + {R8 + 24}]
    mov rsi, [rsi + {RSI}]  ; all others are as they were
    iretq
by_the_kernel:
    ret
"""


# The next instruction is not a plain one: rdx is its address, rdi the address after its opcode, r8 its kind. Branches
# by an offset and returns are performed here. The trap flag shows where the other instructions go.
_BRANCHING = f"""
branch:
    cmp r8, {straight.END}
    je unclear
    cmp rcx, 0
    jne unclear  ; a prefix that changes the size
    cmp r8, {straight.RETURN}
    je return
    cmp r8, {straight.SHORT_JUMP}
    je short_jump
    cmp r8, {straight.CALL}
    je call
    cmp r8, {straight.JUMP}
    je jump
    ; on a condition: which is in the opcode, and the flags that it asks for are put beside each other
    mov rcx, rdi
    sub rcx, 1
    movzx rcx, byte ptr [rcx]
    and rcx, 15
    shl rcx, 5
    mov rbp, [rsi + {FLAGS}]
    and rbp, 1
    or rcx, rbp
    mov rbp, [rsi + {FLAGS}]
    shr rbp, 1
    and rbp, 2
    or rcx, rbp
    mov rbp, [rsi + {FLAGS}]
    shr rbp, 4
    and rbp, 12
    or rcx, rbp
    mov rbp, [rsi + {FLAGS}]
    shr rbp, 7
    and rbp, 16
    or rcx, rbp
    add rcx, rbx
    movzx rcx, byte ptr [rcx + {straight.TAKEN}]
    cmp r8, {straight.JCC}
    je long_jcc
    cmp rcx, 0
    jne short_jump
    mov r9, rdi
    add r9, 1
    jmp gone
long_jcc:
    cmp rcx, 0
    jne jump
    mov r9, rdi
    add r9, 4
    jmp gone
short_jump:
    movsx r9, byte ptr [rdi]
    add r9, rdi
    add r9, 1
    jmp gone
call:
    sub r10, 8
    mov rcx, rdi
    add rcx, 4
    mov [r10], rcx
jump:
    movsxd r9, dword ptr [rdi]
    add r9, rdi
    add r9, 4
    jmp gone
return:
    mov r9, [r10]
    add r10, 8
gone:
    pop rbp
    pop rbx
    mov r11, rdx
    mov rdi, [rsi + {RSP}]
    mov [rsi + {RIP}], r9
    mov [rsi + {RSP}], r10
    jmp went
reached:  ; the breakpoint that was set last, unless somebody sent the signal
    mov r8, r9
    sub r8, 1
    cmp r8, rcx
    jne back
    mov r9, rcx
    mov r8, [rax + {COVERED}]
    mov byte ptr [r9], r8b
    mov qword ptr [rax + {PLANTED}], 0
    mov [rsi + {RIP}], r9
    mov r8, [rax + {AHEAD}]
    add r8, [rax + {COUNT}]
    mov [rax + {COUNT}], r8
    mov r11, r9
    mov rdi, r10
    jmp before
released:
    inc qword ptr [rax + {COUNT}]
    jmp back
reading:
"""
_OF_ONE_CALL = (LIMIT, ONE_BY_ONE, LEFT)  # after these, the next call that is wanted may be stepped
_REASONS = "\n".join(
    f"{label}:\n    mov qword ptr [rax + {STATUS}], {status}\n    jmp {'over' if status in _OF_ONE_CALL else 'stop'}"
    for status, label in enumerate(_WHY, FULL)
)
# A call has ended, or was stepped as far as it may be. If further calls are wanted, the breakpoints are set again. The
# calls inside met no breakpoint, so they are counted here, from the rows. A row without an address ends the call:
# COUNT, STATUS, SINGLY and WANTED are in the places of the count and the registers.
_GOING_ON = f"""
over:
    mov rcx, [rax + {LATER}]
    cmp rcx, 0
    je stop
    mov rcx, [rax + {PART}]
count_row:
    add rcx, {ROW}
    cmp rcx, [rax + {CURSOR}]
    jae counted
    mov r8, [rcx]
    mov rdi, [rax + {KEPT}]
compare:
    mov r11, [rdi]
    cmp r11, 0
    je count_row
    cmp r11, r8
    je was_called
    add rdi, {ENTRY}
    jmp compare
was_called:
    inc qword ptr [rax + {HITS}]
    inc qword ptr [rdi + 16]
    jmp count_row
counted:
    cmp rcx, [rax + {END}]
    jae stop
    mov qword ptr [rcx], 0
    mov r8, [rax + {COUNT}]
    mov [rcx + 32], r8
    mov r8, [rax + {STATUS}]
    mov [rcx + 40], r8
    mov r8, [rax + {SINGLY}]
    mov [rcx + 48], r8
    mov r8, [rax + {WANTED}]
    mov [rcx + 56], r8
    add rcx, {ROW}
    mov [rax + {CURSOR}], rcx
    mov r8, [rax + {COUNT}]
    cmp r8, [rax + {ALL}]
    jae stop
    mov r8, [rax + {SINGLY}]
    cmp r8, [rax + {ALL_SINGLY}]
    jae stop
    mov r8, [rax + {ALL}]
    sub r8, [rax + {COUNT}]
    mov [rax + {ALL}], r8
    mov qword ptr [rax + {COUNT}], 0
    mov r8, [rax + {ALL_SINGLY}]
    sub r8, [rax + {SINGLY}]
    mov [rax + {ALL_SINGLY}], r8
    mov qword ptr [rax + {SINGLY}], 0
    mov rcx, [rax + {LATER}]
later:
    mov r8, [rcx]
    cmp r8, 0
    je stop
    add rcx, 8
    cmp r8, [rax + {HITS}]
    jbe later  ; a call inside the one that was stepped
    mov [rax + {LATER}], rcx
    mov [rax + {WANTED}], r8
    mov rcx, [rax + {KEPT}]
    mov [rax + {TABLE}], rcx
    movabs r11, {BREAKPOINT}
set:
    mov r8, [rcx]
    cmp r8, 0
    je go_on
    mov byte ptr [r8], r11b
    add rcx, {ENTRY}
    jmp set
go_on:
    mov qword ptr [rax + {STATUS}], {RUNNING}
    mov qword ptr [rax + {STOP}], -1
    mov qword ptr [rax + {BEGUN}], 0
    mov r8, [rax + {SIGNALS_AFTER}]
    mov [rsi + {SIGNALS}], r8
    and qword ptr [rsi + {FLAGS}], {~TRAP}
    ret
"""
# The call continues at full speed, the signals held back are delivered, and SIGTRAP has its earlier action again.
_STOPPING = f"""{_REASONS}
stop:
    mov r8, [rax + {EXIT}]
    cmp r8, 0
    jne exit
    mov r8, [rax + {SIGNALS_AFTER}]
    mov [rsi + {SIGNALS}], r8
    and qword ptr [rsi + {FLAGS}], {~TRAP}
    movabs rdi, {SIGTRAP}
    mov rsi, rax
    add rsi, {BEFORE}
    movabs rdx, 0
    movabs r10, 8  ; bytes of a kernel's signal set
    movabs rax, {_RT_SIGACTION}
    syscall
    ret
exit:  ; a fork that was made for this one call: nothing else of the program runs in it
    movabs rdi, 0
    movabs rax, {_EXIT_GROUP}
    syscall
"""
_AT_A_BREAKPOINT = f"""
breakpoint:  ; which of them? rcx goes through the table
    mov r8, [rcx]
    cmp r8, 0
    je done  ; none of ours: somebody sent the signal
    add r8, 1
    cmp r8, r9
    je met
    add rcx, {ENTRY}
    jmp breakpoint
met:  ; the instruction that it covers is put back and comes next, under the trap flag
    inc qword ptr [rax + {HITS}]
    inc qword ptr [rcx + 16]
    mov r8, [rcx + 8]
    mov r9, [rcx]
    mov byte ptr [r9], r8b
    mov [rsi + {RIP}], r9
    or qword ptr [rsi + {FLAGS}], {TRAP}
    mov r8, [rax + {LISTING}]
    cmp r8, 0
    je unlisted
    mov rdi, [rax + {CURSOR}]
    cmp rdi, [rax + {END}]
    jae unlisted
    mov [rdi], r9
    add rdi, {ROW}
    mov [rax + {CURSOR}], rdi
unlisted:
    mov r8, [rax + {HITS}]
    cmp r8, [rax + {WANTED}]
    je begin
    mov [rax + {REARM}], r9
    ret
rearm:  ; one instruction after a call that was not asked for: the breakpoint is set again
    movabs r8, {BREAKPOINT}
    mov byte ptr [rcx], r8b
    mov qword ptr [rax + {REARM}], 0
    and qword ptr [rsi + {FLAGS}], {~TRAP}
    ret
"""
_BEGINNING = f"""
begin:  ; a call that was asked for: no more breakpoints
    mov rcx, [rax + {TABLE}]
    mov [rax + {KEPT}], rcx
disarm:
    mov r8, [rcx]
    cmp r8, 0
    je disarmed
    mov r11, [rcx + 8]
    mov byte ptr [r8], r11b
    add rcx, {ENTRY}
    jmp disarm
disarmed:
    mov qword ptr [rax + {TABLE}], 0
    mov r8, [rsi + {SIGNALS}]
    mov [rax + {SIGNALS_AFTER}], r8
    mov r8, [rax + {SIGNALS_MEANWHILE}]
    mov [rsi + {SIGNALS}], r8
    mov r8, [rax + {CURSOR}]
    mov [rax + {PART}], r8
    mov r8, [rax + {EACH}]
    cmp r8, [rax + {ALL}]
    jbe most
    mov r8, [rax + {ALL}]
most:
    mov [rax + {MOST}], r8
    mov r8, [rax + {EACH_SINGLY}]
    cmp r8, [rax + {ALL_SINGLY}]
    jbe most_singly
    mov r8, [rax + {ALL_SINGLY}]
most_singly:
    mov [rax + {MOST_SINGLY}], r8
    mov [rax + {STOP}], r10
    mov [rax + {LAST_RIP}], r9
    mov [rax + {LAST_RSP}], r10
    ; logged as a call from nowhere
    mov rdi, r10
    add rdi, 8
    movabs r11, 0
    jmp log
"""


def runner(function: int) -> str:
    """Returns a program that calls `function` with the arguments given, while the trap flag is set."""
    return f"""
    push rbx  ; keeps the stack aligned to 16
    movabs rax, {function}
    pushfq
    or qword ptr [rsp], {TRAP}
    popfq
    call rax
    pushfq
    and qword ptr [rsp], {~TRAP}
    popfq
    pop rbx
    ret
"""


# Returns the processor's time-stamp counter, which rdtsc gives in edx:eax; the upper halves become zero.
CLOCK = """
    rdtsc
    shl rdx, 32
    or rax, rdx
    ret
"""


# Events of a profile function (cpython/pystate.h: PyTrace_CALL and those after it). And where in a builtin
# (PyCFunctionObject in cpython/methodobject.h) the address of its row of the PyMethodDef table is.
PY_CALL, PY_RETURN, PY_C_CALL = 0, 3, 4
METHOD_ROW = 16


def profile_function(get_code: int) -> str:
    """A profile function for PyEval_SetProfile: it calls `mark`, so that the log shows what Python did, and when.

    `mark` gets the event in rsi. At the beginning and end of a Python function, rdi is the code object. The reference
    from `get_code` (PyFrame_GetCode) is never released, so that no other object gets its address. At the call of a
    builtin, rdi is its PyMethodDef. `mark` comes first in memory, because a jump is always logged only if it goes
    backward or far.
    """
    return f"""
mark:
    ret
profile:
    and rdx, 255  ; an int: the register's upper half may hold anything
    cmp rdx, {PY_C_CALL}
    je builtin
    cmp rdx, {PY_CALL}
    je frame
    cmp rdx, {PY_RETURN}
    jne nothing
frame:
    push rbx  ; keeps the stack aligned to 16
    mov rbx, rdx
    mov rdi, rsi
    movabs rax, {get_code}
    call rax
    mov rdi, rax
    mov rsi, rbx
    pop rbx
    call mark
    jmp nothing
builtin:
    mov rdi, [rcx + {METHOD_ROW}]
    mov rsi, rdx
    call mark
nothing:
    movabs rax, 0
    ret
"""


# A note of an error (`error_note`): eight bytes each, then the return addresses on the C++ stack, then the message.
N_DONE, N_FUNCTION, N_FILE, N_LINE, N_PROCESS, N_LENGTH, N_SECONDS, N_NANOSECONDS, N_DEPTH, N_STACK = range(0, 80, 8)
NOTE_BITS = 12
NOTE = 1 << NOTE_BITS  # bytes
NOTES = 64  # the last so many notes are kept
NOTED_DEPTH = 192  # addresses
N_WORDS = N_STACK + 8 * NOTED_DEPTH
NOTED_WORDS = NOTE - N_WORDS  # bytes
_GETPID, _CLOCK_GETTIME = 39, 228


def _kept_stack(number: int, backtrace: int) -> str:
    """Store in a note: the result of a system call (a process or thread number), the time, and the stack."""
    return f"""
    movabs rax, {number}
    syscall
    mov [rbx + {N_PROCESS}], rax
    movabs rdi, 0  ; CLOCK_REALTIME, that of the profiler's events
    mov rsi, rbx
    add rsi, {N_SECONDS}
    movabs rax, {_CLOCK_GETTIME}
    syscall
    mov rdi, rbx
    add rdi, {N_STACK}
    movabs rsi, {NOTED_DEPTH}
    movabs rax, {backtrace}
    call rax
    mov [rbx + {N_DEPTH}], rax
"""


def error_note(notes: int, constructor: int, backtrace: int, *, counted_strings: bool) -> str:
    """Note an error that is being made, then go on to its constructor, c10::Error::Error(SourceLocation, std::string).

    At `notes` is the number of notes so far; the notes begin one NOTE after it. The string comes by reference in rsi:
    the address of its bytes, and its length. In the older ABI (`counted_strings`) the length is three words before the
    bytes. The location is on the stack: function, file, line (c10/util/Exception.h). `backtrace` is the function of
    execinfo.h.
    """
    length = "mov rcx, rsi\n    sub rcx, 24\n    mov rcx, [rcx]" if counted_strings else "mov rcx, [rcx + 8]"
    return f"""
    push rbp
    mov rbp, rsp
    push rdi
    push rsi
    push rbx
    movabs rbx, {notes}
    movabs rax, 1
    lock xadd [rbx], rax
    push rax  ; its number; the stack is aligned to 16 now
    and rax, {NOTES - 1}
    shl rax, {NOTE_BITS}
    add rbx, {NOTE}
    add rbx, rax
    mov qword ptr [rbx + {N_DONE}], 0
    mov rax, [rbp + 16]
    mov [rbx + {N_FUNCTION}], rax
    mov rax, [rbp + 24]
    mov [rbx + {N_FILE}], rax
    mov rax, [rbp + 32]
    mov [rbx + {N_LINE}], rax
    mov rcx, rsi
    mov rsi, [rsi]
    {length}
    mov [rbx + {N_LENGTH}], rcx
    cmp rcx, {NOTED_WORDS}
    jbe fits
    movabs rcx, {NOTED_WORDS}
fits:
    mov rdi, rbx
    add rdi, {N_WORDS}
copy:
    cmp rcx, 0
    je copied
    movzx r8, byte ptr [rsi]
    mov byte ptr [rdi], r8b
    add rsi, 1
    add rdi, 1
    sub rcx, 1
    jmp copy
copied:
    {_kept_stack(_GETPID, backtrace)}
    pop rax
    add rax, 1
    mov [rbx + {N_DONE}], rax
    pop rbx
    pop rsi
    pop rdi
    pop rbp
    movabs rax, {constructor}
    jmp rax
"""


_GETTID = 186


def raise_note(notes: int, number: int, watched: int, backtrace: int, *, has_words: bool) -> str:
    """Note a call of a function that raises, then go on to it: a PyErr_ function of Python, or __cxa_throw of C++.

    At `notes` is the number of notes so far; the notes begin one NOTE after it. `number` identifies the function, and
    `watched` is its address. Its first two arguments are stored where `error_note` stores file and line, and the
    thread's number where that stores the process's. If the second argument is a text (`has_words`), the text is stored,
    too, without the NUL at its end. PyErr_Format takes any number of arguments: all registers that may hold one keep
    their values (it takes no floating-point numbers).
    """
    words = f"""
    mov rdi, rbx
    add rdi, {N_WORDS}
copy:
    cmp rcx, {NOTED_WORDS}
    je copied
    movzx r8, byte ptr [rsi]
    cmp r8, 0
    je copied
    mov byte ptr [rdi], r8b
    add rsi, 1
    add rdi, 1
    add rcx, 1
    jmp copy
copied:
"""
    return f"""
    push rbp
    mov rbp, rsp
    push rdi
    push rsi
    push rdx
    push rcx
    push rbx
    sub rsp, 24  ; the stack is aligned to 16 now
    mov [rsp], r8
    mov [rsp + 8], r9
    movabs rbx, {notes}
    movabs rax, 1
    lock xadd [rbx], rax
    mov [rsp + 16], rax
    and rax, {NOTES - 1}
    shl rax, {NOTE_BITS}
    add rbx, {NOTE}
    add rbx, rax
    mov qword ptr [rbx + {N_DONE}], 0
    mov qword ptr [rbx + {N_FUNCTION}], {number}
    mov [rbx + {N_FILE}], rdi
    mov [rbx + {N_LINE}], rsi
    movabs rcx, 0
    {words if has_words else ""}
    mov [rbx + {N_LENGTH}], rcx
    {_kept_stack(_GETTID, backtrace)}
    mov rax, [rsp + 16]
    add rax, 1
    mov [rbx + {N_DONE}], rax
    mov r8, [rsp]
    mov r9, [rsp + 8]
    add rsp, 24
    pop rbx
    pop rcx
    pop rdx
    pop rsi
    pop rdi
    pop rbp
    movabs rax, {watched}
    jmp rax
"""


def unwinding(begin: int, size: int) -> bytes:
    """Returns how to unwind through `error_note` (DWARF 5, 6.4): an .eh_frame of one function with its frame in rbp."""
    rsp, rbp, returned = 7, 6, 16
    def_cfa, offset, advance = 0x0C, 0x80, 0x40
    rules = bytes([1, 0, 1, 0x78, returned, def_cfa, rsp, 8, offset | returned, 1])  # version, "", factors 1 and -8
    common = _entry(struct.pack("<I", 0) + rules)
    own = struct.pack("<IQQ", len(common) + 4, begin, size)
    own += bytes([advance | 4, def_cfa, rbp, 16, offset | rbp, 2])  # after `push rbp` and `mov rbp, rsp`
    return common + _entry(own) + bytes(4)


def _entry(data: bytes) -> bytes:
    padded = data + bytes(-(len(data) + 4) % 8)  # with instructions that do nothing
    return struct.pack("<I", len(padded)) + padded


_REGISTERS = {name: number for number, name in enumerate(["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"])}
_REGISTERS |= {f"r{number}{low}": number for number in range(8, 16) for low in ("", "b")}
_MEMORY = re.compile(r"(?:(?:qword|dword|byte) ptr )?\[(\w+)(?: \+ (\d+))?\]\Z")

# How each instruction is encoded, by its name and the kinds of its operands. Kinds: r is a register, m eight bytes of
# memory, b and d one and four bytes of memory, n a number, l a label. The notation is that of the Intel 64 manual,
# volume 2. "48" is REX.W, "50+" an opcode that contains the register, "/r" and "/5" a ModRM byte. "ib", "id" and "io"
# are numbers of one, four and eight bytes, and "cd" is the distance to a label.
_ENCODINGS = {
    "mov rm": "48 8b /r", "mov mr": "48 89 /r", "mov rr": "48 89 /r", "mov mn": "48 c7 /0 id", "mov br": "48 88 /r",
    "movabs rn": "48 b8+ io", "movzx rb": "48 0f b6 /r", "movsx rb": "48 0f be /r",
    "movsxd rd": "48 63 /r", "inc m": "48 ff /0", "shl rn": "48 c1 /4 ib",
    "shr rn": "48 c1 /5 ib", "push r": "50+", "pop r": "58+", "push m": "ff /6", "pushfq": "9c", "popfq": "9d",
    "call r": "ff /2", "call l": "e8 cd", "ret": "c3", "rdtsc": "0f 31", "syscall": "0f 05", "iretq": "48 cf",
    "xrstor64 m": "48 0f ae /5", "jmp r": "ff /4", "xadd mr": "48 0f c1 /r",
    "jmp l": "e9 cd", "jb l": "0f 82 cd", "jae l": "0f 83 cd", "je l": "0f 84 cd", "jne l": "0f 85 cd",
    "jbe l": "0f 86 cd", "ja l": "0f 87 cd",
}  # fmt: skip
for _digit, _name in ((0, "add"), (1, "or"), (4, "and"), (5, "sub"), (7, "cmp")):
    _ENCODINGS |= dict.fromkeys((f"{_name} rn", f"{_name} mn"), f"48 81 /{_digit} id")
    _ENCODINGS |= {f"{_name} rr": f"48 {_digit << 3 | 1:02x} /r", f"{_name} rm": f"48 {_digit << 3 | 3:02x} /r"}
_NUMBERS = {"ib": "<B", "id": "<i", "io": "<Q", "cd": "<i"}


def assemble(program: str) -> tuple[bytes, dict[str, int]]:
    """Returns a program's bytes and the offset of every label. Raises KeyError for an unknown instruction or label."""
    code, offsets, jumps = bytearray(), {}, []
    for line in program.splitlines():
        text = line.partition(";")[0].strip()
        if text.endswith(":"):
            offsets[text[:-1]] = len(code)
        elif text:
            if text.startswith("lock "):
                code.append(0xF0)
                text = text.removeprefix("lock ")
            name, _, rest = text.partition(" ")
            operands = rest.split(", ") if rest else []
            code += _encoded(name, operands)
            if operands and _kind(operands[0]) == "l":
                jumps.append((operands[0], len(code)))
    for label, end in jumps:
        struct.pack_into("<i", code, end - 4, offsets[label] - end)
    return bytes(code), offsets


def _kind(operand: str) -> str:
    if operand in _REGISTERS:
        return "r"
    if _MEMORY.match(operand):
        return {"b": "b", "d": "d"}.get(operand[0], "m")
    return "n" if operand.lstrip("-").isdigit() else "l"


def _encoded(name: str, operands: list[str]) -> bytes:
    """Returns the bytes of one instruction; the last four bytes of a jump to a label are still zero."""
    kinds = [_kind(operand) for operand in operands]
    encoding = _ENCODINGS[" ".join([name, "".join(kinds)]).strip()].split()
    memory = next((match for operand in operands if (match := _MEMORY.match(operand))), None)
    registers = [_REGISTERS[operand] for operand in operands if operand in _REGISTERS]
    # ModRM's lower part names memory, or else the first register. Its middle part names the other register.
    base = _REGISTERS[memory[1]] if memory else registers.pop(0) if registers else 0
    digit = next((int(part[1]) for part in encoding if part[0] == "/" and part != "/r"), None)
    middle = digit if digit is not None else registers[0] if registers else 0
    number = int(operands[-1]) if "n" in kinds else 0
    code = bytearray()
    for part in encoding:
        if part == "48":
            code.append(0x48 | middle >> 3 << 2 | base >> 3)
        elif part[0] == "/":
            code += _modrm(middle, base, memory)
        elif part[-1] == "+":
            code.append(int(part[:-1], 16) | base & 7)
        else:
            code += struct.pack(_NUMBERS[part], number) if part in _NUMBERS else bytes.fromhex(part)
    return bytes(code)


def _modrm(middle: int, base: int, memory: re.Match[str] | None) -> bytes:
    """Returns a ModRM byte; for memory with a 32-bit displacement, and the SIB byte that a base of rsp or r12 needs."""
    if memory is None:
        return bytes([0xC0 | (middle & 7) << 3 | base & 7])
    sib = b"\x24" if base & 7 == 4 else b""
    return bytes([0x80 | (middle & 7) << 3 | base & 7]) + sib + struct.pack("<i", int(memory[2] or 0))
