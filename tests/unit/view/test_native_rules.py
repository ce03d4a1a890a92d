"""The rules of the readable tree, on real call trees: each is of use, and none hides what decides the result."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from ptexplore.capture.native.symbols import Elf
from ptexplore.model.hop_kinds import HopKind
from ptexplore.model.reasons import Said
from ptexplore.model.trace import Captured, Hop, NativeCall, ResultInfo, TorchInfo, Trace, walk
from ptexplore.view.trace.native import condense, frames, in_the_tree
from ptexplore.view.trace.native import shown_name as name_of
from ptexplore.view.trace.native_rules import ACTIONS, RULES, Rule, rule_for, rule_for_operator
from tests.unit.view.conftest import Recorded

# Functions that are frames of torch's in 2.6.0 (tests/e2e/test_native_readable.py, matched) and not in 2.13.0.
OLDER = ("at::namedinference::", "at::getAccelerator", "at::NamesMode::", "at::cuda::detail::CUDAHooks::has",
         "at::native::use_mkldnn_", "operator delete", "at::impl::get_names", "at::impl::get_opt_names",
         "at::impl::has_names", "isResurrectable", "THPVariable_subclass_dealloc", "THPVariable_subclass_clear",
         "at::impl::internal_set_names_inplace")  # fmt: skip


def functions(trees: Iterable[Recorded]) -> set[tuple[str, str]]:
    return {(hop.name, hop.native.library) for tree in trees for hop in walk(tree.hops)}


def parts(rule: Rule) -> Iterator[Rule]:
    """One rule for each name in a rule, to find the names that nothing real fits any more."""
    for kind in ("exact", "prefix", "suffix", "part", "namespace", "library", "operator"):
        for name in getattr(rule, kind):
            yield Rule(rule.action, rule.why, **{kind: (name,)})


def test_every_rule_says_why() -> None:
    for rule in RULES:
        assert rule.action in ACTIONS
        assert len(rule.why.split()) > 2, rule
        assert list(parts(rule)), rule
    assert len({rule.why for rule in RULES}) == len(RULES)


def _is_in_a_library(name: str) -> bool:
    """Whether a library of torch's has a function whose name begins so, by the mangled spelling; a lambda's, by its
    function's."""
    *around, last = name.partition("::{")[0].removesuffix("::").split("::")
    spelled = "".join(f"{len(word)}{re.escape(word)}(?:12_GLOBAL__N_1)?L?" for word in around)
    spelled += "C[12]" if last in around[-1:] else f"{'[0-9]+' if around else ''}{re.escape(last)}"
    mangled = re.compile(spelled.encode())
    return any(mangled.search(text) for text in _strings())


@cache
def _strings() -> tuple[bytes, ...]:
    """The string tables of torch's libraries."""
    folder = Path(importlib.util.find_spec("torch").submodule_search_locations[0], "lib")  # type: ignore[union-attr,index]
    tables = []
    for library in ("libtorch_cpu.so", "libtorch_python.so", "libc10.so"):
        strings = next(one for one in Elf(str(folder / library)).sections if one.name == ".strtab")
        with (folder / library).open("rb") as file:
            file.seek(strings.offset)
            tables.append(file.read(strings.size))
    return tuple(tables)


def test_no_rule_is_dead(recorded: Mapping[str, Recorded]) -> None:
    """Each name of each rule decides about some function that really ran, or that the libraries have."""
    used: set[Rule] = set()
    for name, library in functions(recorded.values()):
        rule = rule_for(name, library)
        used |= {part for part in parts(rule) if part.fits(name, library)} if rule else set()
    operators = {name.split("::")[2] for name, _ in functions(recorded.values()) if name.startswith("at::_ops::")}
    dead = []
    for rule in RULES:
        for part in parts(rule):
            if part.operator:
                assert any(one.startswith(part.operator[0]) for one in operators), part
            elif (part.exact or part.prefix or ("",))[0] in OLDER:
                continue
            elif part.library != ("python",):  # a Python that is no library: some machines have one, some the other
                name = (part.exact or part.prefix or ("",))[0]
                dead += [part] if part not in used and not (name and _is_in_a_library(name)) else []
    assert not dead


def test_the_first_rule_that_fits_decides() -> None:
    assert rule_for("at::native::add", "libtorch_cpu.so").action == "show"  # type: ignore[union-attr]
    assert rule_for("at::native::check_dims", "libtorch_cpu.so").action == "hide"  # type: ignore[union-attr]
    assert rule_for("PyObject_Call", "libpython3.11.so.1.0").action == "hoist"  # type: ignore[union-attr]
    assert rule_for("torch::autograd::THPVariable_add", "libtorch_python.so").action == "show"  # type: ignore[union-attr]
    assert rule_for("mine::kernel", "mine.so") is None
    assert rule_for_operator("aten::empty.memory_format").action == "close"  # type: ignore[union-attr]
    assert rule_for_operator("aten::empty_cache") is None


# What makes, converts, wraps, casts or records a tensor: a row of its own, inside of nothing that is hidden.
ROWS = ("THPModule_fromDLPack", "THPModule_toDLPackVersioned", "at::toDLPackVersioned", "at::fromDLPackVersioned",
        "torch::utils::tensor_fromDLPack", "torch::utils::tensor_ctor", "torch::utils::tensor_from_numpy",
        "torch::utils::internal_new_from_data", "torch::utils::tensor_to_numpy", "THPVariable_make_wrapper_subclass",
        "THPVariable_make_subclass", "THPVariable_as_subclass", "THPVariable_set_backwards_hooks",
        "THPVariable_set_data", "THPModule_setDefaultDtype", "torch::jit::tracer::addInputs",
        "torch::jit::tracer::recordSourceLocation", "torch::jit::tracer::createGraphByTracing",
        "at::functorch::makeBatched", "at::functorch::VmapInterpreterPtr::processImpl",
        "at::functionalization::impl::replace_", "at::functionalization::impl::sync", "at::autocast::cached_cast",
        "at::native::checkSetStorage", "at::detail::scalar_tensor_static", "ideep::tensor::feed_from")  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_what_makes_or_changes_a_tensor_is_a_row(name: str) -> None:
    rule = rule_for(name, "libtorch_cpu.so")
    assert rule is None or rule.action in ("show", "fold")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("THPVariable_get_requires_grad", "asked"),
        ("THPVariable_dealloc", "lets go"),
        ("torch::jit::tracer::addInputs", "recording"),
        ("at::autocast::cached_cast", "casts"),
        ("at::functorch::makeBatched", "wraps"),
        ("at::functionalization::impl::replace_", "changes"),
        ("at::functionalization::impl::isFunctionalTensor", "asks"),
        ("at::impl::PythonTorchFunctionTLS::set_state", "sets"),
        ("at::Context::setDeterministicAlgorithms", "sets"),
        ("pybind11::cpp_function::dispatcher", "calls the function"),
    ],
)
def test_the_reason_is_true_of_the_function(name: str, word: str) -> None:
    rule = rule_for(name, "libtorch_python.so")
    assert rule is not None
    assert word in rule.why


def test_a_frame_inside_of_what_is_folded_is_said_to_be_left_out(recorded: Mapping[str, Recorded]) -> None:
    """Its own rule says what is done with it elsewhere."""
    trace = Trace("torch.add(g, g)", (), TorchInfo(), (), Captured(), ResultInfo(), (), hops=recorded["add"].hops)
    shown = {hop.id for hop in walk(condense(trace.hops)[0])}
    (folded,) = (hop for hop in walk(trace.hops) if hop.name.endswith("::collect_next_edges"))
    inside = [hop for hop in walk(folded.children) if hop.id not in shown]
    assert inside
    for hop in inside:
        assert in_the_tree(trace, hop).startswith("left out"), hop.name
    assert f"[{folded.id}] torch::autograd::collect_next_edges" in in_the_tree(trace, folded.children[0])
    for hop in walk(trace.hops):
        told = in_the_tree(trace, hop)
        assert hop.id in shown or told.startswith(("left out", "the frame is left out", "its callees")), (
            hop.name,
            told,
        )
        assert hop.id not in shown or not told.startswith(("left out", "the frame is")), (hop.name, told)


DECIDES = {
    "first": ("PythonArgParser::PythonArgParser", "conv2d_typed_handle", "Xbyak::util::Cpu::Cpu"),
    "add": ("add_kernel", "structured_ufunc_add_CPU::impl", "structured_add_Tensor::meta", "TensorIteratorBase::build",
            "VectorizedLoop2d", "collect_next_edges", "set_history", "empty_cpu", "compute_requires_grad",
            "grad_accumulator", "fast_set_up", "computeStorageNbytesContiguous", "alloc_cpu", "get_call_ptr",
            "add_Tensor::call", "add_Tensor::redispatch", "VariableType::add_Tensor", "wrapper_CPU_add_Tensor"),
    "in place": ("add__Tensor::redispatch", "rebase_history", "check_inplace"),
    "matmul": ("mm::call", "mkl_", "gemm"),
    "softmax": ("softmax_lastdim_kernel_impl",),
    "together": ("structured_cat_out_cpu::impl", "native::result_type"),
    "conv2d": ("resize_bytes_cpu", "_select_conv_backend", "mkl_", "unfolded2d_copy", "slow_conv2d_forward"),
    "index": ("index_kernel", "loop_2d_from_1d"),
    "attention": ("select_sdp_backend_cpp", "cpu_flash_attention", "mkl_"),
    "oneDNN": ("dnnl_",),
    "backward": ("Engine::execute", "evaluate_function", "SumBackward0::apply", "MulBackward0::apply",
                 "AccumulateGrad::apply", "mul_kernel", "VectorizedLoop2d"),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDES)
def test_nothing_that_decides_the_result_is_left_out(recorded: Mapping[str, Recorded], name: str) -> None:
    shown = [name_of(hop) for hop in walk(condense(recorded[name].hops)[0])]
    for one in DECIDES[name]:
        assert any(one in told for told in shown), (one, shown)


def test_every_dispatch_boundary_and_computing_function_stays(recorded: Mapping[str, Recorded]) -> None:
    """Operators' entries all; functions of at::native but for those that a rule leaves out by name."""
    for tree in recorded.values():
        shown = {hop.id for hop in walk(condense(tree.hops)[0])}
        for hop in unfolded(tree.hops):
            rule = rule_for(hop.name, hop.native.library)
            if hop.name.startswith("at::_ops::") or (rule and rule.action == "show"):
                assert hop.id in shown, hop.name


def unfolded(hops: Iterable[Hop]) -> Iterable[Hop]:
    """All hops but those inside of what a rule folds or hides."""
    for hop in hops:
        yield hop
        rule = rule_for(hop.name, hop.native.library)
        if rule is None or rule.action not in ("fold", "hide", "close"):
            yield from unfolded(hop.children)


def test_operators_and_kernels_stay_whatever_they_are_in(recorded: Mapping[str, Recorded]) -> None:
    (made,) = (hop for hop in walk(recorded["add"].hops) if hop.name.endswith("::collect_next_edges"))
    inside = replace(made.children[0], kind="op", op="aten::made", children=())
    hidden = replace(made, children=(inside,))
    assert [hop.op for hop in walk(condense((hidden,))[0])] == [None, "aten::made"]


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [("op", "aten::fill_.Scalar", True), ("python", "__torch_dispatch__", True), ("op", "aten::empty_strided", False)],
)
def test_what_an_allocation_calls_beside_allocations_stays(
    recorded: Mapping[str, Recorded], kind: HopKind, name: str, shown: bool
) -> None:
    """Deterministic algorithms fill what aten::empty allocates, by an operator; a subclass's Python runs anything."""
    frame = next(
        hop for hop in walk(recorded["add"].hops) if hop.kind == "native" and hop.name.startswith("at::native::")
    )
    called = replace(frame, id=2, kind=kind, name=name, op=name if kind == "op" else None, children=())
    kernel = replace(frame, id=1, name="at::native::empty_cpu", children=(called,))
    call = replace(frame, id=0, kind="op", name="aten::empty_like", op="aten::empty_like", children=(kernel,))
    inside = [hop.name for hop in walk(condense((call,))[0])]
    assert inside == ([call.name, kernel.name, name] if shown else [call.name])


def test_no_frame_is_lost(recorded: Mapping[str, Recorded]) -> None:
    """What is shown and what is counted as left out are together what ran."""
    for tree in recorded.values():
        shown, hidden = condense(tree.hops)
        above = frames(tree.hops) - frames(shown) - sum(hidden.values())
        assert 0 <= above <= frames(tree.hops) - frames(shown), above
        # One call that runs it all; what Python 3.13 looks up before that is beside it.
        assert sum(bool(hop.children) for hop in tree.hops) == 1


def test_no_instruction_is_changed(recorded: Mapping[str, Recorded]) -> None:
    for tree in recorded.values():
        counts = {hop.id: hop.instructions for hop in walk(tree.hops)}
        for hop in walk(condense(tree.hops)[0]):
            assert hop.instructions == counts[hop.id]


def test_deep_stacks_are_no_trouble() -> None:
    from ptexplore.model.places import SourceRef

    place = SourceRef(None, None, None, "unknown", reason=Said("made"))
    hop = Hop(0, "native", "at::native::f", "observed", place, instructions=1)
    for number in range(1, 5000):
        native = NativeCall("", library="libpython3.11.so")
        hop = Hop(number, "closed", "PyObject_Call", "observed", place, native=native, instructions=1, children=(hop,))
    shown, hidden = condense((hop,))
    assert [one.name for one in shown] == ["at::native::f"]
    assert hidden == {0: 0}
