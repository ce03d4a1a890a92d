"""Name the kernel behind a dispatch table entry as a hop: the body that runs, and what that body calls."""

from __future__ import annotations

from dataclasses import replace

from ptexplore.model.operators import Registration, TableEntry
from ptexplore.model.trace import Hop, Status
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.dispatch.below import below
from ptexplore.resolve.dispatch.kernel_bodies import caller, kernel_body


def kernel_claim(
    context: Context, call: Claim, registration: Registration | None, entry: TableEntry, key: str, status: Status
) -> Claim:
    """The kernel hop of one key, with the hand-written functions its body calls below it."""
    body = kernel_body(context.lookup, registration, entry, key)
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
    below_it = below(context, hop, body.source) if body.handwritten else ()
    if registration is not None:
        below_it = (*_targets(context, call, registration, status, key), *below_it)
    return Claim(hop=hop, children=below_it)


def _targets(context: Context, call: Claim, registration: Registration, status: Status, key: str) -> tuple[Claim, ...]:
    """The hand-written functions a generated wrapper calls: a structured kernel's meta and impl, or one function."""
    symbols = [s for s in (registration.target_meta, registration.target) if s]
    return tuple(_impl(context, call, registration, symbol, status, key) for symbol in symbols)


def _impl(context: Context, call: Claim, registration: Registration, symbol: str, status: Status, key: str) -> Claim:
    source = context.definition(symbol, caller(registration))
    hop = Hop(
        id=0,
        kind="impl",
        name=symbol,
        status=status,
        source=source,
        phase=call.hop.phase,
        thread=call.hop.thread,
        op=call.hop.op,
        key=registration.key,
        declaration=context.declaration(symbol, caller(registration)),
        evidence=call.hop.evidence,
        why=(f"the body of {registration.wrapper} calls it",),
    )
    return Claim(hop=hop, children=below(context, replace(hop, key=key), source))
