"""Finds where two runs of the same code called different operators: by order in one thread, by counts in the others.

The order between two threads is not recorded. So only the number of calls of each operator is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True)
class RunOperators:
    """The operators of a run: those of the thread that ran the code, in order, and the counts of the other threads."""

    own: Sequence[str]
    beside: Counter[str]


@dataclass(frozen=True, slots=True)
class OtherOrder:
    """The first operator that differs: its position from 0, and its name in each run. None: that run has ended."""

    position: int
    names: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class OtherCount:
    """An operator with different counts in other threads: its name, and the count in each run."""

    name: str
    counts: tuple[int, int]


def first_difference(first: RunOperators, second: RunOperators) -> OtherOrder | OtherCount | None:
    """Returns the first difference of two runs, or None."""
    for position, names in enumerate(zip_longest(first.own, second.own)):
        if names[0] != names[1]:
            return OtherOrder(position, names)
    for name in first.beside | second.beside:
        if first.beside[name] != second.beside[name]:
            return OtherCount(name, (first.beside[name], second.beside[name]))
    return None
