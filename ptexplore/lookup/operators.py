"""The running torch's operators beside the indexes: where one is defined."""

from __future__ import annotations

from dataclasses import dataclass

from ptexplore.lookup.trees import Spot
from ptexplore.model.operators import Operator
from ptexplore.model.remarks import NoFileNamed
from ptexplore.resolve.places.precision import in_runtime, recorded, unknown
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store


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
        return Spot(unknown(NoFileNamed()), tree.info)
    line = own.op_line if own.confirmed and own.op_line else own.macro_line
    return Spot(recorded(tree, own.path, line, own.confirmed, own.why_not), tree.info)
