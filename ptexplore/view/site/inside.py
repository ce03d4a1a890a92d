"""What is found by a word inside its name: "iterator" finds TensorIterator; of a word of many names, the best."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptexplore.view.site.search import SearchRow

MOST = 40  # names of one word: more would make the search as large as the source
_SHORTEST = 3  # letters of a word
_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=_)(?=[A-Za-z0-9])")
_FIRST = re.compile(r"[A-Z]*[a-z0-9]*")


class Inside:
    """For each row, given best first: its name from each inner word on, in lower case, while that word has room."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def __call__(self, row: SearchRow) -> set[str]:
        """The inner beginnings of a symbol's name; none of what is no symbol, whose words are found anyhow."""
        found: set[str] = set()
        if row.kind not in "fcmtve":
            return found
        for match in _STARTS.finditer(row.name.lstrip("_")):
            rest = row.name.lstrip("_")[match.start() :]
            first = _FIRST.match(rest)
            word = first[0].lower() if first else ""
            if len(word) < _SHORTEST or self._times[word] >= MOST:
                continue
            self._times[word] += 1
            found.add(rest.lower())
        return found
