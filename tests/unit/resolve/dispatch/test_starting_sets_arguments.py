"""The key sets of an operator's arguments: read off the very tensor, else what TensorImpl gives one of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.tensors import RecordedTensor
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.dispatch.starting_sets import Arguments, KnownTensors
from ptexplore.resolve.merge import build
from tests.unit.resolve.making import (
    CPU_TENSOR,
    DEFAULT_INCLUDE,
    KEYS,
    Event,
    Small,
    bits,
    builtin,
    call,
    event,
    frame,
    number_of,
    op,
    session,
    tensor,
    with_schema,
)

PAIR = "aten::blend.Pair(Tensor self, Tensor other) -> Tensor"


def known(small: Small, ops: list[Event], *, dispatch: list[Event] | None = None, calls: Any = ()) -> KnownTensors:
    seen = session(ops, dispatch=[event("call", *ops, call=1)] if dispatch is None else dispatch, calls=calls)
    return KnownTensors.of(small.context(seen))


def claims_of(small: Small, ops: list[Event]) -> list[Claim]:
    return [with_schema(one, PAIR) for one in build(small.context(session(ops)), ())]


def of(small: Small, position: int, ops: list[Event], **more: Any) -> Arguments:
    """What is known of the arguments of the operator at that position of the sequence."""
    return known(small, ops, **more).arguments(claims_of(small, ops)[position])


def test_a_tensor_that_the_call_was_given_has_the_keys_that_were_read(small: Small) -> None:
    ops = [op("aten::blend", inputs=[tensor(7), tensor(8)])]
    given = call(1, {7: ("CPU", "ADInplaceOrView"), 8: ("CPU", "AutogradCPU", "ADInplaceOrView")})
    found = of(small, 0, ops, calls=[given])
    assert found.sets == {
        "self": bits("CPU", "ADInplaceOrView"),
        "other": bits("CPU", "AutogradCPU", "ADInplaceOrView"),
    }
    assert found.observed
    assert found.raw == bits("CPU", "ADInplaceOrView", "AutogradCPU"), "the union of all arguments"
    seen = session(ops, dispatch=[event("call", *ops, call=1)], calls=[given])
    assert found.evidence == (number_of(seen, "dispatch", "call"),)
    assert found.why == ()


def test_what_was_read_before_calls_of_a_program_is_no_assumption(small: Small) -> None:
    """Where calls had other sets, what only some had is in doubt."""
    alike, others = bits(*CPU_TENSOR, "Conjugate"), bits(*CPU_TENSOR, "Conjugate", "Negative")
    ops = [op("aten::blend", inputs=[tensor(7), tensor(8)], read=[[alike], []])]
    found = of(small, 0, ops)
    assert found.sets == {"self": alike, "other": bits(*CPU_TENSOR)}
    assert (found.assumed, found.observed) == (("other",), False)
    assert found.why == (
        reasons.ArgumentSets(("other",), reasons.FreshTensor()),
        reasons.ArgumentSets(("self",), reasons.ReadByName()),
    )
    differing = of(small, 0, [op("aten::blend", inputs=[tensor(7), tensor(8)], read=[[alike, others], [alike]])])
    assert differing.sets["self"] == alike
    assert differing.doubt == bits("Negative")
    assert (tuple(differing.doubtful), differing.assumed, differing.observed) == (("self",), (), True)
    in_mode = of(small, 0, [op("aten::blend", inputs=[tensor(7), tensor(8)], read=[[bits("CPU")], []])])
    assert isinstance(in_mode.doubtful["other"], reasons.NotInInferenceMode), (
        "where one tensor was made in it another may be"
    )


def test_a_tensor_that_was_made_inside_has_the_keys_of_its_kind(small: Small) -> None:
    ops = [op("aten::blend", inputs=[tensor(7), tensor(99)])]
    found = of(small, 0, ops, calls=[call(1, {7: CPU_TENSOR})])
    assert found.sets["other"] == bits(*CPU_TENSOR)
    assert not found.observed
    assert found.why[0] == reasons.ArgumentSets(("other",), reasons.FreshTensor())


def test_an_address_counts_from_the_call_that_recorded_it(small: Small) -> None:
    """Before it, another tensor may have lain there."""
    first, second = (op("aten::blend", inputs=[tensor(7)]) for _ in range(2))
    dispatch = [event("call", first, call=1), event("call", second, call=2)]
    given = [call(1), call(2, {7: ("CPU", "ADInplaceOrView")})]
    before, after = (of(small, at, [first, second], dispatch=dispatch, calls=given) for at in (0, 1))
    assert (before.observed, before.sets["self"]) == (False, bits(*CPU_TENSOR))
    assert (after.observed, after.sets["self"]) == (True, bits("CPU", "ADInplaceOrView"))


def test_a_dispatch_pass_that_ran_other_operators_tells_nothing(small: Small) -> None:
    ops = [op("aten::blend", inputs=[tensor(7)])]
    found = of(small, 0, ops, dispatch=[event("call", op("aten::mirror"), call=1)], calls=[call(1, {7: ("CPU",)})])
    assert not found.observed


def test_the_tensors_of_a_list_are_one_argument(small: Small) -> None:
    ops = [op("aten::blend", inputs=[[tensor(7), tensor(8)], 3])]
    found = of(small, 0, ops, calls=[call(1, {7: ("CPU",), 8: ("CUDA",)})])
    assert found.sets == {"self": bits("CPU", "CUDA")}
    assert found.observed


def test_of_a_boxed_call_the_end_of_the_stack_are_its_inputs(small: Small) -> None:
    """Dispatcher::callBoxed records the whole stack."""
    ops = [op("aten::blend", inputs=[tensor(9), tensor(7), tensor(8)])]
    keys = {7: ("CPU",), 8: ("CUDA",), 9: ("Meta",)}
    assert of(small, 0, ops, calls=[call(1, keys)]).sets == {"self": bits("CPU"), "other": bits("CUDA")}


def test_a_tensor_that_a_transform_may_have_wrapped_has_no_set_that_was_not_read(small: Small) -> None:
    ops = [op("aten::blend", inputs=[tensor(7), tensor(8)])]
    (claim,) = claims_of(small, ops)
    known_tensors = known(small, ops, calls=[call(1, {7: ("CPU",)})])
    found = known_tensors.arguments(claim, transformed=True)
    assert found.sets == {"self": bits("CPU")}
    assert found.unread == ("other",)
    assert known_tensors.arguments(claim).unread == (), "outside of a transform it is a tensor of its kind"


def test_what_was_read_of_a_wrapper_counts_from_the_call_that_read_it(small: Small) -> None:
    inner = {"impl": 8, "raw": bits("CPU")}
    wrapper = {"impl": 7, "raw": bits("CPU", "AutogradCPU"), "level": 1, "dim": 0}
    asked = builtin(
        "torch", "blend", op("aten::blend", inputs=[tensor(7), tensor(7)]),
        transforms=[{"level": 1, "kind": "Vmap"}], tensors=[[wrapper, inner]],
    )  # fmt: skip
    frames = [op("aten::blend", inputs=[tensor(7), tensor(7)]), asked]
    context = small.context(session([*frames[:1], *asked.inside], frames=frames))
    before, binding = (with_schema(claim, PAIR) for claim in build(context, ()))
    after = with_schema(binding.children[0], PAIR)
    tensors = KnownTensors.of(context)
    assert tensors.arguments(before, transformed=True).unread == ("self", "other")
    found = tensors.arguments(after, transformed=True)
    assert found.sets == {"self": bits("CPU", "AutogradCPU"), "other": bits("CPU", "AutogradCPU")}
    assert [(layer.impl, layer.level, layer.dim) for layer in found.layers["self"]] == [(7, 1, 0), (8, None, None)]


@pytest.mark.parametrize("held, given", [(True, 7), (False, 9), (False, 7)])
def test_what_was_read_of_a_tensor_counts_while_something_holds_it(small: Small, held: bool, given: int) -> None:
    """A fake tensor was gone when copy_ inside of torch.cond's add got a plain one at its address, by its own set.

    So was a nested one when an operator by syntax got a plain one: that Python had read it before tells nothing.
    """
    fake = bits("CPU", "Python")
    outer = op("aten::blend", op("aten::blend", inputs=[tensor(7)]), inputs=[tensor(given)])
    read = builtin("torch", "blend", *((outer,) if held else ()), tensors=[[{"impl": 7, "raw": fake}]])
    frames = [read] if held else [read, outer]
    context = small.context(session([outer], frames=frames))
    claims = build(context, ())
    inner = with_schema(claims[-1].children[0], PAIR)
    inner = with_schema(inner.children[0], PAIR) if held else inner
    found = KnownTensors.of(context).arguments(inner)
    assert found.sets["self"] == (fake if held else bits(*CPU_TENSOR))
    assert found.doubt == (0 if held else bits("Python"))


@pytest.mark.parametrize(
    "meta, names",
    [
        ({}, CPU_TENSOR),
        ({"device": "cuda:1"}, ("CUDA", "ADInplaceOrView", "AutogradCUDA", "AutocastCUDA")),
        ({"layout": "torch.sparse_coo"}, ("SparseCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")),
        ({"layout": "torch.sparse_bsr"}, ("SparseCsrCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")),
        ({"layout": "torch.jagged"}, ("NestedTensorCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")),
        ({"dtype": "torch.quint8"}, ("QuantizedCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")),
        # MkldnnCPU is no backend with keys of its own: the autograd key is the others', and there is no autocast key.
        ({"layout": "torch._mkldnn"}, ("MkldnnCPU", "ADInplaceOrView", "AutogradOther")),
        ({"device": "meta"}, ("Meta", "ADInplaceOrView", "AutogradMeta")),
    ],
)
def test_the_keys_of_a_fresh_tensor(small: Small, meta: dict[str, str], names: tuple[str, ...]) -> None:
    raw = known(small, []).fresh(RecordedTensor(1, **meta))
    assert sorted(KEYS.names(raw)) == sorted(names)


CONJUGATED = [op("aten::blend", inputs=[tensor(1)]), op("aten::_conj"), op("aten::blend", inputs=[tensor(2)])]


@pytest.mark.parametrize(
    "maker, dtype, position, doubted",
    [
        ("aten::_conj", "torch.complex64", 2, ["Conjugate"]),
        ("aten::_conj", "torch.float32", 2, []),  # only a complex tensor can be conjugated lazily
        ("aten::_conj", "torch.complex64", 0, []),  # it was not there yet
        ("aten::_neg_view", "torch.float32", 2, ["Negative"]),
        ("aten::_efficientzerotensor", "torch.float32", 2, ["ZeroTensor"]),
        ("aten::mirror", "torch.complex64", 2, []),
    ],
)
def test_what_a_view_may_have_kept(small: Small, maker: str, dtype: str, position: int, doubted: list[str]) -> None:
    given = [tensor(5, dtype=dtype)]
    ops = [op("aten::blend", inputs=given), op(maker), op("aten::blend", inputs=given)]
    assert of(small, position, ops).doubt == bits(*doubted)


def test_what_an_operator_makes_is_not_among_its_own_arguments(small: Small) -> None:
    ops = [op("aten::blend"), op("aten::_neg_view", inputs=[tensor(5)])]
    assert of(small, 1, ops).doubt == 0


def test_a_key_that_a_tensor_of_the_users_has_is_doubted_from_the_start(small: Small) -> None:
    ops = [op("aten::blend", inputs=[tensor(5)])]
    found = of(small, 0, ops, calls=[call(1, {9: ("CPU", "Negative", "ADInplaceOrView")})])
    assert found.doubt == bits("Negative")


def test_what_was_read_is_not_doubted(small: Small) -> None:
    ops = [op("aten::_neg_view"), op("aten::blend", inputs=[tensor(5)])]
    assert of(small, 1, ops, calls=[call(1, {5: ("CPU",)})]).doubt == 0


def test_beside_a_tensor_of_inference_mode_the_keys_of_autograd_are_in_doubt(small: Small) -> None:
    """c10/core/InferenceMode.h: a tensor made there, and a view of it wherever that is made, has none of them."""
    ops = [op("aten::blend", inputs=[tensor(7), tensor(99)])]
    beside = of(small, 0, ops, calls=[call(1, {7: ("CPU", "AutocastCPU")})])
    (claim,) = claims_of(small, ops)
    within = known(small, ops).arguments(claim, inference=True)
    for found in (beside, within):
        assert found.sets["other"] == bits("CPU", "AutocastCPU")
        assert found.doubt == bits("AutogradCPU", "ADInplaceOrView") | bits("CPU", "AutocastCPU")
        reason = found.doubtful["other"]
        assert isinstance(reason, reasons.NotInInferenceMode)
        assert sorted(reason.keys) == ["ADInplaceOrView", "AutogradCPU"]


def test_after_inference_mode_was_on_a_tensor_may_have_been_made_in_it(small: Small) -> None:
    """Where only a function of yours entered it, no argument of the expression tells."""
    ops = [op("aten::blend", inputs=[tensor(99), tensor(99)]) for _ in range(2)]
    entered = event("sets", tls_include=bits("BackendSelect"), tls_exclude=bits("AutogradCPU"))
    left = event("sets", tls_include=bits("BackendSelect", "ADInplaceOrView"), tls_exclude=0)
    context = small.context(session(ops, frames=[ops[0], entered, left, ops[1]]))
    calls = [with_schema(claim, PAIR) for claim in build(context, ()) if claim.hop.kind == "op"]
    before, after = (KnownTensors.of(context).arguments(claim) for claim in calls)
    assert before.doubtful == {}
    assert isinstance(after.doubtful["self"], reasons.NotInInferenceMode)


@pytest.mark.parametrize("kind", ["Grad", "Vmap"])
def test_what_a_kept_graph_holds_may_be_batched_where_a_vmap_was_on(small: Small, kind: str) -> None:
    """vmap of vjp, or of grad: when the level of vjp is over, its graph still has the tensors of vmap's level."""
    ops = [op("aten::blend", inputs=[tensor(99), tensor(99)])]
    on = event("sets", tls_include=bits(*DEFAULT_INCLUDE), tls_exclude=0, transforms=[{"level": 1, "kind": kind}])
    graph = frame("_autograd_grad", ops[0], file="/x/torch/_functorch/eager_transforms.py", line=9)
    context = small.context(session(ops, frames=[on, graph]))
    (claim,) = (c for top in build(context, ()) for c in top.walk() if c.hop.kind == "op")
    doubt = KnownTensors.of(context).arguments(with_schema(claim, PAIR)).doubt
    assert doubt == (bits("FuncTorchBatched") if kind == "Vmap" else 0), "the keys here have no FuncTorchGradWrapper"


def test_the_tensor_whose_method_was_called_was_read_then(small: Small) -> None:
    """Inside of that call alone: another tensor may lie there before it and after it."""
    ops = [op("aten::blend", inputs=[tensor(5), tensor(5)]) for _ in range(3)]
    method = builtin("Tensor", "blend", ops[1], self={"impl": 5, "raw": bits("CPU", "AutocastCPU")})
    context = small.context(session(ops, frames=[ops[0], method, ops[2]]))
    before, binding, after = build(context, ())
    calls = [with_schema(claim, PAIR) for claim in (before, binding.children[0], after)]
    known_then = [KnownTensors.of(context).arguments(claim) for claim in calls]
    assert [each.observed for each in known_then] == [False, True, False]
    assert known_then[1].sets == dict.fromkeys(("self", "other"), bits("CPU", "AutocastCPU"))


@pytest.mark.parametrize("by_python", [True, False])
def test_a_kernel_may_hand_on_an_undefined_tensor_where_python_gives_none(small: Small, by_python: bool) -> None:
    """`bias` of conv2d: the binding gives nullopt, the kernel borrows it and calls convolution with `Tensor()`."""
    schema = "aten::blend.Maybe(Tensor self, Tensor? other=None) -> Tensor"
    ops = [op("aten::blend", inputs=[tensor(7), None])]
    (claim,) = (with_schema(one, schema) for one in build(small.context(session(ops)), ()))
    found = known(small, ops, calls=[call(1, {7: CPU_TENSOR})]).arguments(claim, by_python=by_python)
    assert list(found.doubtful) == ([] if by_python else ["other"])
    assert found.doubt == (0 if by_python else bits("AutogradOther", "ADInplaceOrView"))


BLEND = op("aten::blend", inputs=[tensor(5)])
RANGE = event("op", frame("__torch_dispatch__", file="/site/x.py", line=1), name="PythonSubclass", inputs=[])


@pytest.mark.parametrize(
    "before, inside, doubted",
    [
        ([], [], False),
        ([], [RANGE], True),  # Python dispatched it: it was given a tensor of such a class
        ([], [op("aten::mirror", RANGE)], True),  # what it called was
        ([builtin("Tensor", "_make_wrapper_subclass")], [], True),  # its class must dispatch
        ([builtin("Tensor", "as_subclass")], [], False),  # nothing tells whether its class does
        ([frame("__new__", builtin("Tensor", "_make_subclass"), file="/torch/nn/parameter.py", line=1)], [], False),
    ],
)
def test_a_tensor_may_be_of_a_class_that_dispatches_before_python_first_does(
    small: Small, before: list[Event], inside: list[Event], doubted: bool
) -> None:
    """The first operator on it is no call of a plain tensor's kernel."""
    given = op("aten::blend", *inside, inputs=[tensor(5)])
    ops = [BLEND, *before, given]
    seen = session(frames=ops, dispatch=[event("call", *ops, call=1)])
    tensors = KnownTensors.of(small.context(seen))
    first, last = (with_schema(one, PAIR) for one in build(small.context(seen), ()) if one.hop.name == "aten::blend")
    assert bool(tensors.arguments(last).doubt & bits("Python")) is doubted
    assert not tensors.arguments(first).doubt, "it ran before"


def test_what_a_class_of_yours_was_made_into_is_doubted_where_python_dispatches_later(small: Small) -> None:
    made = builtin("Tensor", "as_subclass")
    seen = session(frames=[BLEND, made, BLEND, op("aten::blend", RANGE, inputs=[tensor(6)])], dispatch=[])
    tensors = KnownTensors.of(small.context(seen))
    blends = [with_schema(one, PAIR) for one in build(small.context(seen), ()) if one.hop.name == "aten::blend"]
    assert [bool(tensors.arguments(one).doubt) for one in blends] == [False, True, True]
