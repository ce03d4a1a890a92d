"""The catalogue message's public Python names and Python kernels: canonical paths, lines checked in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ptexplore.model.operators import PythonKernel, PythonName, Registration
from ptexplore.model.places import place_reasons
from ptexplore.source.canonical import InstalledFolders, installed_path
from ptexplore.source.tree import SourceTree

if TYPE_CHECKING:
    from ptexplore.model.dispatcher import DumpedKernel, DumpedName
    from ptexplore.model.place_reasons import PlaceReason

_KINDS = frozenset({"builtin", "python", "slot", "attribute", "other"})
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DECORATORS = 60  # lines between a function's first decorator and its `def`, at most


def python_names(told: Iterable[DumpedName], folders: InstalledFolders, tree: SourceTree) -> list[PythonName]:
    """The message's public names; of a Python function the line is that of its `def`, None where there is none."""
    names = []
    for entry in told:
        kind: Any = entry.kind if entry.kind in _KINDS else "other"
        path = installed_path(entry.file, folders) if entry.file else None
        line = def_line(tree, path, entry.line) if path and entry.line else None
        names.append(PythonName(entry.name, kind, entry.table, entry.method, path, line))
    return names


def python_kernels(told: Iterable[DumpedKernel], folders: InstalledFolders, tree: SourceTree) -> list[PythonKernel]:
    """The message's Python kernels. `line` is that of the `def` and None where the text does not hold it there.

    They are in the order of their operators' names: torch registers many of them from a set, in no fixed order.
    """
    kernels = []
    for kernel in sorted(told, key=lambda kernel: kernel.op):
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


def def_line(tree: SourceTree, path: str, first: int, function: str | None = None) -> int | None:
    """The line of the `def` of the function whose code object begins on `first`: its decorators come before it.

    None when what stands on `first` begins no function, or one of another name than `function`, where that is
    given. A lambda's line is the one its code object names.
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
    """Whether the text bears out a record made from Python: its line is where a torch.library.Library is made.

    That line is what torch/library.py hands the dispatcher; where the binary names no file there is none to check.
    """
    if registration.path is None or registration.macro_line is None:
        return True
    return "Library(" in (tree.line(registration.path, registration.macro_line) or "")


def kernel_for(
    registration: Registration, kernels: Sequence[PythonKernel]
) -> tuple[PythonKernel | None, PlaceReason | None]:
    """The one callable that a record made from Python stands for, and why it is not confirmed (None when it is).

    A kernel registered under the record's own key comes first; for Meta, the meta function of the operator.
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
