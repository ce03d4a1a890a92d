"""The thread-local sets on the way: read where a recorder read them, else as guards leave them; else not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ptexplore.facts.key_sets import AUTOCAST, BELOW, BELOW_AUTOGRAD, LAYERS
from ptexplore.model import reasons
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.dispatch.starting_sets import (
    LocalState,
    changed_by_hand,
    excluded,
    first_state,
    inside_caller,
    inside_kernel,
    state_at,
)
from ptexplore.resolve.places.precision import in_runtime
from tests.unit.conftest import AUTOGRAD
from tests.unit.resolve.making import (
    DEFAULT_INCLUDE,
    KEYS,
    Small,
    bits,
    call,
    claim,
    event,
    frame,
    number_of,
    op,
    recorded,
    session,
    state,
    user_call,
)

BINDINGS = f"{AUTOGRAD}/python_torch_functions_1.cpp"
READ = LocalState(bits(*DEFAULT_INCLUDE), 0, True, None, (3,))
GUARDED = excluded(KEYS, BELOW)


def test_the_first_state_is_that_of_the_first_call(small: Small) -> None:
    seen = session(calls=[call(1, **state(exclude=("AutocastCPU",))), call(2)])
    first = first_state(small.context(seen))
    assert (first.include, first.exclude) == (bits(*DEFAULT_INCLUDE), bits("AutocastCPU"))
    assert (first.observed, first.certain) == (True, True)
    assert first.evidence == (number_of(seen, "dispatch", "call"),)


def test_without_a_reading_torchs_defaults_are_assumed_and_not_certain(small: Small) -> None:
    """c10/core/DispatchKeySet.h: default_included_set, and default_excluded_set, which is every autocast key."""
    first = first_state(small.context())
    assert (first.include, first.exclude) == (
        bits("BackendSelect", "ADInplaceOrView"),
        bits("AutocastCPU", "AutocastCUDA"),
    )
    assert (first.observed, first.certain) == (False, False)


def test_the_sets_that_were_read_at_a_call_count_there(small: Small) -> None:
    read = call(1, **state(exclude=("Tracer",)))
    one = replace(claim("binding", "f"), call=user_call(9, read))
    found = state_at(small.context(), one, READ)
    assert (found.exclude, found.observed, found.evidence) == (bits("Tracer"), True, (9,))


def test_the_sets_that_a_frame_reports_count_there(small: Small) -> None:
    event = {"type": "builtin", "table": "torch", "method": "f", "tls_include": bits("Python"), "tls_exclude": 0}
    found = state_at(small.context(), claim("binding", "f", event=event, evidence=(4,)), READ)
    assert (found.include, found.observed, found.evidence) == (bits("Python"), True, (4,))
    before = state_at(
        small.context(),
        claim("op", "aten::blend", event={"type": "op", "name": "aten::blend", "tls_include": 0, "tls_exclude": 0}),
        READ,
    )
    assert (before.include, before.observed, before.certain) == (0, False, False), "read at what Python did before it"
    assert state_at(small.context(), claim("op", "aten::blend"), READ) == READ, "elsewhere those around it"


def test_behind_the_last_frame_that_is_told_no_set_is_known(small: Small) -> None:
    """There Python may have turned a mode on, or a level of a transform, that nothing was told of."""
    told = session(frames=[frame("f", file="f.py", line=1), event("cut"), op("aten::blend")])
    context = small.context(told)
    read = {"type": "op", "name": "aten::blend", "tls_include": 0, "tls_exclude": 0}
    ops = [claim("op", "aten::blend", event={**read, "event": number}) for number in (100, 102)]
    assert [state_at(context, one, READ).known for one in ops] == [True, False]
    called = replace(ops[1], call=user_call(9, call(1, **state())))
    assert state_at(context, called, READ).known, "but where they were read for a call of yours"


# --- inside a kernel ---


def test_the_guards_of_all_kernels_around_are_held(small: Small) -> None:
    found = inside_kernel(small.context(), READ, [f"at::{BELOW_AUTOGRAD}", None, "NoTracerDispatchMode"], "CPU")
    assert found.exclude == excluded(KEYS, BELOW_AUTOGRAD) | KEYS.functionality("Tracer") | KEYS.functionality(
        "VmapMode"
    )
    assert (found.observed, found.certain, found.known) == (False, True, True), "it follows from their text"


def test_what_is_excluded_already_stays_so(small: Small) -> None:
    around = replace(READ, exclude=bits("AutocastCPU"))
    assert inside_kernel(small.context(), around, [BELOW]).exclude == GUARDED | bits("AutocastCPU")


def test_without_a_guard_nothing_changes(small: Small) -> None:
    assert inside_kernel(small.context(), READ, [None, "Timer"], "CPU") is READ


def test_a_tracer_kernel_takes_its_key_out_of_the_include_set(small: Small) -> None:
    around = replace(READ, include=bits("Tracer", "BackendSelect"))
    found = inside_kernel(small.context(), around, ["jit::tracer::setTracingState(nullptr)"], "CPU")
    assert (found.include, found.exclude) == (bits("BackendSelect"), READ.exclude)
    assert not found.observed


def test_an_autocast_kernel_excludes_its_own_key(small: Small) -> None:
    found = inside_kernel(small.context(), READ, [f"{AUTOCAST.words}AutocastCPU)"], "AutocastCPU")
    assert found.exclude == READ.exclude | KEYS.functionality("AutocastCPU")


@pytest.mark.parametrize(("key", "known"), [("Tracer", False), ("Python", False), ("CPU", True), ("AutogradCPU", True)])
def test_inside_a_hand_written_kernel_of_such_a_key_nothing_is_known(key: str, known: bool) -> None:
    found = changed_by_hand(READ, key)
    assert (found.known, found.certain) == (known, known)


@pytest.mark.parametrize("layer", ["FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"])
def test_a_layer_of_a_function_transform_sets_them_anew(small: Small, layer: str) -> None:
    found = inside_kernel(small.context(), READ, [BELOW], layer)
    assert (found.known, found.certain, found.observed) == (False, False, False)
    assert layer in LAYERS


# --- inside a binding or a Python frame ---


def binding(small: Small, function: str, *inside: Claim) -> Claim:
    """A generated binding of the small tree."""
    line = small.line(BINDINGS, f"{function}(")
    lines = small.tree.lines(BINDINGS)
    end = next(number for number in range(line, len(lines)) if lines[number] == "}") + 1
    return claim("binding", function, *inside, source=in_runtime(small.tree, BINDINGS, line, end))


@pytest.mark.parametrize(
    "function, op, guarded",
    [
        ("THPVariable_fresh", "aten::fresh", True),  # torch::fresh of variable_factories.h holds the guard
        ("THPVariable_fresh", "aten::fresh.names", True),
        ("THPVariable_fresh", "aten::fresh.out", False),  # called as at::fresh_out
        ("THPVariable_fresh", "aten::mirror", False),  # the binding calls no such factory
        ("THPVariable_open", "aten::open", False),  # torch::open's first line holds another thing
    ],
)
def test_a_factory_holds_its_guard_around_the_operator(small: Small, function: str, op: str, guarded: bool) -> None:
    call = claim("op", op, op=op)
    found = inside_caller(small.context(), binding(small, function, call), call, READ)
    assert found.exclude == (GUARDED if guarded else 0)
    assert found.certain, "it is read off the text"
    assert found.observed is not guarded


def test_a_hand_written_binding_may_hold_a_guard_that_nothing_shows(small: Small) -> None:
    call = claim("op", "aten::blend", op="aten::blend")
    found = inside_caller(small.context(), claim("binding", "f", call), call, READ)
    assert (found.include, found.exclude) == (READ.include, READ.exclude)
    assert (found.certain, found.observed, found.known) == (False, False, True)


def test_a_python_frame_may_have_changed_them_since(small: Small) -> None:
    call, inner = claim("op", "aten::blend", op="aten::blend"), claim("python", "g")
    frame = claim("python", "f", call, inner)
    assert not inside_caller(small.context(), frame, call, READ).certain
    assert inside_caller(small.context(), frame, inner, READ) is READ, "a frame inside is read for itself"
    guarding = replace(frame, event=recorded({**FRAME, "guards": True}))
    assert not inside_caller(small.context(), guarding, call, READ).known, "with a guard of C's that nothing tells of"
    assert inside_caller(small.context(), frame, call, READ).why == reasons.AroundFrame()
    assumed = first_state(small.context())
    assert inside_caller(small.context(), frame, call, assumed).why == assumed.why, "nothing was read"


BUILTIN = {"type": "builtin", "table": "torch", "method": "tensor", "tls_include": 0, "tls_exclude": 0}
FRAME = {"type": "frame", "file": "user.py", "line": 1, "function": "f"}


@pytest.mark.parametrize(
    "called, first, caller, guarded",
    [
        (("aten::to.device", "aten::lift_fresh"), 0, BUILTIN, True),
        (("aten::to.device", "aten::lift_fresh"), 1, BUILTIN, True),
        (("aten::to.device", "aten::mirror"), 0, BUILTIN, False),
        (("aten::lift_fresh", "aten::to.device"), 1, BUILTIN, False),
        (("aten::lift_fresh", "aten::mirror"), 0, BUILTIN, False),
        (("aten::lift_fresh", "aten::mirror"), 0, BUILTIN | {"method": "__setitem__"}, True),
        (("aten::lift_fresh", "aten::mirror"), 0, FRAME, True),
        (("aten::lift_fresh", "aten::mirror"), 0, FRAME | {"file": "torch/_ops.py"}, False),
    ],
)
def test_a_tensor_of_pythons_values_is_made_under_a_guard(
    small: Small, called: tuple[str, str], first: int, caller: dict[str, Any], guarded: bool
) -> None:
    """internal_new_from_data of torch/csrc/utils/tensor_new.cpp: to() and lift_fresh(), one after the other.

    valueToTensor of torch/csrc/autograd/python_variable_indexing.cpp: lift_fresh() alone, called by a slot, which no
    builtin tells of, or by `__setitem__`. tensor_from_numpy of torch/csrc/utils/tensor_numpy.cpp holds no guard.
    """
    calls = [claim("op", name, op=name) for name in called]
    found = inside_caller(small.context(), claim("python", "tensor", *calls, event=caller), calls[first], READ)
    assert found.exclude & GUARDED == (GUARDED if guarded else 0)
    assert bool(found.exclude & ~GUARDED) == guarded, "no mode and no transform sees the plain tensor"
    assert not found.certain


def test_where_a_tensor_has_names_a_kernel_may_hold_a_guard() -> None:
    """NoNamesGuard (aten/src/ATen/NamedTensorUtils.h) excludes Named; many hand-written kernels hold one."""
    assert changed_by_hand(READ, "CPU") is READ
    inside = changed_by_hand(READ, "CPU", named=True)
    assert (inside.known, inside.why) == (False, reasons.NamesMayBeOff("CPU"))
