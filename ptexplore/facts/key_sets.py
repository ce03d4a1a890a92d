"""How PyTorch changes the key sets of tensors and threads: guards, hand-written kernels, functions that make tensors.

Each row is a fact with its source. `resolve/dispatch/starting_sets.py` decides which of them applies to a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptexplore.facts.source import FactSource

PYTHON = ("Python", "PythonTLSSnapshot")
NAMED = "Named"  # the key of a tensor with names; results made of such a tensor have it, too
# The boxed kernels of function transforms. They rebuild both key sets for each layer.
LAYERS = ("FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode")
AUTOGRAD = ("AutogradCPU", "AutogradOther", "AutogradNestedTensor")
BELOW = "AutoDispatchBelowADInplaceOrView"
BELOW_AUTOGRAD = "AutoDispatchBelowAutograd"

_LEGACY = "aten/src/ATen/core/LegacyTypeDispatch.h"
_VARIABLE = "torch/csrc/autograd/python_variable.cpp"
_TRACER = "torch/csrc/jit/frontend/tracer.cpp"
_PYTHON_KERNELS = "aten/src/ATen/core/PythonFallbackKernel.cpp"
_YAML = "aten/src/ATen/native/native_functions.yaml"
_LAYER_KERNELS = "aten/src/ATen/functorch/DynamicLayer.cpp"


class Guard(NamedTuple):
    """A guard by its text in a kernel: the keys that it excludes, and the keys that it removes from the include set."""

    text: str
    source: FactSource
    excludes: tuple[str, ...] = ()
    clears: tuple[str, ...] = ()


GUARDS = (
    Guard(BELOW, FactSource(_LEGACY, BELOW), excludes=(*AUTOGRAD, "ADInplaceOrView")),
    Guard(BELOW_AUTOGRAD, FactSource(_LEGACY, BELOW_AUTOGRAD), excludes=AUTOGRAD),
    Guard(
        "NoTracerDispatchMode", FactSource("aten/src/ATen/TracerMode.h", "NoTracerDispatchMode"),
        excludes=("Tracer", "VmapMode"),
    ),
    # This ends the tracing state and removes Tracer from the include set, until the state is restored.
    Guard("setTracingState(nullptr)", FactSource(_TRACER, "setTracingState"), clears=("Tracer",)),
)  # fmt: skip


class HandWritten(NamedTuple):
    """A key whose hand-written kernels change the thread-local sets, in a file that no wheel has."""

    key: str
    source: FactSource


HAND_WRITTEN = (
    HandWritten("Tracer", FactSource("torch/csrc/autograd/TraceTypeManual.cpp", "TraceType")),
    HandWritten("Python", FactSource(_PYTHON_KERNELS, "pythonFallback")),
    HandWritten("PythonTLSSnapshot", FactSource(_PYTHON_KERNELS, "pythonTLSSnapshotFallback")),
    HandWritten("PythonDispatcher", FactSource(_PYTHON_KERNELS, "pythonDispatcherFallback")),
    HandWritten(
        "Functionalize", FactSource("aten/src/ATen/FunctionalizeFallbackKernel.cpp", "functionalizeFallback")
    ),
    HandWritten(
        "FuncTorchBatched", FactSource("aten/src/ATen/functorch/BatchedFallback.cpp", "batchedTensorForLoopFallback")
    ),
    HandWritten("FuncTorchVmapMode", FactSource("aten/src/ATen/functorch/BatchRulesRandomness.cpp", "VmapMode")),
    HandWritten("Batched", FactSource("aten/src/ATen/LegacyBatchingRegistrations.cpp", "Batched")),
    HandWritten("VmapMode", FactSource("aten/src/ATen/VmapModeRegistrations.cpp", "VmapMode")),
    HandWritten("Named", FactSource("aten/src/ATen/NamedTensorUtils.h", "NoNamesGuard", until="2.12")),
)  # fmt: skip

# Each kernel of autocast excludes its own key while it runs (WrapFunction_ in this header), after this text.
AUTOCAST = FactSource("aten/src/ATen/autocast_mode.h", "ExcludeDispatchKeyGuard no_autocast(")


class Makes(NamedTuple):
    """An operator whose result has a key that its inputs need not have."""

    operator: str
    key: str
    source: FactSource


MAKERS = (
    Makes("aten::_conj", "Conjugate", FactSource(_YAML, "_conj")),
    Makes("aten::_neg_view", "Negative", FactSource(_YAML, "_neg_view")),
    Makes("aten::_efficientzerotensor", "ZeroTensor", FactSource(_YAML, "_efficientzerotensor")),
)


class MakesSubclass(NamedTuple):
    """A builtin of torch.Tensor that makes a tensor of a subclass.

    `dispatches`: the subclass must dispatch in Python.
    """

    method: str
    dispatches: bool
    source: FactSource


SUBCLASS_MAKERS = (
    MakesSubclass("_make_wrapper_subclass", True, FactSource(_VARIABLE, "_make_wrapper_subclass")),
    MakesSubclass("_make_dtensor", True, FactSource(_VARIABLE, "_make_dtensor", since="2.9", until="2.12")),
    MakesSubclass("_dtensor__new__", True, FactSource(_VARIABLE, "_dtensor__new__", since="2.13")),
    MakesSubclass("_make_subclass", False, FactSource(_VARIABLE, "_make_subclass")),
    MakesSubclass("as_subclass", False, FactSource(_VARIABLE, "as_subclass")),
)
# Its class does not dispatch in Python, although one of these functions makes it.
PARAMETER = FactSource("torch/nn/parameter.py", "_make_subclass")
# `_make_subclass` disables modes and the Python dispatcher meanwhile (DisablePythonDispatcher).
SUBCLASS = ("Tensor", "_make_subclass")
PUT_AWAY = ("PythonDispatcher", *PYTHON)
PUTS_AWAY = FactSource(_VARIABLE, "DisablePythonDispatcher")

# The ranges marked around a call of __torch_dispatch__: of a tensor's class, or of a mode.
DISPATCHING = ("PythonSubclass", "PythonDispatchMode")
MARKS_DISPATCH = FactSource("torch/csrc/PyInterpreter.cpp", "PythonDispatchMode", since="2.13")
# The function with which grad, vjp and jvp of torch.func run backward.
EAGER = FactSource("torch/_functorch/eager_transforms.py", "_autograd_grad")

# Builtins of torch._C that call the function they trace: their names contain this. Tracer is included meanwhile.
TRACED = FactSource("torch/csrc/jit/python/script_init.cpp", "_from_trace")
TRACER = FactSource(_TRACER, "setTracingState")

# Makes a tensor of Python values (internal_new_from_data): first a plain tensor without modes and transforms, which is
# then lifted. If a mode or a transform lifts only CPU tensors (only_lift_cpu_tensors), to() gets no device.
FROM_VALUES = "internal_new_from_data"
VALUES = FactSource("torch/csrc/utils/tensor_new.cpp", FROM_VALUES)
LIFTED = (("aten::to.device", "aten::to.dtype"), "aten::lift_fresh")
LIFTS = FactSource("torch/csrc/utils/tensor_new.cpp", "only_lift_cpu_tensors")
EMPTY = "aten::empty.memory_format"
PLAIN = (*PYTHON, *LAYERS, "Functionalize", "Fake", "DeferredInit")
UNTRACED = ("Tracer",)
# Makes a tensor of a value that is assigned to a part of a tensor.
TO_TENSOR = "valueToTensor"
ASSIGNED = FactSource("torch/csrc/autograd/python_variable_indexing.cpp", TO_TENSOR)
# written by torchgen: no checkout has it
FACTORIES = "torch/csrc/autograd/generated/variable_factories.h"


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    yield from ((f"guard {row.text}", row.source) for row in GUARDS)
    yield from ((f"hand-written kernels of {row.key}", row.source) for row in HAND_WRITTEN)
    yield from ((f"key made by {row.operator}", row.source) for row in MAKERS)
    yield from ((f"subclass made by {row.method}", row.source) for row in SUBCLASS_MAKERS)
    yield "guards of autocast", AUTOCAST
    yield "parameters", PARAMETER
    yield "modes put away", PUTS_AWAY
    yield "ranges around __torch_dispatch__", MARKS_DISPATCH
    yield "backward of torch.func", EAGER
    yield from (("tracing", source) for source in (TRACED, TRACER))
    yield from (("tensors of values", source) for source in (VALUES, LIFTS, ASSIGNED))
    yield from (("function transforms", FactSource(_LAYER_KERNELS, name)) for name in ("dynamicLayerFrontFallback",
                                                                                      "dynamicLayerBack"))  # fmt: skip
