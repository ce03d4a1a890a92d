"""The operators of the installed torch beside the indexes, and the place where an operator is defined."""

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
    """The operators that the installed torch registered, and the tree that their places are in.

    `number` is that tree's number among the searched trees, or -1 if it is not searched.
    """

    store: Store
    tree: SourceTree
    number: int = -1


def operator_spot(catalogue: Catalogue, operator: Operator) -> Spot:
    """Returns the place where an operator is defined: its YAML entry, else the place recorded with its schema."""
    tree = catalogue.tree
    if operator.yaml_path and operator.yaml_line:
        return Spot(in_runtime(tree, operator.yaml_path, operator.yaml_line, operator.yaml_end), tree.info)
    own = next((known for known in catalogue.store.registrations(operator.name) if known.key is None), None)
    if own is None or own.path is None:
        return Spot(unknown(NoFileNamed()), tree.info)
    line = own.op_line if own.confirmed and own.op_line else own.macro_line
    return Spot(recorded(tree, own.path, line, own.confirmed, own.why_not), tree.info)
