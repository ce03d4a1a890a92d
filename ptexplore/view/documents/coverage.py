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
    """How many operators have this for the key."""

    has: Has  # what they have
    operators: int  # how many


class CoverageRow(Struct, frozen=True):
    """One operator."""

    name: str  # its full name: `aten::add.Tensor`
    has: Has  # what it has for the key
    kernel: str  # the kernel's name; "" if there is none or it is not known
    source: Reference | None  # where the kernel, the fallback or the YAML entry is
    elsewhere: tuple[str, ...]  # common keys for which it has a kernel of its own


class CoverageDocument(Struct, frozen=True):
    """`op --has KEY --json` and `op --missing KEY --json`."""

    format: int  # 1
    key: str  # the dispatch key
    side: Side  # which operators are listed
    torch: TorchBuild  # the torch whose tables these are
    trees: tuple[TreeEntry, ...]  # where text comes from
    operators: int  # the number of operators of this torch
    counts: tuple[CoverageCount, ...]  # what they have, all kinds
    total: int  # how many operators are on this side
    rows: tuple[CoverageRow, ...]  # the operators, at most as many as the limit


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
