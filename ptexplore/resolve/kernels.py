"""Name the kernel behind a dispatch table entry: its registration, the body that runs, and what that body calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptexplore.model import Hop, Registration, SourceRef, Status, TableEntry
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.places import NOT_IN_WHEEL
from ptexplore.resolve.precision import in_runtime, recorded, unknown
from ptexplore.source.tree import SourceTree
from ptexplore.store.store import Store

FALLBACK = "backend fallback"


def registration_of(store: Store, op: str, key: str, entry: TableEntry) -> Registration | None:
    """The operator's registration that the entry was made from; None for a fallback or an entry nobody names.

    The table says only a line, which is the macro's: of the operator's registrations those at that line.
    """
    if FALLBACK in entry.reason:
        return None
    if entry.path is None:
        return _unplaced(store, op, key)
    here = [r for r in store.registrations(op) if r.key and (r.path, r.macro_line) == (entry.path, entry.line)]
    active = [r for r in here if not r.inactive]
    exact = [r for r in active if r.key == key]
    chosen = exact or active
    return chosen[0] if len(chosen) == 1 else None


def _unplaced(store: Store, op: str, key: str) -> Registration | None:
    """An entry that names no file: 2.6 records none for what Python registers. Only one candidate will do."""
    python = [r for r in store.registrations(op) if r.key == key and r.origin == "python" and not r.inactive]
    return python[0] if len(python) == 1 else None


def entry_source(tree: SourceTree, registration: Registration | None, entry: TableEntry) -> SourceRef:
    """The line that the table's entry names, as far as the tree's text bears it out."""
    if entry.path is None:
        return unknown(f"the table's entry names no file of torch's: {entry.raw.strip() or 'nothing'}")
    if registration is not None:
        confirmed, why_not = registration.confirmed, registration.why_not
    else:
        confirmed, why_not = False, None
    return recorded(tree, entry.path, entry.line, confirmed, why_not or NOT_IN_WHEEL)


def kernel_claim(
    context: Context, call: Claim, registration: Registration | None, entry: TableEntry, key: str, status: Status
) -> Claim:
    """The kernel hop of one key, with the hand-written functions its body calls below it."""
    record = entry_source(context.tree, registration, entry)
    name, source = kernel_body(context.store, context.tree, registration, entry, key)
    hop = Hop(
        id=0,
        kind="kernel",
        name=name,
        status=status,
        source=source,
        phase=call.hop.phase,
        thread=call.hop.thread,
        op=call.hop.op,
        key=key,
        registration=record,
        evidence=call.hop.evidence,
    )
    claim = Claim(hop=hop)
    if registration is None:
        return claim
    detail: dict[str, Any] = {}
    if registration.op_line:
        detail["registered_op_line"] = registration.op_line
    if registration.callee:
        detail["registers"] = registration.callee
    return replace(claim, hop=replace(hop, detail=detail), children=_targets(context, call, registration, status))


def kernel_body(
    store: Store, tree: SourceTree, registration: Registration | None, entry: TableEntry, key: str
) -> tuple[str, SourceRef]:
    """The name of the function that an entry runs, and where its body stands."""
    python = _python_kernel(store, tree, registration) if registration else None
    if python is None and registration is None and FALLBACK in entry.reason:
        return _name(registration, entry, key), unknown(NOT_IN_WHEEL)
    return python or (_name(registration, entry, key), _body(tree, registration))


def _name(registration: Registration | None, entry: TableEntry, key: str) -> str:
    if registration is None:
        return f"{key} backend fallback" if FALLBACK in entry.reason else "a kernel of no known name"
    unnamed = "a hand-written kernel" if registration.origin == "handwritten" else "a kernel of no known name"
    return registration.wrapper or registration.callee or unnamed


def _body(tree: SourceTree, registration: Registration | None) -> SourceRef:
    if registration is None:
        return unknown("which registration is behind this entry is not known")
    if registration.body_path is None or registration.body_line is None:
        generated = "no single body of that name was found in the generated file"
        return unknown(generated if registration.origin == "generated" and registration.wrapper else NOT_IN_WHEEL)
    return in_runtime(tree, registration.body_path, registration.body_line, registration.body_end)


def _python_kernel(store: Store, tree: SourceTree, registration: Registration) -> tuple[str, SourceRef] | None:
    """The Python callable behind a registration made from Python; its own code object has the line."""
    if registration.origin != "python":
        return None
    found = [k for k in store.python_kernels(registration.op) if k.key in (registration.key, None) and k.line]
    if registration.key == "Meta":
        found = [k for k in found if k.role in ("meta", "kernel", "custom", "decomposition")]
    if len(found) != 1 or found[0].path is None:
        return None
    return found[0].function, in_runtime(tree, found[0].path, found[0].line, found[0].end_line)


def _targets(context: Context, call: Claim, registration: Registration, status: Status) -> tuple[Claim, ...]:
    """The hand-written functions a generated wrapper calls: a structured kernel's meta and impl, or one function."""
    symbols = [s for s in (registration.target_meta, registration.target) if s]
    return tuple(_impl(context, call, registration, symbol, status) for symbol in symbols)


def caller(registration: Registration) -> tuple[str, int] | None:
    """The wrapper whose call tells overloads of its target apart."""
    if registration.body_path is None or registration.body_line is None:
        return None
    return registration.body_path, registration.body_line


def _impl(context: Context, call: Claim, registration: Registration, symbol: str, status: Status) -> Claim:
    hop = Hop(
        id=0,
        kind="impl",
        name=symbol,
        status=status,
        source=definition(context, symbol),
        phase=call.hop.phase,
        thread=call.hop.thread,
        op=call.hop.op,
        key=registration.key,
        declaration=context.declaration(symbol, caller(registration)),
        evidence=call.hop.evidence,
        why=(f"the body of {registration.wrapper} calls it",),
    )
    return Claim(hop=hop)


def definition(context: Context, symbol: str) -> SourceRef:
    """Where a C++ function is defined in the runtime tree: some are generated, the others are not in the wheel."""
    place = context.store.definition(symbol)
    if place is None:
        return unknown(NOT_IN_WHEEL)
    path, line, end = place
    return in_runtime(context.tree, path, line, end)
