"""The function that an entry of the dispatch table runs: its registration, and the function's body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from ptexplore.catalogue.dump import NO_FILE, location, origin
from ptexplore.model.operators import KernelRef, PythonKernel, Registration, TableEntry
from ptexplore.model.places import SourceRef, place_reasons
from ptexplore.resolve.places.lookup import Lookup, Registered
from ptexplore.resolve.places.precision import in_runtime, of_yours, unknown
from ptexplore.store.catalogue.reader import Store

if TYPE_CHECKING:
    from ptexplore.model.observed import GivenKernel

FALLBACK = "backend fallback"
NAMELESS = "a kernel of no known name"
# The key with which torch.library.custom_op registers for all backends, and the table's reason for such an entry
# (aten/src/ATen/core/dispatch/OperatorEntry.cpp).
EVERY_BACKEND, OF_EVERY_BACKEND = "CompositeExplicitAutograd", "default backend kernel"
_FACTORY = re.compile(r"((?:\w+::)*\w+)\(\)")  # a hand-written function that creates a boxed kernel


def registration_of(store: Store, op: str, key: str, entry: TableEntry) -> Registration | None:
    """Returns the operator's registration behind an entry; None for a fallback, or if several registrations fit.

    The table has only the line of the macro, so the registration is one of those at this line.
    """
    if FALLBACK in entry.reason:
        return None
    active = [r for r in store.registrations(op) if not r.inactive]
    at_line = [r for r in active if r.key and (r.path, r.macro_line) == (entry.path, entry.line)]
    chosen = [r for r in at_line if r.key == key] or at_line
    if entry.path is None:  # 2.6 records no file for registrations from Python
        chosen = [r for r in active if r.key == key and r.origin == "python"]
    return chosen[0] if len(chosen) == 1 else None


@dataclass(frozen=True, slots=True)
class EntryBody:
    """The function that an entry runs: its name, the place of its body, and facts about the registration.

    `is_named` is false if its name is not known; `name` then says where it is registered, if that is known.
    """

    name: str
    source: SourceRef
    registered: KernelRef | None
    handwritten: bool = False
    is_named: bool = True


def kernel_body(
    lookup: Lookup, registration: Registration | None, entry: TableEntry, key: str, given: Sequence[GivenKernel] = ()
) -> EntryBody:
    """Returns the function that an entry runs, as far as tables and text show it.

    `given` are the Python functions that `torch.library.custom_op` was given for the operator.
    """
    if registration is None and FALLBACK in entry.reason:
        return _registered(lookup, lookup.fallback(entry, key), f"{key} backend fallback", KernelRef())
    if registration is None:
        return _given(entry, key, given) or _at_its_registration(entry)
    known = KernelRef(registration.op_line or None, registration.callee or None)
    name = registration.wrapper or registration.callee
    if registration.origin == "handwritten":
        return _registered(lookup, lookup.registered(registration), name or "a hand-written kernel", known)
    python = _python_kernel(lookup.store, registration) if registration.origin == "python" else None
    if python is not None and python.path is not None:
        source = in_runtime(lookup.tree, python.path, python.line, python.end_line)
        return EntryBody(python.function, source, _unless_empty(known))
    body, is_handwritten = _body(lookup, registration), registration.body_line is None
    return EntryBody(name or NAMELESS, body, _unless_empty(known), is_handwritten, bool(name))


def is_from_python(entry: TableEntry) -> bool:
    """Whether Python registered the kernel of an entry, judged by the file that the dispatcher names."""
    return FALLBACK not in entry.reason and origin(location(entry.raw)[0], entry.path) == "python"


def is_of_others(entry: TableEntry) -> bool:
    """Whether C++ outside of torch registered the kernel of an entry, judged by the file that the dispatcher names."""
    return entry.path is None and FALLBACK not in entry.reason and not is_from_python(entry)


def _given(entry: TableEntry, key: str, given: Sequence[GivenKernel]) -> EntryBody | None:
    """Returns the function that torch.library.custom_op was given for a key, or for every backend; else None."""
    every = [kernel for kernel in given if kernel.key == EVERY_BACKEND and entry.reason == OF_EVERY_BACKEND]
    fitting = [kernel for kernel in given if kernel.key == key] or every
    if len(fitting) != 1 or not is_from_python(entry):
        return None
    return EntryBody(fitting[0].function, of_yours(fitting[0].file, fitting[0].line), None)


def _at_its_registration(entry: TableEntry) -> EntryBody:
    """Returns a kernel for which only the place of the registration is known."""
    file, line = location(entry.raw)
    if file is None or entry.path is not None or file == NO_FILE:
        return EntryBody(NAMELESS, unknown(place_reasons.RegistrationUnknown()), None, is_named=False)
    unread = place_reasons.RegisteredUnread(f"{file}:{line}")
    return EntryBody(f"a kernel registered at {PurePath(file).name}:{line}", unknown(unread), None, is_named=False)


def _unless_empty(kernel: KernelRef) -> KernelRef | None:
    return kernel if kernel != KernelRef() else None


def _registered(lookup: Lookup, registered: Registered | None, name: str, known: KernelRef) -> EntryBody:
    """Returns the function of a hand-written registration, if a source shows it.

    `known` is what the catalogue knows about the registration.
    """
    if registered is None:
        return EntryBody(name, unknown(lookup.no_text), _unless_empty(known))
    expression = registered.expression
    kernel = replace(known, registers=expression or known.registers)
    if registered.entry.line is not None:
        kernel = replace(kernel, registered_op_line=registered.entry.line, op_entry=registered.entry)
    if registered.body is None:
        why = place_reasons.NoPlainFunction(expression) if expression else lookup.no_text
        return EntryBody(name, unknown(why), _unless_empty(kernel))
    return EntryBody(registered.name or name, registered.body, _unless_empty(kernel), True)


def _body(lookup: Lookup, registration: Registration) -> SourceRef:
    if registration.body_path is not None and registration.body_line is not None:
        return in_runtime(lookup.tree, registration.body_path, registration.body_line, registration.body_end)
    if registration.origin != "generated" or registration.body_why == "handwritten":
        return lookup.function(registration.wrapper) if registration.wrapper else unknown(lookup.no_text)
    factory = _FACTORY.fullmatch(registration.callee or "")
    if factory is not None:
        made = lookup.function(factory[1])
        return replace(made, reason=made.reason or place_reasons.MakesKernel())
    return unknown(place_reasons.NoSingleBody() if registration.wrapper else lookup.no_text)


def _python_kernel(store: Store, registration: Registration) -> PythonKernel | None:
    """Returns the Python callable behind a registration from Python. The callable's code object has the line."""
    callables = [k for k in store.python_kernels(registration.op) if k.key in (registration.key, None) and k.line]
    if registration.key == "Meta":
        callables = [k for k in callables if k.role in ("meta", "kernel", "custom", "decomposition")]
    return callables[0] if len(callables) == 1 else None


def caller(registration: Registration) -> tuple[str, int] | None:
    """Returns the place of the wrapper. Its parameters tell the overloads of the called function apart."""
    if registration.body_path is None or registration.body_line is None:
        return None
    return registration.body_path, registration.body_line
