"""The tables that calls are folded into: kinds of operators, and rows of like calls.

Each kind and row is found by a key, and has a number. A fold may be interrupted at any line. A kind or row that has a
key by then is complete; one without a key is dropped (`drop_half`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import copied, events
from .copied import CopyKey
from .reasons import Said, reason

if TYPE_CHECKING:
    from .messages import OperatorCallsData, OperatorKindData

END = 0  # in the order of calls: the end of the calls that Python made inside an operator
HOLE = (-1, None)  # among the operators of a kind: Python ran here
SHAPES = 64  # maximum number of sizes of one kind that are distinguished
SIZES_MERGED = reason("sizes-merged", most=SHAPES)

# The key of a row: the numbers of path, thread-local sets, kind and sizes. For a node of backward also the row of the
# call that recorded the node, and the offset of the node's sequence number in that call. For operator syntax also the
# line, if it is known.
RowKey = tuple[int, int, int, int, "tuple[int, int] | None", "int | None"]


@dataclass
class Row:
    """Calls of one kind and one size from one path: how many, and the sum of their nanoseconds.

    `read`: for each operator in the first such call, beginning with the call itself: the key sets of its inputs, where
    they were read. `device`: for each launch in such a call, in order: the device's nanoseconds in all calls. `copies`:
    how often the calls made each copy. `weights`: further sums over all calls, by name (`model/run.py::Weighed`).
    """

    calls: int = 0
    time: int = 0
    python: int = 0
    device: list[int] = field(default_factory=list)
    read: list[tuple[int | None, ...]] | None = None
    copies: dict[CopyKey, int] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)

    def weigh(self, weight: str, amount: int) -> None:
        """Adds to one of the weights."""
        self.weights[weight] = self.weights.get(weight, 0) + amount

    def data(self, path: int, route: int, shape: int) -> OperatorCallsData:
        """Returns the row as plain data, with the numbers of its path, route and shape."""
        data: OperatorCallsData = {
            "path": path,
            "route": route,
            "shape": shape,
            "calls": self.calls,
            "time": self.time,
        }
        if self.python:
            data["python"] = self.python
        if self.device:
            data["device"] = self.device
        if self.copies:
            data["copies"] = copied.told(self.copies)
        if self.weights:
            data["weights"] = self.weights
        return data


class RowTable:
    """All rows by number, and the number of each row by its key."""

    __slots__ = ("by_key", "by_number")

    def __init__(self) -> None:
        self.by_number: list[Row] = [Row()]  # 0 is END
        self.by_key: dict[RowKey | tuple[()], int] = {(): END}

    def drop_half(self) -> None:
        """Drop a row that was made and has no key yet."""
        del self.by_number[len(self.by_key) :]

    def keys(self) -> list[Any]:
        """Returns the keys of all rows, by number."""
        return list(self.by_key)


@dataclass
class Kind:
    """An operator, or a node of backward, with the operators that it called. `first`: the data of the first such call.

    `inside`: for each operator inside, its kind, and its autograd sequence number minus the number of the call around
    it (None if it has no number); HOLE where Python ran.
    """

    first: OperatorKindData
    inside: tuple[tuple[int, int | None], ...]
    is_node: bool
    shapes: dict[Any, int] = field(default_factory=dict)


class KindTable:
    """All kinds by number, and the number of each kind by its key. `cuts`: which differences were dropped."""

    __slots__ = ("by_key", "by_number", "cuts")

    def __init__(self) -> None:
        self.by_number: list[Kind] = []
        self.by_key: dict[Any, int] = {}
        self.cuts: list[Said] = []

    def add(self, key: Any, kind: Kind) -> int:
        """Add a new kind, and return its number."""
        number = len(self.by_number)
        self.by_number.append(kind)
        self.by_key[key] = number
        return number

    def drop_half(self) -> None:
        """Drop a kind that was made and has no key yet."""
        del self.by_number[len(self.by_key) :]

    def shape(self, kind: int, sizes: Iterable[Any]) -> int:
        """Returns the number of these sizes of a kind. All sizes after the first SHAPES have the same number."""
        shapes = self.by_number[kind].shapes
        known = tuple(sizes)
        number = shapes.get(known)
        if number is None:
            number = min(len(shapes), SHAPES)
            if number < SHAPES:
                shapes[known] = number
            elif SIZES_MERGED not in self.cuts:
                self.cuts.append(SIZES_MERGED)
        return number

    def launch(self, name: str, through: str | None) -> int:
        """Returns the number of the kind of a launch on a device."""
        key = (events.LAUNCH, name, through)
        number = self.by_key.get(key)
        if number is None:
            first: OperatorKindData = {"type": events.LAUNCH, "name": name, "through": through}
            number = self.add(key, Kind(first, (), is_node=False))
        return number

    def data(self) -> list[OperatorKindData]:
        """Returns all kinds as plain data."""
        return [
            {**kind.first, "inside": kind.inside, "sizes": [list(map(list, sizes)) for sizes in kind.shapes]}
            for kind in self.by_number
        ]
