"""What the kernel of a dispatch key does: by the key, by what the table says of its entry, and by what ran."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ptexplore.facts.source import FactSource
from ptexplore.model import details as says
from ptexplore.model.details import Detail

# What must be so besides: the kernel calls other operators; the operator takes tensors; the kernel only raises.
When = Literal["", "calls others", "takes tensors", "refuses"]
REFUSES = "at::functorch::unsupported"  # how the names of kernels begin that only raise
_TABLE = "aten/src/ATen/core/dispatch/OperatorEntry.cpp"  # whose words those of an entry are
_LAYERS = "aten/src/ATen/functorch/DynamicLayer.cpp"
_BATCHED = "aten/src/ATen/functorch/BatchedFallback.cpp"


class KernelOfKey(NamedTuple):
    """A row: which key ("" for any), which entry ("" for any), what must be so besides; what the kernel then does."""

    key: str
    entry: str
    when: When
    does: Detail | None  # None: nothing is said of it
    source: FactSource


# In order: the first that fits decides.
KERNELS_OF_KEYS = (
    KernelOfKey(
        "FuncTorchBatched", "", "refuses", says.BatchingRefused(),
        FactSource("aten/src/ATen/functorch/BatchRulesDynamic.cpp", "unsupportedDynamicOp"),
    ),
    KernelOfKey(
        "FuncTorchBatched", "backend fallback", "", says.NoBatchingRule(),
        FactSource(_BATCHED, "batchedTensorForLoopFallback"),
    ),
    KernelOfKey(
        "FuncTorchBatched", "batched kernel", "", says.BatchedByParts(),
        FactSource("aten/src/ATen/functorch/BatchRulesDecompositions.cpp", "FuncTorchBatchedDecomposition"),
    ),
    KernelOfKey(
        "FuncTorchDynamicLayerFrontMode", "backend fallback", "", says.ToTransform(),
        FactSource(_LAYERS, "dynamicLayerFrontFallback"),
    ),
    KernelOfKey(
        "FuncTorchDynamicLayerFrontMode", "", "calls others", says.OwnOfFunctorch(),
        FactSource("aten/src/ATen/functorch/PyTorchOperatorHacks.cpp", "FuncTorchDynamicLayerFrontMode"),
    ),
    KernelOfKey(  # of linear and dropout, say, which call none here
        "FuncTorchDynamicLayerFrontMode", "", "", None,
        FactSource("aten/src/ATen/functorch/PyTorchOperatorHacks.cpp", "FuncTorchDynamicLayerFrontMode"),
    ),
    KernelOfKey("", "math kernel", "calls others", says.CallsOthers(), FactSource(_TABLE, "math kernel")),
    KernelOfKey(
        "ADInplaceOrView", "", "", says.TracksViews(),
        FactSource("torch/csrc/autograd/VariableTypeManual.cpp", "ADInplaceOrView"),
    ),
    KernelOfKey(
        "FuncTorchBatched", "", "", says.BatchingRule(),
        FactSource("aten/src/ATen/functorch/LegacyBatchingRegistrations.cpp", "FuncTorchBatched"),
    ),
    KernelOfKey(
        "FuncTorchDynamicLayerBackMode", "", "", says.LeavesTransform(),
        FactSource(_LAYERS, "dynamicLayerBackFallback"),
    ),
    KernelOfKey(
        "Functionalize", "", "", says.Functionalizes(),
        FactSource("aten/src/ATen/FunctionalizeFallbackKernel.cpp", "functionalizeFallback"),
    ),
    KernelOfKey(
        "Python", "", "", says.WrittenInPython(),
        FactSource("aten/src/ATen/core/PythonFallbackKernel.cpp", "pythonFallback"),
    ),
    KernelOfKey(  # its body makes the next set, and tensors that it is given count there
        "BackendSelect", "", "takes tensors", says.BackendByBoth(),
        FactSource("aten/src/ATen/core/BackendSelectFallbackKernel.cpp", "BackendSelect"),
    ),
    KernelOfKey(
        "BackendSelect", "", "", says.BackendByOptions(),
        FactSource("aten/src/ATen/core/BackendSelectFallbackKernel.cpp", "BackendSelect"),
    ),
    KernelOfKey("", "math kernel", "", says.OneForAllKeys(), FactSource(_TABLE, "math kernel")),
    KernelOfKey(
        "", "default backend kernel", "", says.OneForAnyBackend(), FactSource(_TABLE, "default backend kernel")
    ),
    KernelOfKey("", "backend fallback", "", says.OneForAllOperators(), FactSource(_TABLE, "backend fallback")),
)  # fmt: skip


def kernel_does(key: str, entry: str, so: frozenset[When]) -> Detail | None:
    """What the kernel of a key does; None where nothing is said of it. `so` is what holds of it besides."""
    for row in KERNELS_OF_KEYS:
        if row.key in ("", key) and row.entry in ("", entry) and (not row.when or row.when in so):
            return row.does
    return None
