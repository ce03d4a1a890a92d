"""Walks nested records without recursion: code that calls itself a thousand times gives trees as deep as that.

From the simplest: `outermost` searches, `without` and `with_levels` walk, `folded` computes a value for each node from
the values of the nodes inside it. `unrolled` runs a recursive function that is written as a generator: the function
yields a call of itself, and receives the return value: `children = yield each(changed(child) for child in
claim.children)`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from ptexplore.model.trace import NestedT

Made = TypeVar("Made")
Unrolling: TypeAlias = Generator["Unrolling[Any]", Any, Made]  # yields calls, receives their return values


def outermost(nodes: Iterable[NestedT], wanted: Callable[[NestedT], bool]) -> Iterator[NestedT]:
    """Yields the wanted nodes in order. Does not look inside a wanted node."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if wanted(node):
            yield node
        else:
            pending += reversed(node.children)


def without(nodes: Iterable[NestedT], left_out: Callable[[NestedT], bool]) -> Iterator[NestedT]:
    """Yields every node, callers first, except the nodes that are left out and everything inside them."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if not left_out(node):
            yield node
            pending += reversed(node.children)


def with_levels(
    nodes: Iterable[NestedT], goes_in: Callable[[NestedT, int], bool] = lambda _node, _level: True
) -> Iterator[tuple[NestedT, int]]:
    """Yields every node, callers first, with its depth from 0. `goes_in` says whether to look inside a node."""
    pending = [(node, 0) for node in nodes][::-1]
    while pending:
        node, level = pending.pop()
        yield node, level
        if goes_in(node, level):
            pending += [(child, level + 1) for child in reversed(node.children)]


def folded(nodes: Iterable[NestedT], make: Callable[[NestedT, tuple[Made, ...]], Made]) -> tuple[Made, ...]:
    """Returns `make(node, inside)` for each node; `inside` has the values that `make` returned for its inner nodes."""
    made: list[Made] = []
    pending = [(node, -1) for node in nodes][::-1]
    while pending:
        node, first = pending.pop()
        if first < 0 and node.children:
            pending.append((node, len(made)))
            pending += [(child, -1) for child in reversed(node.children)]
            continue
        inside = tuple(made[first:]) if first >= 0 else ()
        if first >= 0:
            del made[first:]
        made.append(make(node, inside))
    return tuple(made)


def unrolled(call: Unrolling[Made]) -> Made:
    """Runs a recursive function that yields calls of itself, and returns its value."""
    calls: list[Unrolling[Any]] = [call]
    returned: Any = None
    while calls:
        try:
            inner = calls[-1].send(returned)
        except StopIteration as done:
            calls.pop()
            returned = done.value
        else:
            calls.append(inner)
            returned = None
    made: Made = returned
    return made


def each(calls: Iterable[Unrolling[Made]]) -> Unrolling[tuple[Made, ...]]:
    """Runs the calls in order and returns their values."""
    made: list[Made] = []
    for call in calls:
        returned: Made = yield call
        made += (returned,)
    return tuple(made)
