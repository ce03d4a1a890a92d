"""Finds the comment above a definition, or its Python docstring."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

_LONGEST = 400  # lines of a comment that are searched for its beginning
_TO_LINTERS = re.compile(r"\s*//\s*(?:NOLINT|clang-format|clang-tidy|@lint|lint-ignore)")
DOC = 140  # characters of a comment that are shown
_SIGN = re.compile(r"^\s*(?://[/!]?<?|/\*+!?|\*+/?|#)\s?|\s*\*+/\s*$")


class Defined(Protocol):
    """The place of a definition: the line of its name, and the first line of the whole."""

    @property
    def line(self) -> int: ...

    @property
    def begin(self) -> int: ...


def doc_of(lines: Sequence[str], symbol: Defined, *, python: bool) -> str:
    """Returns the beginning of the comment above a definition, or of its Python docstring, as one line of text."""
    if python:
        body = " ".join(line.strip() for line in lines[symbol.line : symbol.line + 3])
        match = re.search(r'(?:"""|\'\'\')\s*(.+?)(?:"""|\'\'\'|$)', body)
        head = lines[min(symbol.line, len(lines)) - 1 : symbol.line + 2]
        words = match[1] if match and any(":" in line for line in head) else ""
    else:
        comment = (_SIGN.sub("", line).strip() for line in _comment_above(lines, symbol.begin - 1))
        words = " ".join(part for part in comment if part and not part.startswith(("===", "---", "~~~")))
    text = " ".join(words.split())
    return text if len(text) <= DOC else f"{text[: DOC - 1].rsplit(' ', 1)[0]}…"


def _comment_above(lines: Sequence[str], end: int) -> Sequence[str]:
    """Returns the lines of the comment that ends above a line. Comments for linters are skipped."""
    while end > 0 and _TO_LINTERS.match(lines[end - 1]):
        end -= 1
    start, inside = end, False
    while start > 0 and end - start < _LONGEST:
        line = lines[start - 1].strip()
        inside = (inside or line.endswith("*/")) and "/*" not in line
        if not (inside or line.startswith(("//", "/*"))):
            break
        start -= 1
    return lines[start:end] if not inside else ()
