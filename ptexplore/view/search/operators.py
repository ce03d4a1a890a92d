"""The running torch's operators beside the indexes: which one a query means, and where it is defined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ptexplore.model.operators import Operator
from ptexplore.resolve.places.precision import in_runtime, recorded, unknown
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store
from ptexplore.view.trees import Spot

_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the installed torch registered, the tree of its places, and that tree's `number` among those searched.

    `number` is -1 where that tree is not searched.
    """

    store: Store
    tree: SourceTree
    number: int = -1


def operator_spot(catalogue: Catalogue, operator: Operator) -> Spot:
    """Where an operator is defined: its entry in YAML, else what the binary recorded of its schema."""
    tree = catalogue.tree
    if operator.yaml_path and operator.yaml_line:
        return Spot(in_runtime(tree, operator.yaml_path, operator.yaml_line, operator.yaml_end), tree.info)
    own = next((known for known in catalogue.store.registrations(operator.name) if known.key is None), None)
    if own is None or own.path is None:
        return Spot(unknown("the binary names no file for it"), tree.info)
    line = own.op_line if own.confirmed and own.op_line else own.macro_line
    return Spot(recorded(tree, own.path, line, own.confirmed, own.why_not), tree.info)


def ranked_operators(names: Iterable[str], query: str) -> list[str]:
    """Names that the query may mean, best first: as typed, the same base, a beginning, humps, a part.

    Of those that fit alike: ATen's own, what returns its result before what writes it, the overload of tensors.
    """
    asked = query.removeprefix("torch.ops.").lower()
    if not asked.strip():
        return []
    humps = [hump.lower() for hump in _HUMP.findall(query)]
    ranked = [
        (score, not name.startswith("aten::"), "out" in _overload(name), _overload(name) != "Tensor", len(name), name)
        for name in names
        if (score := _score(name.lower(), asked, humps)) is not None
    ]
    return [row[-1] for row in sorted(ranked)]


def _overload(name: str) -> str:
    return name.partition(".")[2]


def _score(low: str, asked: str, humps: Sequence[str]) -> int | None:
    bare = low.partition("::")[2]
    base = bare.partition(".")[0]
    if asked in low:
        if asked in (low, bare) and asked != base:
            return 0
        if asked in (base, low.partition(".")[0]):
            return 1
        if bare.startswith(asked) or low.startswith(asked):
            return 2
        if len(asked) > 2:
            return 4
    return 3 if len(humps) > 1 and humps[0] in base and _in_order(humps, base) else None


def _in_order(humps: Sequence[str], base: str) -> bool:
    """Whether words of an operator's name begin with these, in this order."""
    words = iter(base.strip("_").split("_"))
    return all(any(word.startswith(hump) for word in words) for hump in humps)
