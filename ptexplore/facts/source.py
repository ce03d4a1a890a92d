"""The source of a fact about PyTorch: a file of its repository, and fixed words in it that show the fact."""

from __future__ import annotations

import re
from typing import NamedTuple


class FactSource(NamedTuple):
    """A file of PyTorch's repository, and words that are in it as long as the fact holds.

    `since` is the first release for which the fact is known, `until` the last one; "" means no limit is known.
    `system` is the only system whose builds have the words; "" means all have them.
    """

    file: str
    words: str
    since: str = ""
    until: str = ""
    system: str = ""

    def holds_for(self, release: str) -> bool:
        """Whether the fact holds for a release ("2.13.0"); True for a text that is no release."""
        number = _number(release)
        if number is None:
            return True
        first, last = _number(self.since), _number(self.until)
        return (first is None or number >= first) and (last is None or number <= last)


_RELEASE = re.compile(r"(\d{1,4})\.(\d{1,4})(?!\d)")


def _number(release: str) -> tuple[int, int] | None:
    """Returns the first two parts of a release number ("2.13.0+cpu"), which are enough to compare."""
    parts = _RELEASE.match(release)
    return (int(parts[1]), int(parts[2])) if parts is not None else None
