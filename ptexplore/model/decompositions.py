"""The decompositions of one torch: tables, Inductor's lowerings, and functions with their places.

A probe that imports torch.export and Inductor sends `DumpedDecompositions` (`probe/decompositions.py`). The cache has
`Decompositions`, whose functions have canonical paths. `scripts/probe-messages` makes the probe's types from these
records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from ptexplore.model.dispatcher import ImportedTorch

DECOMPOSITIONS_FORMAT = 1  # of the file in the cache

# A decomposition table of torch:
# - registered: torch._decomp.decomposition_table, with every function that is registered as a decomposition.
# - export: torch.export.default_decompositions(), which is also torch._decomp.core_aten_decompositions().
# - inductor: torch._inductor.decomposition.select_decomp_table().
# - forward-ad: the decompositions that forward-mode AD runs for operators without a formula.
TableName: TypeAlias = Literal["registered", "export", "inductor", "forward-ad"]
TABLES: tuple[TableName, ...] = get_args(TableName)
# A part of torch that a version may lack: a table, Inductor's lowerings, the map from torch's functions to torch._refs,
# the composite operators that torch.export can keep.
DecompositionPart: TypeAlias = Literal["registered", "export", "inductor", "forward-ad", "lowerings", "refs", "kept"]


class Lowering(Struct, frozen=True):
    """How Inductor treats an operator."""

    function: int | None  # the number of the lowering's function; None for a fallback, which calls the kernel.
    falls_back: bool = False  # whether the lowering is also registered as one that may call the kernel.


class LaterOperator(Struct, frozen=True):
    """An operator that `import torch` does not register, but the imports of torch.export and Inductor do."""

    name: str  # with its namespace and overload.
    tags: tuple[str, ...] = ()


class DumpedFunction(Struct, frozen=True):
    """A Python function, as Python reports it."""

    name: str  # its name with its module.
    file: str | None = None
    line: int | None = None  # the line of its `def`.
    end_line: int | None = None  # its last line.
    declines: bool = False  # whether its code names NotImplemented: then it may leave the operator as it is.


class DumpedDecompositions(Struct, frozen=True):
    """What one torch reports. Functions are numbers of `functions`.

    In a table, None stands for the C++ kernel of CompositeImplicitAutograd.
    """

    torch: ImportedTorch
    functions: tuple[DumpedFunction, ...]
    tables: Mapping[TableName, Mapping[str, int | None]]  # by operator.
    users: Mapping[str, int]  # by table, `lowerings` or `refs`: the function that reads it.
    lowerings: Mapping[str, Lowering]  # by operator.
    refs: Mapping[str, int]  # by public Python name: its function in torch._refs.
    composite: tuple[str, ...]  # operators with a kernel for CompositeImplicitAutograd, in C++ or in Python.
    kept: tuple[str, ...]  # composite operators that torch.export can keep whole.
    later: tuple[LaterOperator, ...]
    unknown: Mapping[DecompositionPart, str]  # what this torch lacks, with the error.


class DecompositionFunction(Struct, frozen=True):
    """A Python function with its place in the installed torch."""

    name: str  # its name with its module.
    path: str | None  # the canonical path.
    line: int | None  # the line of the `def`, if the text has it.
    end_line: int | None
    declines: bool  # whether it may return NotImplemented, and so leave the operator as it is.


class Decompositions(Struct, frozen=True):
    """The decompositions of one installed torch: `DumpedDecompositions` with canonical paths."""

    format: int
    functions: tuple[DecompositionFunction, ...]
    tables: Mapping[TableName, Mapping[str, int | None]]
    users: Mapping[str, int]
    lowerings: Mapping[str, Lowering]
    refs: Mapping[str, int]
    composite: frozenset[str]
    kept: frozenset[str]
    later: tuple[LaterOperator, ...]
    unknown: Mapping[DecompositionPart, str]

    def entry(self, table: TableName, op: str) -> DecompositionFunction | None:
        """Returns the Python function that a table has for an operator. None for a C++ kernel or a missing entry."""
        number = self.tables.get(table, {}).get(op)
        return self.functions[number] if number is not None else None

    def user(self, part: str) -> DecompositionFunction | None:
        """Returns the function of torch that reads a table, the lowerings or the map to torch._refs."""
        number = self.users.get(part)
        return self.functions[number] if number is not None else None
