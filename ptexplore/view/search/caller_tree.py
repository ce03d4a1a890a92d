"""The callers of a function as rows: what calls it on which line, how deep, and why a row has none below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ptexplore.lookup.callers import CallersView, FunctionCallers
from ptexplore.lookup.calls import CallEnd, CallNode
from ptexplore.lookup.trees import Spot
from ptexplore.view.documents import FORMAT, source_to_json, tree_to_json
from ptexplore.view.words.remarks import remark_in_words

_MARKS: dict[CallEnd, str] = {"": "", "elsewhere": "(elsewhere)", "room": "…", "depth": "↑"}


@dataclass(frozen=True, slots=True)
class CallerRow:
    """One row: a function that calls, with the place of its first call; without a place it counts what is left out."""

    level: int
    text: str
    spot: Spot | None = None
    after: str = ""


def caller_rows(function: FunctionCallers) -> Iterator[CallerRow]:
    """The callers of one function, each with its own below it."""
    yield from _rows(function.callers, 1)
    yield from _left_out(function.more, 1)


def _rows(nodes: Sequence[CallNode], level: int) -> Iterator[CallerRow]:
    for node in nodes:
        times = f"×{node.times}" if node.times > 1 else ""
        after = " ".join(filter(None, (times, _MARKS[node.end])))
        yield CallerRow(level, f"{node.name}{' ?' * node.is_choice}", node.call, after)
        yield from _rows(node.further, level + 1)
        yield from _left_out(node.more if node.end == "" else 0, level + 1)


def _left_out(calls: int, level: int) -> Iterator[CallerRow]:
    if calls:
        yield CallerRow(level, f"{calls:,} more call{'s' if calls > 1 else ''} of its name")


def callers_to_document(view: CallersView) -> dict[str, Any]:
    """The tree; `end` says why a caller's own callers are not below it, "" where they are, or none is indexed."""
    return {
        "format": FORMAT,
        "symbol": view.asked,
        "depth": view.depth,
        "trees": [tree_to_json(tree) for tree in view.trees],
        "functions": [_function_to_json(function) for function in view.functions],
        "functions_more": view.more,
        "remarks": list(map(remark_in_words, view.remarks)),
    }


def _function_to_json(function: FunctionCallers) -> dict[str, Any]:
    return {
        "name": function.name,
        "source": source_to_json(function.spot.ref),
        "definitions": function.same,
        "registered": list(function.registered),
        "overrides": list(function.overridden),
        "callers": [_node_to_json(node) for node in function.callers],
        "more": function.more,
    }


def _node_to_json(node: CallNode) -> dict[str, Any]:
    return {
        "name": node.name,
        "defined": [source_to_json(place.ref) for place in node.places],
        "call": source_to_json(node.call.ref),
        "times": node.times,
        "how": node.how,
        "certain": not node.is_choice,
        "end": node.end,
        "callers": [_node_to_json(each) for each in node.further],
        "more": node.more,
    }
