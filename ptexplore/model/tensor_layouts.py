"""Tensors in memory: what a probe read of some tensors and their storages, and what follows for the picture.

Sizes, strides and offsets are in elements, as torch has them. A `PlacedTensor` has strides and offset in cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec import Struct

from ptexplore.model.observed import Count
from ptexplore.model.tensor_facts import TensorFact, WriteObjection


class SeenStorage(Struct, frozen=True):
    """A storage, as torch reports it."""

    bytes: Count
    device: str  # `cpu`, `cuda:0`, `meta`
    address: Count  # the address of its first byte; 0 if it has no memory
    is_cow: bool = False  # copy on write: it shares its bytes with other storages until the first write


class SeenTensor(Struct, frozen=True):
    """A tensor, as torch reports it. A value is null if the tensor does not have it."""

    name: str  # a name of the expression, or the text of the part that gave it.
    kind: str  # the name of its class: `Tensor`, `Parameter`
    impl: Count  # a number that only names of the same tensor share
    dtype: str  # `float32`
    device: str  # `cpu`
    layout: str  # `strided`, `sparse_coo`, `jagged`
    element: Count  # the bytes of an element.
    sizes: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    offset: Count | None
    storage: Count | None  # its place in the list of storages
    formats: tuple[str, ...]  # the memory formats in which torch calls it contiguous
    is_conj: bool  # the conjugate bit: its values are conjugated when they are read
    is_neg: bool  # the negative bit
    is_nested: bool
    requires_grad: bool
    is_leaf: bool
    quantizer: str | None = None  # how its integers become numbers: `per_tensor_affine, scale 0.1, zero point 10`
    objection: WriteObjection | None = None  # why autograd refuses a write in place; null: no refusal.
    part_of: Count | None = None  # the place in the list of the tensor that consists of this one and others


class SeenTensors(Struct, frozen=True):
    """The tensors of an expression with their storages, in the order of the expression."""

    torch: str  # the version of torch
    tensors: tuple[SeenTensor, ...]
    storages: tuple[SeenStorage, ...]
    further: Count = 0  # how many more tensors there were


@dataclass(frozen=True, slots=True)
class PlacedTensor:
    """A tensor over the cells of a block of memory: its place in the list, its first cell, its strides in cells."""

    tensor: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    span: int = 1  # how many cells one element covers

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.sizes)

    @property
    def last(self) -> int:
        """The first cell of the element that lies behind all others."""
        return self.start + sum((n - 1) * stride for n, stride in zip(self.sizes, self.strides, strict=True))

    def cell_of(self, index: tuple[int, ...]) -> int:
        """Returns the first cell of the element with this index."""
        return self.start + sum(i * stride for i, stride in zip(index, self.strides, strict=True))

    def indices_at(self, cell: int, most: int) -> list[tuple[int, ...]]:
        """Returns the indices whose elements begin in a cell, in order, at most `most`.

        Along a dimension with stride 0 all indices lead to the same cell: only index 0 is returned.
        """
        moving = [d for d, (n, stride) in enumerate(zip(self.sizes, self.strides, strict=True)) if n > 1 and stride]
        moving.sort(key=lambda d: -self.strides[d])
        reach = [0] * (len(moving) + 1)  # how far the dimensions from the n-th on can reach
        for number in reversed(range(len(moving))):
            reach[number] = reach[number + 1] + (self.sizes[moving[number]] - 1) * self.strides[moving[number]]
        steps = [math.gcd(*(self.strides[d] for d in moving[number:])) for number in range(len(moving))]
        indices: list[tuple[int, ...]] = []

        def search(number: int, left: int, index: list[int]) -> None:
            if number == len(moving):
                if left == 0:
                    indices.append(tuple(index))
                return
            if left % steps[number]:
                return
            dimension = moving[number]
            stride = self.strides[dimension]
            first = max(-(-(left - reach[number + 1]) // stride), 0)
            for i in range(first, min(left // stride, self.sizes[dimension] - 1) + 1):
                if len(indices) < most:
                    index[dimension] = i
                    search(number + 1, left - i * stride, index)
            index[dimension] = 0

        left = cell - self.start
        if self.elements and 0 <= left <= reach[0]:
            search(0, left, [0] * len(self.sizes))
        return sorted(indices)


@dataclass(frozen=True, slots=True)
class MemoryBlock:
    """Memory with the tensors that lie in it: one storage, or several storages over the same memory.

    A cell is as large as the smallest element of a tensor in it, or smaller if elements begin between such cells.
    """

    storages: tuple[int, ...]
    bytes: int
    device: str
    has_memory: bool
    cell: int  # bytes
    dtypes: tuple[str, ...]
    tensors: tuple[PlacedTensor, ...]

    @property
    def cells(self) -> int:
        """The number of whole cells."""
        return self.bytes // self.cell


@dataclass(frozen=True, slots=True)
class TensorAnswer:
    """What a call of a method would do, as facts. Without a method: what a write to all elements would do."""

    tensor: int
    method: str  # `view(12)`
    facts: tuple[TensorFact, ...]


@dataclass(frozen=True, slots=True)
class ConcludedTensor:
    """A tensor with the facts about it."""

    seen: SeenTensor
    facts: tuple[TensorFact, ...]


@dataclass(frozen=True, slots=True)
class TensorLayouts:
    """Everything that a picture of tensors in memory shows."""

    torch: str
    blocks: tuple[MemoryBlock, ...]
    tensors: tuple[ConcludedTensor, ...]
    answers: tuple[TensorAnswer, ...]
    further: int = 0  # how many tensors are left out
