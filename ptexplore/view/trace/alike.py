"""Equal subtrees: a number for the shape of each subtree, and neighbouring nodes of one shape joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from typing import TypeVar

_T = TypeVar("_T")


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
