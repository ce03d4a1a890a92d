"""Copies in a program: for each call of aten::copy_, the two tensors as the profiler recorded them, and what called it.

A copy becomes a key. Equal keys are copies of the same sizes, strides, dtypes and devices, by the same operators. Rows
count equal keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import torch_api as api

if TYPE_CHECKING:
    from .messages import CopiedTensorData, RecordedTensorData

COPY = "aten::copy_"
TAKE_FORMAT = {"aten::contiguous": 1, "aten::clone": 1, "aten::_to_copy": 6}  # the position of the memory format
MOST = 64  # maximum number of different copies of one row
_TENSOR = api.TENSOR_METADATA

Around = Sequence[tuple[str, Sequence[Any]]]  # the operators around a call, outermost first, with their inputs


class CopiedLayout(NamedTuple):
    """The recorded layout of a copied tensor."""

    device: Any
    layout: Any
    dtype: Any
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def told(self) -> RecordedTensorData:
        """Return the tensor as plain data."""
        layout = str(self.layout).removeprefix("torch.")
        told: RecordedTensorData = {
            "device": str(self.device),
            "layout": layout,
            "dtype": str(self.dtype).removeprefix("torch."),
            "sizes": self.sizes,
        }
        if layout == "strided":
            told["strides"] = self.strides
        return told


class CopyKey(NamedTuple):
    """A copy: its tensors, the operators around it, and the input of the outermost operator that is copied."""

    source: CopiedLayout
    result: CopiedLayout
    inside: tuple[str, ...]
    argument: int | None
    is_view: bool
    format: int | None


def copy_key(inputs: Sequence[Any], around: Around) -> CopyKey | None:
    """Return the key of a call of copy_ with these inputs. Return None if the profiler did not record its tensors."""
    if len(inputs) < 2 or type(inputs[0]) is not _TENSOR or type(inputs[1]) is not _TENSOR:
        return None
    written, read = inputs[0], inputs[1]
    argument, is_view = _argument(around[0][1], read) if around else (None, False)
    forms = [given[TAKE_FORMAT[name]] for name, given in around if len(given) > TAKE_FORMAT.get(name, len(given))]
    form = next((form for form in reversed(forms) if type(form) is int), None)
    return CopyKey(_layout(read), _layout(written), tuple([name for name, _ in around]), argument, is_view, form)


def _layout(tensor: Any) -> CopiedLayout:
    return CopiedLayout(tensor.device, tensor.layout, tensor.dtype, tuple(tensor.sizes), tuple(tensor.strides))


def _argument(inputs: Sequence[Any], copied: Any) -> tuple[int | None, bool]:
    """Return which input is copied, and whether a view of this input is copied; None if several may be."""
    tensors = [(number, value) for number, value in enumerate(inputs) if type(value) is _TENSOR]
    same = [number for number, value in tensors if value.impl_ptr == copied.impl_ptr]
    if same:
        return same[0], False
    data = copied.storage_data_ptr
    viewed = [number for number, value in tensors if data and value.storage_data_ptr == data]
    return (viewed[0], True) if len(viewed) == 1 else (None, False)


def added(copies: Mapping[CopyKey, int], further: Sequence[CopyKey]) -> dict[CopyKey, int]:
    """Return the counts of copies with further copies. A row has at most MOST different ones."""
    counts = dict(copies)
    for key in further:
        if key in counts or len(counts) < MOST:
            counts[key] = counts.get(key, 0) + 1
    return counts


def told(copies: Mapping[CopyKey, int]) -> list[CopiedTensorData]:
    """Return the copies of a row as plain data."""
    return [
        {
            "source": key.source.told(),
            "result": key.result.told(),
            "calls": calls,
            "inside": key.inside,
            "argument": key.argument,
            "is_view": key.is_view,
            "format": key.format,
        }
        for key, calls in copies.items()
    ]
