"""The truth check of a hand-written record: its line holds the macro of its key, with its operator inside.

A record is what `_dispatch_dump` says of one kernel or schema. Where a macro invocation spans lines, clang records its
first and GCC its last; both are taken. Aliases among keys are those of c10/core/DispatchKey.h.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptexplore.cpp.text import Text
from ptexplore.model.operators import DumpRecord
from ptexplore.model.symbols import Dialect

_ALIASES = {
    "Autocast": "AutocastCUDA",
    "CatchAll": "CompositeImplicitAutograd",
    "DefaultBackend": "CompositeExplicitAutograd",
    "CPUTensorId": "CPU",
    "CUDATensorId": "CUDA",
    "PrivateUse1_PreAutograd": "AutogradPrivateUse1",
}


def same_key(one: str | None, other: str | None) -> bool:
    """Whether two spellings name one dispatch key."""
    return one == other or (
        one is not None and other is not None and _ALIASES.get(one, one) == _ALIASES.get(other, other)
    )


def confirm(record: DumpRecord, rows: Sequence[Dialect], text: Text | None = None) -> tuple[Dialect | None, str | None]:
    """The row of `record`'s own m.impl or m.def, or why there is none, given the rows of the file that it names.

    With `text`, a macro invocation that ends at the recorded line counts too. Of several rows that fit (a list that
    names an operator twice) none is given.
    """
    libraries = _libraries(record.line, rows, text)
    if not libraries:
        return None, f"no registration macro at line {record.line}"
    fitting = [one for one in libraries if _opens(one, record)]
    if not fitting:
        keys = ", ".join(sorted({one.context or "schemas" for one in libraries}))
        return None, f"the macro at line {record.line} is for {keys}, not {record.key or 'schemas'}"
    lines = {one.line for one in fitting}
    kinds = ("def",) if record.key is None else ("impl", "def")
    inside = [one for one in rows if one.kind in kinds and one.block in lines and one.name == record.op]
    if not inside:
        return None, f"the block at line {record.line} does not name {record.op}"
    if record.key is not None:
        inside = [one for one in inside if same_key(one.context, record.key)]
        if not inside:
            return None, f"the block at line {record.line} registers {record.op} under another key than {record.key}"
    if len(inside) > 1:
        named = ", ".join(str(one.line) for one in inside)
        return None, f"the block at line {record.line} names {record.op} on lines {named}"
    return inside[0], None


def _libraries(line: int | None, rows: Sequence[Dialect], text: Text | None) -> list[Dialect]:
    """The library blocks whose macro is at `line`."""
    libraries = [one for one in rows if one.kind == "library"]
    found = [one for one in libraries if one.line == line]
    if found or text is None or line is None:
        return found
    return [one for one in libraries if one.line < line <= one.end_line and _last_line(one, text) == line]


def _last_line(library: Dialect, text: Text) -> int | None:
    """The line of the parenthesis that closes the macro's invocation."""
    for match in re.finditer(rf"\b{re.escape(library.macro)}\s*\(", text.bare):
        if text.line(match.start()) == library.line:
            closing = text.brackets.closing(match.end() - 1)
            return text.line(closing) if closing >= 0 else None
    return None


def _opens(library: Dialect, record: DumpRecord) -> bool:
    """Whether a block can hold the record: one without a key holds schemas and kernels of any key."""
    if library.context is None:
        return True
    return record.key is not None and same_key(library.context, record.key)
