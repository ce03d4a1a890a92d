"""The kernel behind a table's entry: which registration made it, what runs, and what its body calls by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ptexplore.model import reasons
from ptexplore.model.operators import KernelRef, PythonKernel, Registration, TableEntry
from ptexplore.model.place_reasons import MakesKernel, NoPlainFunction, NoSingleBody
from ptexplore.resolve.claims import Claim
from ptexplore.resolve.dispatch.kernel_bodies import kernel_body, registration_of
from ptexplore.resolve.dispatch.kernel_hops import kernel_claim
from ptexplore.resolve.places.sources import Source
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Rows, Small, claim, entry, place, registration

CPU = f"{ATEN}/RegisterCPU_0.cpp"
HAND = "aten/src/ATen/native/Blend.cpp"
OP = "aten::blend.Pair"
AT = (CPU, 21)


def behind(small: Small, key: str, made: TableEntry, *records: Registration) -> Registration | None:
    return registration_of(small.store(Rows(registrations=records, tables={OP: [made]})), OP, key, made)


def test_the_registration_is_the_one_at_the_entrys_line(small: Small) -> None:
    mine, other = registration(OP, "CPU", AT), registration(OP, "CPU", (CPU, 99))
    assert behind(small, "CPU", entry("CPU", at=AT), other, mine) == mine


def test_of_one_macro_that_is_for_several_keys_the_entrys_own(small: Small) -> None:
    cpu, meta = registration(OP, "CPU", AT), registration(OP, "Meta", AT)
    made = entry("CPU", at=AT)
    assert behind(small, "CPU", made, meta, cpu) == cpu
    assert behind(small, "AutogradXLA", made, meta, cpu) is None, "neither is of that key: nothing tells them apart"
    assert behind(small, "AutogradCPU", made, registration(OP, "Autograd", AT)) is not None, "an alias stands for it"


def test_a_registration_that_another_replaced_is_not_behind_the_entry(small: Small) -> None:
    """_dispatch_dump marks it "(inactive)": a later one under the same key won."""
    old = registration(OP, "CPU", AT, inactive=True, wrapper="old")
    new = registration(OP, "CPU", AT, wrapper="new")
    assert behind(small, "CPU", entry("CPU", at=AT), old, new) == new
    assert behind(small, "CPU", entry("CPU", at=AT), old) is None


def test_a_fallback_is_no_registration_of_the_operators(small: Small) -> None:
    made = entry("Conjugate", at=AT, reason="backend fallback")
    assert behind(small, "Conjugate", made, registration(OP, "Conjugate", AT)) is None


def test_the_schemas_own_record_is_no_kernel(small: Small) -> None:
    assert behind(small, "CPU", entry("CPU", at=AT), registration(OP, None, AT)) is None


def test_an_entry_without_a_file_is_pythons_where_one_alone_can_be(small: Small) -> None:
    """2.6 records /dev/null for everything that Python registers."""
    made = entry("Meta", raw="registered at /dev/null:241")
    python = registration(OP, "Meta", origin="python")
    assert behind(small, "Meta", made, python) == python
    assert behind(small, "Meta", made, registration(OP, "Meta")) is None, "that one is not Python's"
    assert behind(small, "Meta", made, python, python) is None
    assert behind(small, "CPU", made, python) is None


# --- the body ---


def body(small: Small, record: Registration | None, made: TableEntry, key: str, *sources: Source, **rows: Any) -> Any:
    return kernel_body(small.lookup(Rows(**rows), *sources), record, made, key)


def test_a_generated_wrapper_is_read_from_its_own_file(small: Small) -> None:
    line = small.line(CPU, "at::Tensor wrapper_CPU_blend_Pair(")
    record = registration(
        OP, "CPU", AT, wrapper="at::wrapper_CPU_blend_Pair", callee="TORCH_FN(wrapper_CPU_blend_Pair)",
        body_path=CPU, body_line=line, body_end=line + 5, op_line=22,
    )  # fmt: skip
    found = body(small, record, entry("CPU", at=AT), "CPU")
    assert (found.name, place(found.source), found.source.end_line) == (
        "at::wrapper_CPU_blend_Pair",
        (CPU, line, "located"),
        line + 5,
    )
    assert not found.handwritten
    assert found.registered == KernelRef(22, "TORCH_FN(wrapper_CPU_blend_Pair)")


def test_a_wrapper_that_is_not_in_the_generated_file_is_not_guessed(small: Small) -> None:
    record = registration(OP, "CPU", AT, wrapper="at::wrapper_CPU__lost")
    found = body(small, record, entry("CPU", at=AT), "CPU")
    assert place(found.source) == (None, None, "unknown")
    assert found.source.reason == NoSingleBody()


def test_a_generated_registration_of_a_hand_written_function(small: Small) -> None:
    """`m.impl("blend", TORCH_FN(at::native::blend_sparse))`: the wheel has no text of it, a checkout has."""
    record = registration(OP, "CPU", AT, wrapper="at::native::blend_sparse", body_why="handwritten")
    made = entry("CPU", at=AT)
    assert place(body(small, record, made, "CPU").source) == (None, None, "unknown")
    found = body(small, record, made, "CPU", small.source())
    assert place(found.source) == (HAND, small.line(HAND, "Tensor blend_sparse("), "located")
    assert found.handwritten


def test_a_factory_that_makes_a_boxed_kernel_is_shown_for_it(small: Small) -> None:
    record = registration(OP, "Autograd", AT, callee="at::native::weave()")
    found = body(small, record, entry("AutogradCPU", at=AT), "AutogradCPU", small.source())
    assert place(found.source) == (HAND, small.line(HAND, "Tensor weave("), "located")
    assert found.source.reason == MakesKernel()
    assert found.name == "at::native::weave()"


def test_without_a_registration_nothing_is_named(small: Small) -> None:
    found = body(small, None, entry("CPU", at=AT), "CPU")
    assert (found.name, found.source.precision) == ("a kernel of no known name", "unknown")


def test_a_fallback_is_named_by_its_key_where_no_text_shows_it(small: Small) -> None:
    made = entry("Conjugate", at=(HAND, 1), reason="backend fallback")
    found = body(small, None, made, "Conjugate")
    assert (found.name, found.source.precision) == ("Conjugate backend fallback", "unknown")


def test_a_fallback_is_read_in_a_tree_that_holds_its_macro(small: Small) -> None:
    line = small.line(HAND, "TORCH_LIBRARY_IMPL(_, Conjugate")
    found = body(
        small, None, entry("Conjugate", at=(HAND, line), reason="backend fallback"), "Conjugate", small.source()
    )
    assert found.name == "conjugate_fallback", "the function that the boxed kernel is made from"
    assert found.source.precision == "unknown", "which the small tree names and does not define"
    assert found.registered.registered_op_line == line + 1


def test_a_hand_written_registration_by_its_function(small: Small) -> None:
    line = small.line(HAND, "TORCH_LIBRARY_IMPL(aten, FuncTorchBatched")
    record = registration(OP, "FuncTorchBatched", (HAND, line), origin="handwritten", confirmed=False)
    made = entry("FuncTorchBatched", at=(HAND, line))
    found = body(small, record, made, "FuncTorchBatched", small.source())
    assert (found.name, place(found.source)) == (
        "at::native::boxed_rule",
        (HAND, small.line(HAND, "Tensor boxed_rule("), "located"),
    )
    assert found.handwritten
    nothing = body(small, record, made, "FuncTorchBatched")
    assert (nothing.name, nothing.source.precision) == ("a hand-written kernel", "unknown")


def test_what_is_registered_and_no_function_is_said(small: Small) -> None:
    line = small.line(HAND, "TORCH_LIBRARY_IMPL(aten, FuncTorchBatched")
    record = registration("aten::weave", "FuncTorchBatched", (HAND, line), origin="handwritten", confirmed=False)
    found = body(small, record, entry("FuncTorchBatched", at=(HAND, line)), "FuncTorchBatched", small.source())
    assert found.source.reason == NoPlainFunction("torch::CppFunction::makeFallthrough()")


# --- Python's kernels ---


def kernels(*given: tuple[str, str, str | None]) -> list[PythonKernel]:
    return [PythonKernel(OP, role, function, "torch/_refs.py", 17, 19, key) for role, function, key in given]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given, key, name",
    [
        ([("meta", "refs.blend_meta", "Meta")], "Meta", "refs.blend_meta"),
        ([("custom", "mine.blend", None)], "CPU", "mine.blend"),  # one that is for every key
        ([("kernel", "mine.blend_cuda", "CUDA"), ("kernel", "mine.blend_cpu", "CPU")], "CPU", "mine.blend_cpu"),
        ([("kernel", "mine.blend_cuda", "CUDA")], "CPU", None),  # of another key
        ([("kernel", "a.f", "CPU"), ("kernel", "b.f", "CPU")], "CPU", None),  # two of them
    ],
)
def test_the_python_callable_of_the_registrations_own_key(
    small: Small, given: list[tuple[str, str, str | None]], key: str, name: str | None
) -> None:
    record = registration(OP, key, ("torch/_refs.py", 3), origin="python")
    found = body(small, record, entry(key, at=("torch/_refs.py", 3)), key, python_kernels=kernels(*given))
    if name is None:
        assert found.source.precision == "unknown"
    else:
        assert (found.name, place(found.source)) == (name, ("torch/_refs.py", 17, "located"))


# --- the hop ---


def kernel(small: Small, record: Registration, *sources: Source, status: Any = "derived") -> Claim:
    context = small.context(None, Rows(registrations=[record]), *sources)
    made = entry(record.key or "CPU", at=AT)
    call = claim("op", OP, op=OP, evidence=(5, 6), phase="backward", thread=2)
    return kernel_claim(context, call, record, made, "CPU", status)


def test_the_kernels_hop_follows_from_the_call(small: Small) -> None:
    found = kernel(small, registration(OP, "CPU", AT, wrapper="at::wrapper_CPU__lost"), status="predicted").hop
    assert (found.kind, found.op, found.key, found.status) == ("kernel", OP, "CPU", "predicted")
    assert (found.evidence, found.phase, found.thread) == ((5, 6), "backward", 2)
    assert found.registration is not None
    assert place(found.registration) == (*AT, "registered"), "the record names the line, and the text confirms it"


def test_a_structured_kernel_calls_its_meta_function_and_then_its_impl(small: Small) -> None:
    line = small.line(CPU, "at::Tensor wrapper_CPU_blend_Pair(")
    record = registration(
        OP, "CPU", AT, wrapper="at::wrapper_CPU_blend_Pair", body_path=CPU, body_line=line, body_end=line + 5,
        target="at::native::structured_blend_cpu::impl", target_meta="at::meta::structured_blend_Pair::meta",
    )  # fmt: skip
    meta, impl = kernel(small, record, small.source()).children
    assert (meta.hop.name, impl.hop.name) == (record.target_meta, record.target)
    assert (meta.hop.kind, impl.hop.kind, impl.hop.key) == ("impl", "impl", "CPU")
    assert place(impl.hop.source) == (HAND, small.line(HAND, "TORCH_IMPL_FUNC(blend_cpu)"), "located")
    header = "build/aten/src/ATen/ops/blend_native.h"
    assert impl.hop.declaration is not None
    assert place(impl.hop.declaration) == (header, small.line(header, "void impl("), "located")
    assert impl.hop.why == (reasons.BodyCalls("at::wrapper_CPU_blend_Pair"),)
    assert meta.hop.source.precision == "unknown", "nothing defines the meta function here"


def test_an_overloaded_target_is_the_one_with_the_wrappers_parameters(small: Small) -> None:
    line = small.line(CPU, "wrapper_CPU__mirror(const at::Tensor & self) {")
    record = registration("aten::mirror", "CPU", AT, wrapper="w", target="at::native::blend_many",
                          body_path=CPU, body_line=line, body_end=line + 2)  # fmt: skip
    (impl,) = kernel(small, record, small.source()).children
    assert impl.hop.source.precision == "ambiguous", "neither overload takes a const tensor alone"
    assert [one.line for one in impl.hop.source.candidates] == [
        small.line(HAND, "Tensor& blend_many("),
        small.line(HAND, "Tensor blend_many("),
    ]


def test_below_a_hand_written_function_are_the_stubs_it_calls(small: Small) -> None:
    record = registration(OP, "CPU", AT, wrapper="w", target="at::native::fold_dense")
    (impl,) = kernel(small, record, small.source()).children
    assert [one.hop.name for one in impl.children] == ["at::native::fold_stub"]
