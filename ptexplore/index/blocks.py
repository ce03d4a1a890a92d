"""Registration blocks in generated C++: TORCH_LIBRARY, _IMPL and _FRAGMENT, and every m.impl and m.def inside.

The macros are those of torch/library.h; their __LINE__ is what the binary records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ptexplore.index.scan import Definition, ScannedFile

_IMPL = re.compile(r'^[ \t]*m\.impl\(\s*"((?:[^"\\\n]|\\.)*)"\s*,\s*(.*?)\s*\)\s*;', re.MULTILINE | re.DOTALL)
_DEF = re.compile(r'^[ \t]*m\.def\(\s*"([^"(\\\n]+)\(', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One m.impl or m.def: the operator's full name, the line its statement begins on, what it registers."""

    op: str
    line: int
    callee: str | None


@dataclass(frozen=True, slots=True)
class Block:
    """One registration block; `line` is that of its macro, `key` None for TORCH_LIBRARY and _FRAGMENT."""

    macro: str
    namespace: str
    key: str | None
    line: int
    definition: Definition
    entries: dict[str, list[Entry]] = field(default_factory=dict)


def blocks_of(file: ScannedFile) -> dict[int, Block]:
    """The registration blocks of a file by the line of their macro."""
    found = {}
    for definition in file.definitions:
        if definition.kind == "block":
            block = _block(file, definition)
            found[block.line] = block
    return found


def _block(file: ScannedFile, definition: Definition) -> Block:
    macro, _, rest = definition.name.partition("(")
    arguments = [argument.strip() for argument in rest.removesuffix(")").split(",")]
    key = arguments[1] if macro == "TORCH_LIBRARY_IMPL" and len(arguments) == 3 else None
    entries: dict[str, list[Entry]] = {}
    for pattern in (_IMPL, _DEF):
        for match in pattern.finditer(file.text, definition.start, definition.stop):
            op = match[1] if "::" in match[1] else f"{arguments[0]}::{match[1]}"
            statement = match.start() + len(match[0]) - len(match[0].lstrip())
            callee = " ".join(match[2].split()) if pattern is _IMPL else None
            entries.setdefault(op, []).append(Entry(op, file.line_of(statement), callee))
    return Block(macro, arguments[0], key, definition.line, definition, entries)
