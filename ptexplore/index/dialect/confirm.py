"""Confirms a hand-written registration: its line has the macro for its key, with its operator inside.

A record is an entry of `_dispatch_dump` about one kernel or schema. If a macro invocation spans lines, clang records
the first line and GCC the last; both are accepted. Aliases of keys come from c10/core/DispatchKey.h.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptexplore.cpp.text import Text
from ptexplore.model.operators import DumpRecord
from ptexplore.model.places import place_reasons
from ptexplore.model.symbols import Dialect

if TYPE_CHECKING:
    from ptexplore.model.place_reasons import PlaceReason

_ALIASES = {
    "Autocast": "AutocastCUDA",
    "CatchAll": "CompositeImplicitAutograd",
    "DefaultBackend": "CompositeExplicitAutograd",
    "CPUTensorId": "CPU",
    "CUDATensorId": "CUDA",
    "PrivateUse1_PreAutograd": "AutogradPrivateUse1",
}


def same_key(key: str | None, other: str | None) -> bool:
    """Whether two spellings name the same dispatch key."""
    return key == other or (
        key is not None and other is not None and _ALIASES.get(key, key) == _ALIASES.get(other, other)
    )


def confirm(
    record: DumpRecord, rows: Sequence[Dialect], text: Text | None = None
) -> tuple[Dialect | None, PlaceReason | None]:
    """Returns the row of the m.impl or m.def of `record`, or the reason why none is found.

    `rows` has the rows of its file.

    With `text`, a macro invocation that ends at the recorded line is accepted, too. If several rows fit (a list that
    names an operator twice), no row is returned.
    """
    libraries = _libraries(record.line, rows, text)
    if not libraries:
        return None, place_reasons.NoMacro(record.line)
    fitting = [row for row in libraries if _opens(row, record)]
    if not fitting:
        keys = tuple(sorted({row.context for row in libraries if row.context is not None}))
        return None, place_reasons.MacroForOthers(record.line, keys, record.key or "")
    lines = {row.line for row in fitting}
    kinds = ("def",) if record.key is None else ("impl", "def")
    inside = [row for row in rows if row.kind in kinds and row.block in lines and row.name == record.op]
    if not inside:
        return None, place_reasons.BlockLacks(record.line, record.op)
    if record.key is not None:
        inside = [row for row in inside if same_key(row.context, record.key)]
        if not inside:
            return None, place_reasons.BlockHasOtherKey(record.line, record.op, record.key)
    if len(inside) > 1:
        return None, place_reasons.BlockNamesTwice(record.line, record.op, tuple(row.line for row in inside))
    return inside[0], None


def _libraries(line: int | None, rows: Sequence[Dialect], text: Text | None) -> list[Dialect]:
    """Returns the library blocks whose macro is at `line`."""
    libraries = [row for row in rows if row.kind == "library"]
    opened = [row for row in libraries if row.line == line]
    if opened or text is None or line is None:
        return opened
    return [row for row in libraries if row.line < line <= row.end_line and _last_line(row, text) == line]


def _last_line(library: Dialect, text: Text) -> int | None:
    """Returns the line of the parenthesis that closes the macro invocation."""
    for match in re.finditer(rf"\b{re.escape(library.macro)}\s*\(", text.bare):
        if text.line(match.start()) == library.line:
            closing = text.brackets.closing(match.end() - 1)
            return text.line(closing) if closing >= 0 else None
    return None


def _opens(library: Dialect, record: DumpRecord) -> bool:
    """Whether a block can contain the record. A block without a key contains schemas, and kernels for any key."""
    return library.context is None or (record.key is not None and same_key(library.context, record.key))
