"""The catalogue message: all registrations, dispatch tables, keys, public names and Python kernels of this torch."""

from __future__ import annotations

import gc
import inspect
import linecache
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch

from . import torch_api as api

if TYPE_CHECKING:
    from .messages import CatalogueToldData, DumpedKernelData, DumpedNameData, PackedOperatorData

    Role: TypeAlias = Literal["decomposition", "meta", "kernel", "custom"]

PUBLIC = (
    "torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.sparse", "torch.nested",
    "torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special", "torch._C._sparse", "torch._C._nested",
    "torch._VF",
)  # fmt: skip

_DECORATORS = "/torch/_prims_common/wrappers.py"
_DEF = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")


def record() -> CatalogueToldData:
    """Returns the whole message. The dump comes first, because importing the decompositions registers more kernels.

    In `operators`, `dump` and `table` are lists of indexes into `lines`. All tables together are 40 MB; they are half
    of that if each line is sent once. capture/runtime.py puts the texts together again.
    """
    gc.disable()  # much is built and nothing is freed; the process ends after this message
    lines: dict[str, int] = {}
    operators = [_operator(op, lines) for op in api.operator_names()]
    return {
        "type": "catalogue",
        "torch": {"version": torch.__version__, "git_version": torch.version.git_version, "torch_dir": api.TORCH_DIR},
        "keys": [{"name": name, "raw": raw, "after": after} for name, (raw, after) in api.keys().items()],
        "num_backends": api.backend_count(),
        "operators": operators,
        "lines": list(lines),
        "python_names": list(_names()),
        "python_kernels": list(_kernels()),
    }


def _operator(op: str, lines: dict[str, int]) -> PackedOperatorData:
    dumped, table = api.dump(op), api.dump_table(op)
    schema, tags = api.schema_and_tags(op)
    packed = [[lines.setdefault(line, len(lines)) for line in text.split("\n")] for text in (dumped, table)]
    return {
        "name": op,
        "schema": schema,
        "tags": tags,
        "dump": packed[0],
        "table": packed[1],
        "digest": api.digest(dumped, table),
    }


def _names() -> Iterator[DumpedNameData]:
    for name, value in public_values():
        attribute = name.rpartition(".")[2] if name.startswith("torch.Tensor.") else None
        described = _described(name, value, attribute)
        if described is not None:
            yield described


def public_values() -> Iterator[tuple[str, Any]]:
    """Yields the values of the public modules and of torch.Tensor, each with its name."""
    for module_name in PUBLIC:
        module: Any = torch
        for part in module_name.split(".")[1:]:
            module = getattr(module, part, None)
        if module is None:
            continue
        for name, value in sorted(vars(module).items()):
            yield f"{module_name}.{name}", value
    for name in sorted(dir(torch.Tensor)):
        yield f"torch.Tensor.{name}", inspect.getattr_static(torch.Tensor, name, None)


def _described(name: str, value: Any, attribute: str | None = None) -> DumpedNameData | None:
    """Describe a public name: the table and method of a builtin, the place of a Python function, a slot, an attribute.

    Returns None for any other value.
    """
    kind = type(value).__name__
    if kind in ("builtin_function_or_method", "method_descriptor"):
        known = api.identify(value)
        return {"name": name, "kind": "builtin", "table": known[0], "method": known[1]} if known else None
    if kind == "wrapper_descriptor":
        return {"name": name, "kind": "slot", "table": "Tensor", "method": attribute or value.__name__}
    if kind in ("getset_descriptor", "member_descriptor"):
        return {"name": name, "kind": "attribute", "table": "Tensor", "method": attribute or value.__name__}
    if isinstance(value, property):
        value = value.fget
    place = place_of(value) if inspect.isfunction(value) else None
    return {"name": name, "kind": "python", "file": place[0], "line": place[1]} if place else None


def place_of(function: Callable[..., Any]) -> tuple[str, int, int] | None:
    """Returns file, `def` line and last line of a Python callable, without its wrappers; None if it has no code."""
    code = getattr(beneath(function), "__code__", None)
    if code is None:
        return None
    last = max((line for *_, line in code.co_lines() if line), default=code.co_firstlineno)
    return code.co_filename, _def_line(code), last


def beneath(function: Callable[..., Any]) -> Any:
    """Returns the innermost callable with Python code, inside decorators and partials; else the callable itself.

    A decorator of torch._prims_common may be innermost: around an operator. Then the callable around it is returned.
    """
    innermost: Any = function
    inner: Any = function
    seen = set[int]()
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        code = getattr(inner, "__code__", None)
        innermost = inner if code is not None and not code.co_filename.endswith(_DECORATORS) else innermost
        inner = inner.func if isinstance(inner, partial) else getattr(inner, "__wrapped__", None)
    return innermost


def qualname_of(function: Any) -> str:
    """Returns a callable's qualified name, without its module.

    `functools.wraps` copies the name of the wrapped function to the wrapper. The name in the code is not copied.
    """
    code = getattr(function, "__code__", None)
    if code is not None and hasattr(function, "__wrapped__"):
        return str(getattr(code, "co_qualname", code.co_name))  # co_qualname is new in Python 3.11
    return str(getattr(function, "__qualname__", None) or f"{type(function).__qualname__} object")


def _def_line(code: Any) -> int:
    """Returns the line of the `def`. Python gives the line of the first decorator instead."""
    first = int(code.co_firstlineno)
    heads = ((line, _DEF.match(linecache.getline(code.co_filename, line))) for line in range(first, first + 60))
    return next((line for line, head in heads if head and head[1] == code.co_name), first)


def _kernels() -> Iterator[DumpedKernelData]:
    for op, key, function in api.python_kernels():
        yield _kernel(op, "kernel", key, function)
    for op, key, function in api.custom_kernels():
        yield _kernel(op, "custom", key, function)
    for role, table in api.decomposition_tables().items():
        for overload, function in table.items():
            if hasattr(overload, "name"):
                yield _kernel(overload.name(), role, "Meta" if role == "meta" else None, function)


def _kernel(op: str, role: Role, key: str | None, function: Callable[..., Any]) -> DumpedKernelData:
    place = place_of(function)
    inner = beneath(function)
    module = getattr(inner, "__globals__", {}).get("__name__") or getattr(inner, "__module__", "?")
    name = f"{module}.{qualname_of(inner)}"
    file, line, end = place or (None, None, None)
    return {"op": op, "role": role, "key": key, "function": name, "file": file, "line": line, "end_line": end}
