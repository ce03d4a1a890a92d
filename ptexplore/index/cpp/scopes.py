"""Where in a C++ text code runs (function bodies, initialisers), as against namespaces and classes; by braces alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

_BRACE = re.compile(r"[{}]")
_FLAT = r"[^{}]*"
# A body at once, down to five braces deep: most are, and it takes a tenth of the time that brace after brace does.
_BODY = re.compile(
    rf"\{{{_FLAT}(?:\{{{_FLAT}(?:\{{{_FLAT}(?:\{{{_FLAT}(?:\{{{_FLAT}\}}{_FLAT})*\}}{_FLAT})*\}}{_FLAT})*\}}{_FLAT})*\}}"
)
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
        depth = last = open_ = at = 0
        while True:
            match = _BRACE.search(text, at)
            if match is None:
                break
            at = match.start()
            if text[at] == "{":
                if depth:
                    depth += 1
                    at += 1
                    continue
                head = text[max(text.rfind(";", last, at) + 1, last) : at]
                if is_scope(head):
                    last = at = at + 1
                    open_ += 1
                    continue
                self._starts.append(at)
                if "enum" in head and _ENUM.search(head):
                    self._enums.add(at)
                whole = _BODY.match(text, at)
                if whole is not None:
                    last = at = whole.end()
                    self._ends.append(last)
                    continue
                depth = 1
            else:
                last = at + 1
                if depth:
                    depth -= 1
                    if not depth:
                        self._ends.append(last)
                else:
                    open_ -= 1
            at += 1
        self.balanced = depth == open_ == 0
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
