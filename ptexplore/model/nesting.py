"""Walk nested records without Python's own stack: code that calls itself a thousand levels deep nests as deep here.

Ways, from the plainest: `outermost` searches, `without` and `with_levels` walk, `folded` makes something of each node
from what was made of those inside it, and `unrolled` runs a function that would call itself. That function is a
generator. It yields the call of itself, and gets what that returns:
`children = yield each(changed(child) for child in claim.children)`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from ptexplore.model.trace import NestedT

Made = TypeVar("Made")
Unrolling: TypeAlias = Generator["Unrolling[Any]", Any, Made]  # yields calls, gets what they return


def outermost(nodes: Iterable[NestedT], wanted: Callable[[NestedT], bool]) -> Iterator[NestedT]:
    """Yield the nodes that are wanted, in order: of those inside one another the outermost."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if wanted(node):
            yield node
        else:
            pending += reversed(node.children)


def without(nodes: Iterable[NestedT], left_out: Callable[[NestedT], bool]) -> Iterator[NestedT]:
    """Yield every node, callers first, but for those that are left out, with all inside of these."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if not left_out(node):
            yield node
            pending += reversed(node.children)


def with_levels(
    nodes: Iterable[NestedT], goes_in: Callable[[NestedT, int], bool] = lambda _node, _level: True
) -> Iterator[tuple[NestedT, int]]:
    """Yield every node, callers first, with how far inside it is, from 0; `goes_in` says whether to look inside."""
    pending = [(node, 0) for node in nodes][::-1]
    while pending:
        node, level = pending.pop()
        yield node, level
        if goes_in(node, level):
            pending += [(child, level + 1) for child in reversed(node.children)]


def folded(nodes: Iterable[NestedT], make: Callable[[NestedT, tuple[Made, ...]], Made]) -> tuple[Made, ...]:
    """What `make` makes of each of these nodes, which it is given with what it made of the nodes inside."""
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
    """What a function returns that yields the calls of itself."""
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
    """What these calls return, one after the other."""
    made: list[Made] = []
    for call in calls:
        returned: Made = yield call
        made += (returned,)
    return tuple(made)
