"""The effect of a dispatch key's kernel: by key, by the kind of its table entry, and by the observed calls."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ptexplore.facts.source import FactSource
from ptexplore.model import details as says
from ptexplore.model.details import Detail

# Further conditions: the kernel calls other operators; the operator takes tensors; the kernel only raises.
When = Literal["", "calls others", "takes tensors", "refuses"]
REFUSES = "at::functorch::unsupported"  # the beginning of the names of kernels that only raise
_TABLE = "aten/src/ATen/core/dispatch/OperatorEntry.cpp"  # it has the words for the kinds of entries
_LAYERS = "aten/src/ATen/functorch/DynamicLayer.cpp"
_BATCHED = "aten/src/ATen/functorch/BatchedFallback.cpp"


class KernelOfKey(NamedTuple):
    """A row: the key ("" for any), the entry ("" for any), a further condition, and what the kernel then does."""

    key: str
    entry: str
    when: When
    does: Detail | None  # None: nothing is said
    source: FactSource


# In order: the first row that fits decides.
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
    KernelOfKey(  # for example of linear and dropout, whose kernels call no operator here
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
    KernelOfKey(  # its body computes the next set, and takes tensor arguments into account
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


def kernel_does(key: str, entry: str, so: frozenset[When], release: str) -> Detail | None:
    """Returns what the kernel of a key does in a release of torch, or None if nothing is said.

    `so` has the further conditions that hold.
    """
    for row in KERNELS_OF_KEYS:
        fits = row.key in ("", key) and row.entry in ("", entry) and (not row.when or row.when in so)
        if fits and row.source.holds_for(release):
            return row.does
    return None
