"""Where two runs of the same code called other operators: in the order of one thread, by count in the others.

When another thread runs, beside this one, nothing tells: of those only how often each operator was called is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True)
class RunOperators:
    """The operators of a run: those of the thread that ran the code, in order, and how often each in others."""

    own: Sequence[str]
    beside: Counter[str]


@dataclass(frozen=True, slots=True)
class OtherOrder:
    """The first operator that differs: its position from 0, and its name in each run; None behind a run's last."""

    position: int
    names: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class OtherCount:
    """An operator that other threads called another number of times: its name, and how often in each run."""

    name: str
    counts: tuple[int, int]


def first_difference(first: RunOperators, second: RunOperators) -> OtherOrder | OtherCount | None:
    """Where two runs differ first; None where they do not."""
    for position, names in enumerate(zip_longest(first.own, second.own)):
        if names[0] != names[1]:
            return OtherOrder(position, names)
    for name in first.beside | second.beside:
        if first.beside[name] != second.beside[name]:
            return OtherCount(name, (first.beside[name], second.beside[name]))
    return None
