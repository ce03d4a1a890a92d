"""Public Python names, Python kernels and decompositions of a probe: canonical paths, lines checked in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ptexplore.model.decompositions import DECOMPOSITIONS_FORMAT, DecompositionFunction, Decompositions
from ptexplore.model.operators import PythonKernel, PythonName, Registration
from ptexplore.model.places import place_reasons
from ptexplore.source.canonical import InstalledFolders, installed_path
from ptexplore.source.tree import SourceTree

if TYPE_CHECKING:
    from ptexplore.model.decompositions import DumpedDecompositions
    from ptexplore.model.dispatcher import DumpedKernel, DumpedName
    from ptexplore.model.place_reasons import PlaceReason

_KINDS = frozenset({"builtin", "python", "slot", "attribute", "other"})
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DECORATORS = 60  # greatest number of lines between a function's first decorator and its `def`


def python_names(dumped: Iterable[DumpedName], folders: InstalledFolders, tree: SourceTree) -> list[PythonName]:
    """Returns the public names of the message. The line of a Python function is the line of its `def`, or None."""
    names = []
    for entry in dumped:
        kind: Any = entry.kind if entry.kind in _KINDS else "other"
        path = installed_path(entry.file, folders) if entry.file else None
        line = def_line(tree, path, entry.line) if path and entry.line else None
        names.append(PythonName(entry.name, kind, entry.table, entry.method, path, line))
    return names


def python_kernels(dumped: Iterable[DumpedKernel], folders: InstalledFolders, tree: SourceTree) -> list[PythonKernel]:
    """Returns the Python kernels of the message. `line` is the line of the `def`, or None if the text has none there.

    They are sorted by operator: torch registers many of them from a set, in no fixed order.
    """
    kernels = []
    for kernel in sorted(dumped, key=lambda kernel: kernel.op):
        path = installed_path(kernel.file, folders) if kernel.file else None
        first = kernel.line
        line = def_line(tree, path, first, kernel.function) if path and first else None
        kernels.append(
            PythonKernel(
                op=kernel.op,
                role=kernel.role,
                function=_ADDRESS.sub("", kernel.function),
                path=path,
                line=line,
                end_line=kernel.end_line if line else None,
                key=kernel.key,
            )
        )
    return kernels


def located(dumped: DumpedDecompositions, folders: InstalledFolders, tree: SourceTree) -> Decompositions:
    """Returns the decompositions, with canonical paths. A function outside of torch has no path."""
    functions = []
    for function in dumped.functions:
        path = installed_path(function.file, folders) if function.file else None
        line = def_line(tree, path, function.line, function.name) if path and function.line else None
        end = function.end_line if line else None
        name = _ADDRESS.sub("", function.name)
        functions.append(DecompositionFunction(name, path, line, end, function.declines))
    return Decompositions(
        format=DECOMPOSITIONS_FORMAT,
        functions=tuple(functions),
        tables=dumped.tables,
        users=dumped.users,
        lowerings=dumped.lowerings,
        refs=dumped.refs,
        composite=frozenset(dumped.composite),
        kept=frozenset(dumped.kept),
        later=dumped.later,
        unknown=dumped.unknown,
    )


def def_line(tree: SourceTree, path: str, first: int, function: str | None = None) -> int | None:
    """Returns the line of the `def` of the function whose code object begins on `first`, where its decorators may be.

    None if no function begins on `first`, or one with another name than `function`, if given. The line of a lambda is
    the line in its code object.
    """
    lines = tree.lines(path)
    name = function.rsplit(".", 1)[-1] if function else None
    if not 0 < first <= len(lines):
        return None
    if name == "<lambda>":
        return first if "lambda" in lines[first - 1] else None
    if not re.match(r"\s*(@|(async\s+)?def\b)", lines[first - 1]):
        return None
    for number in range(first, min(first + _DECORATORS, len(lines)) + 1):
        match = re.match(r"\s*(?:async\s+)?def\s+(\w+)\b", lines[number - 1])
        if match:
            return number if name in (None, match[1]) else None
    return None


def makes_library(tree: SourceTree, registration: Registration) -> bool:
    """Whether the text confirms a record made from Python: a torch.library.Library is made on its line.

    torch/library.py passes that line to the dispatcher. If the binary names no file, there is no line to check.
    """
    if registration.path is None or registration.macro_line is None:
        return True
    return "Library(" in (tree.line(registration.path, registration.macro_line) or "")


def kernel_for(
    registration: Registration, kernels: Sequence[PythonKernel]
) -> tuple[PythonKernel | None, PlaceReason | None]:
    """Returns the callable of a record made from Python, and the reason why it is not confirmed (None if it is).

    A kernel registered for the record's own key comes first; for Meta, the meta function of the operator.
    """
    key = registration.key
    fits = [kernel for kernel in kernels if kernel.key is not None and kernel.key == key]
    if not fits and key == "Meta":
        fits = [kernel for kernel in kernels if kernel.role == "meta" and kernel.key is None]
    places = {(kernel.function, kernel.path, kernel.line) for kernel in fits}
    if not places:
        return None, place_reasons.NoCallable()
    if len(places) > 1:
        return None, place_reasons.SeveralCallables(len(places))
    kernel = fits[0]
    if kernel.path is None:
        return kernel, place_reasons.CallableOutside()
    if kernel.line is None:
        return kernel, place_reasons.CallableMoved()
    return kernel, None
