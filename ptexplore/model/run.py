"""What ran, as one tree of parts: for each part the number of calls and its weights.

An expression and a program give the same kind of tree. `Weighed` is the table of weights: each field says how a weight
is counted and shown. Views, columns, JSON and exports walk the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, TypeVar

from ptexplore.model.details import Detail
from ptexplore.model.places import SourceRef
from ptexplore.model.recorders import OPS
from ptexplore.model.trace import walk

# A `call` is a call that the expression makes itself, outside of modules.
PartKind = Literal[
    "program", "thread", "imports", "user", "library", "module", "call", "backward", "optimizer", "data", "compiling"
]
Unit = Literal["instructions", "nanoseconds", ""]  # the unit of costs; "" if none is known


WeightUnit: TypeAlias = Literal["cost", "count", "bytes", "nanoseconds"]  # "cost": the unit of the run's costs
# The tables that can show a weight. `parts`: the views `modules` and `lines`.
WeightTable: TypeAlias = Literal["parts", "operators", "operators of a program", "path", "tree"]
_OF_CALLS: tuple[WeightTable, ...] = ("parts", "operators", "operators of a program")
_EVERYWHERE: tuple[WeightTable, ...] = (*_OF_CALLS, "path", "tree")


@dataclass(frozen=True, slots=True)
class Weight:
    """One weight. `view/words/weights.py` has its heading and its meaning."""

    name: str
    unit: WeightUnit
    tables: tuple[WeightTable, ...] = _EVERYWHERE
    always: bool = False  # False: a table shows it only if something has it
    is_measured: bool = False  # it is measured for a part as a whole; else it is the sum over what ran in the part
    recorder: str | None = None  # counts it: it is in `weights` of events, hops and calls; None: views compute it


def _weight(unit: WeightUnit, **facts: Any) -> Any:
    """Returns a field of `Weighed`, and a row of `WEIGHTS`."""
    return field(default=0, metadata={"unit": unit, **facts})


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """Something that ran: all its calls, with everything that ran inside them. Columns are in the order of the fields.

    `cost`: from entry to exit. `backward`: the cost of the recorded nodes. `operators`: called from Python, or by nodes
    and the engine. `saved`: bytes kept for backward. `device`: nanoseconds of launches on a device.
    """

    cost: int = _weight("cost", tables=_OF_CALLS, always=True, is_measured=True)
    backward: int = _weight("cost", tables=("parts",), always=True)
    calls: int = _weight("count", tables=_OF_CALLS, always=True, is_measured=True)
    operators: int = _weight("count", tables=("parts",), always=True)
    saved: int = _weight("bytes", tables=("parts", "operators of a program"), always=True, recorder=OPS)
    device: int = _weight("nanoseconds", recorder=OPS)


WEIGHTS: Mapping[str, Weight] = {known.name: Weight(known.name, **known.metadata) for known in fields(Weighed)}
MEASURED = tuple(weight.name for weight in WEIGHTS.values() if weight.is_measured)
SUMMED = tuple(weight for weight in WEIGHTS if weight not in MEASURED)
CARRIED = frozenset(weight.name for weight in WEIGHTS.values() if weight.recorder is not None)
Carried: TypeAlias = Mapping[str, int]  # weights by name, as hops and calls have them; without those that are 0
NO_WEIGHTS: Carried = {}
_W = TypeVar("_W", bound=Weighed)


def known_weights(given: Carried | None) -> Any:
    """Returns the weights of a hop or of calls that the table has. A file of a newer version can have further ones."""
    given = given or NO_WEIGHTS
    return given if given.keys() <= CARRIED else {name: given[name] for name in given if name in CARRIED}


def added(given: Iterable[Carried | None]) -> Carried:
    """Returns the sum of each weight."""
    held = [weights for weights in given if weights]
    if len(held) < 2:
        return held[0] if held else NO_WEIGHTS
    sums = dict(held[0])
    for weights in held[1:]:
        for name, value in weights.items():
            sums[name] = sums.get(name, 0) + value
    return sums


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
