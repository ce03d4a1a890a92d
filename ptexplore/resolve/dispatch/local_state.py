"""The thread-local include and exclude sets on the way: read at calls from Python, then changed by guards.

Source of the knowledge: aten/src/ATen/core/LegacyTypeDispatch.h for the guards; the generated bindings and
torch/csrc/autograd/generated/variable_factories.h for factories, which hold one around the operator call;
torch/csrc/utils/tensor_new.cpp for tensors of Python's values (internal_new_from_data: to(), then lift_fresh()).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.dispatch.redispatch import BELOW, excluded

# The boxed kernels of function transforms, which set both sets anew by what each layer wants
# (aten/src/ATen/functorch: dynamicLayerFrontFallback and dynamicLayerBack of DynamicLayer.cpp, Interpreter.cpp).
LAYERS = ("FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode")
VALUES = "torch/csrc/utils/tensor_new.cpp"
LIFTED = ("aten::to.device", "aten::lift_fresh")
FACTORIES = "torch/csrc/autograd/generated/variable_factories.h"
# In a binding: the comment that names the operator a branch calls, and the call of a factory.
_BRANCH = re.compile(r"// (aten::[\w.]+)\(|\breturn torch::(\w+)\(")


@dataclass(frozen=True, slots=True)
class LocalState:
    """Thread-local include and exclude sets (raw), whether they were read or follow from guards, and what says so.

    `certain` is False where code that no text shows may have changed them, `known` where they may be one or the other,
    so that nothing can be said of calls made with them.
    """

    include: int
    exclude: int
    observed: bool
    why: str = ""
    evidence: tuple[int, ...] = ()
    certain: bool = True
    known: bool = True


def first_state(context: Context) -> LocalState:
    """The sets before anything of the expression ran.

    Source of torch's defaults: default_included_set and default_excluded_set (every autocast key) of
    c10/core/DispatchKeySet.h, which a thread's sets start from.
    """
    for call in context.calls:
        return LocalState(call.tls_include, call.tls_exclude, True, "", (call.observation,))
    include = context.keys.raw(("BackendSelect", "ADInplaceOrView"))
    exclude = context.keys.raw(name for name in context.keys.keys if name.startswith("Autocast"))
    return LocalState(include, exclude, False, "not read; torch's defaults are assumed", certain=False)


def state_at(claim: Claim, state: LocalState) -> LocalState:
    """The sets at a claim: those that were read there, else those around it."""
    call, event = claim.call, claim.event
    if call is not None:
        return LocalState(call.tls_include, call.tls_exclude, True, "", (call.observation,))
    if event is not None and event.tls_include is not None and event.tls_exclude is not None:
        return LocalState(event.tls_include, event.tls_exclude, True, "", claim.hop.evidence)
    return state


def inside_kernel(
    context: Context, state: LocalState, guards: Sequence[str | None], innermost: str | None = None
) -> LocalState:
    """The sets inside the innermost of a call's kernels: what the guards of the kernels around it exclude as well.

    `innermost` is that kernel's dispatch key.
    """
    if innermost in LAYERS:
        why = "as a layer of a function transform set them"
        return replace(state, observed=False, certain=False, known=False, why=why)
    bits = 0
    for guard in guards:
        bits |= excluded(context.keys, guard)
    if not bits:
        return state
    why = "as the guards of the kernels around it leave them"
    return replace(state, exclude=state.exclude | bits, observed=False, why=why)


def inside_caller(context: Context, binding: Claim, operator: Claim, state: LocalState) -> LocalState:
    """The sets where a binding or a Python frame calls an operator.

    Factories hold a guard; what a hidden body, or a frame between two readings, does to the sets is not known.
    """
    if _lifted(binding, operator):
        why = f"inside internal_new_from_data ({VALUES}), which holds {BELOW} around to() and lift_fresh()"
        exclude = state.exclude | excluded(context.keys, BELOW)
        return replace(state, exclude=exclude, observed=False, why=why, certain=False)
    if binding.hop.kind == "python":
        read = "as they were read at the call around this frame, which may have changed them since"
        why = read if state.observed else state.why
        return replace(state, observed=False, why=why, certain=False) if operator.hop.kind == "op" else state
    if binding.hop.source.layer != "generated":
        why = "as they were at the binding; it is hand-written, and may hold a guard that is not followed here"
        return replace(state, observed=False, why=why, certain=False)
    factory = _factory(context, binding, operator)
    if factory is None:
        return state
    why = f"inside torch::{factory} ({FACTORIES}), which holds {BELOW}"
    return replace(state, exclude=state.exclude | excluded(context.keys, BELOW), observed=False, why=why)


def _lifted(caller: Claim, operator: Claim) -> bool:
    """Whether an operator is one of the pair that makes a tensor of Python's values; nothing else calls both so."""
    called = [claim for claim in caller.children if claim.hop.kind == "op"]
    pairs = [pair for pair in pairwise(called) if tuple(claim.hop.op for claim in pair) == LIFTED]
    return any(operator is one for pair in pairs for one in pair)


def _factory(context: Context, binding: Claim, operator: Claim) -> str | None:
    """The torch:: factory through which the binding's text calls this operator, where that factory holds the guard."""
    source = binding.hop.source
    if operator.hop.op is None or source.path is None or source.line is None or operator.hop.op.endswith("out"):
        return None
    base = operator.hop.op.partition("::")[2].partition(".")[0]
    body = "\n".join(context.tree.lines(source.path)[source.line - 1 : source.end_line])
    branches, named = _BRANCH.findall(body), ""
    overloaded = any(op == operator.hop.op for op, _ in branches)  # else its overload is not told
    for op, name in branches:
        named = op or named
        if overloaded and named != operator.hop.op:
            continue
        if name.removesuffix("_symint") == base and _guarded(context, name):
            return str(name)
    return None


def _guarded(context: Context, factory: str) -> bool:
    lines = context.tree.lines(FACTORIES)
    for number, line in enumerate(lines):
        if re.search(rf"\b{factory}\(", line) and line.startswith("inline"):
            return BELOW in lines[number + 1]
    return False
