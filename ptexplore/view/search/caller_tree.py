"""The callers of a function as rows: the caller and its line, the level, and why a row has no callers below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ptexplore.lookup.callers import FunctionCallers
from ptexplore.lookup.calls import CallEnd, CallNode
from ptexplore.lookup.trees import Spot

_MARKS: dict[CallEnd, str] = {"": "", "elsewhere": "(elsewhere)", "room": "…", "depth": "↑"}


@dataclass(frozen=True, slots=True)
class CallerRow:
    """A caller, with the place of its first call. A row without a place says how many calls are left out.

    `name` is the caller's own; `text` may have more.
    """

    level: int
    text: str
    name: str = ""
    spot: Spot | None = None
    after: str = ""


def caller_rows(function: FunctionCallers) -> Iterator[CallerRow]:
    """Yields the callers of one function, each with its own callers below."""
    yield from _rows(function.callers, 1)
    yield from _left_out(function.more, 1)


def _rows(nodes: Sequence[CallNode], level: int) -> Iterator[CallerRow]:
    for node in nodes:
        times = f"×{node.times}" if node.times > 1 else ""
        after = " ".join(filter(None, (times, _MARKS[node.end])))
        yield CallerRow(level, f"{node.name}{' ?' * node.is_choice}", node.name, node.call, after)
        yield from _rows(node.further, level + 1)
        yield from _left_out(node.more if node.end == "" else 0, level + 1)


def _left_out(calls: int, level: int) -> Iterator[CallerRow]:
    if calls:
        yield CallerRow(level, f"{calls:,} more call{'s' if calls > 1 else ''} with this name")
