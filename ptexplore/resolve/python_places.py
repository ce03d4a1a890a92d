"""The source places of Python frames, and of the C functions behind Python names."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from msgspec import structs

from ptexplore.errors import NOT_PYTHON
from ptexplore.facts.type_slots import SLOTS
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

GIVEN = "<--setup"  # prefix of the file names for code from --setup
VARIABLE, PROPERTIES = "torch/csrc/autograd/python_variable.cpp", "PyGetSetDef THPVariable_properties[]"

# The hand-written PyMethodDef arrays behind a Python type or module, by their names in C++.
TABLES = {
    "torch": ("torch_functions_manual",),
    "Tensor": ("extra_methods", "variable_methods"),
    "torch._C": ("TorchMethods",),
    "torch._C._EngineBase": ("THPEngine_methods",),
    "torch._C._FunctionBase": ("THPFunction_methods",),
}


def frames(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Give each Python frame the line of its `def`, in the file of the wheel."""

    def change(claim: Claim) -> Claim:
        event = claim.event
        if claim.hop.kind != "python" or event.file is None or event.line is None:
            return claim
        source = function_place(context, event.file, event.line, event.function or "")
        qualname = event.qualname if event.qualname != event.function else None
        line = (event.caller_line or None) if source.path is not None else None
        name = qualname if source.path is not None else None
        has_facts = line or name or event.resumed or event.variables
        called = PythonCall(line, name, event.resumed, variables=event.variables) if has_facts else None
        return claim.but(replace(claim.hop, source=source, python=called))

    return rewrite(claims, change)


def function_place(context: Context, file: str, first: int, function: str) -> SourceRef:
    """Returns the `def` line of a function from its code object: file, first line, name."""
    path = installed_path(file, InstalledFolders(context.session.torch.torch_dir))
    if path is None:
        return outside(file, first) if file.startswith("<") else of_yours(file, first)
    return in_runtime(context.tree, path, _def_line(context, path, first, function))


def of_paths(context: Context, paths: Iterable[CallPath]) -> Iterator[CallPath]:
    """Yields the paths of a recorded program, each with the `def` line of its last function or module.

    For a function of yours, the line and the file name are those that Python reports.
    """
    known: dict[tuple[str, int, str], SourceRef] = {}
    for path in paths:
        if path.kind not in ("torch", "library", "user", "module") or path.file is None or path.first is None:
            yield path
            continue
        name = "forward" if path.kind == "module" else path.name.rpartition(".")[2]
        key = (path.file, path.first, name)
        if key not in known:
            inside = installed_path(path.file, InstalledFolders(context.session.torch.torch_dir)) is not None
            known[key] = function_place(context, *key) if inside else of_yours(path.file, path.first)
        yield structs.replace(path, source=known[key])


def is_torchs_or_yours(context: Context, file: str, first: int) -> bool:
    """Whether a Python function is shown, given its file and first line: functions of torch and yours.

    Yours are the functions from --setup, and the recorded functions in your files.
    """
    if file.startswith(GIVEN) or (file, first) in context.python_functions:
        return True
    return installed_path(file, InstalledFolders(context.session.torch.torch_dir)) is not None


def _def_line(context: Context, path: str, first: int, function: str) -> int:
    """Returns the line of the `def`. For a decorated function, Python's first line is the line of the decorator."""
    wanted = re.compile(rf"\s*(?:async\s+)?def\s+{re.escape(function)}\b")
    lines = context.tree.lines(path)[first - 1 : first + 59]
    return next((line for line, text in enumerate(lines, first) if wanted.match(text)), first)


def bindings(context: Context, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Give each builtin its C function, from the PyMethodDef row that matches function and method."""

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
    """Returns the claim for a builtin in a PyMethodDef table that is not in a generated file."""
    row = context.lookup.method(method, TABLES.get(table, ())) if method else None
    if row is None and table == "Tensor" and claim.call is not None and claim.call.callable.kind == "attribute":
        row = _getter(context, method)
    if row is None:
        return claim.but(replace(claim.hop, source=unknown(_others(table) or context.lookup.no_text)))
    name, entry, source = row
    hop = replace(claim.hop, name=name, source=source, binding=BindingRef(claim.hop.name, entry))
    return claim.but(hop, TableNames(f"{entry.path}:{entry.line}", name))


def _getter(context: Context, name: str) -> tuple[str, SourceRef, SourceRef] | None:
    """Returns the C function behind a tensor attribute, its row in the table of attributes, and its definition.

    Returns None if no source has the table. The function may be a member of the template base of the row's class
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
    """Returns why a builtin of this class has no place in PyTorch: it belongs to Python or to another package.

    Returns None if it belongs to torch.
    """
    package = table.partition(".")[0] if "." in table else ""
    if hasattr(builtins, table) or package in sys.stdlib_module_names:
        return OfBuiltinClass(table)
    return OfPackage(table, package) if package not in ("", "torch") else None


FUNCTIONAL = "torch/nn/functional.py"
# The ways to write this module. Many of its names are builtins, which its file assigns.
_MODULE = ("F", "nn.functional", "torch.nn.functional")


def _assigned(context: Context, claim: Claim, binding: BindingRef) -> BindingRef:
    """Add the line of torch/nn/functional.py that assigns the builtin, if you called it by its name there.

    There must be exactly one assignment.
    """
    called = _called_functional(claim.call.source) if claim.call else None
    if called is None:
        return binding
    lines = context.tree.lines(FUNCTIONAL)
    assignments = [n for n, line in enumerate(lines, 1) if re.match(rf"{called}\s*=[^=]", line)]
    text = "".join(lines[assignments[0] - 1 : assignments[0] + 1]) if len(assignments) == 1 else ""
    if not re.search(rf"\.{re.escape(claim.event.method or '')}\b", text):
        return binding
    assigned = in_runtime(context.tree, FUNCTIONAL, assignments[0])
    return replace(binding, python=f"torch.nn.functional.{called}", assigned=assigned)


def _called_functional(source: str) -> str | None:
    """Returns the name in torch.nn.functional that a call's text calls, or None.

    In F.relu(x).neg(), the call is neg, so the result is None.
    """
    try:
        tree = ast.parse(source, mode="eval").body
    except NOT_PYTHON:  # a long text is cut
        return None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
        return None
    return tree.func.attr if ast.unparse(tree.func.value) in _MODULE else None


def _generated(context: Context, claim: Claim, row: Binding) -> Claim:
    """Returns the claim for a builtin in a PyMethodDef table of a generated file."""
    source = in_runtime(context.tree, row.path, row.line, row.end_line)
    reason = RowOfTable(row.table, row.name, f"{row.path}:{row.entry_line}", row.c_function)
    entry = SourceRef(row.path, row.entry_line, source.layer, source.precision)
    binding = _assigned(context, claim, BindingRef(claim.hop.name, entry))
    return claim.but(
        replace(claim.hop, name=f"torch::autograd::{row.c_function}", source=source, binding=binding), reason
    )
