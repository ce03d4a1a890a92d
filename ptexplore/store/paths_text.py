"""The paths of an index by a part of them: what bears it in its own name before what lies in folders that do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


class PathsText:
    """Paths, looked through case aside."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._whole = _Lines(path.lower() for path in paths)
        self._names = _Lines(path.lower().rsplit("/", 1)[-1] for path in paths)

    def like(self, fragment: str, limit: int) -> list[str]:
        """Paths that hold `fragment`: those that end in it first, at a folder's border before others."""
        part = fragment.lower()

        def rank(path: str) -> tuple[bool, bool, bool, int, str]:
            low = path.lower()
            name = low.rsplit("/", 1)[-1]
            return (low != part and not low.endswith(f"/{part}"), part not in name, not name.startswith(part),
                    len(path), path)  # fmt: skip

        found = self._names.holding(part) if "/" not in part else []
        if len(found) < limit:  # else no other path can be among the first
            found = self._whole.holding(part)
        return sorted((self._paths[number] for number in found), key=rank)[:limit]


class _Lines:
    """Texts one after the other: searched in one go, however many."""

    def __init__(self, texts: Iterable[str]) -> None:
        known = list(texts)
        self._text = "\n".join(known)
        self._ends = list(accumulate(len(text) + 1 for text in known))

    def holding(self, part: str) -> list[int]:
        """The numbers of those that hold `part`."""
        found = []
        at = self._text.find(part)
        while at != -1:
            number = bisect_right(self._ends, at)
            if at + len(part) < self._ends[number]:
                found.append(number)
            at = self._text.find(part, self._ends[number])
        return found
