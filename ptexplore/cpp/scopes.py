"""Where in a C++ text code runs (function bodies, initialisers), as against namespaces and classes; by braces alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

_BRACE = re.compile(r"[{}]")
_NAMESPACE = re.compile(r'\bnamespace\b[^()=]*$|\bextern\s*"[^"]*"\s*$')
_CLASS = re.compile(r"\b(?:class|struct|union)\b[^()=]*$")
_ENUM = re.compile(r"\benum\b[^()=;]*$")
_ANGLES = re.compile(r"<[^<>]*>")


class CodeRanges:
    """The outermost braces that hold code rather than declarations."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._enums: set[int] = set()
        self._ends: list[int] = []
        last = open_ = 0
        while match := _BRACE.search(text, last):
            at = match.start()
            head = text[max(text.rfind(";", last, at) + 1, last) : at]
            last = at + 1
            if text[at] == "}":
                open_ -= 1
                continue
            if is_scope(head):
                open_ += 1
                continue
            self._starts.append(at)
            if "enum" in head and _ENUM.search(head):
                self._enums.add(at)
            last = closing(text, at)
            if last < 0:
                break
            self._ends.append(last)
        self.balanced = last >= 0 and open_ == 0
        self._ends += [len(text)] * (len(self._starts) - len(self._ends))

    @property
    def bodies(self) -> list[tuple[int, int]]:
        """The insides of all ranges but enumerations'."""
        both = zip(self._starts, self._ends, strict=True)
        return [(start + 1, end - 1) for start, end in both if start not in self._enums and end - start > 2]

    def holds(self, offset: int) -> bool:
        """Whether `offset` lies in code."""
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at]

    def enumerates(self, offset: int) -> bool:
        """Whether `offset` lies in the braces of an enumeration."""
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at] and self._starts[at] in self._enums


def closing(text: str, opening: int) -> int:
    """Behind the brace that closes the one at `opening`; -1 where none does. From one closing brace to the next."""
    depth, at = 1, opening + 1
    while depth:
        end = text.find("}", at)
        if end < 0:
            return -1
        depth += text.count("{", at, end) - 1
        at = end + 1
    return at


def is_scope(head: str) -> bool:
    """Whether what stands before a `{` opens a namespace, a language linkage or a class."""
    if ("namespace" in head or "extern" in head) and _NAMESPACE.search(head):
        return True
    if not ("class" in head or "struct" in head or "union" in head):
        return False
    shorter = _ANGLES.sub(" ", head)
    while shorter != head:
        head, shorter = shorter, _ANGLES.sub(" ", shorter)
    return _CLASS.search(head) is not None and re.search(r"\benum\b", head) is None


@lru_cache(maxsize=4096)
def without_bodies(text: str) -> str:
    """A text with its bodies empty, where its braces balance: what is declared is all that matters of it."""
    if "{" not in text:
        return text
    code = CodeRanges(text)
    if not code.balanced:
        return text
    kept, at = [], 0
    for start, end in code.bodies:
        kept.append(text[at:start])
        at = end
    return "".join(kept) + text[at:]
