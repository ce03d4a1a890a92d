"""The truth check: a record is confirmed only when its line holds the macro of its key, with its operator inside."""

from __future__ import annotations

from dataclasses import dataclass

from ptexplore.index.blocks import Block, Entry
from ptexplore.model import DumpRecord

HANDWRITTEN = "hand-written C++ is not in the wheel"
NO_FILE = "the binary names no file for it"
NO_CALLABLE = "Python registered it and no table of Python's names the callable"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a record is confirmed, and why not; `entry` is its own m.impl or m.def where that is the only one."""

    confirmed: bool
    why_not: str | None
    block: Block | None = None
    entry: Entry | None = None


def verify(record: DumpRecord, blocks: dict[int, Block]) -> Verdict:
    """Check one record that points into a generated file against that file's blocks."""
    block = blocks.get(record.line or 0)
    if block is None:
        return Verdict(False, f"no registration macro at line {record.line} of the regenerated file")
    if record.key != block.key:
        return Verdict(False, f"the macro at line {record.line} is for {block.key or 'schemas'}, not {record.key}")
    if record.key is None and block.macro == "TORCH_LIBRARY_IMPL":
        return Verdict(False, f"the macro at line {record.line} registers kernels, not schemas")
    entries = block.entries.get(record.op, [])
    if not entries:
        return Verdict(False, f"the block at line {record.line} does not name {record.op}")
    if len(entries) > 1:
        lines = ", ".join(str(entry.line) for entry in entries)
        return Verdict(False, f"the block at line {record.line} names {record.op} on lines {lines}", block)
    return Verdict(True, None, block, entries[0])
