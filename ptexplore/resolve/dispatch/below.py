"""The hops below a hand-written function: the dispatch stubs that its body calls and the kernels behind them."""

from __future__ import annotations

from ptexplore.model.places import SourceRef
from ptexplore.model.trace import Hop, LoopRef, StubKernelRef, StubRef
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.keyset import BACKENDS, backend_of
from ptexplore.resolve.places.stubs import Called, Kernel, Stub

PER_CAPABILITY = "compiled once for each CPU capability; the running machine's own is chosen when it is first called"


def below(context: Context, hop: Hop, body: SourceRef) -> tuple[Claim, ...]:
    """A stub hop for every stub that `body`, the definition behind `hop`, calls; under each the device's kernels."""
    device = device_of(context, hop.key)
    if device is None:
        return ()
    stubs = []
    for called in context.stubs.called(body):
        stub = context.stubs.stub(called.stub, device)
        if stub is not None:
            stubs.append(_stub(hop, body, called, stub, device))
    return tuple(stubs)


def device_of(context: Context, key: str | None) -> str | None:
    """The backend that a kernel of this key works for; where the key names none, that of the tensors seen."""
    named = backend_of(key) if key is not None else None
    if named is not None:
        return named
    devices = context.devices or frozenset({"cpu"})
    return BACKENDS.get(next(iter(devices))) if len(devices) == 1 else None


def _stub(parent: Hop, body: SourceRef, called: Called, stub: Stub, device: str) -> Claim:
    through = f" through {', '.join(called.through)}" if called.through else ""
    where = f"{called.path}:{called.line}"
    why = [f"the body of {parent.name} names it{through}, at {where}; that this line ran, nothing saw"]
    if not stub.kernels:
        why.append(f"nothing registers a kernel of it for {device}")
    hop = Hop(
        id=0,
        kind="stub",
        name=stub.name,
        status="predicted",
        source=stub.source,
        phase=parent.phase,
        thread=parent.thread,
        op=parent.op,
        key=parent.key,
        stub=StubRef(device, _in_body(body, called.path, called.line), called.through),
        evidence=parent.evidence,
        why=tuple(why),
    )
    return Claim(hop=hop, children=tuple(_kernel(hop, stub, kernel, device) for kernel in stub.kernels))


def _kernel(parent: Hop, stub: Stub, kernel: Kernel, device: str) -> Claim:
    ref = kernel.registration
    why = [f"{kernel.macro} at {ref.path}:{ref.line} registers it for {device}"]
    if len(stub.kernels) > 1:
        why.append(f"one of {len(stub.kernels)} kernels registered for {device}: which one depends on the machine")
    loops = tuple(LoopRef(name, _in_body(kernel.source, str(kernel.source.path), line)) for name, line in kernel.loops)
    hop = Hop(
        id=0,
        kind="native",
        name=kernel.name,
        status="predicted",
        source=kernel.source,
        phase=parent.phase,
        thread=parent.thread,
        op=parent.op,
        key=parent.key,
        registration=ref,
        stub_kernel=StubKernelRef(PER_CAPABILITY if stub.per_capability else None, loops),
        evidence=parent.evidence,
        why=tuple(why),
    )
    return Claim(hop=hop)


def _in_body(body: SourceRef, path: str, line: int) -> SourceRef:
    """A line inside a body, as precise as the body's own."""
    return SourceRef(path, line, body.layer, body.precision, tree=body.tree)
