"""Find the source of Python frames and of the C functions behind Python names."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from msgspec import structs

from ptexplore.model.codes import Reason
from ptexplore.model.operators import Binding
from ptexplore.model.place_reasons import OfBuiltinClass, OfPackage, TableNamesUndefined
from ptexplore.model.places import SourceRef
from ptexplore.model.program import CallPath
from ptexplore.model.reasons import RowOfTable, TableNames
from ptexplore.model.trace import BindingRef, PythonCall
from ptexplore.resolve.claims import Claim, Context, rewrite
from ptexplore.resolve.places.precision import in_runtime, of_yours, outside, unknown
from ptexplore.source.canonical import InstalledFolders, installed_path

# C functions behind Python's type slots of torch.Tensor. Source: THPVariable_as_mapping in
# torch/csrc/autograd/python_variable.cpp, which no wheel holds.
GIVEN = "<--setup"  # how the files of what is given by --setup are named
EXPRESSION = "<expression>"  # the file of what is asked for, which has one line
VARIABLE, PROPERTIES = "torch/csrc/autograd/python_variable.cpp", "PyGetSetDef THPVariable_properties[]"
SLOTS = {"__getitem__": "THPVariable_getitem", "__setitem__": "THPVariable_setitem", "__len__": "THPVariable_length"}

# The hand-written PyMethodDef arrays behind a Python type or module, as their own files name them.
TABLES = {
    "torch": ("torch_functions_manual",),
    "Tensor": ("extra_methods", "variable_methods"),
    "torch._C": ("TorchMethods",),
    "torch._C._EngineBase": ("THPEngine_methods",),
    "torch._C._FunctionBase": ("THPFunction_methods",),
}


def frames(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Each Python frame's `def` line, in the wheel's own file."""

    def change(claim: Claim) -> Claim:
        event = claim.event
        if claim.hop.kind != "python" or event.file is None or event.line is None:
            return claim
        source = function_place(context, event.file, event.line, event.function or "")
        qualname = event.qualname if event.qualname != event.function else None
        line = (event.caller_line or None) if source.path is not None else None
        name = qualname if source.path is not None else None
        called = PythonCall(line, name, event.resumed) if line or name or event.resumed else None
        return claim.but(replace(claim.hop, source=source, python=called))

    return rewrite(claims, change)


def function_place(context: Context, file: str, first: int, function: str) -> SourceRef:
    """The `def` line of a function, by what its code object says: the file, the first line, the name."""
    path = installed_path(file, InstalledFolders(context.session.torch.torch_dir))
    if path is None:
        return outside(file, first) if file.startswith("<") else of_yours(file, first)
    return in_runtime(context.tree, path, _def_line(context, path, first, function))


def of_paths(context: Context, paths: Iterable[CallPath]) -> Iterator[CallPath]:
    """The paths of a recorded program, each with the `def` line of the function or module at its end.

    Of a function of yours that is the line which Python itself tells; its file is named as Python has it.
    """
    known: dict[tuple[str, int, str], SourceRef] = {}
    for path in paths:
        if path.kind not in ("torch", "user", "module") or path.file is None or path.first is None:
            yield path
            continue
        name = "forward" if path.kind == "module" else path.name.rpartition(".")[2]
        key = (path.file, path.first, name)
        if key not in known:
            inside = installed_path(path.file, InstalledFolders(context.session.torch.torch_dir)) is not None
            known[key] = function_place(context, *key) if inside else of_yours(path.file, path.first)
        yield structs.replace(path, source=known[key])


def is_torchs_or_yours(context: Context, file: str, first: int) -> bool:
    """Whether a Python function, by its file and first line, is shown: torch's own, and what is yours.

    Yours is what you gave by --setup, and of your own files what was recorded.
    """
    if file.startswith(GIVEN) or (file, first) in context.python_functions:
        return True
    return installed_path(file, InstalledFolders(context.session.torch.torch_dir)) is not None


def _def_line(context: Context, path: str, first: int, function: str) -> int:
    """The line of the `def`: Python's own first line of a decorated function is its decorator's."""
    wanted = re.compile(rf"\s*(?:async\s+)?def\s+{re.escape(function)}\b")
    lines = context.tree.lines(path)[first - 1 : first + 59]
    return next((line for line, text in enumerate(lines, first) if wanted.match(text)), first)


def bindings(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The C function that each builtin names: the right one of function and method, from its PyMethodDef row."""

    def change(claim: Claim) -> Claim:
        if claim.hop.kind != "binding":
            return claim
        table, method = claim.event.table or "", claim.event.method or ""
        row = context.store.binding(table, method) if table and method else None
        if row is not None:
            return _generated(context, claim, row)
        if table != "Tensor" or method not in SLOTS:
            return _handwritten(context, claim, table, method)
        symbol = f"torch::autograd::{SLOTS[method]}"
        declared, source = context.lookup.declaration(symbol), context.lookup.definition(symbol)
        binding = BindingRef(claim.hop.name)
        return claim.but(replace(claim.hop, name=symbol, source=source, declaration=declared, binding=binding))

    return rewrite(claims, change)


def _handwritten(context: Context, claim: Claim, table: str, method: str) -> Claim:
    """A builtin of a PyMethodDef table that no generated file holds."""
    row = context.lookup.method(method, TABLES.get(table, ())) if method else None
    if row is None and table == "Tensor" and claim.call is not None and claim.call.callable.kind == "attribute":
        row = _getter(context, method)
    if row is None:
        return claim.but(replace(claim.hop, source=unknown(_others(table) or context.lookup.no_text)))
    name, entry, source = row
    hop = replace(claim.hop, name=name, source=source, binding=BindingRef(claim.hop.name, entry))
    return claim.but(hop, TableNames(f"{entry.path}:{entry.line}", name))


def _getter(context: Context, name: str) -> tuple[str, SourceRef, SourceRef] | None:
    """The C function behind an attribute of a tensor, its row of the table of attributes, and its definition.

    None where no source has the table. The function may be a member of a template that the row's class derives from
    (GetterBase).
    """
    for source in context.lookup.sources:
        text = "\n".join(source.tree.lines(VARIABLE))
        begin = text.find(PROPERTIES)
        end = text.find("};", begin)
        row = (
            re.compile(rf'\{{\s*"{re.escape(name)}",\s*\(getter\)\s*([\w:]+)').search(text, begin, end)
            if begin >= 0
            else None
        )
        if row is not None:
            entry = source.ref(VARIABLE, text.count("\n", 0, row.start()) + 1)
            of_class, _, member = row[1].rpartition("::")
            base = re.search(rf"\bstruct {re.escape(of_class)} : (\w+)<", text) if of_class else None
            for named in (row[1], *([f"{base[1]}::{member}"] if base is not None else [])):
                definition = source.refs(source.scoped(named, VARIABLE, entry.line or 1), named)
                if definition.path is not None:
                    return row[1], entry, definition
            return row[1], entry, unknown(TableNamesUndefined(row[1]))
    return None


def _others(table: str) -> Reason | None:
    """Why a builtin of this class has no place in PyTorch: it is Python's, or another package's; None for torch's."""
    package = table.partition(".")[0] if "." in table else ""
    if hasattr(builtins, table) or package in sys.stdlib_module_names:
        return OfBuiltinClass(table)
    return OfPackage(table, package) if package not in ("", "torch") else None


FUNCTIONAL = "torch/nn/functional.py"
# How users write that module, where many names are builtins that its file assigns.
_MODULE = ("F", "nn.functional", "torch.nn.functional")


def _assigned(context: Context, claim: Claim, binding: BindingRef) -> BindingRef:
    """Add where torch/nn/functional.py assigns the builtin that the user called by its name there, if it does once."""
    called = _called_functional(claim.call.source) if claim.call else None
    if called is None:
        return binding
    lines = context.tree.lines(FUNCTIONAL)
    assignments = [n for n, line in enumerate(lines, 1) if re.match(rf"{called}\s*=[^=]", line)]
    told = "".join(lines[assignments[0] - 1 : assignments[0] + 1]) if len(assignments) == 1 else ""
    if not re.search(rf"\.{re.escape(claim.event.method or '')}\b", told):
        return binding
    assigned = in_runtime(context.tree, FUNCTIONAL, assignments[0])
    return replace(binding, python=f"torch.nn.functional.{called}", assigned=assigned)


def _called_functional(source: str) -> str | None:
    """The name in torch.nn.functional of what a call's text calls; None for any other: F.relu(x).neg() calls neg."""
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError:  # cut where it is long
        return None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
        return None
    return tree.func.attr if ast.unparse(tree.func.value) in _MODULE else None


def _generated(context: Context, claim: Claim, row: Binding) -> Claim:
    """A builtin of a PyMethodDef table in a generated file."""
    source = in_runtime(context.tree, row.path, row.line, row.end_line)
    reason = RowOfTable(row.table, row.name, f"{row.path}:{row.entry_line}", row.c_function)
    entry = SourceRef(row.path, row.entry_line, source.layer, source.precision)
    binding = _assigned(context, claim, BindingRef(claim.hop.name, entry))
    return claim.but(
        replace(claim.hop, name=f"torch::autograd::{row.c_function}", source=source, binding=binding), reason
    )
