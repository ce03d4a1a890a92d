"""How far x86-64 code goes straight on: the lengths of its instructions, and where its branches lead.

A step with the trap flag raises #DB, for which the kernel reads a debug register. In a virtual machine the host must
answer that read, and one step takes as long as six breakpoints (#BP). So the handler reads on until the next
instruction that may go elsewhere, and sets a breakpoint there. All instructions before it run at full speed. The
handler carries out a plain branch itself. An instruction that the tables do not know for certain is stepped with the
trap flag.

From the Intel 64 manual, volume 2: 2.1 to 2.3 (how an instruction is encoded), appendix A (opcodes).
"""

from __future__ import annotations

from collections.abc import Iterable

# The meaning of a byte at the position of an opcode. Below ESCAPE it is an ordinary instruction: bit 0 says whether it
# has a ModRM byte, and the other bits say which immediate operand it has.
HAS_MODRM = 1
NO_NUMBER, BYTE, WORD_OR_MORE, UP_TO_EIGHT = 0, 2, 4, 6
ESCAPE, VEX2, VEX3, EVEX, THREE_BYTES, THREE_BYTES_AND_NUMBER = 0x10, 0x11, 0x12, 0x13, 0x14, 0x15
REX, REX_W, PREFIX, SIZE_PREFIX = 0x20, 0x21, 0x22, 0x23
NOT_BYTE, NOT_WORD, MOV_BYTE, MOV_WORD, CALL_OR_JUMP = 0x30, 0x31, 0x32, 0x33, 0x34  # the ModRM byte says which
# From here on: instructions that do not go straight on, or that are unknown. The handler carries out those after END.
END, SHORT_JCC, JCC, CALL, JUMP, SHORT_JUMP, RETURN = range(0x40, 0x47)

# Where each table begins. A table has 256 bytes, except the last two.
FIRST, SECOND, VECTOR, MODRM, SIZES, TAKEN = 0, 256, 512, 768, 1024, 1056
LENGTH = TAKEN + 512
WITH_SIB = 0x80  # in the table of ModRM bytes: the next byte may require four more bytes
MOST = 48  # how many instructions are read ahead
MARGIN = 32  # nothing is read ahead into the last bytes of the known code
_SIZE, _WIDE = 1, 2  # the flags of prefixes: 66, REX.W


def tables(returns: bool = True) -> bytes:
    """Return the tables. `returns`: the handler may carry out calls and returns itself.

    It may if return addresses are on one stack only, which means that there is no shadow stack.
    """
    made = bytearray(LENGTH)
    made[FIRST:SECOND] = _first()
    made[SECOND:VECTOR] = _second()
    made[VECTOR:MODRM] = _vector()
    made[MODRM:SIZES] = bytes(_of_modrm(byte) for byte in range(256))
    for kind, sizes in enumerate(((0, 0, 0, 0), (1, 1, 1, 1), (4, 2, 4, 4), (4, 2, 8, 8))):
        made[SIZES + 4 * kind : SIZES + 4 * kind + 4] = bytes(sizes)
    made[TAKEN:LENGTH] = bytes(_is_taken(condition, flags) for condition in range(16) for flags in range(32))
    if not returns:
        made[FIRST + 0xE8], made[FIRST + 0xC3] = END, END
    return bytes(made)


def _filled(*rows: tuple[int, Iterable[int]]) -> bytes:
    table = bytearray([END] * 256)
    for meaning, opcodes in rows:
        for opcode in opcodes:
            table[opcode] = meaning
    return bytes(table)


def _first() -> bytes:
    """Return the table of one-byte opcodes. Flags, segments, ports, strings and far addresses end the straight code."""
    arithmetic = range(0x00, 0x40, 8)
    return _filled(
        (HAS_MODRM, [opcode + form for opcode in arithmetic for form in range(4)]),
        (BYTE, [opcode + 4 for opcode in arithmetic]),
        (WORD_OR_MORE, [opcode + 5 for opcode in arithmetic]),
        (ESCAPE, [0x0F]),
        (PREFIX, [0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0xF0, 0xF2, 0xF3]),
        (SIZE_PREFIX, [0x66]),
        (REX, range(0x40, 0x48)),
        (REX_W, range(0x48, 0x50)),
        (NO_NUMBER, [*range(0x50, 0x60), *range(0x90, 0x9A), 0x9B, 0x9E, 0x9F, 0xC9, 0xF5, 0xF8, 0xF9, 0xFC, 0xFD]),
        (EVEX, [0x62]),
        (HAS_MODRM, [0x63, *range(0x84, 0x8C), 0x8D, *range(0xD0, 0xD4), *range(0xD8, 0xE0), 0xFE]),
        (WORD_OR_MORE, [0x68, 0xA9]),
        (HAS_MODRM | WORD_OR_MORE, [0x69, 0x81]),
        (BYTE, [0x6A, 0xA8, *range(0xB0, 0xB8)]),
        (HAS_MODRM | BYTE, [0x6B, 0x80, 0x83, 0xC0, 0xC1]),
        (UP_TO_EIGHT, range(0xB8, 0xC0)),
        (VEX3, [0xC4]),
        (VEX2, [0xC5]),
        (MOV_BYTE, [0xC6]),
        (MOV_WORD, [0xC7]),
        (NOT_BYTE, [0xF6]),
        (NOT_WORD, [0xF7]),
        (CALL_OR_JUMP, [0xFF]),
        (SHORT_JCC, range(0x70, 0x80)),
        (CALL, [0xE8]),
        (JUMP, [0xE9]),
        (SHORT_JUMP, [0xEB]),
        (RETURN, [0xC3]),
    )


def _second() -> bytes:
    """Return the table of the opcodes behind 0F."""
    return _filled(
        (HAS_MODRM, [0x0D, *range(0x10, 0x20), *range(0x28, 0x30), *range(0x40, 0x70), *range(0x74, 0x77)]),
        (HAS_MODRM, [*range(0x7C, 0x80), *range(0x90, 0xA0), 0xA3, 0xA5, 0xAB, 0xAD, 0xAE, 0xAF, 0xB0, 0xB1, 0xB3]),
        (HAS_MODRM, [0xB6, 0xB7, 0xB8, *range(0xBB, 0xC2), 0xC3, 0xC7, *range(0xD0, 0xFF)]),
        (HAS_MODRM | BYTE, [*range(0x70, 0x74), 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6]),
        (NO_NUMBER, [0x31, 0x77, 0xA2, *range(0xC8, 0xD0)]),
        (THREE_BYTES, [0x38]),
        (THREE_BYTES_AND_NUMBER, [0x3A]),
        (JCC, range(0x80, 0x90)),
    )


def _vector() -> bytes:
    """Return the same table for instructions with a VEX or EVEX prefix."""
    return _filled(
        (HAS_MODRM, [*range(0x10, 0x18), *range(0x28, 0x30), 0x41, 0x42, *range(0x44, 0x48), 0x4A, 0x4B]),
        (HAS_MODRM, [*range(0x50, 0x70), *range(0x74, 0x77), *range(0x78, 0x80), *range(0x90, 0x94), 0x98, 0x99]),
        (HAS_MODRM, [0xAE, *range(0xD0, 0xFF)]),
        (HAS_MODRM | BYTE, [*range(0x70, 0x74), 0xC2, 0xC4, 0xC5, 0xC6]),
        (NO_NUMBER, [0x77]),
    )


def _of_modrm(byte: int) -> int:
    """Return the length of a ModRM byte with the bytes that it requires (volume 2, table 2-2)."""
    mode, base = byte >> 6, byte & 7
    if mode == 3:
        return 1
    length = 1 + (0, 1, 4)[mode]
    if base == 4:
        return (length + 1) | (WITH_SIB if mode == 0 else 0)
    return length + 4 if base == 5 and mode == 0 else length


def _is_taken(condition: int, flags: int) -> bool:
    """Return whether a branch with this condition is taken.

    `flags` has CF, PF, ZF, SF, OF in bits 0 to 4 (appendix B.1.4).
    """
    carry, parity, zero, sign, overflow = (bool(flags >> bit & 1) for bit in range(5))
    less = sign != overflow
    holds = (overflow, carry, zero, carry or zero, sign, parity, less, less or zero)[condition >> 1]
    return holds != bool(condition & 1)


# Reads one instruction. rdx is its address, rbx the address of the tables. It continues at `straight`, where rdi is the
# address after the instruction. Or it continues at `ends`, where r8 is the kind of instruction, rdi the address after
# its opcode, and rcx its flags of the two prefixes. It changes rcx, rdi, r8 and rbp.
READING = f"""
    mov rdi, rdx
    movabs rcx, 0
opcode:
    movzx r8, byte ptr [rdi]
    add rdi, 1
    add r8, rbx
    movzx r8, byte ptr [r8 + {FIRST}]
meaning:
    cmp r8, {ESCAPE}
    jb ordinary
    cmp r8, {REX_W}
    je wide
    cmp r8, {END}
    jae ends
    cmp r8, {ESCAPE}
    je escaped
    cmp r8, {REX}
    je narrow
    cmp r8, {PREFIX}
    je narrow
    cmp r8, {SIZE_PREFIX}
    je sized
    cmp r8, {VEX2}
    je vex2
    cmp r8, {VEX3}
    je vex3
    cmp r8, {EVEX}
    je evex
    cmp r8, {THREE_BYTES}
    je three
    cmp r8, {THREE_BYTES_AND_NUMBER}
    je three_and_number
    ; the middle of the ModRM byte says more
    movzx rbp, byte ptr [rdi]
    and rbp, 56
    cmp r8, {CALL_OR_JUMP}
    je call_or_jump
    cmp r8, {MOV_BYTE}
    je mov_byte
    cmp r8, {MOV_WORD}
    je mov_word
    cmp rbp, 16
    jae without
    cmp r8, {NOT_BYTE}
    je with_byte
with_word:
    movabs r8, {HAS_MODRM | WORD_OR_MORE}
    jmp ordinary
with_byte:
    movabs r8, {HAS_MODRM | BYTE}
    jmp ordinary
without:
    movabs r8, {HAS_MODRM}
    jmp ordinary
mov_byte:
    cmp rbp, 0
    je with_byte
    jmp unknown
mov_word:
    cmp rbp, 0
    je with_word
    jmp unknown
call_or_jump:
    cmp rbp, 16
    jb without
    cmp rbp, 48
    je without
unknown:
    movabs r8, {END}
    jmp ends
wide:
    or rcx, {_WIDE}
    jmp opcode
narrow:
    and rcx, {_SIZE}
    jmp opcode
sized:
    movabs rcx, {_SIZE}
    jmp opcode
escaped:
    movzx r8, byte ptr [rdi]
    add rdi, 1
    add r8, rbx
    movzx r8, byte ptr [r8 + {SECOND}]
    jmp meaning
vex2:
    add rdi, 1
vector:
    movzx r8, byte ptr [rdi]
    add rdi, 1
    add r8, rbx
    movzx r8, byte ptr [r8 + {VECTOR}]
    jmp meaning
vex3:
    movzx r8, byte ptr [rdi]
    and r8, 31
    add rdi, 2
    jmp map
evex:
    movzx r8, byte ptr [rdi]
    and r8, 7
    add rdi, 3
map:
    cmp r8, 1
    je vector
    cmp r8, 2
    je three
    cmp r8, 3
    je three_and_number
    jmp unknown
three:
    add rdi, 1
    jmp without
three_and_number:
    add rdi, 1
    jmp with_byte
ordinary:
    mov rbp, r8
    shr rbp, 1
    shl rbp, 2
    or rbp, rcx
    add rbp, rbx
    movzx rbp, byte ptr [rbp + {SIZES}]
    and r8, {HAS_MODRM}
    cmp r8, 0
    je operands
    movzx r8, byte ptr [rdi]
    add r8, rbx
    movzx r8, byte ptr [r8 + {MODRM}]
    cmp r8, {WITH_SIB}
    jb no_more
    movzx rcx, byte ptr [rdi + 1]
    and rcx, 7
    cmp rcx, 5
    jne sib
    add rdi, 4
sib:
    and r8, {WITH_SIB - 1}
no_more:
    add rdi, r8
operands:
    add rdi, rbp
    jmp straight
"""

# Returns the length of the instruction at rdi, or 0 for one that does not go straight on. For the test of the tables.
MEASURE = f"""
    push rbx
    push rbp
    mov rbx, rsi
    mov rdx, rdi
{READING}
straight:
    mov rax, rdi
    sub rax, rdx
    jmp measured
ends:
    movabs rax, 0
measured:
    pop rbp
    pop rbx
    ret
"""
