"""Parses the dispatcher's reports about itself: `_dispatch_dump` and `_dispatch_dump_table`, line by line.

The formats are OperatorEntry::dumpState and dumpComputedTable in aten/src/ATen/core/dispatch/OperatorEntry.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ptexplore.model.operators import DumpRecord, RecordOrigin, TableEntry
from ptexplore.source.canonical import is_made

_RECORD = re.compile(r"(\w+)(\[alias\])?( \(inactive\))?: (.*?)(?: :: (.*))?$")
_AT = re.compile(r"(?:fallthrough )?registered at (.+):(\d+)$")
_ENTRY = re.compile(r"(fallthrough )?(.*) \[([^\[\]]*)\]$")
_KERNEL = re.compile(r"(.*?) ?\[ ([a-z ]*)\]$")
_HEADINGS = ("name: ", "schema: ", "alias analysis kind: ")

NO_FILE = "/dev/null"  # the file that 2.6 records for every registration from Python


class Unparsed(Exception):
    """A line has none of the known forms."""


def parse_dump(op: str, text: str) -> list[DumpRecord]:
    """Returns the records of one operator's `_dispatch_dump`, in order. Raises Unparsed."""
    records = []
    for line in text.splitlines():
        if not line.strip() or line.startswith(_HEADINGS):
            continue
        match = _RECORD.match(line)
        if match is None:
            raise Unparsed(f"{op}: {line!r}")
        key, alias, inactive, debug, described = match.groups()
        kernel = _KERNEL.match(described or "")
        signature, state = (kernel[1], kernel[2]) if kernel else (described, "")
        file, at = location(debug)
        records.append(
            DumpRecord(
                op=op,
                key=None if key == "debug" else key,
                alias=alias is not None,
                inactive=inactive is not None,
                fallthrough="fallthrough" in state.split() or debug.startswith("fallthrough "),
                file=file,
                line=at,
                signature=signature if signature and signature != "(none)" else None,
                raw=debug,
            )
        )
    return records


def location(debug: str) -> tuple[str | None, int | None]:
    """Returns file and line of a "registered at FILE:LINE", or (None, None) for any other text."""
    match = _AT.match(debug)
    return (match[1], int(match[2])) if match else (None, None)


def parse_table(op: str, text: str, canonical: Callable[[str], str | None]) -> list[TableEntry]:
    """Returns one operator's `_dispatch_dump_table`, in order. Keys with equal entries share one. Raises Unparsed.

    A key that is not named has no entry: calling the operator with it is an error.
    """
    grouped: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, colon, written = line.partition(": ")
        if colon:
            grouped.setdefault(written, []).append(key)
        elif line.strip():
            raise Unparsed(f"{op}: {line!r}")
    entries = []
    for written, keys in grouped.items():
        parsed = _entry(written)
        if parsed is None or not all(map(str.isidentifier, keys)):
            raise Unparsed(f"{op}: {keys[0]}: {written!r}")
        reason, fallthrough, debug, file, line_number = parsed
        path = canonical(file) if file is not None else None
        entries.append(TableEntry(tuple(keys), reason, fallthrough, path, line_number if path else None, debug))
    return entries


@lru_cache(maxsize=1 << 16)  # many operators have the same entries
def _entry(written: str) -> tuple[str, bool, str, str | None, int | None] | None:
    match = _ENTRY.match(written)
    return (match[3], match[1] is not None, match[2], *location(match[2])) if match else None


def origin(file: str | None, path: str | None) -> RecordOrigin:
    """Returns the origin of a record, from the file that the binary names and its canonical path."""
    if file is None:
        return "nofile"
    if file == NO_FILE or file.endswith((".py", ">")):
        return "python"
    if path is not None and is_made(path):
        return "generated"
    return "handwritten"
