"""Builds a tree of parts (`model/run.py`) call by call, and finishes it: alike parts become one.

Neighbouring parts that ran the same operators on the same sizes become one part with several names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from operator import itemgetter

from typing_extensions import Self

from ptexplore.model.details import Detail
from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.places import SourceRef
from ptexplore.model.run import (
    MEASURED,
    SUMMED,
    Carried,
    OwnOperators,
    Part,
    PartKind,
    Weighed,
    as_sum,
    known_weights,
    total,
)
from ptexplore.view.trace.alike import Shapes, rounds_joined

_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")  # a member of a list of modules, in a name: `0` of `layers.0.norm`
Signature = int  # the number of a shape: equal for parts that ran the same operators on the same sizes


@dataclass(eq=False)
class PartInMaking:
    """A part while it is gathered. `inside` has its parts by identity, in the order of their first calls.

    `sums` has the weights that are sums, of only the operators that it called itself. `cost` counts everything.
    """

    kind: PartKind
    name: str
    type: str | None = None
    source: SourceRef | None = None
    outer: Self | None = None
    calls: int = 0
    cost: int = 0
    sums: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SUMMED, 0))
    first: int | None = None  # the position of its first call; None if it made no call
    inside: dict[object, Self] = field(default_factory=dict)
    own: dict[str, list[OwnOperators]] = field(default_factory=dict)
    ran: list[object] = field(default_factory=list)  # operators with their input sizes
    at_least: bool = False
    at_most: bool = False
    choices: dict[Detail, None] = field(default_factory=dict)

    def outwards(self) -> Iterator[Self]:
        """Yields the part and the parts around it."""
        part: Self | None = self
        while part is not None:
            yield part
            part = part.outer

    def add(self, weighed: Weighed) -> None:
        """Adds something that ran in the part itself. Weights that are measured for a part as a whole are not added."""
        for weight in SUMMED:
            self.sums[weight] += getattr(weighed, weight)

    def weigh(self, weights: Carried | None) -> None:
        """Adds the weights of a hop that is no operator."""
        for weight, value in known_weights(weights).items():
            self.sums[weight] += value


Finished = tuple[Part, Signature]


def finished(part: PartInMaking, inside: Sequence[Finished], ran: tuple[object, ...], signatures: Shapes) -> Finished:
    """Returns a part with its parts, alike ones joined, and with its costliest operators first; and its signature.

    `ran` says which operators the part ran itself, and on which sizes. `signatures` keeps the known signatures.
    """
    same = (part.kind, part.type if part.kind == "module" else part.name, part.source)
    alike = (*same, part.calls, ran, tuple(part.choices), tuple(signature for _, signature in inside))
    within = total(inner for inner, _ in inside)
    made = Part(
        **{weight: getattr(part, weight) for weight in MEASURED},
        **{weight: part.sums[weight] + getattr(within, weight) for weight in SUMMED},
        kind=part.kind,
        name=part.name,
        type=part.type,
        source=part.source,
        own=tuple(sorted(sum_of_own(part.own.values()), key=lambda operators: -operators.cost)),
        parts=tuple(_joined(inside)),
        first=part.first or 0,
        at_least=part.at_least,
        at_most=part.at_most,
        choices=tuple(part.choices),
    )
    return made, signatures.number(*alike)


def _joined(parts: Iterable[Finished]) -> Iterator[Part]:
    """Yields the parts in the order of their first calls. Alike parts become one, at the position of the first.

    Modules are joined if they are neighbours, or if their names differ only in a member of a list: `layers.0.norm` and
    `layers.1.norm`. So are the rounds of a pattern: the parts A B C A B C become A, B and C.
    """
    alike: list[tuple[Signature, list[Part]]] = []
    for part, signature in parts:
        same = next((held for other, held in alike if other == signature and _may_join(held, part, alike)), None)
        if same is not None:
            same.append(part)
        else:
            alike.append((signature, [part]))
    apart = count(-1, -1)  # numbers of shapes that no other part has: only modules are rounds of a pattern
    groups = [(number if held[0].kind == "module" else next(apart), held) for number, held in alike]
    for _, held in rounds_joined(groups, itemgetter(0), lambda group, other: (group[0], [*group[1], *other[1]])):
        yield held[0] if len(held) == 1 else unrolled(_as_one(held))


def _may_join(held: Sequence[Part], part: Part, alike: Sequence[tuple[Signature, list[Part]]]) -> bool:
    if part.kind != "module":
        return False
    members = [_NUMBER.sub("#", name) for name in (held[-1].name, part.name)]
    in_one_list = members[0] == members[1] and "#" in members[0]
    return alike[-1][1] is held or in_one_list


def _as_one(parts: Sequence[Part], *, named: bool = True) -> Unrolling[Part]:
    """Joins parts of the same structure into one: the sums, with all names or only the names of the first part."""
    first = parts[0]
    names = tuple(name for part in parts for name in part.names or (part.name,))
    within = yield each(_as_one(inner, named=False) for inner in zip(*(part.parts for part in parts), strict=False))
    return replace(
        as_sum(parts),
        names=names if named else first.names,
        at_least=any(part.at_least for part in parts),
        at_most=any(part.at_most for part in parts),
        own=tuple(sum_of_own(part.own for part in parts)),
        parts=within,
    )


def sum_of_own(given: Iterable[Iterable[OwnOperators]]) -> Iterator[OwnOperators]:
    """Yields the sum of all calls for each operator."""
    by_name: dict[str, list[OwnOperators]] = {}
    for operators in given:
        for own in operators:
            by_name.setdefault(own.name, []).append(own)
    for held in by_name.values():
        routes = tuple(dict.fromkeys(route for own in held for route in own.routes))
        yield replace(as_sum(held), routes=routes, first=min(own.first for own in held))
