"""A stretch of a file: whether it is still the text that was indexed, and what a highlighter reads around it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptexplore.cpp.text import COMMENT_OR_STRING
from ptexplore.source.fetch.checkouts import is_in_place

if TYPE_CHECKING:
    from ptexplore.view.trees import IndexedTree

LONGEST = 1_000_000  # characters above a stretch that are looked through
FURTHER = 200  # lines below it
_PYTHON = re.compile(
    r"#[^\n]*|\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL
)


def changed(indexed: IndexedTree, path: str) -> bool:
    """Whether the file differs from what was indexed; only a folder used in place can."""
    if indexed.checkout is None or not is_in_place(indexed.checkout):
        return False
    known, file = indexed.store.file(path), indexed.tree.file_of(path)
    if known is None or file is None:
        return False
    try:
        with open(file, "rb") as handle:
            return hashlib.sha256(handle.read()).hexdigest() != known.sha
    except OSError:
        return True


def surroundings(lines: Sequence[str], first: int, last: int, language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines above `first` and below `last` (1-based) that a highlighter needs to colour what is between them.

    They belong to a comment or string that runs over the edge; where none does, there are none.
    """
    pattern = {"cpp": COMMENT_OR_STRING, "python": _PYTHON}.get(language)
    above = sum(map(len, lines[: first - 1])) + first - 1  # characters
    if pattern is None or above > LONGEST:
        return (), ()
    below = above + sum(map(len, lines[first - 1 : last])) + last - first + 1
    text = "\n".join(lines[: last + FURTHER])
    begin, end = first, last
    for match in pattern.finditer(text):
        if match.start() >= below:
            break
        if match.start() < above < match.end():
            begin = text.count("\n", 0, match.start()) + 1
        if match.start() < below < match.end():
            end = text.count("\n", 0, match.end()) + 1
    return tuple(lines[begin - 1 : first - 1]), tuple(lines[last:end])
