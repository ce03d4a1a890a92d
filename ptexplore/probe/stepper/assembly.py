"""A small assembler for the few x86-64 instructions that the stepper needs: each written as text, encoded, placed.

Encodings are those of the Intel 64 manual, volume 2: REX.W + opcode + ModRM with a 32-bit displacement.
Every function returns one instruction; `assemble` resolves labels. What the text says is what a disassembler
reads back: a test holds the two against each other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

REGISTERS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{n}" for n in range(8, 16)))
_CONDITIONS = {"jb": 2, "jae": 3, "je": 4, "jne": 5, "jbe": 6, "ja": 7}
_ALU = {"add": 0, "or": 1, "and": 4, "sub": 5, "cmp": 7}


@dataclass(frozen=True)
class Instruction:
    """One instruction: as text, and its bytes. `target` is the label that a jump's last four bytes lead to."""

    text: str
    code: bytes
    target: str | None = None


@dataclass(frozen=True)
class Label:
    """A place in the code."""

    name: str


def _number(register: str) -> int:
    return REGISTERS.index(register)


def _rex(register: int, base: int) -> int:
    return 0x48 | (register >> 3) << 2 | base >> 3


def _memory(opcode: int, register: int, base: str, displacement: int) -> bytes:
    """REX.W opcode /register with [base + disp32]; rsp and r12 as a base need a SIB byte."""
    number = _number(base)
    sib = b"\x24" if number & 7 == 4 else b""
    modrm = 0x80 | (register & 7) << 3 | number & 7
    return bytes([_rex(register, number), opcode, modrm]) + sib + struct.pack("<i", displacement)


def _direct(opcode: int, register: int, other: int) -> bytes:
    """REX.W opcode /register with a register as the other operand."""
    return bytes([_rex(register, other), opcode, 0xC0 | (register & 7) << 3 | other & 7])


def _at(base: str, displacement: int) -> str:
    if displacement == 0:
        return f"qword ptr [{base}]"
    sign, size = ("-", -displacement) if displacement < 0 else ("+", displacement)
    return f"qword ptr [{base} {sign} {size if size < 10 else hex(size)}]"


def _value(number: int) -> str:
    return f"{number}" if 0 <= number < 10 else hex(number)


def load(target: str, base: str, displacement: int) -> Instruction:
    """`target` = the eight bytes at base + displacement."""
    code = _memory(0x8B, _number(target), base, displacement)
    return Instruction(f"mov {target}, {_at(base, displacement)}", code)


def store(base: str, displacement: int, source: str) -> Instruction:
    """The eight bytes at base + displacement = `source`."""
    code = _memory(0x89, _number(source), base, displacement)
    return Instruction(f"mov {_at(base, displacement)}, {source}", code)


def store_byte(base: str, displacement: int, source: str) -> Instruction:
    """The byte at base + displacement = the lowest byte of `source`, one of r8 to r15."""
    code = _memory(0x88, _number(source), base, displacement)
    return Instruction(f"mov {_at(base, displacement).replace('qword', 'byte')}, {source}b", code)


def load_byte(target: str, base: str, displacement: int) -> Instruction:
    """`target` = the byte at base + displacement, zeros above it."""
    number, place = _number(target), _number(base)
    modrm = 0x80 | (number & 7) << 3 | place & 7
    code = bytes([_rex(number, place), 0x0F, 0xB6, modrm]) + struct.pack("<i", displacement)
    return Instruction(f"movzx {target}, {_at(base, displacement).replace('qword', 'byte')}", code)


def constant(target: str, value: int) -> Instruction:
    """`target` = a 64-bit number."""
    number = _number(target)
    code = bytes([0x48 | number >> 3, 0xB8 | number & 7]) + struct.pack("<Q", value)
    return Instruction(f"movabs {target}, {_value(value)}", code)


def move(target: str, source: str) -> Instruction:
    """`target` = `source`."""
    return Instruction(f"mov {target}, {source}", _direct(0x89, _number(source), _number(target)))


def alu(name: str, target: str, source: str) -> Instruction:
    """add, or, and, sub or cmp of two registers."""
    return Instruction(f"{name} {target}, {source}", _direct(_ALU[name] << 3 | 1, _number(source), _number(target)))


def alu_memory(name: str, target: str, base: str, displacement: int) -> Instruction:
    """add, or, and, sub or cmp of a register with memory."""
    code = _memory(_ALU[name] << 3 | 3, _number(target), base, displacement)
    return Instruction(f"{name} {target}, {_at(base, displacement)}", code)


def alu_constant(name: str, target: str, value: int) -> Instruction:
    """add, or, and, sub or cmp of a register with a signed 32-bit number."""
    number = _number(target)
    code = bytes([_rex(0, number), 0x81, 0xC0 | _ALU[name] << 3 | number & 7]) + struct.pack("<i", value)
    return Instruction(f"{name} {target}, {_value(value & (1 << 64) - 1)}", code)


def memory_constant(name: str, base: str, displacement: int, value: int) -> Instruction:
    """add, or, and, sub or cmp of memory with a signed 32-bit number."""
    code = _memory(0x81, _ALU[name], base, displacement) + struct.pack("<i", value)
    return Instruction(f"{name} {_at(base, displacement)}, {_value(value & (1 << 64) - 1)}", code)


def put(base: str, displacement: int, value: int) -> Instruction:
    """The eight bytes at base + displacement = a signed 32-bit number."""
    code = _memory(0xC7, 0, base, displacement) + struct.pack("<i", value)
    return Instruction(f"mov {_at(base, displacement)}, {_value(value & (1 << 64) - 1)}", code)


def shift_left(target: str, bits: int) -> Instruction:
    """`target` moved up by so many bits."""
    number = _number(target)
    return Instruction(f"shl {target}, {_value(bits)}", bytes([_rex(0, number), 0xC1, 0xE0 | number & 7, bits]))


def shift_right(target: str, bits: int) -> Instruction:
    """`target` moved down by so many bits, zeros above them."""
    number = _number(target)
    return Instruction(f"shr {target}, {_value(bits)}", bytes([_rex(0, number), 0xC1, 0xE8 | number & 7, bits]))


def increment(base: str, displacement: int) -> Instruction:
    """One more in the eight bytes at base + displacement."""
    return Instruction(f"inc {_at(base, displacement)}", _memory(0xFF, 0, base, displacement))


def jump(condition: str, target: str) -> Instruction:
    """Go to a label where the last comparison (unsigned) says so: jb, jae, je, jne, jbe, ja; or always: jmp."""
    code = b"\xe9" if condition == "jmp" else bytes([0x0F, 0x80 | _CONDITIONS[condition]])
    return Instruction(condition, code + bytes(4), target)


def call(register: str) -> Instruction:
    """Call what a register points at; one of the first eight."""
    return Instruction(f"call {register}", bytes([0xFF, 0xD0 | _number(register)]))


def push(register: str) -> Instruction:
    """Push one of the first eight registers."""
    return Instruction(f"push {register}", bytes([0x50 | _number(register)]))


def push_memory(base: str, displacement: int) -> Instruction:
    """Push the eight bytes at base + displacement; the base is one of the first eight, but not rsp."""
    code = bytes([0xFF, 0xB0 | _number(base)]) + struct.pack("<i", displacement)
    return Instruction(f"push {_at(base, displacement)}", code)


def restore_state(base: str) -> Instruction:
    """Load the registers beside the general ones that edx:eax names from the XSAVE area that begins at base."""
    return Instruction(f"xrstor64 ptr [{base}]", _memory(0x0F, 5, base, 0).replace(b"\x0f", b"\x0f\xae", 1))


def pop(register: str) -> Instruction:
    """Pop one of the first eight registers."""
    return Instruction(f"pop {register}", bytes([0x58 | _number(register)]))


PUSH_FLAGS = Instruction("pushfq", b"\x9c")
POP_FLAGS = Instruction("popfq", b"\x9d")
CLOCK = Instruction("rdtsc", b"\x0f\x31")  # edx:eax = the time-stamp counter; the upper halves become zero
SYSTEM_CALL = Instruction("syscall", b"\x0f\x05")  # number in rax; arguments in rdi, rsi, rdx, r10
RETURN = Instruction("ret", b"\xc3")
RETURN_FROM_TRAP = Instruction("iretq", b"\x48\xcf")  # pops rip, cs, the flags, rsp, ss


def assemble(program: Sequence[Instruction | Label]) -> tuple[bytes, dict[str, int]]:
    """The program's bytes, and the offset of every label. Raises KeyError for a jump to a label that is not there."""
    offsets: dict[str, int] = {}
    position = 0
    for one in program:
        if isinstance(one, Label):
            offsets[one.name] = position
        else:
            position += len(one.code)
    code = bytearray()
    for one in program:
        if isinstance(one, Instruction):
            code += one.code
            if one.target is not None:
                code[-4:] = struct.pack("<i", offsets[one.target] - len(code))
    return bytes(code), offsets
