"""What one torch says of itself: its dispatcher's registrations and tables, its keys, its public names in Python.

A probe that has imported torch and nothing else tells it (`probe/catalogue.py`); the catalogue is made of it.
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
    digest: str  # of both
    schema: str | None = None  # None of one that was registered without a schema
    tags: tuple[str, ...] = ()  # its tags


class DumpedName(Struct, frozen=True):
    """A public name of torch's in Python."""

    name: str  # `torch.add`
    kind: str  # `builtin`, `python`, `slot`, `attribute`
    table: str | None = None  # the PyMethodDef table that has it, or `Tensor`
    method: str | None = None  # its name in that table
    file: str | None = None  # of a function of Python's
    line: int | None = None  # that of its first decorator, or of its `def`


class DumpedKernel(Struct, frozen=True):
    """A kernel, a meta function or a decomposition that is a function of Python's."""

    op: str  # the operator, with its overload
    role: KernelRole  # what it is for the operator
    function: str  # its name, with its module
    key: str | None = None  # the dispatch key that it is registered for
    file: str | None = None  # where it is written
    line: int | None = None  # the line of its `def`
    end_line: int | None = None  # its last line


class DispatcherDump(Struct, frozen=True):
    """All of it."""

    torch: ImportedTorch
    keys: tuple[DispatchKey, ...]
    num_backends: int
    operators: tuple[DumpedOperator, ...]
    python_names: tuple[DumpedName, ...]
    python_kernels: tuple[DumpedKernel, ...]
