"""The PyMethodDef tables of generated python_*.cpp: which C function a Python name is, where, and what it dispatches.

The shapes are those of tools/autograd/gen_python_functions.py and tools/autograd/templates/python_*.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Container

from ptexplore.index.scan import Definition, ScannedFile
from ptexplore.model import Binding

# The array of each generated table, and what Python calls the object it fills.
TABLES = {
    "torch_functions_shard": "torch",
    "torch_functions": "torch",
    "variable_methods": "Tensor",
    "nn_functions": "nn",
    "linalg_functions": "linalg",
    "fft_functions": "fft",
    "special_functions": "special",
    "sparse_functions": "sparse",
    "nested_functions": "nested",
}

_ROW = re.compile(r'^[ \t]*\{\s*"([^"]+)"\s*,\s*([^{}]*?)\s*,\s*METH_', re.MULTILINE)
_FUNCTION = re.compile(r"(\w+)[>)\s]*$")
_SCHEMA = re.compile(r"^\s*// (aten::[\w.]+)\(", re.MULTILINE)


def bindings_of(file: ScannedFile, operators: Container[str]) -> list[Binding]:
    """The rows of every PyMethodDef table in `file` whose C function is defined exactly once there."""
    found = []
    for definition in file.definitions:
        table = TABLES.get(definition.name) if definition.kind == "array" else None
        if table is None or "PyMethodDef" not in definition.head:
            continue
        for match in _ROW.finditer(file.text, definition.start, definition.stop):
            binding = _row(file, table, match, operators)
            if binding is not None:
                found.append(binding)
    return found


def _row(file: ScannedFile, table: str, match: re.Match[str], operators: Container[str]) -> Binding | None:
    function = _FUNCTION.search(match[2])
    if function is None:
        return None
    bodies = [one for one in file.by_name.get(function[1], []) if one.kind == "function"]
    if len(bodies) != 1:
        return None
    body = bodies[0]
    return Binding(
        table=table,
        name=match[1],
        c_function=function[1],
        path=file.path,
        line=body.line,
        end_line=body.end,
        entry_line=file.line_of(match.start() + match[0].index("{")),
        ops=dispatched(file, body, operators),
    )


def dispatched(file: ScannedFile, body: Definition, operators: Container[str]) -> tuple[str, ...]:
    """The operators a binding's body says it dispatches to: one comment line per signature.

    Deprecated signatures are marked `[deprecated]` there and name no operator of their own.
    """
    named = _SCHEMA.findall(file.text, body.start, body.stop)
    return tuple(dict.fromkeys(name for name in named if name in operators))
