"""What calls are folded into: kinds of operators, and rows of calls that are alike.

Both are numbered by what tells them apart. A fold may be interrupted at any line: what has a number by then is whole,
and what has none is dropped (`drop_half`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import events
from .reasons import Said, reason

if TYPE_CHECKING:
    from .messages import OperatorCallsData, OperatorKindData

END = 0  # in the order of calls: what Python ran inside an operator ends here
HOLE = (-1, None)  # among a kind's operators: Python ran here
SHAPES = 64  # sizes that are told apart of one kind
SIZES_MERGED = reason("sizes-merged", most=SHAPES)

# What tells rows apart: the number of the path, of the sets, of the kind, of its sizes, and of a node the row of the
# call that recorded it, with the number in that.
RowKey = tuple[int, int, int, int, "tuple[int, int] | None"]


@dataclass
class Row:
    """Calls of one kind, of one size, from one path: how many, and their nanoseconds together.

    `read`: of each operator in the first such call, itself first, the key set of each input, where that was read.
    `device`: of each launch in such a call, in order, the device's nanoseconds of all calls.
    """

    calls: int = 0
    time: int = 0
    python: int = 0
    saved: int = 0
    device: list[int] = field(default_factory=list)
    read: list[tuple[int | None, ...]] | None = None

    def told(self, path: int, route: int, shape: int) -> OperatorCallsData:
        """It as plain data; it is of this path, route and shape."""
        told: OperatorCallsData = {
            "path": path,
            "route": route,
            "shape": shape,
            "calls": self.calls,
            "time": self.time,
        }
        if self.python:
            told["python"] = self.python
        if self.device:
            told["device"] = self.device
        if self.saved:
            told["saved"] = self.saved
        return told


class RowTable:
    """All rows, by number, and the number of each by what tells it apart."""

    __slots__ = ("by_key", "by_number")

    def __init__(self) -> None:
        self.by_number: list[Row] = [Row()]  # 0 is END
        self.by_key: dict[RowKey | tuple[()], int] = {(): END}

    def drop_half(self) -> None:
        """Drop a row that was made and has no key yet."""
        del self.by_number[len(self.by_key) :]

    def keys(self) -> list[Any]:
        """What tells each row apart, by number."""
        return list(self.by_key)


@dataclass
class Kind:
    """An operator (or node of backward) with what it called. `first`: the first such call's own data.

    `inside`: of each operator in it the kind, and by how much its autograd sequence number is above that of what is
    around it, None where it has none; HOLE for a place where Python ran.
    """

    first: OperatorKindData
    inside: tuple[tuple[int, int | None], ...]
    is_node: bool
    shapes: dict[Any, int] = field(default_factory=dict)


class KindTable:
    """All kinds, by number, and the number of each by what tells it apart. `cuts`: what is not told apart."""

    __slots__ = ("by_key", "by_number", "cuts")

    def __init__(self) -> None:
        self.by_number: list[Kind] = []
        self.by_key: dict[Any, int] = {}
        self.cuts: list[Said] = []

    def add(self, key: Any, kind: Kind) -> int:
        """A kind that was not met before: its number."""
        number = len(self.by_number)
        self.by_number.append(kind)
        self.by_key[key] = number
        return number

    def drop_half(self) -> None:
        """Drop a kind that was made and has no key yet."""
        del self.by_number[len(self.by_key) :]

    def shape(self, kind: int, sizes: Iterable[Any]) -> int:
        """Which of a kind's sizes these are; all after the first so many are one."""
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
        """The kind of a launch on a device."""
        key = (events.LAUNCH, name, through)
        number = self.by_key.get(key)
        if number is None:
            first: OperatorKindData = {"type": events.LAUNCH, "name": name, "through": through}
            number = self.add(key, Kind(first, (), is_node=False))
        return number

    def told(self) -> list[OperatorKindData]:
        """All of them as plain data."""
        return [
            {**kind.first, "inside": kind.inside, "sizes": [list(map(list, sizes)) for sizes in kind.shapes]}
            for kind in self.by_number
        ]
