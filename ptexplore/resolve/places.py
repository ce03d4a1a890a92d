"""Find the source of Python frames and of the C functions behind Python names."""

from __future__ import annotations

import re
from dataclasses import replace

from ptexplore.model import Binding, SourceRef
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.lookup import NOT_IN_WHEEL
from ptexplore.resolve.precision import in_runtime, place, unknown, where
from ptexplore.source.canonical import Folders, installed_path

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
        if claim.hop.kind != "python" or "file" not in claim.event:
            return claim
        path = installed_path(claim.event["file"], Folders(context.session.torch["torch_dir"]))
        if path is None:
            return claim.but(source=unknown(f"outside torch: {claim.event['file']}", None, claim.event["line"]))
        line = _def_line(context, path, claim.event["line"], claim.event["function"])
        caller = {"called_from_line": claim.event["caller_line"]} if claim.event.get("caller_line") else {}
        changed = claim.but(source=in_runtime(context.tree, path, line))
        return replace(changed, hop=replace(changed.hop, detail={**changed.hop.detail, **caller}))

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
        table, method = claim.event.get("table"), claim.event.get("method")
        row = context.store.binding(table, method) if table and method else None
        if row is not None:
            return _bound(context, claim, row)
        symbol = SLOTS.get(method or "") if table == "Tensor" else None
        if symbol is None:
            return _handwritten(context, claim, table, method)
        declared = context.declaration(f"torch::autograd::{symbol}")
        source = context.definition(f"torch::autograd::{symbol}")
        changed = claim.but(name=f"torch::autograd::{symbol}", source=source, declaration=declared)
        return replace(changed, hop=replace(changed.hop, detail={**changed.hop.detail, "python": claim.hop.name}))

    return rewrite(claims, change)


def _handwritten(context: Context, claim: Claim, table: str | None, method: str | None) -> Claim:
    """A builtin of a PyMethodDef table that no generated file holds."""
    found = context.lookup.method(method, TABLES.get(table or "", ())) if method else None
    if found is None:
        return claim.but(source=unknown(NOT_IN_WHEEL))
    name, entry, source = found
    reason = f"the table at {entry.path}:{entry.line} names {name}"
    changed = claim.but(name=name, source=source, why=(reason,))
    detail = {**changed.hop.detail, "python": claim.hop.name, "table_row": where(entry)}
    return replace(changed, hop=replace(changed.hop, detail=detail))


# How users write torch.nn.functional, where many names are builtins that its file assigns.
_FUNCTIONAL = re.compile(r"(?:F|nn\.functional|torch\.nn\.functional)\.(\w+)\(")
FUNCTIONAL = "torch/nn/functional.py"


def _assigned(context: Context, claim: Claim) -> dict[str, object]:
    """Where torch/nn/functional.py assigns the builtin that the user called by its name there, if it does so once."""
    called = _FUNCTIONAL.match(str(claim.call["source"])) if claim.call else None
    if called is None:
        return {}
    lines = context.tree.lines(FUNCTIONAL)
    found = [n for n, line in enumerate(lines, 1) if re.match(rf"{called[1]}\s*=[^=]", line)]
    if len(found) != 1:
        return {}
    return {"python": f"torch.nn.functional.{called[1]}", "assigned": place(context.tree, FUNCTIONAL, found[0])}


def _bound(context: Context, claim: Claim, row: Binding) -> Claim:
    source = in_runtime(context.tree, row.path, row.line, row.end_line)
    reason = f"the {row.table} table's row for {row.name}, {row.path}:{row.entry_line}, names {row.c_function}"
    changed = claim.but(name=f"torch::autograd::{row.c_function}", source=source, why=(reason,))
    python = claim.hop.name
    entry = SourceRef(row.path, row.entry_line, source.layer, source.precision)
    detail = {**changed.hop.detail, "python": python, "table_row": {"path": entry.path, "line": entry.line}}
    detail |= _assigned(context, claim)
    return replace(changed, hop=replace(changed.hop, detail=detail))
