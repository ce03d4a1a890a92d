"""What was stepped joined with what was concluded: a hop is observed where a frame was, and the frames decide the tree.

Each test gives the claims as the passes before leave them, and the calls of the machine; both are written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.operators import Binding
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import CallNotTaken, Finding, StubRef
from ptexplore.resolve.claims import Claim, numbers
from ptexplore.resolve.native import conclude
from ptexplore.resolve.native import join as join_module
from ptexplore.resolve.native.join import Matchable, join, same_calls
from ptexplore.resolve.places.precision import unknown
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import (
    Rows,
    Small,
    bits,
    claim,
    entry,
    key_facts,
    native_facts,
    only,
    operator,
    place,
    registration,
    session,
    shape,
    walk,
)
from tests.unit.resolve.native_calls import calls, functor

HAND, CPU = "aten/src/ATen/native/Blend.cpp", f"{ATEN}/RegisterCPU_0.cpp"
OP = "aten::blend.Pair"
ENTRY = "at::_ops::blend_Pair::call(at::Tensor const&, at::Tensor const&)"
AGAIN = "at::_ops::blend_Pair::redispatch(c10::DispatchKeySet, at::Tensor const&)"
ALL, LOW = bits("AutogradCPU", "CPU"), bits("CPU")
VARIABLE, WRAPPER = "torch::autograd::VariableType::blend_Pair", "at::wrapper_CPU_blend_Pair"
OUTER, INNER = functor(VARIABLE), functor(WRAPPER)
OBSERVATION = 1  # of the stepped part, the first of each session here
ROWS = Rows(
    operators=[
        operator(f"{OP}(Tensor self, Tensor other) -> Tensor", cpp_name="blend_Pair"),
        operator("aten::mirror(Tensor self) -> Tensor", cpp_name="mirror"),
    ],
    registrations=[registration(OP, "CPU", (CPU, 21), wrapper=WRAPPER),
                   registration(OP, "ADInplaceOrView", (CPU, 33), wrapper="ADInplaceOrView::blend")],
    tables={OP: [entry("CPU", at=(CPU, 21)), entry("ADInplaceOrView", at=(CPU, 33))]},
)  # fmt: skip


def chain(*links: tuple[str, str, tuple[Claim, ...]], **hop: Any) -> tuple[Claim, ...]:
    """The predicted keys, each with its kernel and what that calls by its text: (key, kernel, what is below)."""
    if not links:
        return ()
    (key, kernel, below), *rest = links
    inside = claim("kernel", kernel, *below, *chain(*rest, **hop), op=OP, key=key, status="derived", **hop)
    return (claim("key", key, inside, op=OP, key=key, status="derived", **hop),)


def blend(*inside: Claim, **hop: Any) -> Claim:
    """The operator call as the profiler saw it."""
    given = {"op": OP, "evidence": (40,), **hop}
    return claim("op", OP, *inside, event={"type": "op", "name": "aten::blend"}, **given)


def stepped(
    small: Small, text: str, *claims: Claim, rows: Rows = ROWS, **part: Any
) -> tuple[list[Claim], list[Finding]]:
    """Every claim after the join, and the findings."""
    context = small.context(session(native=[calls(text, **part)]), rows, small.source())
    joined = join(context, claims)
    numbered = numbers(tuple(joined))
    return walk(joined), [replace(finding, hop=numbered.get(about or 0)) for finding, about in context.findings]


BOTH = (("AutogradCPU", VARIABLE, ()), ("CPU", WRAPPER, ()))
WHOLE = f"""
{ENTRY}
 {OUTER} | 9 8 {ALL:x}
  {VARIABLE}(int)
   {AGAIN}
    {INNER} | 9 8 {LOW:x}
     {WRAPPER}(int)
"""


def test_what_was_predicted_and_ran_is_observed(small: Small) -> None:
    claims, findings = stepped(small, WHOLE, blend(*chain(*BOTH)))
    assert shape(claims[:1]) == (
        f"{OP}(AutogradCPU(c10::impl::wrap_kernel_functor_unboxed_::call({VARIABLE}"
        f"(at::_ops::blend_Pair::redispatch(CPU(c10::impl::wrap_kernel_functor_unboxed_::call({WRAPPER})))))))"
    ), "in the machine's own nesting"
    assert {one.hop.status for one in claims} == {"observed"}
    assert findings == []


def test_each_key_is_read_from_its_register(small: Small) -> None:
    claims, _ = stepped(small, WHOLE, blend(*chain(*BOTH)))
    outer = only(claims[:1], "key", "AutogradCPU")
    assert key_facts(outer).observed_raw == key_facts(outer).raw == hex(ALL)
    assert key_facts(outer).set == "AutogradCPU, CPU"
    given = outer.hop.why[-1]
    assert isinstance(given, reasons.GivenSet)
    assert given.key == "AutogradCPU"
    assert hex(LOW) == key_facts(only(claims[:1], "key", "CPU")).raw


def test_evidence_is_added_and_none_is_lost(small: Small) -> None:
    claims, _ = stepped(small, WHOLE, blend(*chain(*BOTH, evidence=(40, 41))))
    assert claims[0].hop.evidence == (40, OBSERVATION)
    assert only(claims[:1], "key", "CPU").hop.evidence == (40, 41, OBSERVATION)
    assert only(claims[:1], "kernel", WRAPPER).hop.evidence == (40, 41, OBSERVATION)
    assert only(claims[:1], "native", "at::_ops::blend_Pair::redispatch").hop.evidence == (OBSERVATION,)


def test_what_a_frame_tells_of_its_hop(small: Small) -> None:
    claims, _ = stepped(small, WHOLE, blend(*chain(*BOTH)))
    kernel = only(claims[:1], "kernel", WRAPPER)
    assert kernel.hop.instructions == 10
    assert native_facts(kernel) == (f"{WRAPPER}(int)", "libtorch_cpu.so", 10)
    assert claims[0].hop.instructions == 60


# --- predictions that differ ---


def test_a_prediction_that_ends_early_is_not_wrong(small: Small) -> None:
    """It did not know how the call goes on: the machine shows the rest."""
    claims, findings = stepped(small, WHOLE, blend(*chain(BOTH[0])))
    assert findings == []
    last = only(claims[:1], "key", "CPU")
    assert (last.hop.status, last.hop.op) == ("observed", OP)
    assert only(claims[:1], "kernel", WRAPPER).hop.status == "observed"
    assert isinstance(last.hop.why[0], reasons.EntryOfTable)
    assert last.hop.why[0].key == "CPU"


@pytest.mark.parametrize(
    "links",
    [
        (("AutogradCPU", VARIABLE, ()), ("ADInplaceOrView", "v", ()), ("CPU", WRAPPER, ())),  # one too many
        (("CPU", WRAPPER, ()),),  # one that ran was not foreseen
        (("AutogradCPU", VARIABLE, ()), ("Meta", "m", ())),
    ],
)
def test_keys_that_ran_otherwise_are_a_finding(small: Small, links: Any) -> None:
    claims, findings = stepped(small, WHOLE, blend(*chain(*links)))
    (finding,) = findings
    assert finding.kind == "prediction-differs"
    predicted = tuple(key for key, _, _ in links)
    assert finding.told == reasons.OtherKeys(OP, predicted, ("AutogradCPU", "CPU"))
    assert finding.hop == 1, "the operator call"
    assert [one.hop.name for one in claims if one.hop.kind == "key"] == ["AutogradCPU", "CPU"], "what ran is shown"


def test_what_was_observed_inside_of_a_kernel_that_did_not_run_stays(small: Small) -> None:
    """The prediction was wrong; what the profiler saw inside of the call was not."""
    seen = {"type": "op", "name": "aten::mirror"}
    mirrors = [claim("op", "aten::mirror", op="aten::mirror", event=seen, evidence=(n,)) for n in (41, 42)]
    inside = (claim("native", "PythonSubclass", mirrors[0], event={"type": "op", "name": "PythonSubclass"}),
              claim("impl", "at::native::blend", mirrors[1]), claim("impl", "at::native::other"))  # fmt: skip
    predicted = blend(*chain(("AutogradCPU", VARIABLE, ()), ("CPU", WRAPPER, inside)))
    claims, findings = stepped(small, f"{ENTRY}\n {OUTER} | 9 8 {ALL:x}\n  {VARIABLE}(int)", predicted)
    assert [one.hop.name for one in claims if one.hop.kind == "key"] == ["AutogradCPU"]
    assert [one.hop.evidence for one in claims if one.hop.op == "aten::mirror"] == [(41,), (42,)]
    assert not [one for one in claims if one.hop.kind == "impl"]
    assert shape(claims[:1]).endswith("PythonSubclass(aten::mirror) aten::mirror)")
    assert findings[-1].kind == "prediction-differs"


def test_a_part_that_was_cut_short_contradicts_nothing(small: Small) -> None:
    text = f"{ENTRY}\n {OUTER} | 9 8 {ALL:x}\n  {VARIABLE}(int)\n"
    _, findings = stepped(small, text, blend(*chain(*BOTH)), cut={"code": "log-full"})
    assert [(one.kind, one.told) for one in findings] == [("cut", reasons.TreeEnds(reasons.LogFull()))]


OTHER_RAN = WHOLE.replace(WRAPPER, "at::native::weave")


@pytest.mark.parametrize(
    "tree, precision, certain",
    [
        ("runtime", "located", True),
        ("runtime", "registered", True),
        ("runtime", "unknown", False),  # nothing certain was predicted
        ("tree", "located", False),  # of a checkout's text: not the binary's own
    ],
)
def test_another_kernel_than_predicted(small: Small, tree: str, precision: Any, certain: bool) -> None:
    """What ran is shown by its own name and source; a finding where the prediction was the running version's own."""
    from ptexplore.model.places import SourceRef

    was = SourceRef(CPU, 12, "generated", precision, tree=tree, reason=reasons.Said("x"))
    inner = claim("kernel", WRAPPER, claim("impl", "at::native::old"), op=OP, key="CPU", status="derived", source=was)
    outer = claim("kernel", VARIABLE, claim("key", "CPU", inner, op=OP, key="CPU"), op=OP, key="AutogradCPU")
    claims, findings = stepped(small, OTHER_RAN, blend(claim("key", "AutogradCPU", outer, op=OP, key="AutogradCPU")))
    kernel = only(claims[:1], "kernel", "at::native::weave")
    assert kernel.hop.status == "observed"
    assert kernel.children == (), "what the other one's text calls did not run"
    expected = [reasons.OtherKernel(OP, "CPU", WRAPPER, "at::native::weave")] if certain else []
    assert [one.told for one in findings] == expected


# --- what left no frame ---


def test_a_kernel_that_the_boundarys_type_names_and_that_has_no_frame_was_compiled_into_it(small: Small) -> None:
    text = f"{ENTRY}\n {OUTER} | 9 8 {ALL:x}\n  {AGAIN}\n   {INNER} | 9 8 {LOW:x}\n"
    claims, findings = stepped(small, text, blend(*chain(*BOTH)))
    kernel = only(claims[:1], "kernel", VARIABLE)
    assert kernel.hop.status == "inlined"
    assert kernel.hop.evidence == (OBSERVATION,)
    assert isinstance(kernel.hop.why[-1], reasons.CompiledIn)
    assert "at::_ops::blend_Pair::redispatch" in shape((kernel,)), "what it calls is inside of it"
    assert findings == []


def test_a_kernel_that_nothing_names_is_derived_from_the_table(small: Small) -> None:
    boundary = (
        "c10::impl::BoxedKernelWrapper<at::Tensor& (at::Tensor const&), void>::call(c10::BoxedKernel const&, "
        "c10::OperatorHandle const&, c10::DispatchKeySet, at::Tensor const&)"
    )
    claims, _ = stepped(small, f"{ENTRY}\n {boundary} | 9 8 {LOW:x}\n", blend(*chain(BOTH[1])))
    kernel = only(claims[:1], "kernel", WRAPPER)
    assert kernel.hop.status == "derived"
    assert isinstance(kernel.hop.why[-1], reasons.RanUnnamed)
    assert kernel.hop.why[-1].key == "CPU"


IMPL, STUB = "at::native::fold_dense", "at::native::fold_stub"
KERNEL = "at::native::fold_kernel"


def predicted() -> Claim:
    """A hand-written function with the stub that its text calls, and the stub's kernel."""
    kernel = claim("native", KERNEL, status="predicted", op=OP)
    return claim("impl", IMPL, claim("stub", STUB, kernel, status="predicted", op=OP), status="predicted", op=OP)


def below(*lines: str) -> str:
    """The CPU kernel with these calls inside."""
    return f"{ENTRY}\n {INNER} | 9 8 {LOW:x}\n  {WRAPPER}(int)\n" + "".join(f"   {line}\n" for line in lines)


FOLD = "at::native::AVX2::(anonymous namespace)::fold_kernel(at::TensorIteratorBase&)"
LINKS = (("CPU", WRAPPER, (predicted(),)),)


def test_functions_that_the_text_names_and_that_ran_are_observed(small: Small) -> None:
    text = below(f"{IMPL}(at::Tensor const&)", f" {FOLD}")
    claims, _ = stepped(small, text, blend(*chain(*LINKS)))
    assert only(claims[:1], "impl").hop.status == "observed"
    kernel = only(claims[:1], "native", KERNEL)
    assert (kernel.hop.status, kernel.hop.instructions) == ("observed", 10)
    assert only(claims[:1], "stub").hop.status == "inlined", "a stub is a table, no function"


def test_a_function_without_a_frame_whose_calls_ran_was_compiled_into_its_caller(small: Small) -> None:
    claims, _ = stepped(small, below(FOLD), blend(*chain(*LINKS)))
    impl = only(claims[:1], "impl")
    assert (impl.hop.status, impl.hop.why[-1]) == ("inlined", reasons.RanInCaller())
    assert impl.hop.evidence == (OBSERVATION,)
    assert shape((impl,)) == f"{IMPL}({STUB}({KERNEL}))"


def test_a_function_of_which_nothing_ran_is_no_step_where_everything_was_seen(small: Small) -> None:
    claims, _ = stepped(small, below("at::native::another(int)"), blend(*chain(*LINKS)))
    assert not [one for one in claims if one.hop.kind in ("impl", "stub") or one.hop.name == KERNEL]
    cut, _ = stepped(small, below("at::native::another(int)"), blend(*chain(*LINKS)), cut={"code": "log-full"})
    assert [one.hop.status for one in cut if one.hop.kind in ("impl", "stub")] == ["predicted", "predicted"]
    assert only(cut[:1], "native", KERNEL).hop.status == "predicted", "what comes after the cut was not seen"


ASKED = "at::native::DispatchStubImpl::get_call_ptr(c10::DeviceType, void*, void*, void*)"
AT = SourceRef("a.cpp", 7, "checkout", "located", tree="tree")


def two_stubs() -> Claim:
    """A hand-written function whose text calls one of two stubs."""
    kernels = [claim("native", f"at::native::{name}_kernel", status="predicted", op=OP) for name in ("fold", "spin")]
    stubs = [
        claim(
            "stub", f"at::native::{name}_stub", kernel, status="predicted", op=OP, stub=StubRef("CPU", AT, ("f",), AT)
        )
        for name, kernel in zip(("fold", "spin"), kernels, strict=True)
    ]
    return claim("impl", IMPL, *stubs, status="predicted", op=OP)


@pytest.mark.parametrize(
    ("stubs", "left"),
    [
        ({"4": "at::native::fold_stub"}, ["at::native::fold_stub"]),
        ({"4": "at::native::other_stub"}, []),
        ({"4": ""}, ["at::native::fold_stub", "at::native::spin_stub"]),  # it has no symbol: which one it was is open
        ({}, ["at::native::fold_stub", "at::native::spin_stub"]),  # recorded by a version that did not ask
    ],
)
def test_a_stub_that_was_not_asked_for_its_kernel_was_not_called(
    small: Small, stubs: dict[str, str], left: list[str]
) -> None:
    text = below(f"{IMPL}(at::Tensor const&)", f" {ASKED}", " at::native::another(int)")
    claims, _ = stepped(small, text, blend(*chain(("CPU", WRAPPER, (two_stubs(),)))), stubs=stubs)
    assert [one.hop.name for one in claims if one.hop.kind == "stub"] == left
    impl = only(claims[:1], "impl").hop
    gone = [name for name in ("at::native::fold_stub", "at::native::spin_stub") if name not in left]
    assert impl.not_taken == tuple(CallNotTaken(name, AT, AT, ("f",)) for name in gone)


def test_what_another_operator_asks_for_is_not_this_ones(small: Small) -> None:
    text = below(f"{IMPL}(at::Tensor const&)", " at::_ops::mirror::call(at::Tensor const&)", f"  {ASKED}")
    called = {"5": "at::native::fold_stub"}
    claims, _ = stepped(small, text, blend(*chain(("CPU", WRAPPER, (two_stubs(),)))), stubs=called)
    assert not [one for one in claims if one.hop.kind == "stub"]


def test_where_a_function_has_no_name_nothing_is_said_not_to_have_run(small: Small) -> None:
    nameless = calls(below("at::native::another(int)"))
    nameless["functions"][-1][2:] = ["", ""]
    claims, _ = stepped(small, "", blend(*chain(*LINKS)), **nameless)
    assert [one.hop.status for one in claims if one.hop.kind in ("impl", "stub")] == ["predicted", "predicted"]


def test_one_frame_is_one_hops(small: Small) -> None:
    """The text calls it twice, and it ran once."""
    twice = (("CPU", WRAPPER, (claim("impl", IMPL, status="predicted"), claim("impl", IMPL, status="predicted"))),)
    claims, _ = stepped(small, below(f"{IMPL}(at::Tensor const&)"), blend(*chain(*twice)))
    statuses = sorted(one.hop.status for one in claims if one.hop.kind == "impl")
    assert statuses == ["observed", "predicted"]


def test_what_runs_inside_another_operator_is_not_this_ones(small: Small) -> None:
    text = below("at::_ops::mirror::call(at::Tensor const&)", f" {IMPL}(at::Tensor const&)")
    claims, _ = stepped(small, text, blend(*chain(*LINKS)))
    assert not [one for one in claims if one.hop.kind == "impl"], "mirror's own call of it is another"


# --- frames that nobody predicted ---


def test_a_frame_that_nothing_else_is_known_of(small: Small) -> None:
    text = below("at::native::weave(at::Tensor const&, at::Tensor const&)", "dgemm_", "@libc.so.6 free")
    claims, _ = stepped(small, text, blend(*chain(BOTH[1])))
    weave = only(claims[:1], "native", "at::native::weave")
    assert (weave.hop.status, weave.hop.phase, weave.hop.evidence) == ("observed", "forward", (OBSERVATION,))
    assert place(weave.hop.source) == (HAND, small.line(HAND, "Tensor weave("), "located")
    assert {one.hop.name for one in claims if one.hop.kind == "closed"} == {"dgemm_", "free"}


def test_what_a_function_refs_callback_runs_is_named_by_its_type(small: Small) -> None:
    """The loop of a TensorIterator: the call operator was compiled into the callback that calls it."""
    carrier = "void c10::function_ref<void (char**, long)>::callback_fn<at::native::Loop>(long, char**, long)"
    claims, _ = stepped(small, below(carrier, " at::native::inside(int)"), blend(*chain(BOTH[1])))
    loop = only(claims[:1], "native", "at::native::Loop::operator()")
    assert (loop.hop.status, loop.hop.evidence) == ("inlined", (OBSERVATION,))
    assert isinstance(loop.hop.why[0], reasons.CompiledIn)
    assert [one.hop.name for one in loop.children] == ["at::native::inside"], "what ran inside is its own"
    own_frame = below(carrier, " at::native::Loop::operator()(char**, long)")
    claims, _ = stepped(small, own_frame, blend(*chain(BOTH[1])))
    assert only(claims[:1], "native", "at::native::Loop::operator()").hop.status == "observed"


METHODS = "torch/csrc/autograd/generated/python_variable_methods.cpp"
SLOT = "torch::autograd::TypeError_to_NotImplemented_<&torch::autograd::THPVariable_mul>(_object*)"


@pytest.mark.parametrize(
    "text, python",
    [
        (f"{SLOT}\n torch::autograd::THPVariable_mul(_object*)", "torch.Tensor.__mul__ or __rmul__"),
        ("@libpython3.11.so.1.0 Eval\n torch::autograd::THPVariable_getitem(_object*)", "torch.Tensor.__getitem__"),
        ("torch::autograd::THPVariable_bool(_object*)\n torch::autograd::THPVariable_mul(_object*)", None),
    ],
    ids=["a slot", "a subscript", "called by C"],
)  # fmt: skip
def test_a_c_function_behind_an_operators_syntax_is_named_as_python_has_it(
    small: Small, text: str, python: str | None
) -> None:
    """Python tells its profile function nothing of these calls."""
    names = ("mul", "__mul__", "__rmul__")
    rows = Rows(bindings=[Binding("Tensor", name, "THPVariable_mul", METHODS, 7, 9, 20) for name in names])
    claims, _ = stepped(small, text, rows=rows)
    called = next(one for one in claims if one.hop.name.endswith(("_mul", "_getitem")) and one.hop.kind == "native")
    assert (called.hop.binding.python if called.hop.binding is not None else None) == python


def test_a_call_that_compiles_torchscript_says_so(small: Small) -> None:
    run = "torch::jit::ProfilingGraphExecutorImpl::runProfilingInsensitiveOptimizations(int)"
    for text, kinds in ((run, ["compiles"]), ("torch::jit::GraphExecutor::run(int)", [])):
        assert [finding.kind for finding in stepped(small, text)[1]] == kinds


def test_an_operator_call_that_the_profiler_did_not_record(small: Small) -> None:
    text = below("at::_ops::mirror::call(at::Tensor const&)")
    claims, _ = stepped(small, text, blend(*chain(BOTH[1])))
    found = only(claims[:1], "op", "aten::mirror")
    assert found.hop.status == "observed"
    assert found.hop.why == (reasons.NotProfiled("at::_ops::mirror::call"),)


def test_what_another_run_called_and_the_stepped_one_did_not_holds_nothing_of_that(small: Small) -> None:
    """As mkldnn_convolution, which a batch of 2 with filters of one element goes to on more threads than one."""
    inside = claim("op", "aten::mirror", op="aten::mirror", event={"type": "op", "name": "aten::mirror"})
    by_kernel = claim("key", "CPU", claim("kernel", "at::native::other", inside, op="aten::other"), op="aten::other")
    other = claim("op", "aten::other", by_kernel, op="aten::other", event={"type": "op", "name": "aten::other"})
    links = (("CPU", WRAPPER, (other,)),)
    text = below("at::_ops::mirror::call(at::Tensor const&)")
    claims, findings = stepped(small, text, blend(*chain(*links)))
    assert "aten::other" not in shape(claims[:1])
    assert only(claims[:1], "op", "aten::mirror").hop.status == "observed"
    assert [finding.kind for finding in findings] == ["other-run"]
    ran = below("at::_ops::mirror::call(at::Tensor const&)", "at::native::other(at::Tensor const&)")
    claims, findings = stepped(small, ran, blend(*chain(*links)))
    assert "aten::other" in shape(claims[:1]), "its kernel ran: it was called past its entry point"


def test_a_cut_part_shows_no_call_that_another_one_took_the_place_of(small: Small) -> None:
    """As mkldnn_convolution, where the stepped run on one thread is cut in slow_conv2d."""
    by_kernel = claim("key", "CPU", claim("kernel", "at::native::other", op="aten::other"), op="aten::other")
    other = claim("op", "aten::other", by_kernel, op="aten::other", event={"type": "op", "name": "aten::other"})
    observed = blend(*chain(("CPU", WRAPPER, (other,))))
    another = below("at::_ops::mirror::call(at::Tensor const&)")
    claims, findings = stepped(small, another, observed, cut=reasons.NoBudget())
    assert "aten::other" not in shape(claims[:1])
    assert [finding.kind for finding in findings] == ["other-run", "cut"]
    claims, findings = stepped(small, below("at::native::work(at::Tensor const&)"), observed, cut=reasons.NoBudget())
    assert "aten::other" in shape(claims[:1]), "the part may have been cut before the call"
    assert [finding.kind for finding in findings] == ["cut"]


def test_an_event_whose_overload_is_not_known_is_named_by_its_frame(small: Small) -> None:
    vague = claim("op", "aten::blend", event={"type": "op", "name": "aten::blend"})
    claims, _ = stepped(small, WHOLE, vague)
    assert claims[0].hop.op == OP
    assert claims[0].hop.why == (reasons.IsWhatRan("at::_ops::blend_Pair::call"),)


def test_a_better_source_replaces_a_worse_one_and_never_the_other_way(small: Small) -> None:
    from ptexplore.model.places import SourceRef

    weave = "at::native::weave(at::Tensor const&, at::Tensor const&)"
    skewed = SourceRef("old.cpp", 3, "checkout", "version-skew", tree="old")
    better = (("CPU", WRAPPER, (claim("impl", "at::native::weave", status="predicted", source=skewed),)),)
    claims, _ = stepped(small, below(weave), blend(*chain(*better)))
    assert place(only(claims[:1], "impl").hop.source) == (HAND, small.line(HAND, "Tensor weave("), "located")
    located = SourceRef("a.cpp", 3, "generated", "located")
    worse = (("CPU", WRAPPER, (claim("impl", "at::native::gone", status="predicted", source=located),)),)
    claims, _ = stepped(small, below("at::native::gone(int)"), blend(*chain(*worse)))
    assert only(claims[:1], "impl").hop.source == located, "the frame's own name is found nowhere"
    nothing = unknown("why it was not found before")
    same = (("CPU", WRAPPER, (claim("impl", "at::native::gone", status="predicted", source=nothing),)),)
    claims, _ = stepped(small, below("at::native::gone(int)"), blend(*chain(*same)))
    assert only(claims[:1], "impl").hop.source == nothing


# --- parts ---


def test_a_part_of_backward_takes_the_place_of_backwards_claims(small: Small) -> None:
    node = claim("node", "torch::autograd::generated::BlendBackward0::apply", phase="backward", evidence=(50,),
                 event={"type": "node", "name": "BlendBackward0"})  # fmt: skip
    text = "torch::autograd::generated::BlendBackward0::apply(std::vector<at::Tensor>&&)\n at::native::helper(int)\n"
    claims, _ = stepped(small, text, blend(), node, part="backward")
    assert [(one.hop.name, one.hop.status) for one in claims if one.hop.phase == "backward"] == [
        ("torch::autograd::generated::BlendBackward0::apply", "observed"),
        ("at::native::helper", "observed"),
    ]
    assert claims[0].hop.evidence == (40,), "forward was not stepped here"


def operator_part(number: int | None, of: int | None, **more: Any) -> Mapping[str, Any]:
    return {"part": "operator", "op": "blend", "number": number, "of": of, **more}


@pytest.mark.parametrize(
    "part, observed, why",
    [
        (operator_part(2, 3), [False, True, False], None),  # the second of three
        (operator_part(3, 3), [False, False, True], None),
        (operator_part(2, 4), [], reasons.CalledOtherTimes("blend", 4, 3)),
        (operator_part(4, None), [], reasons.NoSuchCall(3)),
        (operator_part(2, None), [False, True, False], None),
        (operator_part(None, None), [], reasons.EnteredOtherTimes("blend")),
        (operator_part(1, 3, op="blend.Pair"), [True, False, False], None),
        (operator_part(1, 3, op="blend.Scalar"), [], reasons.NoSuchCall(3)),  # another overload
    ],
)
def test_the_call_that_was_stepped(
    small: Small, part: Mapping[str, Any], observed: Sequence[bool], why: reasons.Reason | None
) -> None:
    ops = [blend(*chain(*BOTH)) for _ in range(3)]
    claims, findings = stepped(small, WHOLE, *ops, **part)
    tops = [one for one in claims if one.hop.kind == "op"]
    assert [one.hop.instructions is not None for one in tops] == (observed or [False] * 3)
    told = [one.told for one in findings if one.kind == "cut"]
    assert told == ([reasons.NotPlaced(part["op"], why)] if why is not None else [])


def test_the_only_call_needs_no_number(small: Small) -> None:
    claims, findings = stepped(small, WHOLE, blend(*chain(*BOTH)), **operator_part(None, None))
    assert claims[0].hop.instructions is not None
    assert findings == []


def test_without_a_number_the_call_with_as_many_inside_is_meant(small: Small) -> None:
    """A boxed call goes past the entry points that are counted; how many of them nest tells which one it was."""
    claims, _ = stepped(small, f"{ENTRY}\n {ENTRY}\n", blend(blend()), blend(), **operator_part(None, None))
    outer = [one for one in claims if one.hop.kind == "op"]
    assert [one.hop.instructions is not None for one in outer] == [True, True, False]


def test_calls_nested_deeper_than_can_be_shown_are_cut_and_their_operators_stay(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator ran below the last level that is shown: its own event still says that it ran."""
    deepest = 1500  # deeper than Python's own limit, and read in a second: 15,000 levels take a minute
    for module in (conclude, join_module):
        monkeypatch.setattr(module, "DEEPEST", deepest)
    deep = "\n".join(" " * level + f"f{level}(int)" for level in range(deepest + 5))
    text = f"{deep}\n{' ' * (deepest + 5)}{ENTRY}\n"
    claims, findings = stepped(small, text, blend())
    (call,) = [one for one in claims if one.hop.kind == "op"]
    assert (call.hop.op, call.hop.instructions) == (OP, None)
    assert [one.told for one in findings] == [reasons.TooDeep(deepest)]


def test_nothing_stepped_changes_nothing(small: Small) -> None:
    context = small.context(session(), ROWS)
    claims = (blend(*chain(*BOTH)),)
    assert join(context, claims) is claims
    empty = small.context(session(native=[calls("")]), ROWS)
    assert join(empty, claims) == claims


def test_python_is_around_the_calls_of_its_operators(small: Small) -> None:
    """A Python frame leaves none of its own in the machine's calls: it goes around what it holds."""
    python = claim(
        "python", "f", blend(*chain(*BOTH)), event={"type": "frame", "file": "f.py", "line": 1, "function": "f"}
    )
    claims, _ = stepped(small, "before(int)\n" + WHOLE.lstrip("\n") + "after(int)\n", python)
    tops = [one.hop.name for one in claims if one.hop.name in ("before", "f", "after")]
    assert tops == ["before", "f", "after"]
    assert shape([one for one in claims if one.hop.name == "f"]).startswith(f"f({OP}(")


def test_a_python_kernel_that_sends_the_call_on_has_its_own_frame(small: Small) -> None:
    """As that of torch.library.custom_op: its autograd kernel calls redispatch(), and stands around the next key."""
    apply = claim(
        "python",
        "apply",
        *chain(BOTH[1]),
        event={"type": "frame", "file": "/site-packages/torch/a.py", "line": 7, "function": "apply"},
        evidence=(40,),
    )
    kernel = claim("kernel", VARIABLE, apply, op=OP, key="AutogradCPU", status="derived")
    key = claim("key", "AutogradCPU", kernel, op=OP, key="AutogradCPU", status="derived")
    text = f"""
{ENTRY}
 {OUTER} | 9 8 {ALL:x}
  {VARIABLE}(int)
   $/site-packages/torch/a.py:7 apply
    {AGAIN}
     {INNER} | 9 8 {LOW:x}
      {WRAPPER}(int)
"""
    claims, findings = stepped(small, text, blend(key))
    assert [one.hop.evidence for one in claims if one.hop.name == "apply"] == [(40, OBSERVATION)]
    assert "apply(at::_ops::blend_Pair::redispatch(CPU(" in shape(claims[:1])
    assert findings == []


def test_calls_that_the_profiler_does_not_record_move_no_other_call() -> None:
    def named(names: str) -> list[Matchable]:
        return [Matchable("op", name) for name in names]

    # A range of record_function ends in a boxed call of an operator that is not observed (torch 2.6.0).
    assert same_calls(named("abcab"), named("ab?cab?")) == [0, 1, 3, 4, 5]
    assert same_calls(named("abc"), named("a?c")) == [0, 1, 2], "unnamed, and of the claims"
    assert same_calls(named("ab"), named("a??")) is None, "either may be b"
    assert same_calls(named("ab"), named("acb")) is None, "another call: the runs differ"
    assert same_calls(named("ab"), named("a")) is None
