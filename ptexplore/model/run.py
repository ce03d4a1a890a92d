"""What ran, as one tree of parts: for each part the number of calls and its weights.

An expression and a program give the same kind of tree. A weight is a field of `Weighed`. A sum of several parts has the
sum of each weight, and `view/trace/columns.py` has the column that shows the weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

from ptexplore.model.details import Detail
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import walk

# A `call` is a call that the expression makes itself, outside of modules.
PartKind = Literal[
    "program", "thread", "imports", "user", "library", "module", "call", "backward", "optimizer", "data", "compiling"
]
Unit = Literal["instructions", "nanoseconds", ""]  # the unit of costs; "" if none is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Something that ran: all its calls, with everything that ran inside them."""

    calls: int = 0
    cost: int = 0  # from entry to exit, in the unit of the run
    backward: int = 0  # the cost of the nodes that its operators recorded
    operators: int = 0  # operators called from Python, or by nodes and the engine
    saved: int = 0  # bytes that these operators keep for backward
    device: int = 0  # nanoseconds that a device took for what these operators launched


WEIGHTS = tuple(field.name for field in fields(Weighed))
MEASURED = ("calls", "cost")  # weights of a part itself
SUMMED = tuple(weight for weight in WEIGHTS if weight not in MEASURED)  # weights that are sums over what ran in a part
_W = TypeVar("_W", bound=Weighed)


def as_sum(held: Sequence[_W]) -> _W:
    """Returns several parts as one: the first part, with the sum of each weight."""
    return replace(held[0], **sums(held))


def total(held: Iterable[Weighed]) -> Weighed:
    """Returns the sum of the weights of several parts."""
    return Weighed(**sums(tuple(held)))


def sums(held: Sequence[Weighed]) -> Any:
    """Returns the sum of each weight over several parts, by the weight's name."""
    return {name: sum(getattr(each, name) for each in held) for name in WEIGHTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOperators(Weighed):
    """Calls of one operator, or runs of one backward node, that a part made itself. `routes` are their numbers.

    `first` orders operators and parts of the same part by their first call.
    """

    name: str
    routes: tuple[int, ...] = ()
    first: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Weighed):
    """One part of what ran."""

    kind: PartKind
    name: str  # for a module: its name in the outermost module: `blocks.0.attn`
    type: str | None = None  # for a module: its class
    source: SourceRef | None = None
    own: tuple[OwnOperators, ...] = ()  # the most expensive first
    parts: tuple[Part, ...] = ()  # in the order of their first calls
    names: tuple[str, ...] = ()  # if equal parts are shown as one: the names of all
    first: int = 0  # its place in the order of first calls, as in OwnOperators
    at_least: bool = False  # further calls, with everything in them, count for the caller
    at_most: bool = False  # its cost is a bound: the time of recording in it is not known well enough
    choices: tuple[Detail, ...] = ()  # what it chose itself: no fast path, and why

    @property
    def own_cost(self) -> int:
        """The cost of the part without its inner parts."""
        return max(self.cost - sum(part.cost for part in self.parts), 0)

    @property
    def children(self) -> tuple[Part, ...]:
        """The inner parts, under the name that tree walks use."""
        return self.parts

    def walk(self) -> Iterator[Part]:
        """Yields the part and all parts inside it, outermost first."""
        return walk([self])


@dataclass(frozen=True, slots=True, kw_only=True)
class Unweighed:
    """Memory saved for backward that no part has in its weights."""

    elsewhere: int = 0  # bytes first kept by nodes of operator calls that are not in the record
    packed: int = 0  # saved tensors that a hook packed, as a checkpoint does
    unread: int = 0  # saved tensors whose layout or class does not give their memory
    silent: int = 0  # nodes that do not report what they keep
    in_slices: bool = False  # what the node inside a CopySlices keeps is not known
    backwards: tuple[int, int] | None = None  # number of backward calls with known saved memory, and of all

    @property
    def is_unknown(self) -> bool:
        """Whether something was saved whose size is not known."""
        return bool(self.packed or self.unread or self.silent or self.in_slices)


@dataclass(frozen=True, slots=True)
class Run:
    """What ran: the whole tree, the unit of its costs, and the saved memory that no part has."""

    whole: Part
    unit: Unit
    unweighed: Unweighed = Unweighed()
