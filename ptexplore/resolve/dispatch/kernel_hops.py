"""The hops of a kernel behind an entry of the dispatch table: its body, the functions in it, the dispatch stubs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ptexplore.model.operators import Registration, TableEntry
from ptexplore.model.places import SourceRef
from ptexplore.model.reasons import BodyCalls, BodyNames, OneOfKernels, Reason, RegistersFor
from ptexplore.model.trace import Hop, LoopRef, Status, StubKernelRef, StubRef
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.dispatch.kernel_bodies import caller, kernel_body
from ptexplore.resolve.keyset import BACKENDS, backend_of
from ptexplore.resolve.places.stubs import Called, Kernel, Stub

PER_CAPABILITY = "compiled once for each CPU capability; the running machine's own is chosen when it is first called"


def kernel_claim(
    context: Context, call: Claim, registration: Registration | None, entry: TableEntry, key: str, status: Status
) -> Claim:
    """Returns the kernel hop of one key; inside it are the hand-written functions that its body calls."""
    body = kernel_body(context.lookup, registration, entry, key, context.given(call.hop.op or ""))
    hop = Hop(
        id=0,
        kind="kernel",
        name=body.name,
        status=status,
        source=body.source,
        phase=call.hop.phase,
        thread=call.hop.thread,
        op=call.hop.op,
        key=key,
        registration=context.lookup.entry(entry, key, registration),
        evidence=call.hop.evidence,
        kernel=body.registered,
    )
    targets = tuple(_targets(context, hop, registration)) if registration is not None else ()
    inside = targets + (stub_claims(context, hop, body.source) if body.handwritten else ())
    return Claim(hop=hop, children=inside, is_unnamed=not body.is_named)


def _targets(context: Context, kernel: Hop, registration: Registration) -> Iterator[Claim]:
    """Yields the hand-written functions that a generated wrapper calls: meta and impl, or one function."""
    for symbol in filter(None, (registration.target_meta, registration.target)):
        source = context.lookup.definition(symbol, caller(registration))
        hop = Hop(
            id=0,
            kind="impl",
            name=symbol,
            status=kernel.status,
            source=source,
            phase=kernel.phase,
            thread=kernel.thread,
            op=kernel.op,
            key=registration.key,
            declaration=context.lookup.declaration(symbol, caller(registration)),
            evidence=kernel.evidence,
            why=(BodyCalls(registration.wrapper or ""),),
        )
        yield Claim(hop=hop, children=stub_claims(context, replace(hop, key=kernel.key), source))


def stub_claims(context: Context, hop: Hop, body: SourceRef) -> tuple[Claim, ...]:
    """Returns a claim for every stub that `body` calls; `body` is the definition of `hop`.

    Each claim contains the kernels for the device. A stub without a registered kernel for the device cannot be called,
    so it has no claim.
    """
    device = device_of(context, hop.key)
    if device is None:
        return ()
    stubs = [(called, context.stubs.stub(called.stub, device)) for called in context.stubs.called(body)]
    return tuple(_stub(hop, body, called, stub, device) for called, stub in stubs if stub is not None and stub.kernels)


def device_of(context: Context, key: str | None) -> str | None:
    """Returns the backend of a kernel with this key. If the key names none: the only backend of all tensors seen."""
    named = backend_of(key) if key is not None else None
    devices = context.devices or {"cpu"}
    return named or (BACKENDS.get(next(iter(devices))) if len(devices) == 1 else None)


def _stub(parent: Hop, body: SourceRef, called: Called, stub: Stub, device: str) -> Claim:
    hangs = f"{called.path}:{called.condition}" if called.condition else ""
    why = BodyNames(parent.name, f"{called.path}:{called.line}", called.through, hangs)
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
        stub=StubRef(
            device,
            _in_body(body, called.path, called.line),
            called.through,
            _in_body(body, called.path, called.condition) if called.condition is not None else None,
        ),
        evidence=parent.evidence,
        why=(why,),
    )
    condition = hop.stub.condition if hop.stub is not None else None
    kernels = (_stub_kernel(hop, stub, kernel, device, condition) for kernel in stub.kernels)
    return Claim(hop=hop, children=tuple(kernels))


def _stub_kernel(parent: Hop, stub: Stub, kernel: Kernel, device: str, condition: SourceRef | None) -> Claim:
    ref = kernel.registration
    why: list[Reason] = [RegistersFor(kernel.macro, f"{ref.path}:{ref.line}", device)]
    if len(stub.kernels) > 1:
        why.append(OneOfKernels(len(stub.kernels), device))
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
        stub_kernel=StubKernelRef(PER_CAPABILITY if stub.per_capability else None, loops, condition),
        evidence=parent.evidence,
        why=tuple(why),
    )
    return Claim(hop=hop)


def _in_body(body: SourceRef, path: str, line: int) -> SourceRef:
    """Returns a line inside a body, with the precision of the body."""
    return SourceRef(path, line, body.layer, body.precision, tree=body.tree)
