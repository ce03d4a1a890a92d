"""Whether an atlas agrees with the source tree that it is of: every name stands at its line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from ptexplore.model.symbols import Dialect, Symbol
from ptexplore.source.atlas import last_part

NEAR = 4  # lines: a macro's arguments that make a name stand near its own
_WORD = re.compile(r"\w+")


def disagreements(rows: Iterable[Symbol | Dialect], root: Path) -> Iterator[tuple[Symbol | Dialect, str]]:
    """The rows that their file does not bear out, each with what is wrong.

    A symbol's own name must be on its line; of one that a macro made, the macro, or a word that the name was pasted
    together from. A dialect row's macro or name must; a row of a table may name it on a line of its own.
    """
    by_path: dict[str, list[Symbol | Dialect]] = defaultdict(list)
    for row in rows:
        by_path[row.path].append(row)
    for path in sorted(by_path):
        text = (root / path).read_bytes().decode("utf-8", errors="replace").split("\n")
        for row in by_path[path]:
            why = _wrong(row, text)
            if why:
                yield row, f"{path}:{row.line}: {why}"


def line_count(file: Path) -> int:
    """How many lines a file has; one that does not end with a line end counts its last line too."""
    data = file.read_bytes()
    return data.count(b"\n") + (data[-1:] not in (b"", b"\n"))


def _wrong(row: Symbol | Dialect, text: list[str]) -> str:
    if not 1 <= row.line <= row.end_line <= len(text):
        return f"lines {row.line} to {row.end_line} of {len(text)}"
    there = _words(text[row.line - 1])
    if isinstance(row, Symbol):
        if last_part(row.qualified) != row.name:
            return f"{row.kind} {row.qualified!r} does not end in {row.name!r}"
        expected = {"namespace"} if row.kind == "namespace" else _words(row.name)
        if row.macro and row.line - row.begin <= NEAR:
            expected |= {row.macro} | {word for word in there if len(word) > 2 and word in row.qualified}
    else:
        expected = _words(row.macro) | _words(row.name)
        if row.kind == "method":
            there = _words(" ".join(text[row.line - 1 : row.end_line]))
    if not row.name or not expected & there:
        return f"{row.kind} {row.name!r} is not there"
    return ""


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))
