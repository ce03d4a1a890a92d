"""Name the kernel behind a dispatch table entry: its registration, the body that runs, and what that body calls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ptexplore.index.registrations import HANDWRITTEN_BODY
from ptexplore.model import Hop, Registration, SourceRef, Status, TableEntry
from ptexplore.resolve.below import below
from ptexplore.resolve.claims import Claim, Context
from ptexplore.resolve.lookup import NOT_IN_WHEEL, Lookup, Registered
from ptexplore.resolve.precision import in_runtime, unknown, where
from ptexplore.source.tree import SourceTree
from ptexplore.store.store import Store

FALLBACK = "backend fallback"
_FACTORY = re.compile(r"((?:\w+::)*\w+)\(\)")  # a hand-written function that makes a boxed kernel


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
        detail=dict(body.detail),
    )
    below_it = below(context, hop, body.source) if body.handwritten else ()
    if registration is not None:
        below_it = (*_targets(context, call, registration, status, key), *below_it)
    return Claim(hop=hop, children=below_it)


@dataclass(frozen=True, slots=True)
class Body:
    """The function that an entry runs: its name, where its body stands, and what else is known of the registration."""

    name: str
    source: SourceRef
    detail: Mapping[str, Any]
    handwritten: bool = False
    entry: SourceRef | None = None  # the op's own m.impl in hand-written C++


def kernel_body(lookup: Lookup, registration: Registration | None, entry: TableEntry, key: str) -> Body:
    """What an entry runs, as far as tables and text tell."""
    if registration is None and FALLBACK in entry.reason:
        return _registered(lookup.fallback(entry, key), _name(registration, entry, key), {})
    detail: dict[str, Any] = {}
    if registration is not None and registration.op_line:
        detail["registered_op_line"] = registration.op_line
    if registration is not None and registration.callee:
        detail["registers"] = registration.callee
    name = _name(registration, entry, key)
    if registration is None:
        return Body(name, unknown("which registration is behind this entry is not known"), detail)
    python = _python_kernel(lookup.store, lookup.tree, registration)
    if python is not None:
        return Body(*python, detail)
    if registration.origin == "handwritten":
        return _registered(lookup.registered(registration), name, detail)
    return Body(name, _body(lookup, registration), detail, registration.body_line is None)


def _registered(found: Registered | None, name: str, detail: Mapping[str, Any]) -> Body:
    """The function of a hand-written registration, where a source shows what that registers."""
    if found is None:
        return Body(name, unknown(NOT_IN_WHEEL), detail)
    more = dict(detail)
    if found.entry is not None and found.entry.line is not None:
        more |= {"registered_op_line": found.entry.line, "op_entry": where(found.entry)}
    if found.expression:
        more["registers"] = found.expression
    if found.body is None:
        said = f"what it registers is no plain function: {found.expression}" if found.expression else NOT_IN_WHEEL
        return Body(name, unknown(said), more, entry=found.entry)
    return Body(found.name or name, found.body, more, True, found.entry)


def _name(registration: Registration | None, entry: TableEntry, key: str) -> str:
    if registration is None:
        return f"{key} backend fallback" if FALLBACK in entry.reason else "a kernel of no known name"
    unnamed = "a hand-written kernel" if registration.origin == "handwritten" else "a kernel of no known name"
    return registration.wrapper or registration.callee or unnamed


def _body(lookup: Lookup, registration: Registration) -> SourceRef:
    if registration.body_path is not None and registration.body_line is not None:
        return in_runtime(lookup.tree, registration.body_path, registration.body_line, registration.body_end)
    if registration.origin != "generated" or registration.body_why == HANDWRITTEN_BODY:
        return lookup.function(registration.wrapper) if registration.wrapper else unknown(NOT_IN_WHEEL)
    factory = _FACTORY.fullmatch(registration.callee or "")
    if factory is not None:
        made = lookup.function(factory[1])
        return replace(made, reason=made.reason or "the function that makes the kernel")
    return unknown(
        "no single body of that name was found in the generated file" if registration.wrapper else NOT_IN_WHEEL
    )


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


def _targets(context: Context, call: Claim, registration: Registration, status: Status, key: str) -> tuple[Claim, ...]:
    """The hand-written functions a generated wrapper calls: a structured kernel's meta and impl, or one function."""
    symbols = [s for s in (registration.target_meta, registration.target) if s]
    return tuple(_impl(context, call, registration, symbol, status, key) for symbol in symbols)


def caller(registration: Registration) -> tuple[str, int] | None:
    """The wrapper whose call tells overloads of its target apart."""
    if registration.body_path is None or registration.body_line is None:
        return None
    return registration.body_path, registration.body_line


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
