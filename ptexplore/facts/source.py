"""Where a fact about PyTorch was read: a file of its repository, and constant words there that show it."""

from __future__ import annotations

from typing import NamedTuple


class FactSource(NamedTuple):
    """A file of PyTorch's repository, and words that stand in it as long as the fact holds.

    `since` is the first release that the fact is known of, `until` the last one; "" where no other one is known.
    """

    file: str
    words: str
    since: str = ""
    until: str = ""

    def holds_for(self, release: str) -> bool:
        """Whether it is a fact of a release ("2.13.0")."""
        number = _number(release)
        return (not self.since or number >= _number(self.since)) and (not self.until or number <= _number(self.until))


def _number(release: str) -> tuple[int, ...]:
    """The first two parts of a release, which decide what it is."""
    return tuple(int(part) for part in release.split(".")[:2])
