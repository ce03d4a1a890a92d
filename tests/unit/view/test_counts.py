"""The numbers of a trace from a few records: what counts, what is not known, and which rows say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from ptexplore.errors import PtexploreError
from ptexplore.facts import value_reads
from ptexplore.model.hop_kinds import HopKind
from ptexplore.model.observed import KeptForBackward, Observation, SteppedCalls, UncountedSaved
from ptexplore.model.options import TraceOptions
from ptexplore.model.place_reasons import OutsideTorch
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import KeyNotKnown, ListUntold, TreeEnds
from ptexplore.model.trace import (
    BindingRef,
    Captured,
    CopyRef,
    Finding,
    Hop,
    NativeCall,
    NodeRef,
    ResultInfo,
    Session,
    Status,
    TensorRef,
    TorchInfo,
    Trace,
)
from ptexplore.view.trace import counts

PLACE = SourceRef(None, None, None, "unknown", reason=OutsideTorch("<here>"))
NUMBERS = count(1)
TORCH = TorchInfo("2.13.0", "0" * 40)


def hop(kind: HopKind, name: str, *inside: Hop, status: Status = "observed", **facts: Any) -> Hop:
    return Hop(next(NUMBERS), kind, name, status, PLACE, children=inside, **facts)


def native(symbol: str, *alike: str) -> Hop:
    return hop(
        "native",
        symbol.partition("(")[0].replace("(anonymous namespace)::", ""),
        native=NativeCall(symbol, alike=alike),
    )


def key(name: str, *inside: Hop, status: Status = "derived") -> Hop:
    return hop("key", name, *inside, status=status, key=name)


def call(*inside: Hop, op: str = "aten::mm", **facts: Any) -> Hop:
    return hop("op", op.partition(".")[0], *inside, op=op, **facts)


def trace(*hops: Hop, findings: tuple[Finding, ...] = ()) -> Trace:
    return Trace(
        expression="f()", bound=(), torch=TORCH, trees=(), captured=Captured(), result=ResultInfo(), findings=findings,
        hops=hops,
    )  # fmt: skip


def session(*records: tuple[str, Any]) -> Session:
    observations = tuple(
        Observation("x", kind, replace_number(data, number)) for number, (kind, data) in enumerate(records, 1)
    )
    return Session(
        expression="f()", torch=TORCH, bound=(), options=TraceOptions(), captured=Captured(), result=ResultInfo(),
        observations=observations,
    )  # fmt: skip


def replace_number(data: Any, number: int) -> Any:
    from msgspec import structs

    return structs.replace(data, observation=number)


def stepped(part: Any = "forward", instructions: int = 100) -> tuple[str, SteppedCalls]:
    return "calls", SteppedCalls(part, instructions, (), (), (), (), (), (), {}, {})


WHOLE = session(stepped())


def unknown(ask: Any, *words: str) -> None:
    with pytest.raises(PtexploreError) as raised:
        ask()
    for word in words:
        assert word in f"{raised.value.message} {raised.value.why}"
    assert raised.value.hint


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("at::native::add_kernel", 1),
        ("add_kernel", 1),
        ("at::native::(anonymous namespace)::add_kernel", 1),
        ("kernel", 0),
        ("native::copy_kernel", 1),
        ("at::native::AVX2::copy_kernel", 1),
        ("at::native::copy_kernel", 1),
        ("AVX2", 0),
    ],
)
def test_names_of_functions(name: str, times: int) -> None:
    ran = trace(
        native("at::native::(anonymous namespace)::add_kernel(at::TensorIteratorBase&)"),
        native("at::native::AVX2::copy_kernel(at::TensorIterator&, bool)"),
    )
    assert counts.ran(ran, WHOLE, name) == times


def test_operators_and_nodes() -> None:
    recorded = hop("node", "MmBackward0", op="aten::mm", node=NodeRef(recorded=True))
    ran = hop("node", "torch::autograd::generated::AddBackward0::apply", phase="backward")
    shown = trace(call(key("CPU", hop("kernel", "at::wrapper_mm", recorded, op="aten::mm")), op="aten::mm.dtype"), ran)
    assert counts.ran(shown, WHOLE, "aten::mm") == 1
    assert counts.ran(shown, WHOLE, "aten::mm.dtype") == 1
    assert counts.ran(shown, WHOLE, "aten::mm.out") == 0
    assert counts.ran(shown, WHOLE, "MmBackward0") == 0
    assert counts.ran(shown, WHOLE, "AddBackward0") == 1
    assert counts.ran(shown, WHOLE, "CPU") == 0


def test_what_may_have_run() -> None:
    predicted = trace(call(hop("native", "at::native::add_kernel", status="predicted")))
    unknown(lambda: counts.ran(predicted, None, "add_kernel"), "add_kernel", "predicted")
    alike = trace(native("at::native::first(long)", "at::native::second(long)"))
    unknown(lambda: counts.ran(alike, WHOLE, "at::native::second"), "one piece of code", "at::native::first")
    unknown(lambda: counts.ran(alike, WHOLE, "at::native::first"), "one piece of code", "at::native::second")
    unknown(lambda: counts.ran(trace(call()), None, "add_kernel"), "not every call was stepped")
    unknown(lambda: counts.ran(trace(call()), session(stepped("operator")), "at::native::f"), "not every call")
    cut = trace(call(), findings=(Finding("cut", TreeEnds(ListUntold())),))
    unknown(lambda: counts.ran(cut, WHOLE, "aten::add"), "not complete")
    assert counts.ran(trace(call()), None, "aten::add") == 0  # operators are always recorded.
    assert counts.ran(trace(call()), None, "torch.nn.functional.relu") == 0


@pytest.mark.parametrize(
    ("inside", "via", "times"),
    [
        ([key("AutogradCPU", hop("kernel", "k", key("CPU")))], ["AutogradCPU", "CPU"], 1),
        ([key("AutogradCPU", hop("kernel", "k", key("CPU")))], ["AutogradCPU"], 0),
        ([key("AutogradCPU", hop("kernel", "k", key("CPU")))], ["CPU", "AutogradCPU"], 0),
        ([key("AutogradCPU", hop("kernel", "k", call(key("CPU"), op="aten::add")))], ["AutogradCPU"], 1),
        ([key("CPU", status="predicted")], ["AutogradCPU"], None),
        ([key("AutogradCPU", hop("kernel", "k", key("CPU", status="predicted")))], ["AutogradCPU", "CPU"], None),
        ([key("AutogradCPU", hop("kernel", "k", key("CPU", status="predicted")))], ["SparseCPU"], 0),
        ([key("BackendSelect", hop("kernel", "k", why=(KeyNotKnown(ListUntold()),)))], ["BackendSelect"], None),
        ([], ["CPU"], None),
    ],
)  # fmt: skip
def test_dispatch_keys(inside: Sequence[Hop], via: list[str], times: int | None) -> None:
    shown = trace(call(*inside))
    assert counts.dispatches(shown, "mm") == counts.dispatches(shown, "aten::mm") == 1
    if times is None:
        unknown(lambda: counts.dispatches(shown, "aten::mm", via), "aten::mm", "keys that are known")
    else:
        assert counts.dispatches(shown, "aten::mm", via) == times


def test_rows_of_dispatch() -> None:
    shown = trace(call(key("AutogradCPU", hop("kernel", "k", key("CPU")))), call(key("CPU")), call(key("CPU")))
    assert counts.dispatches(shown, "mm", ["X"]).rows.splitlines()[1:] == [
        "  aten::mm  AutogradCPU → CPU",
        "  aten::mm  CPU ×2",
    ]
    assert "aten::sin was not called; operators that were:" in counts.dispatches(shown, "sin").rows


def test_syncs() -> None:
    inner = call(op="aten::_local_scalar_dense")
    tolist = hop("binding", "f", call(op="aten::item"), binding=BindingRef("torch.Tensor.tolist"))
    moved = replace(call(op="aten::copy_"), copy=CopyRef(tensor("cuda:0"), tensor("cpu")))
    kept = replace(call(op="aten::copy_"), copy=CopyRef(tensor("cpu"), tensor("cuda:0")))
    repeats = call(op="aten::repeat_interleave.Tensor")
    shown = trace(
        call(inner, op="aten::item"), tolist, moved, kept, call(repeats, op="aten::repeat_interleave.self_Tensor")
    )
    assert counts.syncs(shown) == 4
    assert value_reads.waits("aten::repeat_interleave", "Tensor")
    assert not value_reads.waits("aten::repeat_interleave", "self_int")


def tensor(device: str) -> TensorRef:
    return TensorRef("self", "float32", device, (2,))


def test_instructions() -> None:
    both = session(stepped(), stepped("backward", 50))
    shown = counts.instructions(trace(call()), both, lambda: "the first\nscreen")
    assert (shown, shown.rows) == (150, "the first\nscreen")
    unknown(lambda: counts.instructions(trace(call()), None, str), "nothing was stepped")
    unknown(lambda: counts.instructions(trace(call()), session(stepped("operator")), str), "only a part")


def test_saved_bytes() -> None:
    shown = trace(call(weights={"saved": 36}), call(op="aten::exp", weights={"saved": 8}))
    kept = session(("kept", KeptForBackward(1, 36)), ("kept", KeptForBackward(2, 8)), ("kept", KeptForBackward(3, 4)))
    saved = counts.saved_bytes(shown, kept)
    assert saved == 48
    assert saved.rows.splitlines()[1:] == [
        "  36 B  aten::mm", "  8 B  aten::exp", "  4 B  nodes of calls that are not recorded",
    ]  # fmt: skip
    packed = session(("kept", KeptForBackward(1, 36)), ("uncounted", UncountedSaved(packed=1)))
    unknown(lambda: counts.saved_bytes(shown, packed), "bytes kept for backward")
