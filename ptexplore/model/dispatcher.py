"""What one torch reports about itself: registrations, dispatch tables, keys, and public Python names.

A probe that imports only torch sends these records (`probe/catalogue.py`), and the catalogue is built from them.
`scripts/probe-messages` makes the probe's types from these records.
"""

from __future__ import annotations

from msgspec import Struct

from ptexplore.model.operators import DispatchKey, KernelRole


class ImportedTorch(Struct, frozen=True):
    """The torch that was imported."""

    version: str  # `2.13.0+cpu`
    git_version: str | None = None  # the commit that it was built from
    torch_dir: str = ""  # the folder of the package


class DumpedOperator(Struct, frozen=True):
    """An operator, as the dispatcher prints it."""

    name: str  # with its namespace and overload
    dump: str  # its registrations
    table: str  # its computed table
    digest: str  # a hash of both texts
    schema: str | None = None  # None if it was registered without a schema
    tags: tuple[str, ...] = ()


class DumpedName(Struct, frozen=True):
    """A public Python name of torch."""

    name: str  # `torch.add`
    kind: str  # `builtin`, `python`, `slot`, `attribute`
    table: str | None = None  # the PyMethodDef table that contains it, or `Tensor`
    method: str | None = None  # its name in that table
    file: str | None = None  # for a Python function
    line: int | None = None  # the line of its first decorator, or of its `def`


class DumpedKernel(Struct, frozen=True):
    """A kernel, meta function or decomposition that is written in Python."""

    op: str  # the operator with its overload
    role: KernelRole  # its role for the operator
    function: str  # its name with its module
    key: str | None = None  # the dispatch key of the registration
    file: str | None = None  # the file of the function
    line: int | None = None  # the line of its `def`
    end_line: int | None = None  # its last line


class DispatcherDump(Struct, frozen=True):
    """Everything that one torch reports about itself."""

    torch: ImportedTorch
    keys: tuple[DispatchKey, ...]
    num_backends: int
    operators: tuple[DumpedOperator, ...]
    python_names: tuple[DumpedName, ...]
    python_kernels: tuple[DumpedKernel, ...]
