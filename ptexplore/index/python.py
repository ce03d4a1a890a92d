"""Public Python names and Python kernels of the catalogue message, under canonical paths, kernels checked in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ptexplore.index.verify import NO_CALLABLE
from ptexplore.model import PythonKernel, PythonName, Registration
from ptexplore.source.canonical import Folders, installed_path
from ptexplore.source.tree import SourceTree

_KINDS = frozenset({"builtin", "python", "slot", "attribute", "other"})
_DECORATORS = 60  # lines between a function's first decorator and its `def`, at most


def python_names(raw: dict[str, Any], folders: Folders, tree: SourceTree) -> list[PythonName]:
    """The message's public names; of a Python function the line is that of its `def`."""
    found = []
    for one in raw.get("python_names") or ():
        kind = one["kind"] if one["kind"] in _KINDS else "other"
        path = installed_path(one["file"], folders) if one.get("file") else None
        line = one.get("line") if path else None
        if path and line:
            line = def_line(tree, path, line, str(one.get("function") or one["name"])) or line
        found.append(PythonName(one["name"], kind, one.get("table"), one.get("method"), path, line))
    return found


def python_kernels(raw: dict[str, Any], folders: Folders, tree: SourceTree) -> list[PythonKernel]:
    """The message's Python kernels. `line` is that of the `def` and None where the text does not hold it there."""
    found = []
    for one in raw.get("python_kernels") or ():
        path = installed_path(one["file"], folders) if one.get("file") else None
        first = one.get("line")
        line = def_line(tree, path, first, one["function"]) if path and first else None
        found.append(
            PythonKernel(
                op=one["op"],
                role=one["role"],
                function=one["function"],
                path=path,
                line=line,
                end_line=one.get("end_line") if line else None,
                key=one.get("key"),
            )
        )
    return found


def def_line(tree: SourceTree, path: str, first: int, function: str) -> int | None:
    """The line of the `def` of `function` whose code object begins on `first`: decorators come before it.

    None when another function begins first, or none does. A lambda's line is the one its code object names.
    """
    lines = tree.lines(path)
    name = function.rsplit(".", 1)[-1]
    if name == "<lambda>":
        return first if 0 < first <= len(lines) and "lambda" in lines[first - 1] else None
    for number in range(first, min(first + _DECORATORS, len(lines)) + 1):
        match = re.match(r"\s*(?:async\s+)?def\s+(\w+)\b", lines[number - 1])
        if match:
            return number if match[1] == name else None
    return None


def kernel_for(
    registration: Registration, kernels: Sequence[PythonKernel]
) -> tuple[PythonKernel | None, str | None]:
    """The one callable that a record made from Python stands for, and why it is not confirmed (None when it is).

    A kernel registered under the record's own key comes first; for Meta, the meta function of the operator.
    """
    key = registration.key
    fits = [kernel for kernel in kernels if kernel.key is not None and kernel.key == key]
    if not fits and key == "Meta":
        fits = [kernel for kernel in kernels if kernel.role == "meta" and kernel.key is None]
    places = {(kernel.function, kernel.path, kernel.line) for kernel in fits}
    if not places:
        return None, NO_CALLABLE
    if len(places) > 1:
        return None, f"Python's tables name {len(places)} callables for it"
    kernel = fits[0]
    if kernel.path is None:
        return kernel, "its callable is in no file of torch's"
    if kernel.line is None:
        return kernel, "its callable's def is not at the line its code object names"
    return kernel, None
