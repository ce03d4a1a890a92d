"""What a kernel's own text says of where it sends the call next, and which keys it turns off meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptexplore.model import Registration
from ptexplore.resolve.keyset import KeySets

# Names of c10/core/DispatchKeySet.h: each is the set after one key.
AFTER = {
    "after_autograd_keyset": "AutogradOther",
    "after_ADInplaceOrView_keyset": "ADInplaceOrView",
    "after_func_keyset": "Functionalize",
}
_FULL_AFTER = re.compile(r"FULL_AFTER\s*,\s*c10::DispatchKey::(\w+)")

# TLS guards of aten/src/ATen/core/LegacyTypeDispatch.h and torch/csrc/jit/frontend/tracer.h: what each excludes.
AUTOGRAD = ("AutogradCPU", "AutogradOther", "AutogradNestedTensor")
BELOW = "AutoDispatchBelowADInplaceOrView"
GUARDS = {
    BELOW: (*AUTOGRAD, "ADInplaceOrView"),
    "AutoDispatchBelowAutograd": AUTOGRAD,
    "NoTracerDispatchMode": ("Tracer", "VmapMode"),
}

# A hand-written boxed kernel that many generated registrations name
# (torch/csrc/autograd/autograd_not_implemented_fallback.cpp): redispatches with after_autograd_keyset.
NOT_IMPLEMENTED = "autogradNotImplementedFallback"

# The few autograd and ADInplaceOrView kernels that torchgen leaves to hand, and at which keys they redispatch below
# it; read off the 2.6.0 source, so it stays a prediction for every other version (detach_ never redispatches).
MANUAL = "torch/csrc/autograd/VariableTypeManual.cpp"
MANUAL_REDISPATCH = {
    "Autograd": {"_fw_primal", "_make_dual", "copy_", "resize_", "resize_as_", "detach"},
    "ADInplaceOrView": {"copy_", "resize_", "resize_as_", "detach"},
}

COMPUTED = (
    "its body makes the next set from the call's dtype, layout and device options; the profiler does not record them, "
    "and CPU is assumed since every tensor of this trace is there"
)


@dataclass(frozen=True, slots=True)
class Onward:
    """`after` names the key whose FULL_AFTER set masks the call's set; `certain` when the kernel's text shows it.

    `computed` marks BackendSelect's way: the next set is made from the call's options instead.
    """

    after: str | None
    certain: bool
    why: str
    computed: bool = False
    guard: str | None = None  # the TLS guard held meanwhile, as the kernel's text names it


def onward(registration: Registration | None, key: str) -> Onward | None:
    """Where a kernel sends the call, None when it ends there (or calls operators anew)."""
    if registration is None:
        return None
    if registration.redispatch:
        after = _after(registration.redispatch)
        if after:
            why = f"its body redispatches with `{registration.redispatch}`"
            return Onward(after, True, why, guard=registration.guard)
        if "_dk" in registration.redispatch:
            return Onward(None, True, COMPUTED, computed=True)
        return None
    if registration.callee and NOT_IMPLEMENTED in registration.callee:
        return Onward("AutogradOther", False, f"{NOT_IMPLEMENTED} is hand-written; it redispatches below autograd")
    return _manual(registration, key) if registration.path == MANUAL else None


def _manual(registration: Registration, key: str) -> Onward | None:
    family = "ADInplaceOrView" if key == "ADInplaceOrView" else "Autograd"
    if registration.op.partition("::")[2].partition(".")[0] not in MANUAL_REDISPATCH[family]:
        return None
    why = f"in 2.6.0 the hand-written kernel in {MANUAL} redispatches below its own key"
    if family == "Autograd":
        return Onward("AutogradOther", False, why, guard="AutoDispatchBelowAutograd")
    return Onward("ADInplaceOrView", False, why, guard=BELOW)


def _after(expression: str) -> str | None:
    for name, key in AFTER.items():
        if name in expression:
            return key
    found = _FULL_AFTER.search(expression)
    return found.group(1) if found else None


def excluded(keys: KeySets, guard: str | None) -> int:
    """The bits that a kernel's guard adds to the thread-local exclude set."""
    bits = 0
    for name, names in GUARDS.items():
        if guard and re.search(rf"\b{name}\b", guard):
            for key in names:
                bits |= keys.functionality(key)
    return bits
