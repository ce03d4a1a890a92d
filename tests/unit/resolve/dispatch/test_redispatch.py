"""Where a kernel sends the call next and what it turns off meanwhile, from the text that registers it."""

from __future__ import annotations

from typing import Any

import pytest

from ptexplore.facts.key_sets import BELOW, BELOW_AUTOGRAD
from ptexplore.facts.redispatch import AUTOGRAD_FALLBACK, MANUAL
from ptexplore.model.operators import TableEntry
from ptexplore.resolve.dispatch.redispatch import calls_unguarded, computes_tangent, onward
from ptexplore.resolve.dispatch.starting_sets import excluded
from tests.unit.conftest import AUTOGRAD
from tests.unit.resolve.making import KEYS, Small, registration

VARIABLE = f"{AUTOGRAD}/VariableType_1.cpp"


def entry(key: str, path: str | None = None, reason: str = "kernel") -> TableEntry:
    """What an operator's table has for a key, registered in a file."""
    return TableEntry((key,), reason, False, path, 66 if path else None, "")


def after(key: str, **more: Any) -> tuple[str | None, bool, str | None] | None:
    """The key after which the call goes on, whether the text shows that, and the guard that is held."""
    then = onward(registration("aten::blend_", key, **more), entry(key), key)
    return (then.after, then.certain, then.guard) if then else None


@pytest.mark.parametrize(
    "expression, key",
    [
        ("ks & c10::after_autograd_keyset", "AutogradOther"),
        ("ks & c10::after_ADInplaceOrView_keyset", "ADInplaceOrView"),
        ("ks & c10::after_func_keyset", "Functionalize"),
        ("ks & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Tracer)", "Tracer"),
    ],
)
def test_the_set_that_a_body_redispatches_with(expression: str, key: str) -> None:
    assert after("AutogradCPU", redispatch=expression, guard=f"at::{BELOW}") == (key, True, f"at::{BELOW}")


def test_an_expression_that_is_not_known_leads_nowhere() -> None:
    assert after("AutogradCPU", redispatch="some_set()") is None


def test_a_kernel_whose_text_redispatches_nowhere_ends_the_call() -> None:
    assert after("CPU") is None
    assert onward(None, entry("CPU"), "CPU") is None


def test_backend_select_makes_the_next_set_from_the_options() -> None:
    then = onward(
        registration("aten::fresh", "BackendSelect", redispatch="_dk"), entry("BackendSelect"), "BackendSelect"
    )
    assert then is not None
    assert (then.computed, then.certain, then.after) == (True, True, None)


@pytest.mark.parametrize(
    "schema, key, guard",
    [
        ("aten::s(Tensor self) -> Tensor", "ADInplaceOrView", BELOW),
        ("aten::s(Tensor(a) self) -> Tensor(a)", "AutogradOther", BELOW_AUTOGRAD),  # a view
        ("aten::s.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "AutogradOther", BELOW_AUTOGRAD),
        ("", "AutogradOther", BELOW_AUTOGRAD),  # nothing says that it aliases nothing
    ],
)
def test_the_fallback_of_what_has_no_derivative_asks_the_schema(schema: str, key: str, guard: str) -> None:
    """autogradNotImplementedFallbackImpl of torch/csrc/autograd/autograd_not_implemented_fallback.cpp."""
    record = registration("aten::s", "Autograd", callee="torch::autograd::autogradNotImplementedFallback()")
    then = onward(record, entry("AutogradCPU"), "AutogradCPU", schema)
    assert then is not None
    assert (then.after, then.guard, then.certain) == (key, guard, False), "hand-written, so a prediction"


@pytest.mark.parametrize(
    "op, key, expected",
    [
        ("aten::copy_", "AutogradCPU", ("AutogradOther", False, BELOW_AUTOGRAD)),
        ("aten::detach", "AutogradCPU", ("AutogradOther", False, BELOW_AUTOGRAD)),
        ("aten::detach", "ADInplaceOrView", ("ADInplaceOrView", False, BELOW)),
        ("aten::_fw_primal", "ADInplaceOrView", None),  # it has no kernel there by hand
        ("aten::detach_", "AutogradCPU", None),  # the one of them that never redispatches
        ("aten::resize_.out", "ADInplaceOrView", ("ADInplaceOrView", False, BELOW)),
    ],
)
def test_kernels_by_hand(op: str, key: str, expected: tuple[str, bool, str] | None) -> None:
    then = onward(registration(op, key, at=(MANUAL.file, 7), origin="handwritten"), entry(key), key)
    assert (then and (then.after, then.certain, then.guard)) == expected


@pytest.mark.parametrize("key, path, goes_on", [
    ("AutogradCPU", AUTOGRAD_FALLBACK.file, True),
    ("AutogradCPU", "/a/program.py", False),  # somebody's own fallback
    ("CPU", AUTOGRAD_FALLBACK.file, False),
])  # fmt: skip
def test_the_fallback_of_autograd_redispatches_without_a_guard(key: str, path: str, goes_on: bool) -> None:
    then = onward(None, entry(key, path, "backend fallback"), key)
    assert (then is not None) is goes_on
    if then is not None:
        assert (then.after, then.certain, then.guard) == ("AutogradOther", False, None)


def test_a_custom_operator_redispatches_below_autograd() -> None:
    then = onward(None, entry("AutogradCPU"), "AutogradCPU", by_custom_op=True)
    assert then is not None
    assert (then.after, then.certain, then.guard) == ("AutogradOther", False, BELOW_AUTOGRAD)
    assert onward(None, entry("CPU"), "CPU", by_custom_op=True) is None, "its own kernel ends the call"
    then = onward(None, entry("ADInplaceOrView"), "ADInplaceOrView", by_custom_op=True)
    assert then is not None
    assert (then.after, then.certain) == ("ADInplaceOrView", False), "of what writes its arguments"


@pytest.mark.parametrize(
    "guard, keys",
    [
        (BELOW, ["AutogradCPU", "AutogradOther", "AutogradNestedTensor", "ADInplaceOrView"]),
        (BELOW_AUTOGRAD, ["AutogradCPU", "AutogradOther", "AutogradNestedTensor"]),
        (f"at::{BELOW}", ["AutogradCPU", "AutogradOther", "AutogradNestedTensor", "ADInplaceOrView"]),
        ("at::tracer::impl::NoTracerDispatchMode", ["Tracer", "VmapMode"]),
        ("SomeOtherGuard", []),
        (None, []),
    ],
)
def test_what_a_guard_turns_off(guard: str | None, keys: list[str]) -> None:
    """aten/src/ATen/core/LegacyTypeDispatch.h: the functionalities, of any backend."""
    bits = excluded(KEYS, guard)
    assert bits == sum(KEYS.functionality(key) for key in keys)
    assert bits & ((1 << KEYS.backends) - 1) == 0, "a backend stays in the set"


def test_the_guard_of_autograd_is_not_that_of_views() -> None:
    assert excluded(KEYS, BELOW_AUTOGRAD) & KEYS.functionality("ADInplaceOrView") == 0


@pytest.mark.parametrize(
    "op, expected",
    [
        ("aten::clone", True),  # above the guard: to save what is written over
        ("aten::mirror", False),  # below it
        ("aten::blend", False),  # never named as a method
        ("aten::count_up", False),
    ],
)
def test_what_an_autograd_kernel_calls_before_it_holds_its_guard(small: Small, op: str, expected: bool) -> None:
    line = small.line(VARIABLE, "blend_(c10::DispatchKeySet")
    body = {"body_path": VARIABLE, "body_line": line, "body_end": line + 9, "guard": f"at::{BELOW_AUTOGRAD}"}
    record = registration("aten::blend_", "Autograd", **body)
    assert calls_unguarded(small.tree, record, op) is expected
    unguarded = registration("aten::blend_", "Autograd", **{**body, "guard": None})
    assert not calls_unguarded(small.tree, unguarded, op)
    assert not calls_unguarded(small.tree, None, op)


def test_which_autograd_kernels_may_compute_a_tangent(small: Small) -> None:
    line = small.line(VARIABLE, "blend_(c10::DispatchKeySet")
    without = registration("aten::blend_", "Autograd", body_path=VARIABLE, body_line=line, body_end=line + 9)
    assert not computes_tangent(small.tree, without), "its text sets no forward gradient"
    assert computes_tangent(
        small.tree, registration("aten::copy_", "Autograd", at=(MANUAL.file, 7), origin="handwritten")
    )
    assert not computes_tangent(small.tree, None)
