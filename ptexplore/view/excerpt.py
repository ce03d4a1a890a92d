"""A stretch of a file: whether it is still the text that was indexed, and where a highlighter has to begin for it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptexplore.source.registry import is_in_place

if TYPE_CHECKING:
    from ptexplore.view.trees import IndexedTree

LONGEST = 1_000_000  # characters above a stretch that are looked through
_CPP = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"([^()\\\s]{0,16})\(.*?(?:\)\1"|\Z)|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
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


def lead(lines: Sequence[str], first: int, language: str) -> Sequence[str]:
    """The lines above `first` (1-based) from where the comment or string begins that runs into it; none elsewhere."""
    pattern = {"cpp": _CPP, "python": _PYTHON}.get(language)
    if pattern is None or first <= 1:
        return ()
    above = "\n".join(lines[: first - 1]) + "\n"
    if len(above) > LONGEST:
        return ()
    text = above + "\n".join(lines[first - 1 : first + 200])
    for match in pattern.finditer(text):
        if match.start() >= len(above):
            break
        if match.end() > len(above):
            return lines[above.count("\n", 0, match.start()) : first - 1]
    return ()
