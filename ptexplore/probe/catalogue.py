"""The catalogue message: every registration, dispatch table, key, public name and Python kernel of this torch."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import torch_api as api

PUBLIC = (
    "torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "torch.sparse", "torch.nested",
    "torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special", "torch._C._sparse", "torch._C._nested",
    "torch._VF",
)  # fmt: skip


def record() -> dict[str, Any]:
    """The whole message. The dump comes first: importing the decompositions registers kernels of its own."""
    operators = [_operator(op) for op in api.operator_names()]
    keys = []
    for name in api.key_names():
        bits = api.key_bits(name)
        if bits is not None:
            keys.append({"name": name, "raw": bits[0], "after": bits[1]})
    for entry in operators:
        entry["schema"], entry["tags"] = api.schema_and_tags(entry["name"])
    version = torch.version
    return {
        "torch": {"version": torch.__version__, "git_version": version.git_version, "torch_dir": api.torch_dir()},
        "keys": keys,
        "num_backends": api.backend_count(),
        "operators": operators,
        "python_names": list(_names()),
        "python_kernels": list(_kernels()),
    }


def _operator(op: str) -> dict[str, Any]:
    return {"name": op, "dump": api.dump(op), "table": api.dump_table(op), "digest": api.digest(op)}


def _names() -> Iterator[dict[str, Any]]:
    for module_name in PUBLIC:
        module: Any = torch
        for part in module_name.split(".")[1:]:
            module = getattr(module, part, None)
        if module is None:
            continue
        for name in sorted(dir(module)):
            value = getattr(module, name, None)
            described = _describe(value)
            if described is not None:
                yield {"name": f"{module_name}.{name}", **described}
    for name in sorted(dir(torch.Tensor)):
        value = inspect.getattr_static(torch.Tensor, name, None)
        described = _describe(value, name)
        if described is not None:
            yield {"name": f"torch.Tensor.{name}", **described}


def _describe(value: Any, attribute: str | None = None) -> dict[str, Any] | None:
    """What a public name is: a builtin's table and method, a Python function's place, a slot or an attribute."""
    kind = type(value).__name__
    if kind in ("builtin_function_or_method", "method_descriptor"):
        known = api.identify(value)
        return {"kind": "builtin", "table": known[0], "method": known[1]} if known else None
    if kind == "wrapper_descriptor":
        return {"kind": "slot", "table": "Tensor", "method": attribute or value.__name__}
    if kind in ("getset_descriptor", "member_descriptor"):
        return {"kind": "attribute", "table": "Tensor", "method": attribute or value.__name__}
    if inspect.isfunction(value):
        place = place_of(value)
        return {"kind": "python", "file": place[0], "line": place[1]} if place else None
    return None


def place_of(function: Callable[..., Any]) -> tuple[str, int, int] | None:
    """File, `def` line and last line of a callable beneath its wrappers; None where it has no Python code."""
    try:
        inner: Any = inspect.unwrap(function)
    except ValueError:
        return None
    code = getattr(inner, "__code__", None)
    if code is None:
        return None
    last = max((line for *_, line in code.co_lines() if line), default=code.co_firstlineno)
    return code.co_filename, _def_line(code), last


def _def_line(code: Any) -> int:
    """The line of the `def` itself: Python counts a decorated function from its first decorator."""
    wanted = re.compile(rf"\s*(async\s+)?def\s+{re.escape(code.co_name)}\b")
    for line in range(code.co_firstlineno, code.co_firstlineno + 60):
        if wanted.match(linecache.getline(code.co_filename, line)):
            return line
    return int(code.co_firstlineno)


def _kernels() -> Iterator[dict[str, Any]]:
    for op, key, function in api.python_kernels():
        yield _kernel(op, "kernel", key, function)
    for role, table in api.decomposition_tables():
        try:
            entries = table()
        except Exception:  # a torch whose tables need a package that is not installed
            continue
        for overload, function in entries.items():
            if hasattr(overload, "name"):
                yield _kernel(overload.name(), role, "Meta" if role == "meta" else None, function)


def _kernel(op: str, role: str, key: str | None, function: Callable[..., Any]) -> dict[str, Any]:
    place = place_of(function)
    inner: Any = inspect.unwrap(function) if place else function
    name = f"{getattr(inner, '__module__', '?')}.{getattr(inner, '__qualname__', repr(inner)[:80])}"
    file, line, end = place or (None, None, None)
    return {"op": op, "role": role, "key": key, "function": name, "file": file, "line": line, "end_line": end}
