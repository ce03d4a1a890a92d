"""What ran, as one tree of parts, whatever recorded it: of each how often it was called, and what it weighs.

An expression and a program make the same tree. A weight is a field of `Weighed`: what is made of several parts has the
sum of each, and `view/trace/columns.py` has the column in which it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

from ptexplore.model.places import SourceRef
from ptexplore.model.trace import walk

# What an expression calls itself, outside of modules, is a `call`.
PartKind = Literal["program", "thread", "imports", "user", "module", "call", "backward", "optimizer", "data"]
Unit = Literal["instructions", "nanoseconds", ""]  # in what costs are; "" where none is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Something that ran, of all its calls, with all that ran in it."""

    calls: int = 0
    cost: int = 0  # from entry to exit, in the unit of the run
    backward: int = 0  # the cost of the nodes that its operators recorded
    operators: int = 0  # operators that it called from Python, or that nodes and the engine called
    saved: int = 0  # bytes that these keep for backward
    device: int = 0  # nanoseconds that a device took for what these launched


WEIGHTS = tuple(field.name for field in fields(Weighed))
MEASURED = ("calls", "cost")  # of a part itself
SUMMED = tuple(weight for weight in WEIGHTS if weight not in MEASURED)  # of a part: those of what ran in it together
_W = TypeVar("_W", bound=Weighed)


def as_sum(held: Sequence[_W]) -> _W:
    """Several as one: the first of them, with each weight of all together."""
    return replace(held[0], **sums(held))


def total(held: Iterable[Weighed]) -> Weighed:
    """The weights of several together."""
    return Weighed(**sums(tuple(held)))


def sums(held: Sequence[Weighed]) -> Any:
    """By name, each weight of several together."""
    return {name: sum(getattr(each, name) for each in held) for name in WEIGHTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOperators(Weighed):
    """Calls of one operator, or runs of one node of backward, that a part made itself: `routes` are their numbers.

    `first` tells the order in which operators and parts were called first, among those of the same part.
    """

    name: str
    routes: tuple[int, ...] = ()
    first: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Weighed):
    """One part of what ran."""

    kind: PartKind
    name: str  # of a module within the outermost one: `blocks.0.attn`
    type: str | None = None  # of a module its class
    source: SourceRef | None = None
    own: tuple[OwnOperators, ...] = ()  # the costliest first
    parts: tuple[Part, ...] = ()  # in the order of their first calls
    names: tuple[str, ...] = ()  # of parts alike, which are shown as one: all their names
    first: int = 0  # as of operators
    at_least: bool = False  # further calls of it, with all that they did, are counted for what called it

    @property
    def own_cost(self) -> int:
        """The cost that its parts do not have."""
        return max(self.cost - sum(part.cost for part in self.parts), 0)

    @property
    def children(self) -> tuple[Part, ...]:
        """Its parts, as what walks a tree asks for them."""
        return self.parts

    def walk(self) -> Iterator[Part]:
        """The part and all inside of it, outermost first."""
        return walk([self])


@dataclass(frozen=True, slots=True, kw_only=True)
class Unweighed:
    """What was saved for backward, and no part has in its weights."""

    elsewhere: int = 0  # bytes that were kept first by nodes of no operator call that is told of
    packed: int = 0  # saved tensors that a hook packed, as a checkpoint's does
    unread: int = 0  # saved tensors whose layout or class does not tell their memory
    silent: int = 0  # nodes that do not tell what they keep
    in_slices: bool = False  # what a node inside of CopySlices keeps is not told
    backwards: tuple[int, int] | None = None  # of how many calls of backward something is told, and how many there were

    @property
    def is_unknown(self) -> bool:
        """Whether something was saved of which no bytes are told."""
        return bool(self.packed or self.unread or self.silent or self.in_slices)


@dataclass(frozen=True, slots=True)
class Run:
    """What ran: the whole as one part, in what costs are, and what no part has."""

    whole: Part
    unit: Unit
    unweighed: Unweighed = Unweighed()
