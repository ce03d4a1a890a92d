"""The bodies that an operator's dispatch keys run, as `show` lists them below its YAML entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptexplore.view.operator.card import COMMON, Card, KeyRow, Stubbed
from ptexplore.view.search.show import ShownKernel


def kernels_of(card: Card, *, full: bool) -> tuple[ShownKernel, ...]:
    """What the common keys run (all keys where `full`): the kernel, then the functions that it calls."""
    rows = card.keys if full else card.common
    return tuple(one for row in rows for one in _of_row(row, full=full))


def _of_row(row: KeyRow, *, full: bool) -> Iterator[ShownKernel]:
    keys = row.keys if full else tuple(key for key in row.keys if key in COMMON) or row.keys[:2]
    yield ShownKernel(keys, row.kernel, row.body)
    yield from _of_stubs(row.stubs, 1)
    for target in row.targets:
        yield ShownKernel((), target.name, target.source, 1)
        yield from _of_stubs(target.stubs, 2)


def _of_stubs(stubs: Sequence[Stubbed], depth: int) -> Iterator[ShownKernel]:
    for one in stubs:
        for kernel in one.stub.kernels:
            yield ShownKernel((), f"{one.called.stub} → {kernel.name}", kernel.source, depth)
