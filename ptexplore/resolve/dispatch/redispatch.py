"""What the text of a kernel says about the next key of the call, and about the keys that it disables meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from ptexplore.facts.key_sets import BELOW, BELOW_AUTOGRAD
from ptexplore.facts.redispatch import (
    AUTOGRAD_FALLBACK,
    BELOW_IN_PYTHON,
    CUSTOM_AUTOGRAD,
    CUSTOM_OP,
    CUSTOM_WRITES,
    MANUAL,
    MANUAL_KERNELS,
    NOT_IMPLEMENTED,
    SETS_AFTER,
    LeftToHand,
)
from ptexplore.model import reasons
from ptexplore.model.operators import Registration, TableEntry
from ptexplore.model.reasons import (
    AutogradFallback,
    BodyComputes,
    BodyRedispatches,
    ByCustomOp,
    ByCustomOpWrites,
    NotImplementedBelowAutograd,
    NotImplementedBelowViews,
    Reason,
)
from ptexplore.resolve.dispatch.schema import is_aliasing
from ptexplore.source.tree import SourceTree

_FULL_AFTER = re.compile(r"FULL_AFTER\s*,\s*c10::DispatchKey::(\w+)")
_SAVES = re.compile(r"\bSavedVariable\(|\bmake_saved_variable_list\(")


@dataclass(frozen=True, slots=True)
class Onward:
    """How a kernel passes the call on. `after`: the call's set is masked with the FULL_AFTER set of this key.

    `certain`: the kernel's text shows it. `computed`: the kernel, one of BackendSelect, computes the next set from the
    call's options instead.
    """

    after: str | None
    certain: bool
    why: Reason
    computed: bool = False
    guard: str | None = None  # the TLS guard held meanwhile, as written in the kernel


def onward(
    registration: Registration | None, entry: TableEntry, key: str, schema: str = "", *, by_custom_op: bool = False
) -> Onward | None:
    """Returns how the kernel of a table's entry passes the call on; None if it ends there, or calls operators anew.

    `schema` is the operator's schema; `by_custom_op`: torch.library.custom_op registered the operator.
    """
    if by_custom_op and key.startswith("Autograd"):
        why = ByCustomOp(CUSTOM_OP, CUSTOM_AUTOGRAD.file)
        return Onward("AutogradOther", False, why, guard=BELOW_AUTOGRAD)
    if by_custom_op and key == "ADInplaceOrView":
        return Onward("ADInplaceOrView", False, ByCustomOpWrites(CUSTOM_OP))
    if registration is None:
        return _fallback() if key.startswith("Autograd") and entry.path == AUTOGRAD_FALLBACK.file else None
    if registration.redispatch:
        after = _after(registration.redispatch)
        if after:
            return Onward(after, True, BodyRedispatches(registration.redispatch), guard=registration.guard)
        if "_dk" in registration.redispatch:
            return Onward(None, True, BodyComputes(), computed=True)
        return None
    if registration.callee and NOT_IMPLEMENTED in registration.callee:
        return _not_implemented(schema)
    return _manual(registration, key) if registration.path == MANUAL.file else None


def _not_implemented(schema: str) -> Onward:
    """Returns how the fallback for operators without a derivative passes the call on.

    The alias annotations of the schema decide.
    """
    if not schema or is_aliasing(schema):
        return Onward("AutogradOther", False, NotImplementedBelowAutograd(NOT_IMPLEMENTED), guard=BELOW_AUTOGRAD)
    return Onward("ADInplaceOrView", False, NotImplementedBelowViews(NOT_IMPLEMENTED), guard=BELOW)


def guard_of_writes(tree: SourceTree) -> str | None:
    """Returns the guard that the ADInplaceOrView kernel of a custom operator holds, from the text of this torch."""
    lines = tree.lines(CUSTOM_OP)
    first = next((number for number, line in enumerate(lines) if f"def {CUSTOM_WRITES.function}(" in line), len(lines))
    body = takewhile(lambda line: ".impl(" not in line, lines[first:])
    return BELOW if any(BELOW_IN_PYTHON in line for line in body) else None


def _fallback() -> Onward:
    return Onward("AutogradOther", False, AutogradFallback(AUTOGRAD_FALLBACK.file))


def _manual(registration: Registration, key: str) -> Onward | None:
    family = "ADInplaceOrView" if key == "ADInplaceOrView" else "Autograd"
    if LeftToHand(registration.op.partition("::")[2].partition(".")[0], family) not in MANUAL_KERNELS:
        return None
    why = reasons.ManualKernel(MANUAL.file)
    if family == "Autograd":
        return Onward("AutogradOther", False, why, guard=BELOW_AUTOGRAD)
    return Onward("ADInplaceOrView", False, why, guard=BELOW)


def _after(expression: str) -> str | None:
    named = next((row.key for row in SETS_AFTER if row.name in expression), None)
    full_after = _FULL_AFTER.search(expression)
    return named or (full_after[1] if full_after else None)


def computes_tangent(tree: SourceTree, registration: Registration | None) -> bool:
    """Whether the kernel's text, next to its guard, computes the forward gradient of the result.

    Generated autograd kernels do if the operator has a formula for it. Some hand-written ones do too; their text is not
    available here, so all of them count.
    """
    if registration is None or registration.path == MANUAL.file:
        return registration is not None
    if registration.body_path is None:
        return False
    lines = tree.lines(registration.body_path)[(registration.body_line or 1) - 1 : registration.body_end]
    return any("_set_fw_grad(" in line for line in lines)


def saves_results(tree: SourceTree, registration: Registration | None) -> bool | None:
    """Whether a kernel saves only results for backward, after its redispatch.

    False if it saves only inputs, before its guard; None if it saves both (tools/autograd/gen_variable_type.py).
    """
    if registration is None or registration.guard is None or registration.body_path is None:
        return None
    guard = registration.guard.partition(",")[0]
    body = tree.lines(registration.body_path)[(registration.body_line or 1) - 1 : registration.body_end]
    held = next((number for number, line in enumerate(body) if guard in line), None)
    saving = [number for number, line in enumerate(body) if _SAVES.search(line)]
    if held is None or not saving:
        return None
    after = {number > held for number in saving}
    return after.pop() if len(after) == 1 else None


def calls_unguarded(tree: SourceTree, registration: Registration | None, op: str) -> bool:
    """Whether the kernel's text calls an operator, as a method, before it holds its guard.

    The autograd kernels of in-place operators call clone() in this way, to save the values that they overwrite
    (tools/autograd/gen_variable_type.py).
    """
    if registration is None or registration.guard is None or registration.body_path is None:
        return False
    guard = registration.guard.partition(",")[0]
    call = re.compile(rf"\.{re.escape(op.partition('::')[2].partition('.')[0])}\(")
    for line in tree.lines(registration.body_path)[(registration.body_line or 1) - 1 : registration.body_end]:
        if guard in line:
            return False
        if call.search(line):
            return True
    return False
