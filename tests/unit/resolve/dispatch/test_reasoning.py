"""The chain of keys under an operator call, worked out by the dispatcher's rule: (arguments | include) - exclude.

The sets in these tests are small enough for the rule to be followed by hand (DispatchKeyExtractor.h): the highest key
left after the fallthroughs are masked out is asked for, and a redispatch goes on with what its kernel's text leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ptexplore.facts.key_sets import BELOW, BELOW_AUTOGRAD
from ptexplore.model import reasons
from ptexplore.model.operators import Registration, TableEntry
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.dispatch import operator_calls
from ptexplore.resolve.dispatch.reasoning import reason, why_unread
from ptexplore.resolve.dispatch.starting_sets import Arguments, excluded
from ptexplore.resolve.merge import build
from tests.unit.conftest import ATEN, AUTOGRAD
from tests.unit.resolve.making import (
    CPU_TENSOR,
    DEFAULT_INCLUDE,
    KEYS,
    Event,
    Rows,
    Small,
    bits,
    builtin,
    call,
    entry,
    event,
    frame,
    key_facts,
    number_of,
    op,
    operator,
    registration,
    session,
    shape,
    state,
    tensor,
    walk,
)

AFTER_AUTOGRAD, AFTER_VIEW = "ks & c10::after_autograd_keyset", "ks & c10::after_ADInplaceOrView_keyset"
VARIABLE, VIEW, CPU = (
    f"{AUTOGRAD}/VariableType_0.cpp",
    f"{AUTOGRAD}/ADInplaceOrViewType_0.cpp",
    f"{ATEN}/RegisterCPU_0.cpp",
)
SCHEMA = "(Tensor self, Tensor other) -> Tensor"


AUTOGRAD_KERNEL = {"redispatch": AFTER_AUTOGRAD, "guard": f"at::{BELOW}"}
VIEW_KERNEL = {"redispatch": AFTER_VIEW, "guard": f"at::{BELOW}"}
USUAL: Mapping[str, Any] = {"AutogradCPU": AUTOGRAD_KERNEL, "CPU": {}}
FALLTHROUGHS = ("ADInplaceOrView", "AutocastCPU", "BackendSelect")


def kernels(op: str, **keys: Any) -> tuple[list[Registration], list[TableEntry]]:
    """An operator's registrations and table: by key what its kernel's text says of a redispatch."""
    records, table = [], []
    for line, (key, more) in enumerate(keys.items(), 10):
        path = VARIABLE if key.startswith("Autograd") else VIEW if key == "ADInplaceOrView" else CPU
        records.append(registration(op, key, (path, line), wrapper=f"{key}::{op}", **more))
        table.append(entry(key, at=(path, line)))
    others = [key for key in FALLTHROUGHS if key not in keys]
    table += [entry(key, reason="backend fallback", fallthrough=True, raw="fallthrough") for key in others]
    return records, table


def rows(schema: str = SCHEMA, **operators: Mapping[str, Any]) -> Rows:
    """Operators with the kernels that are given for them; the fallbacks of ADInplaceOrView, … are fallthroughs.

    So they are in torch: aten/src/ATen/core/VariableFallbackKernel.cpp, BackendSelectFallbackKernel.cpp,
    autocast_mode.cpp. aten::blend and aten::mirror have an autograd kernel and a CPU kernel unless told otherwise.
    """
    every: dict[str, Mapping[str, Any]] = {"blend": USUAL, "mirror": USUAL, **operators}
    made = {f"aten::{name}": kernels(f"aten::{name}", **keys) for name, keys in every.items()}
    return Rows(
        operators=[operator(f"{name}{schema}") for name in made],
        registrations=[record for records, _ in made.values() for record in records],
        tables={name: table for name, (_, table) in made.items()},
    )


def reasoned(
    small: Small, *events: Event, catalogue: Rows | None = None, calls: Any = None, **more: Any
) -> list[Claim]:
    """Every claim after the reasoning of a session in which the user's call was given plain CPU tensors."""
    given = [call(1, {7: CPU_TENSOR})] if calls is None else calls
    seen = session(events, dispatch=[event("call", *events, call=1)], calls=given, **more)
    context = small.context(seen, catalogue or rows())
    return walk(reason(context, operator_calls.name(context, build(context, ()))))


def chain(claims: Sequence[Claim], op: str = "aten::blend") -> list[tuple[str, str]]:
    """The keys of an operator's calls, with their status, in order."""
    return [(one.hop.name, one.hop.status) for one in claims if one.hop.kind == "key" and one.hop.op == op]


TWO = [tensor(7), tensor(7)]  # both of the user's, whose keys were read
BLEND = op("aten::blend", inputs=TWO)


def test_autograd_first_and_the_backend_after_its_redispatch(small: Small) -> None:
    claims = reasoned(small, BLEND)
    assert chain(claims) == [("AutogradCPU", "derived"), ("CPU", "derived")]
    kinds = [(one.hop.kind, one.hop.name) for one in claims]
    assert kinds == [
        ("op", "aten::blend"),
        ("key", "AutogradCPU"),
        ("kernel", "AutogradCPU::aten::blend"),
        ("key", "CPU"),
        ("kernel", "CPU::aten::blend"),
    ], "each kernel holds what it sends the call to"


def test_what_the_first_key_is_concluded_from(small: Small) -> None:
    first, second = [one for one in reasoned(small, BLEND) if one.hop.kind == "key"]
    facts = key_facts(first)
    assert facts.arguments == {
        "self": "AutocastCPU, AutogradCPU, ADInplaceOrView, CPU",
        "other": "AutocastCPU, AutogradCPU, ADInplaceOrView, CPU",
    }
    assert (facts.tls_include, facts.tls_exclude) == ("ADInplaceOrView, BackendSelect", "")
    # Of (arguments | include) the three fallthroughs are masked out, once, for the whole call.
    assert (facts.set, facts.raw) == ("AutogradCPU, CPU", hex(bits("AutogradCPU", "CPU")))
    assert facts.skipped == ("AutocastCPU", "ADInplaceOrView", "BackendSelect")
    assert reasons.HighestKey("AutogradCPU") in first.hop.why
    onward = key_facts(second)
    assert (onward.set, onward.skipped) == ("CPU", ())
    assert reasons.BodyRedispatches(AFTER_AUTOGRAD) in second.hop.why
    assert second.hop.why[-1] == reasons.EntryOfTable("CPU", f"registered at {CPU}:11")


def test_a_key_names_what_it_follows_from(small: Small) -> None:
    seen = session([BLEND], dispatch=[event("call", BLEND, call=1)], calls=[call(1, {7: CPU_TENSOR})])
    event_, read = number_of(seen, "ops", "event"), number_of(seen, "dispatch", "call")
    for key in (one for one in reasoned(small, BLEND) if one.hop.kind == "key"):
        assert key.hop.evidence == (event_, read), "the operator's event, and the sets read at the call"


def test_the_sets_of_the_thread_are_evidence_where_no_argument_is(small: Small) -> None:
    bare = op("aten::blend", inputs=[])
    seen = session([bare], dispatch=[event("call", bare, call=1)], calls=[call(1)])
    catalogue = rows("() -> Tensor", blend={"BackendSelect": {}})
    first = next(one for one in reasoned(small, bare, catalogue=catalogue, calls=[call(1)]) if one.hop.kind == "key")
    assert first.hop.evidence == (number_of(seen, "ops", "event"), number_of(seen, "dispatch", "call"))


def test_what_is_excluded_is_not_met_even_where_it_is_included(small: Small) -> None:
    """The exclude set is taken off last: c10's rule is (arguments | include) - exclude."""
    sets = state(include=("ADInplaceOrView", "AutogradCPU"), exclude=("AutogradCPU",))
    claims = reasoned(small, BLEND, calls=[call(1, {7: CPU_TENSOR}, **sets)])
    assert chain(claims) == [("CPU", "derived")], "taking AutogradCPU off leaves the CPU's bit"
    functionality = {"tls_include": {"raw": 0}, "tls_exclude": {"raw": KEYS.functionality("AutogradCPU")}}
    claims = reasoned(small, BLEND, calls=[call(1, {7: CPU_TENSOR}, **functionality)])
    assert chain(claims) == [("CPU", "derived")]
    included = {**functionality, "tls_include": {"raw": bits("AutogradCPU")}}
    claims = reasoned(small, BLEND, calls=[call(1, {7: CPU_TENSOR}, **included)])
    assert chain(claims) == [("CPU", "derived")], "excluded, whoever includes it"


def test_a_kernel_for_views_goes_on_below_its_own_key(small: Small) -> None:
    claims = reasoned(small, BLEND, catalogue=rows(blend={**USUAL, "ADInplaceOrView": VIEW_KERNEL}))
    assert [key for key, _ in chain(claims)] == ["AutogradCPU", "ADInplaceOrView", "CPU"]


def test_a_redispatch_never_meets_a_key_that_was_masked_out(small: Small) -> None:
    """ADInplaceOrView is in the tensor's set and below autograd; its entry is a fallthrough."""
    assert "ADInplaceOrView" not in [key for key, _ in chain(reasoned(small, BLEND))]


def test_a_redispatch_keeps_to_the_set_of_its_own_call(small: Small) -> None:
    """`ks & after_autograd_keyset`: keys below autograd that no argument has are not met."""
    first, second = [one for one in reasoned(small, BLEND) if one.hop.kind == "key"]
    assert key_facts(second).raw == hex(bits("CPU"))
    assert key_facts(first).raw == hex(bits("AutogradCPU", "CPU"))


def test_a_key_without_an_entry_ends_what_can_be_said(small: Small) -> None:
    claims = reasoned(small, BLEND, catalogue=rows(blend={"CPU": {}}))
    assert chain(claims) == [], "AutogradCPU is the highest, and the table has nothing there"
    assert [one.hop.kind for one in claims] == ["op"]


# --- status ---


def test_a_tensor_that_nobody_read_makes_it_a_prediction(small: Small) -> None:
    claims = reasoned(small, op("aten::blend", inputs=[tensor(7), tensor(99)]))
    assert chain(claims) == [("AutogradCPU", "predicted"), ("CPU", "predicted")]


def test_a_state_that_nobody_read_makes_it_a_prediction(small: Small) -> None:
    """Without the dispatch pass c10's default sets are assumed. The operator takes no tensor: nothing else is."""
    catalogue = rows("() -> Tensor", blend={"BackendSelect": {}})
    context = small.context(session([op("aten::blend", inputs=[])]), catalogue)
    claims = walk(reason(context, operator_calls.name(context, build(context, ()))))
    assert chain(claims) == [("BackendSelect", "predicted")]


def test_autocast_is_off_where_nothing_was_read(small: Small) -> None:
    """A matmul of a script: its AutocastCPU entry is a kernel, which runs only where autocast is on."""
    context = small.context(session([BLEND]), rows(blend={**USUAL, "AutocastCPU": {}}))
    claims = walk(reason(context, operator_calls.name(context, build(context, ()))))
    assert chain(claims) == [("AutogradCPU", "predicted"), ("CPU", "predicted")]


def test_a_hand_written_binding_makes_it_a_prediction(small: Small) -> None:
    """Its guards cannot be followed: the sets inside it may be others than those read at it."""
    calls = [call(1, {7: CPU_TENSOR})]
    inside = builtin("torch", "blend", BLEND, tls_include=bits("ADInplaceOrView"), tls_exclude=0)
    seen = session([inside], dispatch=[event("call", BLEND, call=1)], calls=calls)
    context = small.context(seen, rows())
    claims = walk(reason(context, operator_calls.name(context, build(context, ()))))
    assert chain(claims) == [("AutogradCPU", "predicted"), ("CPU", "predicted")]


def test_after_a_hidden_kernel_the_way_is_a_prediction(small: Small) -> None:
    """autogradNotImplementedFallback is hand-written: that it redispatches follows from the schema alone."""
    hidden = {"callee": "torch::autograd::autogradNotImplementedFallback()"}
    catalogue = rows(blend={"AutogradCPU": hidden, "CPU": {}})
    assert chain(reasoned(small, BLEND, catalogue=catalogue)) == [("AutogradCPU", "derived"), ("CPU", "predicted")]


# --- operators inside operators ---


def nested(small: Small, **more: Any) -> list[Claim]:
    """mirror inside blend, on a tensor that was read."""
    return reasoned(small, op("aten::blend", op("aten::mirror", inputs=TWO), inputs=TWO), **more)


def test_inside_a_kernel_its_guards_hold(small: Small) -> None:
    claims = nested(small)
    assert [key for key, _ in chain(claims, "aten::mirror")] == ["CPU"], "autograd is off below AutogradCPU's guard"
    key = next(one for one in claims if one.hop.kind == "key" and one.hop.op == "aten::mirror")
    facts = key_facts(key)
    assert facts.tls_exclude == KEYS.show_local(excluded(KEYS, BELOW))
    assert facts.tls_observed is False
    assert reasons.ThreadLocalSets(reasons.LeftByGuards()) in key.hop.why


def test_an_operator_inside_is_called_by_the_innermost_kernel(small: Small) -> None:
    claims = nested(small)
    kernel = next(one for one in claims if one.hop.name == "CPU::aten::blend")
    assert [one.hop.name for one in kernel.children] == ["aten::mirror"]
    assert kernel.hop.why[-1] == reasons.RanInside()


def test_what_an_outer_kernels_text_calls_before_its_guard_is_that_kernels(small: Small) -> None:
    """The small tree's autograd kernel of blend_ calls clone() above its guard, as gen_variable_type.py writes it."""
    path = f"{AUTOGRAD}/VariableType_1.cpp"
    line = small.line(path, "blend_(c10::DispatchKeySet")
    body = {**AUTOGRAD_KERNEL, "guard": f"at::{BELOW_AUTOGRAD}", "body_path": path, "body_line": line,
            "body_end": line + 9}  # fmt: skip
    catalogue = rows(blend_={"AutogradCPU": body, "CPU": {}}, clone=USUAL)
    claims = reasoned(small, op("aten::blend_", op("aten::clone", inputs=TWO), inputs=TWO), catalogue=catalogue)
    outer = next(one for one in claims if one.hop.name == "AutogradCPU::aten::blend_")
    assert "aten::clone" in [one.hop.name for one in outer.children]
    assert chain(claims, "aten::clone") == [], "it may have been either kernel: its sets are not known"


def test_an_operator_that_calls_itself_anew_did_not_redispatch(small: Small) -> None:
    """A hand-written kernel of which only a prediction says that it redispatches, with the same operator inside."""
    hidden = {"callee": "torch::autograd::autogradNotImplementedFallback()"}
    catalogue = rows(blend={"AutogradCPU": hidden, "CPU": {}})
    inner = op("aten::blend", inputs=TWO)
    claims = reasoned(small, op("aten::blend", inner, inputs=TWO), catalogue=catalogue)
    outer = claims[1]
    assert (outer.hop.kind, outer.hop.name) == ("key", "AutogradCPU")
    kernel = claims[2]
    assert [one.hop.kind for one in kernel.children] == ["op"], "the inner call, and no redispatch"


def test_inside_a_layer_of_a_function_transform_nothing_is_said(small: Small) -> None:
    layer = {"FuncTorchDynamicLayerFrontMode": {}, "CPU": {}}
    catalogue = rows(blend=layer)
    sets = state(include=("FuncTorchDynamicLayerFrontMode",))
    events = op("aten::blend", op("aten::mirror", inputs=TWO), inputs=TWO)
    claims = reasoned(small, events, catalogue=catalogue, calls=[call(1, {7: CPU_TENSOR}, **sets)])
    assert [key for key, _ in chain(claims)] == ["FuncTorchDynamicLayerFrontMode"]
    assert chain(claims, "aten::mirror") == []


@pytest.mark.parametrize("on", [False, True])
def test_while_a_transform_is_on_a_tensor_that_nobody_read_is_not_taken_for_a_plain_one(small: Small, on: bool) -> None:
    """A decomposition in Python that a layer runs: the layers' own key is included and excluded, vmap's tensors are
    not (torch 2.13.0: `torch.func.vmap` of `grad` of cross_entropy calls `neg` with one that has FuncTorchBatched)."""
    front = bits("FuncTorchDynamicLayerFrontMode")
    sets = {"tls_include": bits(*DEFAULT_INCLUDE) | front, "tls_exclude": front}
    transforms = [{"level": 1, "kind": "Vmap"}] if on else []
    unread = op("aten::blend", inputs=[tensor(99), tensor(99)])
    claims = reasoned(small, builtin("torch", "blend", unread, transforms=transforms, **sets))
    assert bool(chain(claims)) is not on


def test_inside_a_binding_of_python_the_state_is_read_anew(small: Small) -> None:
    """A frame that reports the sets: those count inside, not those of the call around it."""
    excluding = {"tls_include": bits("ADInplaceOrView"), "tls_exclude": KEYS.functionality("AutogradCPU")}
    inside = frame("f", BLEND, file="/site/torch/_refs.py", line=3)
    outer = builtin("torch", "blend", inside, **excluding)
    seen = session([outer], dispatch=[event("call", BLEND, call=1)], calls=[call(1, {7: CPU_TENSOR})])
    context = small.context(seen, rows())
    claims = walk(reason(context, operator_calls.name(context, build(context, ()))))
    assert [key for key, _ in chain(claims)] == ["CPU"]


# --- BackendSelect, doubts, changed tables ---


@pytest.mark.parametrize(
    "name, other, keys",
    [
        # The options were not recorded: the CPU is assumed, since all tensors are there.
        ("fresh", tensor(7), [("BackendSelect", "derived"), ("CPU", "predicted")]),
        ("fresh", tensor(7, device="cuda:0"), [("BackendSelect", "derived")]),
        ("fresh", tensor(7, layout="torch.sparse_coo"), [("BackendSelect", "derived")]),
        ("sparse_fresh", tensor(7), [("BackendSelect", "derived")]),  # its name says that it may be sparse
    ],
)
def test_backend_select_goes_on_to_the_cpu_where_all_is_there(
    small: Small, name: str, other: Any, keys: list[tuple[str, str]]
) -> None:
    catalogue = rows("() -> Tensor", **{name: {"BackendSelect": {"redispatch": "_dk"}, "CPU": {}}})
    events = [op(f"aten::{name}", inputs=[]), op("aten::elsewhere", inputs=[other])]
    claims = reasoned(small, *events, catalogue=catalogue, calls=[call(1)])
    assert chain(claims, f"aten::{name}") == keys


def test_a_key_that_a_view_may_have_kept_ends_what_is_said(small: Small) -> None:
    catalogue = rows(blend={**USUAL, "Conjugate": {}}, _conj={"CPU": {}})
    made = tensor(99, dtype="torch.complex64")
    claims = reasoned(small, op("aten::_conj", inputs=TWO), op("aten::blend", inputs=[made, made]),
                      catalogue=catalogue)  # fmt: skip
    assert [key for key, _ in chain(claims)] == ["AutogradCPU"], "Conjugate lies below autograd and above CPU"
    kernel = next(one for one in claims if one.hop.kind == "kernel" and one.hop.op == "aten::blend")
    (not_known,) = (one for one in kernel.hop.why if isinstance(one, reasons.KeyNotKnown))
    assert not_known.after == "AutogradCPU"
    assert any(isinstance(one, reasons.MayCarry) and "Conjugate" in one.keys for one in reasons.within(not_known))
    real = tensor(99)
    claims = reasoned(small, op("aten::_conj", inputs=TWO), op("aten::blend", inputs=[real, real]),
                      catalogue=catalogue)  # fmt: skip
    assert [key for key, _ in chain(claims)] == ["AutogradCPU", "CPU"], "only a complex tensor can be conjugated"


def test_the_traced_processs_own_table_counts(small: Small) -> None:
    seen = session([BLEND], dispatch=[event("call", BLEND, call=1)], calls=[call(1, {7: CPU_TENSOR})])
    mine = entry("AutocastCPU", raw="registered at /elsewhere/mine.py:3")
    context = small.context(seen, rows(), changed={"aten::blend": [mine]})
    claims = walk(reason(context, operator_calls.name(context, build(context, ()))))
    assert chain(claims) == [("AutocastCPU", "derived")], "the catalogue's has a fallthrough there"
    assert claims[1].hop.why[-1] == reasons.EntryOfTable("AutocastCPU", "registered at /elsewhere/mine.py:3")


def test_a_call_in_backward_keeps_its_phase_and_thread(small: Small) -> None:
    claims = reasoned(small, op("aten::blend", inputs=TWO, phase="backward", thread=3))
    assert {(one.hop.phase, one.hop.thread) for one in claims} == {("backward", 3)}


def test_an_operator_of_unknown_overload_has_no_keys_and_its_inside_is_a_prediction(small: Small) -> None:
    twin = op("aten::twin", op("aten::mirror", inputs=TWO), inputs=TWO)
    alike = rows(**{"twin.a": USUAL, "twin.b": USUAL})
    claims = reasoned(small, twin, catalogue=alike)
    assert claims[0].hop.op is None
    assert chain(claims, "aten::mirror") == [("CPU", "predicted")], "whichever it is holds that guard"
    apart = rows(**{"twin.a": USUAL, "twin.b": {"AutogradCPU": {}}})
    assert chain(reasoned(small, twin, catalogue=apart), "aten::mirror") == [], "one holds a guard, the other none"


# --- kernels that Python runs ---


def python_kernel(*inside: Event, first: tuple[Event, ...] = ()) -> Event:
    """A custom operator's autograd kernel: Python, whose `redispatch` (torch/_ops.py) leads to the CPU kernel."""
    kernel = frame("backend_impl", *inside, file="/l/k.py", line=3)
    sending = frame("redispatch", *first, kernel, file="/l/torch/_ops.py", line=9)
    forward = builtin("torch", "apply", frame("forward", sending, file="/l/torch/_library/autograd.py", line=5))
    return op("aten::blend", frame("autograd_impl", forward, file="/l/torch/_library/autograd.py", line=1), inputs=TWO)


def test_the_next_key_is_inside_the_python_that_sends_the_call_on(small: Small) -> None:
    """The autograd kernel holds the CPU kernel, and not the other way round."""
    claims = reasoned(small, python_kernel(op("aten::mirror", inputs=TWO)))
    assert shape(claims[:1]) == (
        "aten::blend(AutogradCPU(AutogradCPU::aten::blend(autograd_impl(torch.apply(forward(redispatch("
        "CPU(CPU::aten::blend(backend_impl(aten::mirror(CPU(CPU::aten::mirror))))))))))))"
    )


def test_what_the_python_that_sends_the_call_on_reads_first_is_in_no_kernel(small: Small) -> None:
    """As OpOverload.redispatch, whose line reads `self._handle`, a property, before it calls the dispatcher."""
    handle = frame("_handle", file="/l/torch/_ops.py", line=7, is_getter=True)
    inner = frame("helper", file="/l/k.py", line=8, is_getter=True)  # of the kernel's own
    claims = reasoned(small, python_kernel(inner, first=(handle,)))
    assert "redispatch(_handle CPU(CPU::aten::blend(backend_impl(helper)" in shape(claims[:1])


def test_python_that_redispatches_another_operator_is_that_ones(small: Small) -> None:
    inner = python_kernel()
    claims = reasoned(small, op("aten::mirror", inner, inputs=TWO))
    assert shape(claims[:1]).startswith(
        "aten::mirror(AutogradCPU(AutogradCPU::aten::mirror(CPU(CPU::aten::mirror(aten::b"
    )


def test_what_a_frames_call_read_holds_for_the_next_one_in_it(small: Small) -> None:
    """Inside a `with` block that turns autograd off: an operator by its sign, after one by a name that was read."""
    off = excluded(KEYS, BELOW)
    named = builtin("torch", "mirror", op("aten::mirror", inputs=TWO), tls_exclude=off)
    claims = reasoned(small, frame("f", named, BLEND, file="/l/f.py", line=1))
    assert chain(claims) == [("CPU", "predicted")]


@pytest.mark.parametrize(
    "unread, doubtful, why",
    [
        ((), {}, None),
        (("a", "b"), {}, reasons.MayBeWrapped()),
        ((), {"c": reasons.SetsDiffer()}, reasons.SetsDiffer()),
        (
            ("a",),
            {"c": reasons.SetsDiffer()},
            reasons.ForEach(
                (
                    reasons.ArgumentSets(("c",), reasons.SetsDiffer()),
                    reasons.ArgumentSets(("a",), reasons.MayBeWrapped()),
                )
            ),
        ),
    ],
)
def test_each_argument_that_was_not_read_has_its_own_reason(
    unread: tuple[str, ...], doubtful: dict[str, reasons.Reason], why: reasons.Reason | None
) -> None:
    assert why_unread(Arguments({}, False, (), unread=unread, doubtful=doubtful)) == why
