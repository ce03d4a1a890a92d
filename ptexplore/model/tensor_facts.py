"""Facts about a tensor in memory: codes with arguments. `view/words/tensors.py` has the template of each fact."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ptexplore.model.codes import code_of, every
from ptexplore.model.reasons import AnyReason

# Why autograd refuses to write to a tensor in place. leaf: a leaf that requires grad. inference: a tensor of inference
# mode. All others are views that require grad. view-of-leaf: a view of a leaf. no-grad-view, inference-view: a view
# that was made in that mode. one-of-several: one operator made several views. custom-view: a view that a
# torch.autograd.Function made.
WriteObjection = Literal[
    "leaf", "view-of-leaf", "no-grad-view", "inference-view", "one-of-several", "custom-view", "inference"
]


class TensorFact(Struct, frozen=True, kw_only=True, tag_field="code", tag=code_of):
    """A fact about one tensor, or about a call with this tensor."""


# --- where it is ---


class SameTensor(TensorFact, frozen=True):
    """Another name of a tensor that the list has already."""

    other: str


class SharesStorage(TensorFact, frozen=True):
    """It has the storage of a tensor before it."""

    other: str


class SharesMemory(TensorFact, frozen=True):
    """It has a storage of its own over the memory of a tensor before it."""

    other: str


class SharesUntilWritten(TensorFact, frozen=True):
    """It has a storage of its own, which shares the bytes of a tensor before it until the first write."""

    other: str


class NoMemory(TensorFact, frozen=True):
    """It has sizes and strides, and no bytes behind them (the meta device)."""


class FakeDevice(TensorFact, frozen=True):
    """It says that it is on a device, and has no bytes there: its storage is on the meta device."""

    device: str


class WithoutOwnMemory(TensorFact, frozen=True):
    """Its class gives it sizes and strides, and it has no bytes of its own."""

    kind: str


class PastStorage(TensorFact, frozen=True):
    """Its last element would need more bytes than its storage has: the storage was made smaller."""

    needed: int  # bytes
    bytes: int


class NoElements(TensorFact, frozen=True):
    """It has no elements."""


class OtherLayout(TensorFact, frozen=True):
    """It is not strided: it has no cells of its own, and may consist of other tensors."""

    layout: str
    parts: int  # how many tensors of the list it consists of


class OfNestedTensors(TensorFact, frozen=True):
    """A nested tensor: it has no single shape."""

    parts: int


class SubclassOf(TensorFact, frozen=True):
    """It is of a subclass that consists of other tensors."""

    kind: str
    parts: int


# --- how it is laid out ---


class IsContiguous(TensorFact, frozen=True):
    """It is contiguous."""


class NotContiguous(TensorFact, frozen=True):
    """It is not contiguous in a memory format, because of the stride of one dimension."""

    format: str  # `contiguous`, `channels_last`
    dimension: int
    stride: int
    expected: int


class HasFormat(TensorFact, frozen=True):
    """It is contiguous in a memory format for channels."""

    format: str


class SharedAlong(TensorFact, frozen=True):
    """All elements along a dimension are one in memory."""

    dimension: int
    size: int


class Overlaps(TensorFact, frozen=True):
    """Several indices lead to one cell, with no dimension of stride 0."""


class ConjugateBit(TensorFact, frozen=True):
    """The conjugate bit is set."""


class NegativeBit(TensorFact, frozen=True):
    """The negative bit is set."""


class QuantizedBy(TensorFact, frozen=True):
    """Its elements are integers with a quantizer."""

    quantizer: str


# --- what a call would do ---


class ViewPossible(TensorFact, frozen=True):
    """A view with these sizes is possible: its strides."""

    strides: tuple[int, ...]


class ViewRefused(TensorFact, frozen=True):
    """A view is refused, because it would have to join two dimensions."""

    because: AnyReason


class OtherElementCount(TensorFact, frozen=True):
    """The asked sizes do not have the tensor's number of elements."""

    elements: int


class WouldCopy(TensorFact, frozen=True):
    """A call copies the elements: how many bytes, and the strides of the copy."""

    bytes: int
    strides: tuple[int, ...]


class WritesAll(TensorFact, frozen=True):
    """The write also reaches every element of other tensors."""

    others: tuple[str, ...]


class WritesSome(TensorFact, frozen=True):
    """The write also reaches some elements of another tensor."""

    other: str
    count: int
    elements: int
    indices: tuple[str, ...]  # the first ones: `[1,0]`; none if the tensors are large


class MayWrite(TensorFact, frozen=True):
    """The write may reach elements of another tensor. The tensors are too large to compare all elements."""

    other: str


class WriteRefused(TensorFact, frozen=True):
    """Most operators refuse to write in place, because all elements along a dimension are one in memory."""

    dimension: int


class GradRefusesWrites(TensorFact, frozen=True):
    """A write in place is refused while grad mode is on."""

    objection: WriteObjection


class InferenceRefusesWrites(TensorFact, frozen=True):
    """A tensor that was made in inference mode: outside of that mode, a write in place is refused."""


def facts() -> tuple[type[TensorFact], ...]:
    """Returns every code."""
    return tuple(every(TensorFact))
