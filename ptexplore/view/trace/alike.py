"""What the nodes of a tree have in common with those that are alike, as a number, and those side by side as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from typing import TypeVar

_T = TypeVar("_T")


class Shapes:
    """Numbers of shapes. With those of the nodes inside of it, no node is looked at twice, however deep the tree is."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def number(self, *common: object) -> int:
        """The number of what nodes that are alike have in common."""
        return self._numbers.setdefault(common, len(self._numbers))


def joined(nodes: Iterable[_T], shape: Callable[[_T], int], plus: Callable[[_T, _T], _T]) -> Iterator[_T]:
    """The nodes in their order; of those of one shape, one after the other, the sum."""
    return (reduce(plus, alike) for _, alike in groupby(nodes, shape))
