"""The source of a fact about PyTorch: a file of its repository, and fixed words in it that show the fact."""

from __future__ import annotations

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
        """Whether the fact holds for a release ("2.13.0")."""
        number = _number(release)
        return (not self.since or number >= _number(self.since)) and (not self.until or number <= _number(self.until))


def _number(release: str) -> tuple[int, ...]:
    """Returns the first two parts of a release number, which are enough to compare."""
    return tuple(int(part) for part in release.split(".")[:2])
