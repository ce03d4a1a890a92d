"""What a dispatch table entry runs: the registration it was made from and the function behind that, with its body."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ptexplore.catalogue.registrations import HANDWRITTEN
from ptexplore.model.operators import KernelRef, Registration, TableEntry
from ptexplore.model.places import SourceRef
from ptexplore.resolve.places.lookup import NOT_IN_WHEEL, Lookup, Registered
from ptexplore.resolve.places.precision import in_runtime, unknown
from ptexplore.source.tree import SourceTree
from ptexplore.store.catalogue.reader import Store

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
    at_line = [r for r in store.registrations(op) if r.key and (r.path, r.macro_line) == (entry.path, entry.line)]
    active = [r for r in at_line if not r.inactive]
    exact = [r for r in active if r.key == key]
    chosen = exact or active
    return chosen[0] if len(chosen) == 1 else None


def _unplaced(store: Store, op: str, key: str) -> Registration | None:
    """An entry that names no file: 2.6 records none for what Python registers. Only one candidate will do."""
    python = [r for r in store.registrations(op) if r.key == key and r.origin == "python" and not r.inactive]
    return python[0] if len(python) == 1 else None


@dataclass(frozen=True, slots=True)
class EntryBody:
    """The function that an entry runs: its name, where its body stands, and what else is known of the registration."""

    name: str
    source: SourceRef
    registered: KernelRef | None
    handwritten: bool = False


def kernel_body(lookup: Lookup, registration: Registration | None, entry: TableEntry, key: str) -> EntryBody:
    """What an entry runs, as far as tables and text tell."""
    if registration is None and FALLBACK in entry.reason:
        return _registered(lookup.fallback(entry, key), _name(registration, entry, key), None)
    name = _name(registration, entry, key)
    if registration is None:
        return EntryBody(name, unknown("which registration is behind this entry is not known"), None)
    kernel = _kernel_ref(registration.op_line, registration.callee, None)
    python = _python_kernel(lookup.store, lookup.tree, registration)
    if python is not None:
        return EntryBody(*python, kernel)
    if registration.origin == "handwritten":
        return _registered(lookup.registered(registration), name, kernel)
    return EntryBody(name, _body(lookup, registration), kernel, registration.body_line is None)


def _kernel_ref(op_line: int | None, registers: str | None, op_entry: SourceRef | None) -> KernelRef | None:
    """What is known of a kernel's registration; None if nothing is."""
    return KernelRef(op_line or None, registers or None, op_entry) if op_line or registers or op_entry else None


def _registered(registered: Registered | None, name: str, kernel: KernelRef | None) -> EntryBody:
    """The function of a hand-written registration, where a source shows what that registers.

    `kernel` is what the catalogue says of the registration.
    """
    if registered is None:
        return EntryBody(name, unknown(NOT_IN_WHEEL), kernel)
    entry = registered.entry if registered.entry is not None and registered.entry.line is not None else None
    known = kernel or KernelRef()
    kernel = _kernel_ref(
        entry.line if entry is not None else known.registered_op_line,
        registered.expression or known.registers,
        entry,
    )
    if registered.body is None:
        expression = registered.expression
        said = f"what it registers is no plain function: {expression}" if expression else NOT_IN_WHEEL
        return EntryBody(name, unknown(said), kernel)
    return EntryBody(registered.name or name, registered.body, kernel, True)


def _name(registration: Registration | None, entry: TableEntry, key: str) -> str:
    if registration is None:
        return f"{key} backend fallback" if FALLBACK in entry.reason else "a kernel of no known name"
    unnamed = "a hand-written kernel" if registration.origin == "handwritten" else "a kernel of no known name"
    return registration.wrapper or registration.callee or unnamed


def _body(lookup: Lookup, registration: Registration) -> SourceRef:
    if registration.body_path is not None and registration.body_line is not None:
        return in_runtime(lookup.tree, registration.body_path, registration.body_line, registration.body_end)
    if registration.origin != "generated" or registration.body_why == HANDWRITTEN:
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
    callables = [k for k in store.python_kernels(registration.op) if k.key in (registration.key, None) and k.line]
    if registration.key == "Meta":
        callables = [k for k in callables if k.role in ("meta", "kernel", "custom", "decomposition")]
    if len(callables) != 1 or callables[0].path is None:
        return None
    return callables[0].function, in_runtime(tree, callables[0].path, callables[0].line, callables[0].end_line)


def caller(registration: Registration) -> tuple[str, int] | None:
    """The wrapper whose call tells overloads of its target apart."""
    if registration.body_path is None or registration.body_line is None:
        return None
    return registration.body_path, registration.body_line
