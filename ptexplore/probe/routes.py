"""The fold as plain data: rows become calls, and each call has a route, which is sent once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import events
from .folded_steps import represented
from .kinds import KindTable, Row, RowTable
from .order import Order
from .paths import Path
from .profiled import NODES

if TYPE_CHECKING:
    from .messages import OperatorCallsData, OperatorKindData, OperatorRouteData
    from .stepping import Key, Stepping


@dataclass(frozen=True)
class Folded:
    """The fold as plain data. `order` is packed. `route_of`: the route of each row, by row number."""

    kinds: list[OperatorKindData]
    routes: list[OperatorRouteData]
    calls: list[OperatorCallsData]
    order: bytes
    ordered: int
    route_of: list[int]


def folded(rows: RowTable, kinds: KindTable, order: Order, paths: Sequence[Path], stepping: Stepping | None) -> Folded:
    """Return all rows as calls, with their routes. `paths` are all paths, by number."""
    routes: dict[Any, int] = {}
    represents: dict[int, Key] = {}  # by route: the key of the stepped call that represents it
    route_of: list[int] = [-1]  # by row
    calls: list[OperatorCallsData] = []
    for key, row in zip(rows.keys(), rows.by_number, strict=True):
        if not key:
            continue
        path, sets, kind, shape, recorded, line = key
        label = paths[path].label
        maker = (route_of[recorded[0]], recorded[1]) if recorded is not None else None
        guards = label.guards and maker is None
        route = routes.setdefault((label.called, sets, kind, maker, guards), len(routes))
        route_of.append(route)
        type_ = kinds.by_number[kind].first["type"]
        if type_ != events.LAUNCH:
            represents.setdefault(route, represented(paths[path], key, type_ in NODES))
        call = row.data(path, route, shape)
        if recorded is not None:
            call["recorded"] = recorded[0] - 1  # row 0 is END
        if line is not None:
            call["line"] = line
        calls.append(call)
    data = [_route(*key) for key in routes]
    _tell_read(data, rows.by_number, route_of)
    if stepping is not None:
        _tell_stepped(data, stepping, represents, route_of)
    return Folded(kinds.data(), data, calls, order.data(), order.count, route_of)


def _route(
    builtin: tuple[str, str] | None, sets: int, kind: int, maker: tuple[int, int] | None, guards: bool
) -> OperatorRouteData:
    route: OperatorRouteData = {"sets": sets, "kind": kind}
    if builtin is not None:
        route["table"], route["method"] = builtin
    if maker is not None:
        route["recorded"], route["offset"] = maker
    if guards:
        route["guards"] = True
    return route


def _tell_read(routes: list[OperatorRouteData], rows: Sequence[Row], route_of: Sequence[int]) -> None:
    """Add to each route the key sets of inputs that were read before its calls."""
    read_by: dict[int, list[list[list[int]]]] = {}
    for row, number in zip(rows, route_of, strict=True):
        if row.read is not None and any(any(read) for read in row.read):
            _add_read(read_by.setdefault(number, [[[] for _ in read] for read in row.read]), row.read)
    for number, read in read_by.items():
        routes[number]["read"] = read


def _add_read(key_sets: list[list[list[int]]], read: list[tuple[int | None, ...]]) -> None:
    """Add the key sets read before one more call to the key sets of its route, without duplicates."""
    for sets, given in zip(key_sets, read, strict=True):
        for known, raw in zip(sets, given, strict=True):
            if raw is not None and raw not in known:
                known.append(raw)


def _tell_stepped(
    routes: list[OperatorRouteData], stepping: Stepping, represents: dict[int, Key], route_of: Sequence[int]
) -> None:
    """Add to each route the stepped route that represents it, or the reason why it has none."""
    by = {call.key: route_of[call.row] for call in stepping.done if call.row is not None}
    for number, key in represents.items():
        why = stepping.why(key)
        if key in by:
            routes[number]["represented"] = by[key]
        else:
            routes[number]["unstepped"] = why
