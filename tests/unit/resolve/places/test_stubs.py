"""From a body to the stubs it calls, and from a stub to a device's kernels: aten/src/ATen/native/DispatchStub.h."""

from __future__ import annotations

import pytest

from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import Said
from ptexplore.resolve.claims import Context
from tests.unit.conftest import ATEN
from tests.unit.resolve.making import Rows, Small, place

HAND, KERNELS = "aten/src/ATen/native/Blend.cpp", "aten/src/ATen/native/cpu/FoldKernel.cpp"
CUDA = "aten/src/ATen/native/cuda/FoldKernel.cu"
UFUNC = f"{ATEN}/UfuncCPUKernel_add.cpp"


@pytest.fixture(scope="module")
def context(small: Small) -> Context:
    """The checkout, and generated C++ that defines a stub and its kernel."""
    stub = f"{ATEN}/UfuncCPU_add.cpp"
    line = small.line(UFUNC, "void blend_kernel(")
    rows = Rows(
        definitions=[
            ("at::native::blend_stub", stub, small.line(stub, "DEFINE_DISPATCH"), small.line(stub, "DEFINE_DISPATCH")),
            ("at::native::blend_kernel", UFUNC, line, line + 4),
        ]
    )
    return small.context(None, rows, small.source())


def body(context: Context, name: str) -> SourceRef:
    return context.lookup.function(f"at::native::{name}")


@pytest.mark.parametrize(
    "function, expected",
    [
        ("fold_dense", [("fold_stub", "return fold_stub", ())]),
        # Through functions of its own file; a name in a comment is no call.
        ("fold_far", [("spin_stub", "return spin_stub", ("through_two", "through_one", "spin_all"))]),
        ("fold_twin", []),  # two functions of that name: which one is not known
        # Of two arms of an #if the one that this build compiles.
        ("fold_either", [("fold_stub", "return fold_stub", ("either",))]),
        # Each stub once, at its first call; what is called directly comes before what is called through another.
        ("fold_both", [("fold_stub", "fold_stub(self", ()), ("spin_stub", "return spin_stub", ("spin_all",))]),
        ("weave", []),
    ],
)
def test_the_stubs_that_a_body_calls(
    small: Small, context: Context, function: str, expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    source = body(context, function)
    found = context.stubs.called(source)
    assert [(one.stub, one.through) for one in found] == [(f"at::native::{stub}", way) for stub, _, way in expected]
    for one, (_, text, way) in zip(found, expected, strict=True):
        said = str(small.texts.line(HAND, one.line))
        assert text in said
        if not way:
            assert source.line is not None
            assert source.line < one.line < (source.end_line or 0)


def test_a_body_that_is_not_known_calls_nothing_known(context: Context) -> None:
    assert context.stubs.called(SourceRef(None, None, None, "unknown", reason=Said("x"))) == ()
    assert context.stubs.called(SourceRef(HAND, 3, "checkout", "located", tree="tree")) == (), "its end is not known"


def test_the_kernels_of_the_cpu(small: Small, context: Context) -> None:
    stub = context.stubs.stub("at::native::fold_stub", "CPU")
    assert stub is not None
    assert place(stub.source) == (HAND, small.line(HAND, "DEFINE_DISPATCH(fold_stub)"), "located")
    (kernel,) = stub.kernels
    assert (kernel.name, kernel.macro) == ("at::native::fold_kernel", "REGISTER_DISPATCH")
    assert place(kernel.source) == (KERNELS, small.line(KERNELS, "void fold_kernel("), "located")
    assert place(kernel.registration) == (KERNELS, small.line(KERNELS, "REGISTER_DISPATCH(fold_stub"), "located")
    assert stub.per_capability, "files below native/cpu are compiled once for each capability"
    loops = [(name, str(small.texts.line(KERNELS, line)).strip()) for name, line in kernel.loops]
    assert loops == [
        ("cpu_kernel", "cpu_kernel(iter, [](float a) { return a; });"),
        ("cpu_kernel_vec", "cpu_kernel_vec("),
    ]


def test_every_capability_is_the_cpus(context: Context) -> None:
    stub = context.stubs.stub("at::native::spin_stub", "CPU")
    assert stub is not None
    assert [one.name for one in stub.kernels] == ["at::native::spin_kernel", "at::native::spin_kernel_wide"]


def test_another_device_gets_its_own_kernels_only(context: Context) -> None:
    fold, spin = (context.stubs.stub(f"at::native::{name}", "CUDA") for name in ("fold_stub", "spin_stub"))
    assert fold is not None
    assert spin is not None
    assert [(one.name, one.macro) for one in fold.kernels] == [
        ("at::native::fold_kernel_cuda", "REGISTER_CUDA_DISPATCH")
    ]
    assert not fold.per_capability
    assert spin.kernels == (), "its kernels are for capabilities of the CPU"


def test_what_the_build_leaves_out_registers_nothing(context: Context) -> None:
    stub = context.stubs.stub("at::native::lone_stub", "CPU")
    assert stub is not None
    assert stub.kernels == ()


def test_two_stubs_of_one_name_are_told_by_their_namespaces(small: Small, context: Context) -> None:
    ours, theirs = (context.stubs.stub(f"{scope}::native::fold_stub", "CPU") for scope in ("at", "mini"))
    assert ours is not None
    assert theirs is not None
    assert ours.source.line == small.line(HAND, "DEFINE_DISPATCH(fold_stub)")
    assert theirs.source.line == small.line(HAND, "DEFINE_DISPATCH(fold_stub)", 2)
    (called,) = context.stubs.called(context.lookup.function("mini::native::fold_mini"))
    assert called.stub == "mini::native::fold_stub", "a call means the one of its own namespace"
    assert context.stubs.stub("elsewhere::fold_stub", "CPU") is None


def test_a_name_that_is_no_stub(context: Context) -> None:
    assert context.stubs.stub("at::native::weave", "CPU") is None


def test_a_stub_of_generated_text_has_its_kernel_in_the_file_beside_it(small: Small, context: Context) -> None:
    """torchgen writes UfuncCPU_X.cpp and UfuncCPUKernel_X.cpp in pairs."""
    stub = context.stubs.stub("at::native::blend_stub", "CPU")
    assert stub is not None
    assert stub.source.path == f"{ATEN}/UfuncCPU_add.cpp"
    (kernel,) = stub.kernels
    assert place(kernel.source) == (UFUNC, small.line(UFUNC, "void blend_kernel("), "located")
    assert [name for name, _ in kernel.loops] == ["cpu_kernel_vec"]
