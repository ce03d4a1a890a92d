"""A text with spans taken out, and where an offset of the one is in the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence


def between(text: str) -> Callable[[int, int], str]:
    """What gives a text's part between two offsets."""
    return lambda start, end: text[start:end]


class Cuts:
    """`spans` are in order and apart. What stands behind a cut, not before it, has the offset of the cut."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self.spans = spans
        self._ends = [end for _, end in spans]
        self._at: list[int] = []  # where each cut is in what is left
        self._gone = [0]  # characters taken out before each, and in all
        for start, end in spans:
            self._at.append(start - self._gone[-1])
            self._gone.append(self._gone[-1] + end - start)
        at, gone = self._at, self._gone
        # The offset in the whole of a character that is left; no method, since every symbol asks several times.
        self.whole: Callable[[int], int] = lambda offset: offset + gone[bisect_right(at, offset)]

    def left(self, text: str) -> str:
        """What is left of a text."""
        kept, at = [], 0
        for start, end in self.spans:
            kept.append(text[at:start])
            at = end
        return "".join(kept) + text[at:]

    def shorter(self, offset: int) -> int:
        """The offset, in what is left, of a character of the whole; that of the cut where it stands in one."""
        cut = bisect_right(self._ends, offset)
        left = offset - self._gone[cut]
        return min(left, self._at[cut]) if cut < len(self._at) else left
