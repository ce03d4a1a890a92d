"""Functions that generated C++ defines and other records name: call and redispatch, node applies, ufunc kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptexplore.index.scan import Definition, ScannedFile

Place = tuple[str, str, str, int, int]  # symbol, kind, path, line, last line

_STUB = re.compile(r"^[ \t]*DEFINE_DISPATCH\(\s*(\w+)\s*\)", re.MULTILINE)
_IMPL = re.compile(r"TORCH_IMPL_FUNC\((\w+)\)")
_META = re.compile(r"TORCH_(?:PRECOMPUTE_)?META_FUNC2?\((\w+)(?:\s*,\s*(\w+))?\)")


def entry_points(file: ScannedFile) -> Iterator[tuple[str, str, int]]:
    """(cpp name, "call" or "redispatch", line) of each at::_ops entry point of an Operators_*.cpp."""
    for definition in file.definitions:
        scope, _, method = definition.qualified.rpartition("::")
        if definition.kind == "function" and method in ("call", "redispatch") and scope.startswith("at::_ops::"):
            yield scope.removeprefix("at::_ops::"), method, definition.line


def applies(file: ScannedFile) -> Iterator[tuple[str, str, int, int]]:
    """(node, path, line, last line) of each `X::apply` of Functions.cpp that is defined once."""
    found = [one for one in file.by_name.get("apply", []) if one.kind == "function" and "::" in one.name]
    names = [one.name.rsplit("::", 1)[0] for one in found]
    for name, one in zip(names, found, strict=True):
        if names.count(name) == 1:
            yield name, file.path, one.line, one.end


def named(file: ScannedFile) -> Iterator[Place]:
    """Every function, structured implementation and stub that `file` defines."""
    for one in file.definitions:
        if one.kind == "function":
            symbol, kind = symbol_of(one)
            yield symbol, kind, file.path, one.line, one.end
    for match in _STUB.finditer(file.text):
        line = file.line_of(match.start(1))
        yield f"at::native::{match[1]}", "stub", file.path, line, line


def symbol_of(definition: Definition) -> tuple[str, str]:
    """The qualified name of what a definition defines, the structured macros of ATen/TensorMeta.h expanded."""
    scope = "::".join(part for part in definition.scope if part)
    impl = _IMPL.match(definition.name)
    if impl:
        return f"{scope}::structured_{impl[1]}::impl", "impl"
    meta = _META.match(definition.name)
    if meta:
        return f"{scope}::structured_{'_'.join(part for part in meta.groups() if part)}::meta", "meta"
    return definition.qualified, "function"
