"""How a tree of parts (`model/run.py`) is gathered call by call, and finished: parts that are alike become one.

Parts that ran the same operators on the same sizes side by side are one part with several names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import Self

from ptexplore.model.nesting import Unrolling, each, unrolled
from ptexplore.model.places import SourceRef
from ptexplore.model.run import SUMMED, WEIGHTS, OwnOperators, Part, PartKind, Weighed, as_sum, total
from ptexplore.view.trace.alike import Shapes

_MEMBER = re.compile(r"((?:.*\.)?)\d+")  # the name of a member of a list of modules: `layers.0`
Signature = int  # the shape of parts that ran the same operators on the same sizes


@dataclass(eq=False)
class PartInMaking:
    """A part while it is gathered; `inside`: its parts by what tells them apart, in the order of their first calls.

    Its weights are those of the operators that it called itself, but for `cost`, which has all.
    """

    kind: PartKind
    name: str
    type: str | None = None
    source: SourceRef | None = None
    outer: Self | None = None
    calls: int = 0
    cost: int = 0
    backward: int = 0
    operators: int = 0
    saved: int = 0
    device: int = 0
    first: int | None = None  # the place of the first of its calls; None where it made none
    inside: dict[object, Self] = field(default_factory=dict)
    own: dict[str, list[OwnOperators]] = field(default_factory=dict)
    ran: list[object] = field(default_factory=list)  # operators with the sizes that they were given
    at_least: bool = False

    def outwards(self) -> Iterator[Self]:
        """The part and those around it."""
        part: Self | None = self
        while part is not None:
            yield part
            part = part.outer

    def add(self, told: Weighed) -> None:
        """Count what ran in it itself, but for what is measured of the part."""
        for weight in SUMMED:
            setattr(self, weight, getattr(self, weight) + getattr(told, weight))


Finished = tuple[Part, Signature]


def finished(part: PartInMaking, inside: Sequence[Finished], ran: tuple[object, ...], signatures: Shapes) -> Finished:
    """A part with what is inside of it, alike ones joined, its costliest operators first; and its signature.

    `ran` says which operators it ran itself, and on what; `signatures` has those that were met.
    """
    same = (part.kind, part.type if part.kind == "module" else part.name, part.source)
    alike = (*same, part.calls, ran, tuple(signature for _, signature in inside))
    within = total(inner for inner, _ in inside)
    weights = {w: getattr(part, w) + (getattr(within, w) if w in SUMMED else 0) for w in WEIGHTS}
    made = Part(
        **weights,
        kind=part.kind,
        name=part.name,
        type=part.type,
        source=part.source,
        own=tuple(sorted(sum_of_own(part.own.values()), key=lambda operators: -operators.cost)),
        parts=tuple(_joined(inside)),
        first=part.first or 0,
        at_least=part.at_least,
    )
    return made, signatures.number(*alike)


def _joined(parts: Iterable[Finished]) -> Iterator[Part]:
    """The parts in the order of their first calls; those that are alike as one, where the first of them stands.

    Modules are joined if they stand side by side, or if they are members of one list: their names end with a number.
    """
    alike: list[tuple[Signature, list[Part]]] = []
    for part, signature in parts:
        same = next((held for other, held in alike if other == signature and _may_join(held, part, alike)), None)
        if same is not None:
            same.append(part)
        else:
            alike.append((signature, [part]))
    for _, held in alike:
        yield held[0] if len(held) == 1 else unrolled(_as_one(held))


def _may_join(held: Sequence[Part], part: Part, alike: Sequence[tuple[Signature, list[Part]]]) -> bool:
    if part.kind != "module":
        return False
    members = [_MEMBER.fullmatch(name) for name in (held[-1].name, part.name)]
    in_one_list = all(members) and len({member[1] for member in members if member is not None}) == 1
    return alike[-1][1] is held or in_one_list


def _as_one(parts: Sequence[Part], *, named: bool = True) -> Unrolling[Part]:
    """Parts of the same structure as one: sums, and the names of all, or those of the first."""
    first = parts[0]
    names = tuple(name for part in parts for name in part.names or (part.name,))
    within = yield each(_as_one(inner, named=False) for inner in zip(*(part.parts for part in parts), strict=False))
    return replace(
        as_sum(parts),
        names=names if named else first.names,
        at_least=any(part.at_least for part in parts),
        own=tuple(sum_of_own(part.own for part in parts)),
        parts=within,
    )


def sum_of_own(given: Iterable[Iterable[OwnOperators]]) -> Iterator[OwnOperators]:
    """The calls of each operator as one."""
    by_name: dict[str, list[OwnOperators]] = {}
    for operators in given:
        for own in operators:
            by_name.setdefault(own.name, []).append(own)
    for held in by_name.values():
        routes = tuple(dict.fromkeys(route for own in held for route in own.routes))
        yield replace(as_sum(held), routes=routes, first=min(own.first for own in held))
