"""The message about decompositions: every table of them in this torch, Inductor's lowerings, and their functions."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from . import catalogue
from . import torch_api as api

if TYPE_CHECKING:
    from .messages import DecompositionsToldData, DumpedFunctionData, LaterOperatorData, LoweringData


def record() -> DecompositionsToldData:
    """Returns the whole message. What this torch lacks, or cannot import here, is in `unknown` with the error."""
    gc.disable()  # much is built and nothing is freed; the process ends after this message
    before = set(api.operator_names())
    functions = _Functions()
    unknown: dict[str, str] = {}
    tables = {}
    for name, read in api.DECOMPOSITIONS.items():
        table = _read(name, read, unknown)
        if table is not None:
            tables[name] = {op: functions.number(entry) for op, entry in _entries(table)}
    lowerings = _read("lowerings", api.lowerings, unknown) or {}
    refs = _read("refs", api.refs, unknown) or {}
    kept = _read("kept", api.composites_export_keeps, unknown) or []
    users = {part: functions.number(user) for part, user in api.users_of_decompositions().items()}
    return {
        "type": "decompositions",
        "torch": {"version": torch.__version__, "git_version": torch.version.git_version, "torch_dir": api.TORCH_DIR},
        "tables": tables,
        "users": {part: number for part, number in users.items() if number is not None},
        "lowerings": {
            op.name(): _lowering(op, entry, functions) for op, entry in lowerings.items() if _is_overload(op)
        },
        "refs": dict(_names_of_refs(refs, functions)),
        "composite": sorted(op for op in api.operator_names() if api.is_composite(op)),
        "kept": sorted(op.name() for op in kept),
        "later": [_later(op) for op in api.operator_names() if op not in before],
        "unknown": unknown,
        "functions": functions.described,
    }


def _read(part: str, read: Callable[[], Any], unknown: dict[str, str]) -> Any:
    """Returns the result of `read`. Returns None, with an entry in `unknown`, if this version lacks the API."""
    try:
        return read()
    except Exception as error:
        unknown[part] = f"{type(error).__name__}: {error}"
        return None


class _Functions:
    """The Python functions of the message: each is described once, and has a number."""

    def __init__(self) -> None:
        self.described: list[DumpedFunctionData] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # an identity is not used again while its function lives

    def number(self, entry: Any) -> int | None:
        """Returns the number of a table's entry, or None if the entry calls the C++ composite kernel."""
        if api.calls_composite_kernel(entry):
            return None
        inner = catalogue.beneath(entry)
        if id(inner) not in self._numbers:
            self._numbers[id(inner)] = len(self.described)
            self._kept.append(inner)
            self.described.append(_described(inner))
        return self._numbers[id(inner)]


def _described(function: Any) -> DumpedFunctionData:
    module = getattr(function, "__globals__", {}).get("__name__") or getattr(function, "__module__", "?")
    file, line, end = catalogue.place_of(function) or (None, None, None)
    code = getattr(function, "__code__", None)
    return {
        "name": f"{module}.{catalogue.qualname_of(function)}",
        "file": file,
        "line": line,
        "end_line": end,
        "declines": isinstance(code, CodeType) and "NotImplemented" in code.co_names,
    }


def _entries(table: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Returns the entries for operators of the dispatcher. Higher-order operators and builtins are left out."""
    return ((op.name(), entry) for op, entry in table.items() if _is_overload(op))


def _is_overload(op: Any) -> bool:
    return isinstance(op, torch._ops.OpOverload)


def _lowering(op: Any, entry: Any, functions: _Functions) -> LoweringData:
    is_fallback, falls_back = api.kind_of_lowering(op, entry)
    return {"function": None if is_fallback else functions.number(entry), "falls_back": falls_back}


def _names_of_refs(refs: Mapping[Any, Any], functions: _Functions) -> Iterator[tuple[str, int]]:
    """Yields the public names with a function in torch._refs."""
    for name, value in catalogue.public_values():
        try:
            ref = refs.get(value)
        except TypeError:  # a value that cannot be hashed
            continue
        number = functions.number(ref) if callable(ref) else None
        if number is not None:
            yield name, number


def _later(op: str) -> LaterOperatorData:
    return {"name": op, "tags": api.schema_and_tags(op)[1]}
