"""The words of facts about tensors in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from msgspec import structs

from ptexplore.model import tensor_facts as is_so
from ptexplore.model.reasons import Reason
from ptexplore.model.tensor_facts import TensorFact, WriteObjection
from ptexplore.view.words.reasons import sentence
from ptexplore.view.words.templates import Catalogue, filled

ENGLISH: Catalogue = {
    # --- where it is ---
    is_so.SameTensor: "the same tensor as {other}",
    is_so.SharesStorage: "shares the storage of {other}",
    is_so.SharesMemory: "shares the memory of {other}, by a storage of its own",
    is_so.SharesUntilWritten: "copy on write: shares the memory of {other} until the first write",
    is_so.NoMemory: "meta: sizes and strides, but no bytes",
    is_so.FakeDevice: "fake: no bytes on {device}",
    is_so.WithoutOwnMemory: "{kind}: no bytes of its own",
    is_so.PastStorage: "outside its storage: its last element ends at byte {needed}, the storage has {bytes}",
    is_so.NoElements: "no elements",
    is_so.OtherLayout: "layout {layout}[: consists of {parts} tensors below]",
    is_so.OfNestedTensors: "nested[: consists of {parts} tensors below]",
    is_so.SubclassOf: "{kind}: consists of {parts} tensors below",
    # --- how it is laid out ---
    is_so.IsContiguous: "contiguous",
    is_so.NotContiguous: "not {format}: dimension {dimension} has stride {stride}, {format} would be {expected}",
    is_so.HasFormat: "{format}",
    is_so.SharedAlong: "the {size} elements along dimension {dimension} are one in memory",
    is_so.Overlaps: "several indices lead to one cell",
    is_so.ConjugateBit: "conjugate bit: each value is conjugated when it is read",
    is_so.NegativeBit: "negative bit: each value is negated when it is read",
    is_so.QuantizedBy: "quantized: {quantizer}",
    # --- what a call would do ---
    is_so.ViewPossible: "works: strides {strides}",
    is_so.ViewRefused: "fails: {because}",
    is_so.OtherElementCount: "fails: the tensor has {elements} element{elements#|s}",
    is_so.WouldCopy: "copies {bytes}: strides {strides}",
    is_so.WritesAll: "also writes into all elements of {others}",
    is_so.WritesSome: "also writes into {count} of {elements} elements of {other}[: {indices}]",
    is_so.MayWrite: "may also write into elements of {other} (too large to compare)",
    is_so.WriteRefused: "most in-place operators fail: dimension {dimension} has stride 0",
    is_so.GradRefusesWrites: "works only under torch.no_grad(), since {objection}",
    is_so.InferenceRefusesWrites: "works only under torch.inference_mode(), since the tensor was made there",
}  # fmt: skip

OBJECTIONS: Mapping[WriteObjection, str] = {
    "leaf": "the tensor is a leaf that requires grad",
    "view-of-leaf": "the tensor requires grad and is a view of a leaf",
    "no-grad-view": "the tensor requires grad and is a view that was made under torch.no_grad()",
    "inference-view": "the tensor requires grad and is a view that was made in inference mode",
    "one-of-several": "the tensor is one of several views of one operator and requires grad",
    "custom-view": "a torch.autograd.Function made this view, and the view requires grad",
    "inference": "the tensor was made in inference mode",
}


def fact_in_words(fact: TensorFact, size: Callable[[int], str]) -> str:
    """Returns a fact in words. `size` formats a number of bytes."""
    shown = SimpleNamespace(**{name: _shown(name, value, size) for name, value in structs.asdict(fact).items()})
    if isinstance(fact, is_so.WritesSome) and fact.count > len(fact.indices) > 0:
        shown.indices = f"{shown.indices}, …"
    return filled(ENGLISH[type(fact)], shown, _worded)


def _shown(name: str, value: Any, size: Callable[[int], str]) -> Any:
    """Returns an argument as it is written: bytes with a unit, strides as Python writes them."""
    if name == "objection":
        return OBJECTIONS[value]
    if name == "bytes":
        return size(value)
    if name in ("strides", "indices"):
        return str(tuple(value)) if name == "strides" else ", ".join(value)
    return value if not isinstance(value, int) or isinstance(value, bool) else _number(name, value)


def _number(name: str, value: int) -> str | int:
    """Returns a stride without commas, as the sizes and strides beside it."""
    return str(value) if name in ("stride", "expected") else value


def _worded(held: Any) -> str:
    return sentence(held) if isinstance(held, Reason) else str(held)
