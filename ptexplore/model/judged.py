"""How the solution of an exercise did: against what PyTorch gives on random cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WrongCase:
    """The first case that a solution got wrong: its number, its arguments by name, and both results.

    `result` is None if the solution gave no result.
    """

    number: int
    case: Mapping[str, Any]
    wanted: object
    result: object
    gave: bool


@dataclass(frozen=True, slots=True)
class JudgedSolution:
    """How many of the cases a solution got right, and what it printed.

    `raised` is the error that ended it. `died`: "late" if its time was over, "silent" if it ended without a word, or
    the signal that killed it. `rules_of` is the release whose rules gave the answers, or "" if torch itself did.
    """

    torch: str
    cases: int
    right: int
    first: WrongCase | None
    raised: str
    died: str
    printed: str
    rules_of: str = ""

    @property
    def passed(self) -> bool:
        """Whether every case is right."""
        return self.right == self.cases and not self.raised and not self.died
