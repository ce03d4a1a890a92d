"""Which operators have a kernel for a dispatch key, or have none."""

from __future__ import annotations

from msgspec import Struct

from ptexplore.model.coverage import Has, KeyCoverage, Side
from ptexplore.model.places import Runtime
from ptexplore.view.documents.parts import (
    FORMAT,
    Reference,
    TorchBuild,
    TreeEntry,
    reference_if,
    torch_build,
    tree_entry,
)


class CoverageCount(Struct, frozen=True):
    """How many operators have a kind of kernel."""

    has: Has  # their kernel
    operators: int  # how many


class CoverageRow(Struct, frozen=True):
    """One operator."""

    name: str  # its full name
    has: Has  # its kernel for the key
    kernel: str  # the kernel's name, or ""
    source: Reference | None  # the place of the kernel
    elsewhere: tuple[str, ...]  # other keys with a kernel


class CoverageDocument(Struct, frozen=True):
    """`op --has KEY --json` and `op --missing KEY --json`."""

    format: int  # 1
    key: str  # the dispatch key
    side: Side  # the side
    torch: TorchBuild  # the torch
    trees: tuple[TreeEntry, ...]  # where text comes from
    operators: int  # all operators
    counts: tuple[CoverageCount, ...]  # their kernels, counted
    total: int  # operators of the side
    rows: tuple[CoverageRow, ...]  # at most LIMIT of them


def coverage_document(coverage: KeyCoverage, runtime: Runtime) -> CoverageDocument:
    """Returns the operators of one side as a document."""
    return CoverageDocument(
        format=FORMAT,
        key=coverage.key,
        side=coverage.side,
        torch=torch_build(runtime),
        trees=tuple(map(tree_entry, coverage.trees)),
        operators=coverage.operators,
        counts=tuple(CoverageCount(has, count) for has, count in coverage.counts.items()),
        total=coverage.total,
        rows=tuple(
            CoverageRow(row.name, row.has, row.kernel, reference_if(row.place), row.elsewhere) for row in coverage.rows
        ),
    )
