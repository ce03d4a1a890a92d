"""What the generated files hold, read from their text alone: registrations, entry points, nodes, bindings."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ptexplore.catalogue.bindings import bindings_of
from ptexplore.catalogue.bodies import BodyFacts, read_body
from ptexplore.catalogue.generated_file import GeneratedFile
from ptexplore.model.operators import Binding
from ptexplore.model.symbols import Dialect, Symbol

Place = tuple[str, str, str, int, int]  # symbol, kind, path, line, last line

_BASE = re.compile(r"\bpublic\s+(at::(?:native|meta)::structured_\w+)")
_ENTRY_POINTS = "at::_ops::"
# What each macro of ATen/TensorMeta.h defines.
_STRUCTURED = {"TORCH_IMPL_FUNC": "impl"} | dict.fromkeys(
    ("TORCH_META_FUNC", "TORCH_META_FUNC2", "TORCH_PRECOMPUTE_META_FUNC", "TORCH_PRECOMPUTE_META_FUNC2"), "meta"
)


@dataclass(frozen=True, slots=True)
class RegisteredFunction:
    """The function that one m.impl registers, and what its body says.

    `name` is None for a kernel that a hand-written factory makes; `count` is how often the file defines the function,
    None for a hand-written one that is registered directly. `base` is the class that the structured kernel of the body
    derives from.
    """

    name: str | None
    count: int | None = None
    line: int | None = None
    end_line: int | None = None
    body: BodyFacts | None = None
    base: str | None = None


@dataclass
class Facts:
    """What generated files hold. Of registrations: the rows of blocks and of what stands in them, by path."""

    blocks: dict[str, list[Dialect]] = field(default_factory=dict)
    functions: dict[str, dict[int, RegisteredFunction]] = field(default_factory=dict)  # by path and line of the m.impl
    entry_points: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    nodes: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    definitions: list[Place] = field(default_factory=list)

    def add(self, other: Facts) -> None:
        """Take over what another file holds."""
        self.blocks.update(other.blocks)
        self.functions.update(other.functions)
        for name, places in other.entry_points.items():
            self.entry_points.setdefault(name, {}).update(places)
        self.nodes.update(other.nodes)
        self.bindings += other.bindings
        self.definitions += other.definitions


def facts_of(file: GeneratedFile) -> Facts:
    """What one generated file holds."""
    facts = Facts()
    facts.blocks[file.path] = [one for one in file.dialect if one.kind in ("library", "def", "impl")]
    facts.functions[file.path] = dict(registered_functions(file))
    name = os.path.basename(file.path)
    if name.startswith("Operators_"):
        for cpp_name, method, line in entry_points(file):
            facts.entry_points.setdefault(cpp_name, {})[method] = (file.path, line)
    elif name == "Functions.cpp":
        facts.nodes.update({node: (file.path, line, end) for node, line, end in applies(file)})
    elif name.startswith("python_"):
        facts.bindings += bindings_of(file)
    elif name.startswith(("Ufunc", "CompositeViewCopy")):
        facts.definitions += definitions(file)
    return facts


def registered_functions(file: GeneratedFile) -> Iterator[tuple[int, RegisteredFunction]]:
    """The line of every m.impl, and what it registers. A function that several register is read once."""
    known: dict[tuple[str, str], RegisteredFunction] = {}
    for row in file.dialect:
        if row.kind != "impl" or row.block is None:
            continue
        scope = file.namespace_at(row.block)
        key = (scope, row.text)
        if key not in known:
            known[key] = _registered(file, row, scope)
        yield row.line, known[key]


def _registered(file: GeneratedFile, row: Dialect, scope: str) -> RegisteredFunction:
    if row.target is None or not row.text.startswith("TORCH_FN"):
        return RegisteredFunction(row.target)
    found = file.function(row.target, scope)
    if len(found) != 1:
        return RegisteredFunction(row.target, len(found))
    function = found[0]
    body = read_body(file.body(function))
    base = _base(file, body.structured, function) if body.structured is not None else None
    return RegisteredFunction(function.qualified, 1, function.line, function.end_line, body, base)


def _base(file: GeneratedFile, name: str, function: Symbol) -> str | None:
    """What the class `name`, used in a function, derives from."""
    classes = file.classes(name, function.qualified.rpartition("::")[0])
    match = _BASE.search(file.head(classes[0])) if len(classes) == 1 else None
    return match[1] if match else None


def entry_points(file: GeneratedFile) -> Iterator[tuple[str, str, int]]:
    """(cpp name, "call" or "redispatch", line) of each at::_ops entry point of an Operators_*.cpp."""
    for one in file.functions:
        scope, _, method = one.qualified.rpartition("::")
        if method in ("call", "redispatch") and scope.startswith(_ENTRY_POINTS):
            yield scope.removeprefix(_ENTRY_POINTS), method, one.line


def applies(file: GeneratedFile) -> Iterator[tuple[str, int, int]]:
    """(node, line, last line) of each `X::apply` of Functions.cpp that is defined once."""
    found = []
    for one in file.functions_named("apply"):
        namespace = file.namespace_at(one.line)
        written = one.qualified.removeprefix(f"{namespace}::" if namespace else "")
        if "::" in written:
            found.append((written.rpartition("::")[0], one))
    count = Counter(node for node, _ in found)
    return ((node, one.line, one.end_line) for node, one in found if count[node] == 1)


def definitions(file: GeneratedFile) -> Iterator[Place]:
    """Every function, structured implementation and stub that a file defines, which records elsewhere may name."""
    for one in file.functions:
        kind = "function" if one.macro is None else _STRUCTURED.get(one.macro)
        if kind is not None:
            yield one.qualified, kind, file.path, one.line, one.end_line
    for row in file.dialect:
        if row.kind == "stub-define":
            yield f"at::native::{row.name}", "stub", file.path, row.line, row.end_line
