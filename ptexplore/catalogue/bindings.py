"""The PyMethodDef tables of generated python_*.cpp: which C function a Python name is, where, and what it dispatches.

The shapes are those of tools/autograd/gen_python_functions.py and tools/autograd/templates/python_*.cpp.
"""

from __future__ import annotations

import re

from ptexplore.catalogue.generated_file import GeneratedFile
from ptexplore.model.operators import Binding
from ptexplore.model.symbols import Dialect

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

_FUNCTION = re.compile(r"(\w+)[>)\s]*,\s*METH_")  # inside the casts and wrappers around it
_SCHEMA = re.compile(r"^\s*// (aten::[\w.]+)\(", re.MULTILINE)


def bindings_of(file: GeneratedFile) -> list[Binding]:
    """The rows of every PyMethodDef table in `file` whose C function is defined exactly once there.

    A binding's `ops` are all that its body names: one comment line per signature. Deprecated signatures are marked
    `[deprecated]` there and name no operator of their own.
    """
    rows = [row for row in file.dialect if row.kind == "method" and row.context in TABLES]
    return [binding for row in rows if (binding := _binding(file, row)) is not None]


def _binding(file: GeneratedFile, row: Dialect) -> Binding | None:
    function = _FUNCTION.search(row.text)
    bodies = file.functions_named(function[1]) if function else []
    if function is None or len(bodies) != 1:
        return None
    body = bodies[0]
    return Binding(
        table=TABLES[row.context or ""],
        name=row.name,
        c_function=function[1],
        path=file.path,
        line=body.line,
        end_line=body.end_line,
        entry_line=row.line,
        ops=tuple(dict.fromkeys(_SCHEMA.findall(file.body(body)))),
    )
