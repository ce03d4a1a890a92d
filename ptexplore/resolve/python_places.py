"""Find the source of Python frames and of the C functions behind Python names."""

from __future__ import annotations

import re
from dataclasses import replace

from ptexplore.model.operators import Binding
from ptexplore.model.places import SourceRef
from ptexplore.model.trace import BindingRef, PythonCall
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.observed import Event
from ptexplore.resolve.places.lookup import NOT_IN_WHEEL
from ptexplore.resolve.places.precision import in_runtime, unknown
from ptexplore.source.canonical import InstalledFolders, installed_path

# C functions behind Python's type slots of torch.Tensor. Source: THPVariable_as_mapping in
# torch/csrc/autograd/python_variable.cpp, which no wheel holds.
SLOTS = {"__getitem__": "THPVariable_getitem", "__setitem__": "THPVariable_setitem", "__len__": "THPVariable_length"}

# The hand-written PyMethodDef arrays behind a Python type or module, as their own files name them.
TABLES = {
    "torch": ("torch_functions_manual",),
    "Tensor": ("extra_methods", "variable_methods"),
    "torch._C": ("TorchMethods",),
    "torch._C._EngineBase": ("THPEngine_methods",),
}


def frames(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Each Python frame's `def` line, in the wheel's own file."""

    def change(claim: Claim) -> Claim:
        event = claim.event
        if claim.hop.kind != "python" or event is None or event.file is None or event.line is None:
            return claim
        path = installed_path(event.file, InstalledFolders(context.session.torch.torch_dir))
        if path is None:
            return claim.but(source=unknown(f"outside torch: {event.file}", None, event.line))
        line = _def_line(context, path, event.line, event.function or "")
        caller = event.caller_line
        return claim.but(source=in_runtime(context.tree, path, line), python=PythonCall(caller) if caller else None)

    return rewrite(claims, change)


def _def_line(context: Context, path: str, first: int, function: str) -> int:
    """Python's own first line of a decorated function is the decorator's: go on to the `def`."""
    found = context.tree.read(path)
    if found is None:
        return first
    lines = found.text.split("\n")
    wanted = re.compile(rf"\s*(?:async\s+)?def\s+{re.escape(function)}\b")
    for line in range(first, min(first + 60, len(lines) + 1)):
        if wanted.match(lines[line - 1]):
            return line
    return first


def bindings(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The C function that each builtin names: the right one of function and method, from its PyMethodDef row."""

    def change(claim: Claim) -> Claim:
        if claim.hop.kind != "binding":
            return claim
        event = claim.event or Event()
        table, method = event.table, event.method
        row = context.store.binding(table, method) if table and method else None
        if row is not None:
            return _bound(context, claim, row)
        symbol = SLOTS.get(method or "") if table == "Tensor" else None
        if symbol is None:
            return _handwritten(context, claim, table, method)
        declared = context.declaration(f"torch::autograd::{symbol}")
        source = context.definition(f"torch::autograd::{symbol}")
        binding = BindingRef(claim.hop.name)
        return claim.but(name=f"torch::autograd::{symbol}", source=source, declaration=declared, binding=binding)

    return rewrite(claims, change)


def _handwritten(context: Context, claim: Claim, table: str | None, method: str | None) -> Claim:
    """A builtin of a PyMethodDef table that no generated file holds."""
    found = context.lookup.method(method, TABLES.get(table or "", ())) if method else None
    if found is None:
        return claim.but(source=unknown(NOT_IN_WHEEL))
    name, entry, source = found
    reason = f"the table at {entry.path}:{entry.line} names {name}"
    return claim.but(name=name, source=source, binding=BindingRef(claim.hop.name, entry), why=(reason,))


# How users write torch.nn.functional, where many names are builtins that its file assigns.
_FUNCTIONAL = re.compile(r"(?:F|nn\.functional|torch\.nn\.functional)\.(\w+)\(")
FUNCTIONAL = "torch/nn/functional.py"


def _assigned(context: Context, claim: Claim, binding: BindingRef) -> BindingRef:
    """Add where torch/nn/functional.py assigns the builtin that the user called by its name there, if it does once."""
    called = _FUNCTIONAL.match(claim.call.source) if claim.call else None
    if called is None:
        return binding
    lines = context.tree.lines(FUNCTIONAL)
    assignments = [n for n, line in enumerate(lines, 1) if re.match(rf"{called[1]}\s*=[^=]", line)]
    if len(assignments) != 1:
        return binding
    assigned = in_runtime(context.tree, FUNCTIONAL, assignments[0])
    return replace(binding, python=f"torch.nn.functional.{called[1]}", assigned=assigned)


def _bound(context: Context, claim: Claim, row: Binding) -> Claim:
    source = in_runtime(context.tree, row.path, row.line, row.end_line)
    reason = f"the {row.table} table's row for {row.name}, {row.path}:{row.entry_line}, names {row.c_function}"
    entry = SourceRef(row.path, row.entry_line, source.layer, source.precision)
    binding = _assigned(context, claim, BindingRef(claim.hop.name, entry))
    return claim.but(name=f"torch::autograd::{row.c_function}", source=source, binding=binding, why=(reason,))
