"""Equal subtrees: a number for the shape of each subtree; equal neighbours joined, and the rounds of a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import TypeVar

_T = TypeVar("_T")
LONGEST = 8  # nodes of one round of a loop


class Shapes:
    """Numbers for shapes.

    A shape refers to the shapes of its children by number, so each node is compared once at any depth.
    """

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def number(self, *common: object) -> int:
        """Returns the number of a shape, given everything that alike nodes have in common."""
        return self._numbers.setdefault(common, len(self._numbers))


def joined(nodes: Iterable[_T], shape: Callable[[_T], int], plus: Callable[[_T, _T], _T]) -> Iterator[_T]:
    """Yields the nodes in their order. Neighbours of the same shape become one node, their sum."""
    return (reduce(plus, alike) for _, alike in groupby(nodes, shape))


def rounds_joined(given: Iterable[_T], shape: Callable[[_T], int], plus: Callable[[_T, _T], _T]) -> Iterator[_T]:
    """Yields the nodes in their order. Neighbours of one shape are joined, and then the rounds of a loop.

    A loop's rounds (A B A B A B) become one round, each of whose nodes is a sum. A round has at most LONGEST nodes, and
    all its rounds have the same shapes in the same order.
    """
    nodes = list(joined(given, shape, plus))
    shapes = [shape(node) for node in nodes]
    at = 0
    while at < len(nodes):
        rounds = [(length, _rounds(shapes, at, length)) for length in range(1, LONGEST + 1)]
        length, count = max(rounds, key=_joined_away)
        for number in range(at, at + length):
            yield reduce(plus, nodes[number : at + length * count : length])
        at += length * count


def _joined_away(rounds: tuple[int, int]) -> tuple[int, int]:
    """Returns how many nodes some rounds lose if they are joined; of equal losses, the shortest round's is greatest."""
    length, count = rounds
    return (count - 1) * length, -length


def _rounds(shapes: Sequence[int], at: int, length: int) -> int:
    """Returns how many equal rounds of this length begin at `at`, at least 1."""
    first = shapes[at : at + length]
    count = 1
    while len(first) == length and shapes[at + count * length : at + (count + 1) * length] == first:
        count += 1
    return count
