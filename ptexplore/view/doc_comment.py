"""What a source text itself says of a definition: the comment above it, or a Python docstring."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Protocol

DOC = 140  # characters of a comment that are shown
_SIGN = re.compile(r"^\s*(?://[/!]?<?|/\*+!?|\*+/?|#)\s?|\s*\*+/\s*$")


class Defined(Protocol):
    """Where a definition stands: the line of its name, the first line of the whole."""

    @property
    def line(self) -> int: ...

    @property
    def begin(self) -> int: ...


def doc_of(lines: Sequence[str], symbol: Defined, *, python: bool) -> str:
    """The beginning of the comment above a definition, or of a Python docstring, as one text."""
    if python:
        body = " ".join(line.strip() for line in lines[symbol.line : symbol.line + 3])
        match = re.search(r'(?:"""|\'\'\')\s*(.+?)(?:"""|\'\'\'|$)', body)
        head = lines[min(symbol.line, len(lines)) - 1 : symbol.line + 2]
        words = match[1] if match and any(":" in line for line in head) else ""
    else:
        lines_above = reversed(lines[max(0, symbol.begin - 13) : max(0, symbol.begin - 1)])
        comment = [_SIGN.sub("", line).strip() for line in takewhile(_is_comment, lines_above)]
        words = " ".join(part for part in reversed(comment) if part and not part.startswith(("===", "---", "~~~")))
    text = " ".join(words.split())
    return text if len(text) <= DOC else f"{text[: DOC - 1].rsplit(' ', 1)[0]}…"


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("//", "*", "/*"))
