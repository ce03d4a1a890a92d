"""Where hand-written kernels send a call next: the key whose set masks the call's set, and the guard held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptexplore.facts.key_sets import BELOW
from ptexplore.facts.source import FactSource

_KEY_SETS = "c10/core/DispatchKeySet.h"
_FALLBACK = "torch/csrc/autograd/autograd_not_implemented_fallback.cpp"


class SetAfter(NamedTuple):
    """A name for the set after one key."""

    name: str
    key: str
    source: FactSource


SETS_AFTER = (
    SetAfter("after_autograd_keyset", "AutogradOther", FactSource(_KEY_SETS, "after_autograd_keyset")),
    SetAfter("after_ADInplaceOrView_keyset", "ADInplaceOrView", FactSource(_KEY_SETS, "after_ADInplaceOrView_keyset")),
    SetAfter("after_func_keyset", "Functionalize", FactSource(_KEY_SETS, "after_func_keyset")),
)

# A boxed kernel that many generated registrations name. Its autogradNotImplementedFallbackImpl examines the schema: an
# operator that writes an output or returns an alias of one argument continues below autograd; all others continue below
# ADInplaceOrView. Either way, a guard is held.
NOT_IMPLEMENTED = "autogradNotImplementedFallback"
NOT_IMPLEMENTED_IN = FactSource(_FALLBACK, "autogradNotImplementedFallbackImpl")

# The kernel of operators without an autograd kernel of their own. It calls basicAutogradNotImplementedFallbackImpl. In
# each of its modes, that redispatches below autograd, and holds no guard meanwhile.
AUTOGRAD_FALLBACK = FactSource("aten/src/ATen/core/VariableFallbackKernel.cpp", "autograd_fallback")
BASIC_FALLBACK = FactSource(_FALLBACK, "basicAutogradNotImplementedFallbackImpl")


class KernelOfCustomOp(NamedTuple):
    """A kernel in Python that torch.library.custom_op registers: its file, and the name of its function."""

    file: str
    function: str
    source: FactSource


CUSTOM_OP = "torch/_library/custom_ops.py"
# For autograd keys: it redispatches with `keyset & _C._after_autograd_keyset` in `_C._AutoDispatchBelowAutograd()`.
CUSTOM_AUTOGRAD = KernelOfCustomOp(
    "torch/_library/autograd.py", "autograd_impl", FactSource("torch/_library/autograd.py", "_after_autograd_keyset")
)
# For ADInplaceOrView, if the operator writes its arguments: it counts their versions and redispatches below its own
# key. In some versions it holds a guard meanwhile.
CUSTOM_WRITES = KernelOfCustomOp(CUSTOM_OP, "adinplaceorview_impl", FactSource(CUSTOM_OP, "adinplaceorview_impl"))
BELOW_IN_PYTHON = f"_{BELOW}()"


class LeftToHand(NamedTuple):
    """An autograd or ADInplaceOrView kernel that is written by hand instead of torchgen.

    It redispatches below that key.

    The row was read from the 2.6.0 source, so it is a prediction for every other version. detach_ never redispatches.
    """

    operator: str  # without namespace and overload
    family: str  # "Autograd" or "ADInplaceOrView"


MANUAL = FactSource("torch/csrc/autograd/VariableTypeManual.cpp", "VariableType")
MANUAL_KERNELS = frozenset((
    *(LeftToHand(name, "Autograd") for name in ("_fw_primal", "_make_dual", "copy_", "resize_", "resize_as_",
                                                  "detach")),
    *(LeftToHand(name, "ADInplaceOrView") for name in ("copy_", "resize_", "resize_as_", "detach")),
))  # fmt: skip


def facts() -> Iterator[tuple[str, FactSource]]:
    """Yields every fact of this module, with name and source."""
    yield from ((f"set {row.name}", row.source) for row in SETS_AFTER)
    yield from (("fallbacks of autograd", source) for source in (NOT_IMPLEMENTED_IN, AUTOGRAD_FALLBACK, BASIC_FALLBACK))
    yield from ((f"kernel {row.function}", row.source) for row in (CUSTOM_AUTOGRAD, CUSTOM_WRITES))
    yield from ((f"kernel of {row.operator}", FactSource(MANUAL.file, row.operator)) for row in sorted(MANUAL_KERNELS))
