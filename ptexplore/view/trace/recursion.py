"""Recursive Python functions as one hop, with the number of levels and the calls of all levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import is_

from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Hop
from ptexplore.view.trace.native import is_range

FEWEST = 4  # rounds: fewer are shown unfolded
LONGEST = 4  # functions that call one another in turn


def levels_folded(hops: Iterable[Hop]) -> tuple[tuple[Hop, ...], dict[int, int]]:
    """Returns the hops with one hop in place of all levels of a recursive function; and the levels, by hop id.

    The order is: calls that a level made before it called the next level, then the calls of the innermost level, then
    the calls after it.
    """
    levels: dict[int, int] = {}
    return unrolled(each(_folded(hop, levels) for hop in hops)), levels


def _folded(hop: Hop, levels: dict[int, int]) -> Unrolling[Hop]:
    chain, period = _chain(hop)
    if not chain:
        children = yield each(_folded(child, levels) for child in hop.children)
        return hop if all(map(is_, children, hop.children)) else replace(hop, children=children)
    # For each function of a round: what its levels called before and after the call of the next level.
    before: list[list[Hop]] = [[] for _ in range(period)]
    after: list[list[Hop]] = [[] for _ in range(period)]
    for number, (caller, called) in enumerate(pairwise(chain)):
        at = next(place for place, child in enumerate(caller.children) if child is called)
        before[number % period] += caller.children[:at]
        after[number % period] += reversed(caller.children[at + 1 :])
    inside: Sequence[Hop] = yield each(_folded(child, levels) for child in chain[-1].children)
    for number in reversed(range(period)):
        earlier = yield each(_folded(child, levels) for child in before[number])
        later = yield each(_folded(child, levels) for child in reversed(after[number]))
        levels[chain[number].id] = len(chain) // period
        inside = (replace(chain[number], children=(*earlier, *inside, *later)),)
    return inside[0]


def _chain(hop: Hop) -> tuple[list[Hop], int]:
    """Returns a chain of recursive calls from this hop on, in whole rounds, and the number of functions in a round.

    Returns ([], 0) if there is no chain.
    """
    chain, period = [hop], 0
    while (called := _called(chain[-1])) is not None:
        name = _function(called)
        if not period and len(chain) <= LONGEST:
            period = len(chain) if _function(hop) == name else 0
        if (period and name != _function(chain[-period])) or (not period and len(chain) >= LONGEST):
            break
        chain.append(called)
    if not period or len(chain) // period < FEWEST:
        return [], 0
    return chain[: len(chain) // period * period], period


def _called(hop: Hop) -> Hop | None:
    """Returns the only Python function that a Python function called; of several, its only call of itself.

    Else None.
    """
    if not _is_function(hop):
        return None
    called = [child for child in hop.children if _is_function(child)]
    if len(called) > 1:
        called = [child for child in called if _function(child) == _function(hop)]
    return called[0] if len(called) == 1 else None


def _is_function(hop: Hop) -> bool:
    return hop.kind == "python" and hop.module is None and not is_range(hop)


def _function(hop: Hop) -> tuple[str, str | None, SourceRef, int]:
    """Returns what identifies a function and the thread that it runs in."""
    return hop.name, hop.python.qualname if hop.python is not None else None, hop.source, hop.thread
