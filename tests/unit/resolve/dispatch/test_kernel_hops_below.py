"""The hops below a hand-written function: the stubs that its text calls and their kernels, as predictions."""

from __future__ import annotations

import pytest

from ptexplore.model import reasons
from ptexplore.model.places import SourceRef
from ptexplore.resolve.claims import Context
from ptexplore.resolve.dispatch.kernel_hops import PER_CAPABILITY, device_of, stub_claims
from ptexplore.resolve.keyset import backend_of
from tests.unit.resolve.making import Small, claim, op, session, tensor

HAND = "aten/src/ATen/native/Blend.cpp"


@pytest.fixture(scope="module")
def context(small: Small) -> Context:
    return small.context(None, None, small.source())


def body(context: Context, name: str) -> SourceRef:
    return context.lookup.function(f"at::native::{name}")


@pytest.mark.parametrize(
    "key, backend",
    [
        ("CPU", "CPU"),
        ("AutogradCPU", "CPU"),
        ("SparseCsrCUDA", "CUDA"),
        ("CompositeImplicitAutograd", None),
        ("ADInplaceOrView", None),
        ("AutogradMeta", "Meta"),
    ],
)
def test_the_backend_that_a_key_names(key: str, backend: str | None) -> None:
    assert backend_of(key) == backend


@pytest.mark.parametrize(
    "devices, key, expected",
    [
        ((), None, "CPU"),  # no tensor was seen
        (("cuda:0",), None, "CUDA"),
        (("cuda:0", "cuda:1"), "ADInplaceOrView", "CUDA"),
        (("cuda:0",), "AutogradCPU", "CPU"),  # the key says it
        (("cpu", "cuda:0"), None, None),
        (("vulkan",), None, None),
    ],
)
def test_the_device_that_a_kernel_works_for(
    small: Small, devices: tuple[str, ...], key: str | None, expected: str | None
) -> None:
    seen = session([op("aten::blend", inputs=[tensor(n, device=device) for n, device in enumerate(devices)])])
    assert device_of(small.context(seen), key) == expected


def test_a_stub_and_its_kernel_are_predicted_below_the_function_that_names_it(small: Small, context: Context) -> None:
    parent = claim("impl", "at::native::fold_far", op="aten::fold", key="CPU", evidence=(4,), phase="backward").hop
    (stub,) = stub_claims(context, parent, body(context, "fold_far"))
    assert (stub.hop.kind, stub.hop.name, stub.hop.status) == ("stub", "at::native::spin_stub", "predicted")
    assert (stub.hop.evidence, stub.hop.op, stub.hop.phase, stub.hop.key) == ((4,), "aten::fold", "backward", "CPU")
    line = small.line(HAND, "return spin_stub")
    (named,) = stub.hop.why
    assert isinstance(named, reasons.BodyNames)
    assert (named.through, named.place) == (("through_two", "through_one", "spin_all"), f"{HAND}:{line}")
    assert len(stub.children) == 2
    for kernel in stub.children:
        assert (kernel.hop.kind, kernel.hop.status, kernel.hop.evidence) == ("native", "predicted", (4,))
        assert kernel.hop.registration is not None
        assert kernel.hop.why[1] == reasons.OneOfKernels(2, "CPU")
        assert kernel.hop.stub_kernel is not None
        assert kernel.hop.stub_kernel.cpu_capability == PER_CAPABILITY


def test_a_stub_without_a_kernel_for_the_device_is_no_step(context: Context) -> None:
    parent = claim("impl", "at::native::fold_far", key="CUDA").hop
    assert stub_claims(context, parent, body(context, "fold_far")) == ()


def test_tensors_on_two_devices_tell_no_stub(small: Small) -> None:
    seen = session([op("aten::blend", inputs=[tensor(1), tensor(2, device="cuda:0")])])
    context = small.context(seen, None, small.source())
    assert stub_claims(context, claim("impl", "f", key=None).hop, body(context, "fold_dense")) == ()
